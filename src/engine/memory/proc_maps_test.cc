#include "engine/memory/proc_maps.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <ostream>
#include <string>

#include "engine/memory/guest_map.h"
#include "engine/memory/test_memory.h"

namespace zs::engine {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(ProcMaps, WritesMapsAsTheKernelDoesAndSmapsWithItsNumbers) {
  const std::string text = in_child([](std::ostream& out) {
    GuestMap map{Layout{}};
    const int file = open("/proc/self/exe", O_RDONLY);
    map.mmap(page(0), kPageSize, kRx, MAP_PRIVATE | MAP_FIXED, file, 0x1000);
    map.brk(map.brk_start() + 100);
    map.map_stack(8 << 20, false);
    out << proc_maps(map.mappings()) << proc_smaps(map.mappings());
  });
  EXPECT_THAT(text, HasSubstr("200000000000-200000001000 rw-p 00000000 00:00 0                          [heap]\n"));
  EXPECT_THAT(text, HasSubstr("29fffe800000-29ffff000000 rw-p 00000000 00:00 0                          [stack]\n"));
  EXPECT_THAT(text, HasSubstr("r-xp 00001000 "));
  EXPECT_THAT(text, HasSubstr("Rss: "));
  EXPECT_THAT(text, Not(HasSubstr("[vdso]")));
}

TEST(ProcMaps, NamesAFileAsItIsCalledNow) {
  const std::string text = in_child([](std::ostream& out) {
    char name[] = "/tmp/zs_map_XXXXXX";
    const int file = mkstemp(name);
    GuestMap map{Layout{}};
    if (ftruncate(file, 4096) == 0) map.mmap(page(0), kPageSize, PROT_READ, MAP_SHARED | MAP_FIXED, file, 0);
    close(file);
    unlink(name);
    out << arena(proc_maps(map.mappings()));
  });
  EXPECT_THAT(text, HasSubstr(" (deleted)\n"));
}

}  // namespace
}  // namespace zs::engine

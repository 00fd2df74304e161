#include "engine/memory/main_stack.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <ostream>

#include "engine/memory/guest_map.h"
#include "engine/memory/test_memory.h"

namespace zs::engine {
namespace {

TEST(MainStack, LetsTheStackGrowWithItsLimit) {
  in_child_expect("8 4 64 64 rwx", [](GuestMap& map, std::ostream& out) {
    map.map_stack(8 << 20, true);
    const std::uint64_t top = map.layout().stack_top();
    const auto size = [&] { return (top - map.mappings().find(top - 1)->start) >> 20; };
    out << size() << " ";
    map.set_stack_limit(4 << 20);
    out << size() << " ";
    map.set_stack_limit(64 << 20);
    *reinterpret_cast<volatile char*>(top - (64 << 20)) = 1;
    out << size() << " ";
    map.set_stack_limit(64 << 20);
    out << size() << " " << (map.mappings().prot_at(top - (60 << 20)) == kRwx ? "rwx" : "other");
  });
}

TEST(MainStack, MakesTheStackExecutableOnTheWholeWhenAskedWithGrowsdown) {
  in_child_expect("ok rwx", [](GuestMap& map, std::ostream& out) {
    map.map_stack(8 << 20, false);
    const std::uint64_t top = map.layout().stack_top();
    out << result_name(map.mprotect(top - kPageSize, kPageSize, kRwx | PROT_GROWSDOWN)) << " "
        << (map.mappings().prot_at(top - (8 << 20)) == kRwx ? "rwx" : "other");
  });
}

}  // namespace
}  // namespace zs::engine

#include "engine/memory/memory_locks.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <cstdint>
#include <ostream>
#include <string>

#include "engine/memory/guest_map.h"
#include "engine/memory/real_maps.h"
#include "engine/memory/test_memory.h"

namespace zs::engine {
namespace {

std::string locked(std::uint64_t address) {
  for (const RealMapping& real : read_real_smaps()) {
    if (!real.range().contains(address)) continue;
    const std::size_t at = real.tail.find("VmFlags:");
    return real.tail.find(" lo", at) != std::string::npos ? "locked" : "free";
  }
  return "none";
}

TEST(MemoryLocks, LockWhatTheProgramHasAndWhatItWillHaveAndNothingElse) {
  rlimit limit{};
  getrlimit(RLIMIT_MEMLOCK, &limit);
  if (limit.rlim_cur < 16 * kPageSize) GTEST_SKIP() << "RLIMIT_MEMLOCK is below 16 pages";
  in_child_expect("free locked free | locked locked free | free free", [](GuestMap& map, std::ostream& out) {
    const void* const tool = mmap(nullptr, kPageSize, kRw, kPrivate, -1, 0);
    const auto show = [&](int pages) {
      for (int i = 0; i < pages; ++i) out << locked(page(static_cast<std::uint64_t>(2 * i))) << " ";
    };
    map.mmap(page(0), kPageSize, kRw, kPrivate | MAP_FIXED, -1, 0);
    out << locked(page(0)) << " ";
    map.mlockall(MCL_CURRENT);
    map.mmap(page(2), kPageSize, kRw, kPrivate | MAP_FIXED, -1, 0);
    show(2);
    map.munlockall();
    map.mlockall(MCL_FUTURE);
    map.munmap(page(0), 3 * kPageSize);
    map.mmap(page(0), kPageSize, kRw, kPrivate | MAP_FIXED, -1, 0);
    map.mmap(page(2), kPageSize, kRw, kPrivate | MAP_FIXED, -1, 0);
    out << "| ";
    show(2);
    out << locked(reinterpret_cast<std::uint64_t>(tool)) << " | ";
    map.munlockall();
    out << locked(page(0)) << " " << locked(page(2));
  });
}

TEST(MemoryLocks, RefuseTheFlagsThatTheKernelRefuses) {
  const Mappings none;
  MemoryLocks locks(none);
  EXPECT_EQ(locks.lock_all(0), -EINVAL);
  EXPECT_EQ(locks.lock_all(MCL_ONFAULT), -EINVAL);
  EXPECT_EQ(locks.lock_all(MCL_CURRENT | 0x100), -EINVAL);
  EXPECT_EQ(locks.lock_all(MCL_CURRENT | MCL_ONFAULT), 0);
}

}  // namespace
}  // namespace zs::engine

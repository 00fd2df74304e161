#include "engine/memory/map_limits.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <cstdint>

#include "engine/memory/test_mappings.h"

namespace zs::engine {
namespace {

class MapLimitsOf : public ::testing::Test {
 protected:
  void set(int resource, std::uint64_t bytes) {
    ASSERT_EQ(program_.set(resource, {bytes, RLIM_INFINITY}), 0);
    limits_.use(&program_);
  }

  Mappings mappings_;
  MemoryLimits program_;
  MapLimits limits_{mappings_};
};

TEST_F(MapLimitsOf, LimitNothingUntilSomethingIsLimited) {
  mappings_.add(pages(0, 100));
  EXPECT_TRUE(limits_.may_expand(pages(200, 300), 1 << 30));
  set(RLIMIT_AS, RLIM_INFINITY);
  EXPECT_TRUE(limits_.may_expand(pages(200, 300), 1 << 30));
}

TEST_F(MapLimitsOf, CountEverythingAgainstTheAddressSpace) {
  set(RLIMIT_AS, 10 * kPageSize + 1);  // whole pages count
  mappings_.add(pages(0, 4));
  mappings_.add(pages(4, 8, PROT_READ));
  EXPECT_TRUE(limits_.may_expand(pages(20, 22, PROT_READ), 2 * kPageSize));
  EXPECT_FALSE(limits_.may_expand(pages(20, 23, PROT_READ), 3 * kPageSize));
}

TEST_F(MapLimitsOf, CountOnlyPrivateWritableMemoryAsData) {
  set(RLIMIT_DATA, 4 * kPageSize);
  mappings_.add(pages(0, 3));
  mappings_.add(pages(4, 40, PROT_READ));
  GuestMapping shared = pages(50, 60);
  shared.flags = MAP_SHARED | MAP_ANONYMOUS;
  mappings_.add(shared);
  EXPECT_EQ(limits_.data(), 4 * kPageSize);
  EXPECT_TRUE(limits_.may_expand(pages(70, 71), kPageSize));
  EXPECT_FALSE(limits_.may_expand(pages(70, 72), 2 * kPageSize));
  EXPECT_TRUE(limits_.may_expand(shared, 100 * kPageSize));
  EXPECT_TRUE(limits_.may_become(pages(4, 5, PROT_READ), kReadWrite));
  EXPECT_FALSE(limits_.may_become(pages(4, 6, PROT_READ), kReadWrite));
  EXPECT_TRUE(limits_.may_become(pages(0, 3), PROT_READ));
}

TEST_F(MapLimitsOf, CountOfTheStackWhatTheKernelWouldHaveMappedAtFirst) {
  set(RLIMIT_AS, kFirstStackBytes + kPageSize);
  GuestMapping stack = pages(1000, 3000);
  stack.kind = MapKind::Stack;
  mappings_.add(stack);
  EXPECT_TRUE(limits_.may_expand(pages(0, 1), kPageSize));
  EXPECT_FALSE(limits_.may_expand(pages(0, 2), 2 * kPageSize));
}

}  // namespace
}  // namespace zs::engine

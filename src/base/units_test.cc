#include "base/units.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace zs {
namespace {

static_assert(32_KiB == 32768 && 2_MiB == 2097152 && 1_GiB == 1073741824);
static_assert(is_power_of_two(1) && is_power_of_two(4096) && !is_power_of_two(0) && !is_power_of_two(48));
static_assert(align_down(4097, 4096) == 4096 && align_up(4097, 4096) == 8192 && align_up(4096, 4096) == 4096);

TEST(Units, PutsACommaBetweenThousandsAndNowhereElse) {
  EXPECT_EQ(with_thousands(0), "0");
  EXPECT_EQ(with_thousands(999), "999");
  EXPECT_EQ(with_thousands(1000), "1,000");
  EXPECT_EQ(with_thousands(1234567), "1,234,567");
  EXPECT_EQ(with_thousands(UINT64_MAX), "18,446,744,073,709,551,615");
}

}  // namespace
}  // namespace zs

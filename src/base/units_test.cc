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

TEST(Units, KeepsThreeSignificantDigitsUnderAPrefix) {
  EXPECT_EQ(with_prefix(812, "B"), "812 B");
  EXPECT_EQ(with_prefix(7, ""), "7");
  EXPECT_EQ(with_prefix(1000, "B"), "1.00 kB");
  EXPECT_EQ(with_prefix(98765, "B"), "98.8 kB");
  EXPECT_EQ(with_prefix(987654, "B"), "988 kB");
  EXPECT_EQ(with_prefix(1209884102, ""), "1.21 G");
}

TEST(Units, RoundsUpIntoTheNextPrefixRatherThanToAThousandOfTheLast) {
  EXPECT_EQ(with_prefix(999'499, ""), "999 k");
  EXPECT_EQ(with_prefix(999'500, ""), "1.00 M");
  EXPECT_EQ(with_prefix(UINT64_MAX, ""), "18.4 E");
}

}  // namespace
}  // namespace zs

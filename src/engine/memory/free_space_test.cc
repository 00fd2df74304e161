#include "engine/memory/free_space.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace zs::engine {
namespace {

constexpr AddressRange kZone{0x10000, 0x20000};  // 16 pages

AddressRange zone_pages(std::uint64_t first, std::uint64_t count) {
  return {kZone.start + first * kPageSize, kZone.start + (first + count) * kPageSize};
}

TEST(FreeSpace, GivesTheStartOfAnEmptyZone) { EXPECT_EQ(FreeSpace(kZone).find(kPageSize, kPageSize), kZone.start); }

TEST(FreeSpace, PrefersTheSmallestGapThatHoldsTheRequest) {
  FreeSpace space(kZone);
  space.take(zone_pages(0, 16));
  space.give(zone_pages(1, 4));
  space.give(zone_pages(8, 2));
  EXPECT_EQ(space.find(2 * kPageSize, kPageSize), zone_pages(8, 2).start);
  EXPECT_EQ(space.find(3 * kPageSize, kPageSize), zone_pages(1, 4).start);
  EXPECT_EQ(space.find(5 * kPageSize, kPageSize), std::nullopt);
}

TEST(FreeSpace, PrefersTheLowestOfEqualGaps) {
  FreeSpace space(kZone);
  space.take(zone_pages(0, 16));
  space.give(zone_pages(10, 2));
  space.give(zone_pages(4, 2));
  EXPECT_EQ(space.find(kPageSize, kPageSize), zone_pages(4, 2).start);
}

TEST(FreeSpace, JoinsNeighboursThatAreGivenBack) {
  FreeSpace space(kZone);
  space.take(zone_pages(0, 16));
  for (std::uint64_t page : {3, 5, 4}) space.give(zone_pages(page, 1));
  EXPECT_EQ(space.find(3 * kPageSize, kPageSize), zone_pages(3, 3).start);
}

TEST(FreeSpace, IgnoresWhatLiesOutsideItsZone) {
  FreeSpace space(kZone);
  space.take({0, kZone.start + kPageSize});
  space.give({kZone.end, kZone.end + 100 * kPageSize});
  EXPECT_FALSE(space.is_free({kZone.start, kZone.start + kPageSize}));
  EXPECT_TRUE(space.is_free(zone_pages(1, 15)));
  EXPECT_FALSE(space.is_free({kZone.end, kZone.end + kPageSize}));
}

TEST(FreeSpace, HonoursAlignmentEvenBehindManySmallGaps) {
  FreeSpace space({0x100000, 0x10000000});
  space.take({0x100000, 0x10000000});
  for (std::uint64_t i = 0; i < 500; ++i) space.give({0x101000 + i * 0x10000, 0x102000 + i * 0x10000});
  space.give({0x8001000, 0x8020000});
  EXPECT_EQ(space.find(kPageSize, 0x10000), 0x8010000u);
}

// Against a plain bitmap, for every request a small zone allows.
TEST(FreeSpace, AgreesWithABitmapOverRandomHistories) {
  std::mt19937 random(1);
  for (int round = 0; round < 50; ++round) {
    FreeSpace space(kZone);
    std::vector<bool> free(16, true);
    for (int step = 0; step < 60; ++step) {
      const std::uint64_t first = random() % 16, count = random() % (16 - first) + 1;
      const bool take = random() % 2 == 0;
      take ? space.take(zone_pages(first, count)) : space.give(zone_pages(first, count));
      for (std::uint64_t page = first; page < first + count; ++page) free[page] = !take;
      for (std::uint64_t start = 0; start < 16; ++start) {
        bool all = true;
        for (std::uint64_t end = start; end < 16; ++end) {
          all = all && free[end];
          ASSERT_EQ(space.is_free(zone_pages(start, end - start + 1)), all);
        }
      }
    }
  }
}

}  // namespace
}  // namespace zs::engine

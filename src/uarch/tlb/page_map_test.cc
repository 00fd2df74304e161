#include "uarch/tlb/page_map.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>

namespace zs::uarch {
namespace {

TEST(PageMap, NoTwoPagesOrTablesShareAFrame) {
  PageMap pages(1);
  pages.use_large_pages(1 << 20, 1 << 21);
  std::set<Frame> seen;
  for (std::uint64_t page = 0; page < 100'000; ++page) {
    EXPECT_TRUE(seen.insert(pages.translate(page * 7).frame).second) << page;
  }
  for (std::uint64_t page = 1 << 20; page < (1 << 20) + 2048; ++page) {
    EXPECT_TRUE(seen.insert(pages.translate(page).frame).second) << page;
  }
  for (const auto level : {TableLevel::Pte, TableLevel::Pde, TableLevel::Pdpte, TableLevel::Pml4e}) {
    EXPECT_TRUE(seen.insert(frame_of(pages.entry_line(0, level))).second);
  }
}

TEST(PageMap, FramesFollowFromTheSeedAndTheOrderOfFirstTouches) {
  PageMap one(1);
  PageMap two(1);
  PageMap other(2);
  // Which page it is does not matter, only when it came.
  for (std::uint64_t i = 0; i < 1000; ++i) EXPECT_EQ(one.translate(i).frame, two.translate(0x7FFF'0000 + 3 * i).frame);
  EXPECT_NE(one.translate(5).frame, other.translate(0).frame);
  EXPECT_EQ(one.translate(5).frame, one.translate(5).frame);
}

TEST(PageMap, FramesAreSpreadOverTheSetsOfACache) {
  PageMap pages(1);
  unsigned colours[16] = {};
  for (std::uint64_t page = 0; page < 16'000; ++page) ++colours[pages.translate(page).frame % 16];
  for (const unsigned pages_of_colour : colours) EXPECT_NEAR(pages_of_colour, 1000, 150);  // five standard deviations
}

TEST(PageMap, EightEntriesOfAPageTableShareALine) {
  PageMap pages(1);
  EXPECT_EQ(pages.entry_line(512, TableLevel::Pte), pages.entry_line(519, TableLevel::Pte));
  EXPECT_EQ(pages.entry_line(512, TableLevel::Pte) + 1, pages.entry_line(520, TableLevel::Pte));
  EXPECT_NE(frame_of(pages.entry_line(512, TableLevel::Pte)), frame_of(pages.entry_line(1024, TableLevel::Pte)));
  EXPECT_EQ(pages.entry_line(512, TableLevel::Pde), pages.entry_line(1024, TableLevel::Pde));
}

TEST(PageMap, AnUnmappedPageIsNotKnownAndGetsAnotherFrame) {
  PageMap pages(1);
  const Frame before = pages.translate(100).frame;
  EXPECT_TRUE(pages.known(100));
  pages.unmap(100, 101);
  EXPECT_FALSE(pages.known(100));
  EXPECT_NE(pages.translate(100).frame, before);
}

TEST(PageMap, TerabytesAreUnmappedLikeTheirPagesOneByOne) {
  constexpr std::uint64_t kFirst = 1 << 10, kLast = std::uint64_t{1} << 32;  // 16 TiB of pages
  PageMap pages(1);
  pages.use_large_pages(0, std::uint64_t{1} << 40);
  const auto small_and_large = {kFirst - 1, kFirst, kFirst + 5, kLast - 1, kLast};
  for (const std::uint64_t page : small_and_large) pages.translate(page);
  const Line table = pages.entry_line(kFirst, TableLevel::Pte);
  pages.unmap(kFirst, kLast);
  for (const std::uint64_t page : small_and_large) EXPECT_EQ(pages.known(page), page < kFirst || page >= kLast) << page;
  EXPECT_EQ(pages.entry_line(kFirst, TableLevel::Pte), table);
}

TEST(PageMap, OnlyWholeLargePagesOfTheRangeAreLarge) {
  PageMap pages(1);
  pages.use_large_pages(100, 2000);
  EXPECT_FALSE(pages.translate(400).large);
  EXPECT_TRUE(pages.translate(512).large);
  EXPECT_TRUE(pages.translate(1535).large);
  EXPECT_FALSE(pages.translate(1536).large);
  EXPECT_EQ(pages.translate(513).frame, pages.translate(512).frame + 1);
}

TEST(PageMap, RangesOfLargePagesJoinAndAreTakenBackInPart) {
  PageMap pages(1);
  pages.use_large_pages(0, 700);
  pages.use_large_pages(700, 4096);
  EXPECT_TRUE(pages.translate(512).large);
  pages.use_small_pages(1024, 2048);
  EXPECT_FALSE(pages.translate(1024).large);
  EXPECT_FALSE(pages.translate(2047).large);
  EXPECT_TRUE(pages.translate(2048).large);
  EXPECT_TRUE(pages.translate(3).large);
  pages.unmap(2500, 2501);  // a hole in the mapping: nothing that has it is large again
  pages.unmap(2048, 2049);
  EXPECT_FALSE(pages.translate(2050).large);
  EXPECT_TRUE(pages.translate(4000).large);
}

}  // namespace
}  // namespace zs::uarch

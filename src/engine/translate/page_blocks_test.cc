#include "engine/translate/page_blocks.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

namespace zs::engine {
namespace {

std::multiset<std::uint32_t> taken(PageBlocks& pages, std::uint64_t first, std::uint64_t last) {
  std::multiset<std::uint32_t> blocks;
  pages.take(first, last, [&](std::uint32_t block) { blocks.insert(block); });
  return blocks;
}

TEST(PageBlocks, APageIsNewOnceAndAgainWhenItsBlocksWereTaken) {
  PageBlocks pages;
  EXPECT_TRUE(pages.add_page(0x401));
  EXPECT_FALSE(pages.add_page(0x401));
  EXPECT_TRUE(pages.add_page(0x402));
  EXPECT_FALSE(pages.add_page(0x401));
  EXPECT_TRUE(taken(pages, 0x401, 0x401).empty());
  EXPECT_TRUE(pages.add_page(0x401));
}

TEST(PageBlocks, TakesTheBlocksOfAPageOnce) {
  PageBlocks pages;
  pages.add_page(1);
  pages.add_page(2);
  pages.add(1, 10);
  pages.add(1, 11);
  pages.add(1, 11);
  pages.add(2, 11);
  EXPECT_EQ(taken(pages, 1, 1), (std::multiset<std::uint32_t>{10, 11}));
  EXPECT_TRUE(taken(pages, 1, 1).empty());
  EXPECT_EQ(taken(pages, 0, ~std::uint64_t{0} >> 12), (std::multiset<std::uint32_t>{11}));
}

TEST(PageBlocks, AgreesWithListsInAMap) {
  PageBlocks pages;
  std::map<std::uint64_t, std::multiset<std::uint32_t>> plain;
  std::mt19937_64 random(1);
  for (std::uint32_t block = 0; block < 100'000; ++block) {
    const std::uint64_t page = random() % 8 == 0 ? random() >> 12 : random() % 3000;
    EXPECT_EQ(pages.add_page(page), plain.try_emplace(page).second);
    pages.add(page, block);
    plain[page].insert(block);
    if (random() % 50 != 0) continue;
    const std::uint64_t first = random() % 3000;
    const std::uint64_t last = random() % 400 == 0 ? ~std::uint64_t{0} >> 12 : first + random() % 8;
    std::multiset<std::uint32_t> expected;
    for (auto at = plain.lower_bound(first); at != plain.end() && at->first <= last; at = plain.erase(at))
      expected.insert(at->second.begin(), at->second.end());
    ASSERT_EQ(taken(pages, first, last), expected) << block;
  }
  pages.clear();
  EXPECT_TRUE(taken(pages, 0, ~std::uint64_t{0} >> 12).empty());
}

}  // namespace
}  // namespace zs::engine

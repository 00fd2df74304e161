#include "uarch/tlb/lru_table.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>

#include "uarch/reference/memory_kernels.h"
#include "uarch/reference/plain_parts.h"
#include "uarch/tlb/tlb.h"

namespace zs::uarch {
namespace {

TEST(LruTable, AgreesWithThePlainOneAtEveryLookup) {
  using Shape = std::pair<std::uint32_t, std::uint32_t>;  // entries, ways
  for (const auto& [entries, ways] :
       {Shape{64, 4}, Shape{96, 6}, Shape{72, 72}, Shape{7, 7}, Shape{3072, 8}, Shape{0, 0}}) {
    LruTable fast(entries, ways);
    PlainTable plain(entries, ways);
    Random chance(entries + 1);
    for (unsigned i = 0; i < 300'000; ++i) {
      const std::uint64_t key = chance.below(i / 1000 % 2 == 0 ? entries + entries / 8 + 1 : 4096);
      const Frame* found = fast.find(key);
      const Frame* expected = plain.find(key);
      ASSERT_EQ(found != nullptr, expected != nullptr) << entries << " " << i;
      if (expected == nullptr) {
        fast.insert(key, i);
        plain.insert(key, i);
      } else {
        ASSERT_EQ(*found, *expected);
      }
      if (i % 100'000 == 99'999) {
        fast.clear();
        plain.clear();
      }
    }
  }
}

TEST(LruTable, HasAHintForAKeyThatWasPutInOrFoundAndForNoneThatLeft) {
  LruTable table(8, 4);  // two sets
  const QuickPages quick(table);
  for (std::uint64_t key = 0; key < 8; ++key) table.insert(key, static_cast<Frame>(100 + key));
  for (std::uint64_t key = 0; key < 8; ++key) {
    ASSERT_NE(quick.touch(key), nullptr) << key;
    EXPECT_EQ(quick.touch(key)->frame, 100 + key);
  }
  EXPECT_EQ(table.insert(8, 108), 0U);  // the oldest of its set
  EXPECT_EQ(quick.touch(0), nullptr);
  // Another key takes the hint's place and gives it back when it is found again.
  constexpr std::uint64_t kSameHint = 4096;
  table.insert(7 + kSameHint, 9);
  ASSERT_EQ(quick.touch(7), nullptr);
  ASSERT_NE(table.find(7), nullptr);
  EXPECT_NE(quick.touch(7), nullptr);
}

TEST(Tlb, HoldsLargePagesWhereItSaysSo) {
  Tlb own({.entries_4k = 4, .ways_4k = 4, .entries_2m = 2, .ways_2m = 2});
  Tlb shared({.entries_4k = 4, .ways_4k = 4, .shared_2m = true});
  Tlb none({.entries_4k = 4, .ways_4k = 4});
  for (Tlb* tlb : {&own, &shared, &none}) {
    tlb->insert(512, true, 7);
    EXPECT_EQ(tlb->find(512, false), nullptr);
  }
  EXPECT_EQ(*own.find(1023, true), 7U);
  EXPECT_EQ(*shared.find(513, true), 7U);
  EXPECT_EQ(none.find(512, true), nullptr);
  for (std::uint64_t page = 0; page < 4; ++page) {
    own.insert(page, false, 1);
    shared.insert(page, false, 1);
  }
  EXPECT_NE(own.find(512, true), nullptr);
  EXPECT_EQ(shared.find(512, true), nullptr);  // the small pages took its place
}

}  // namespace
}  // namespace zs::uarch

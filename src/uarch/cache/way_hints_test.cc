#include "uarch/cache/way_hints.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "uarch/replacement/three_plru4.h"
#include "uarch/replacement/tree_plru.h"

namespace zs::uarch {
namespace {

constexpr std::uint64_t kPage = 0x7F'1234;
constexpr std::uint64_t kLine = kPage * kLinesPerPage;
/// The next page whose lines have the same entries.
constexpr std::uint64_t kOtherPage = kPage + WayHints::kEntries / kLinesPerPage;

class WayHintsTest : public testing::Test {
 protected:
  void add(std::uint64_t line, WayHints::Slot slot, unsigned store) {
    lines_.add(line, slot, store, state_, ~7ULL, 5, 9);
  }
  bool is_hot(std::uint64_t line, unsigned store) const {
    return lines_.entries()[line % WayHints::kEntries].line[store] == line;
  }

  PolicyState state_ = 0;
  WayHints lines_{512};
};

TEST_F(WayHintsTest, AreNotWhenTheirPageHasLeftTheTlb) {
  add(kLine, 1, 0);
  add(kLine, 1, 1);
  add(kLine + 63, 2, 0);
  add(kOtherPage * kLinesPerPage + 5, 3, 0);
  lines_.drop_page(kPage, false, false);
  EXPECT_FALSE(is_hot(kLine, 0));
  EXPECT_FALSE(is_hot(kLine, 1));
  EXPECT_FALSE(is_hot(kLine + 63, 0));
  EXPECT_TRUE(is_hot(kOtherPage * kLinesPerPage + 5, 0));
}

TEST_F(WayHintsTest, StayForStoresWhereOnlyLoadsHaveLostThePage) {
  add(kLine + 7, 1, 0);
  add(kLine + 7, 1, 1);
  lines_.drop_page(kPage, false, true);
  EXPECT_FALSE(is_hot(kLine + 7, 0));
  EXPECT_TRUE(is_hot(kLine + 7, 1));
  lines_.drop_page(kPage, true, false);
  EXPECT_FALSE(is_hot(kLine + 7, 1));
  add(kLine + 7, 1, 1);
  lines_.drop_page(kPage, true, false);
  EXPECT_FALSE(is_hot(kLine + 7, 1));
}

TEST_F(WayHintsTest, AreNotWhenTheirSlotHasAnotherLine) {
  add(kLine, 1, 0);
  add(kLine + 1, 1, 0);
  EXPECT_FALSE(is_hot(kLine, 0));
  lines_.drop(1, false, false);
  EXPECT_FALSE(is_hot(kLine + 1, 0));
}

TEST_F(WayHintsTest, TouchOnlyWhatTheirPolicyTouches) {
  state_ = 0xABCD'0000'1237;
  add(kLine, 1, 0);
  const WayHint& line = lines_.entries()[kLine % WayHints::kEntries];
  EXPECT_EQ(line.page[0], 9);
  line.touch();
  EXPECT_EQ(state_, 0xABCD'0000'1235U);
}

TEST(WayHint, HasBitsForPoliciesOfTreesAlone) {
  EXPECT_TRUE(WayHint::can_touch(TreePlruPolicy(8).touch_masks()));
  EXPECT_TRUE(WayHint::can_touch(TreePlruPolicy(16).touch_masks()));
  EXPECT_TRUE(WayHint::can_touch(ThreePlru4Policy(12).touch_masks()));
  TouchMasks wide;
  wide.keep[3] = ~PolicyState{0};
  wide.set[3] = 0x1'0000;
  EXPECT_FALSE(WayHint::can_touch(wide));
  wide.set[3] = 1;
  wide.keep[3] = ~PolicyState{0x1'0000};
  EXPECT_FALSE(WayHint::can_touch(wide));
}

}  // namespace
}  // namespace zs::uarch

#include "profile/types/field_order.h"

#include <gtest/gtest.h>

namespace zs::profile {
namespace {

using Field = DataTypes::Field;

Field field_at(const char* name, std::uint64_t offset, std::uint64_t size) {
  return {.name = name, .type = "long", .offset = offset, .size = size, .alignment = std::min<std::uint64_t>(size, 8)};
}

constexpr Visits::Function kReader{1, 0x1000}, kWriter{1, 0x2000};

/// Two hot members, one line apart, with cold ones between.
std::vector<Field> apart() { return {field_at(".key", 0, 8), field_at(".text", 8, 112), field_at(".next", 120, 8)}; }

TEST(FieldOrder, BringsTogetherWhatIsUsedTogether) {
  Visits visits;
  visits.add(kReader, 0, 0, {.loads = 1000});
  visits.add(kReader, 0, 120, {.loads = 1000});
  const FieldOrder order = best_order(apart(), 128, visits);
  EXPECT_TRUE(order.better);
  EXPECT_DOUBLE_EQ(order.lines_before, 2);
  EXPECT_DOUBLE_EQ(order.lines_after, 1);
  ASSERT_EQ(order.after.size(), 3U);
  EXPECT_EQ(order.after[2].name, ".text");
  EXPECT_EQ(order.after[2].offset, 16U);
  EXPECT_EQ(order.size_after, 128U);
}

TEST(FieldOrder, LeavesApartWhatNobodyUsesTogether) {
  Visits visits;
  visits.add(kReader, 0, 0, {.loads = 1000});
  visits.add(kWriter, 0, 120, {.loads = 1000});
  const FieldOrder order = best_order(apart(), 128, visits);
  EXPECT_FALSE(order.better);
  EXPECT_DOUBLE_EQ(order.lines_before, 1);
}

TEST(FieldOrder, CountsAMemberThatIsUsedSeldomForAsMuch) {
  Visits visits;
  visits.add(kReader, 0, 0, {.loads = 1000});
  visits.add(kReader, 0, 120, {.loads = 100});
  EXPECT_DOUBLE_EQ(best_order(apart(), 128, visits).lines_before, 1.1);
}

TEST(FieldOrder, TakesLoadsForAsManyAsTheyStandForAndALoadBeforeAStoreForOneUse) {
  Visits visits;
  visits.load_scale = 10;
  visits.add(kReader, 0, 0, {.loads = 100});
  visits.add(kReader, 0, 120, {.loads = 40, .stores = 500});
  EXPECT_DOUBLE_EQ(best_order(apart(), 128, visits).lines_before, 1.5);
}

TEST(FieldOrder, KeepsBasesInFrontAndBitFieldsTogether) {
  Visits visits;
  visits.add(kReader, 0, 0, {.loads = 1000});
  visits.add(kReader, 0, 121, {.loads = 1000});
  const std::vector<Field> members = {field_at("", 0, 8), field_at(".text", 8, 112), field_at(".kind", 120, 1),
                                      field_at(".used", 120, 2)};
  const FieldOrder order = best_order(members, 128, visits);
  ASSERT_TRUE(order.better);
  EXPECT_EQ(order.after[0].name, "");
  EXPECT_EQ(order.after[1].name, ".kind");
  EXPECT_EQ(order.after[2].name, ".used");
  EXPECT_EQ(order.after[1].offset, order.after[2].offset);
}

TEST(FieldOrder, NeverMakesATypeLarger) {
  Visits visits;
  visits.add(kReader, 0, 0, {.loads = 1000});
  visits.add(kReader, 0, 120, {.loads = 1000});
  EXPECT_LE(best_order(apart(), 128, visits).size_after, 128U);
  EXPECT_FALSE(best_order({}, 0, visits).better);
}

TEST(FieldOrder, SaysNothingOfATypeThatNobodyUses) { EXPECT_FALSE(best_order(apart(), 128, {}).better); }

}  // namespace
}  // namespace zs::profile

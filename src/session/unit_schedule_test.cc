#include "session/unit_schedule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace zs::session {
namespace {

using engine::Phase;

struct Placed {
  UnitSchedule::Stretch stretch;
  std::uint64_t begin = 0, weight = 0;
};

std::vector<Placed> placed(UnitSchedule schedule, std::uint64_t instructions) {
  std::vector<Placed> all;
  for (std::uint64_t at = 0; at < instructions;) {
    const UnitSchedule::Stretch stretch = schedule.next();
    all.push_back({stretch, at, schedule.weight()});
    at += stretch.instructions;
  }
  return all;
}

TEST(UnitSchedule, EachPeriodHasOneUnitBehindItsWarmUp) {
  const UnitOptions options{
      .unit = 1000, .warm_up = 500, .first_period = 5000, .units_per_period = 100, .longest_period = 5000};
  std::size_t units = 0;
  for (const Placed& at : placed({options, 1}, 1'000'000)) {
    EXPECT_GT(at.stretch.instructions, 0U);
    if (at.stretch.phase != Phase::Unit) continue;
    EXPECT_EQ(at.stretch.instructions, 1000U);
    EXPECT_EQ((at.begin - 500) / 5000, units++) << "one in each period";
    EXPECT_EQ(at.weight, 5U);
  }
  EXPECT_EQ(units, 200U);
}

TEST(UnitSchedule, PlacesAreSpreadAndFollowTheSeed) {
  const UnitOptions options{
      .unit = 1000, .warm_up = 0, .first_period = 101'000, .units_per_period = 1, .longest_period = 101'000};
  double sum = 0;
  std::vector<std::uint64_t> first, second, other;
  for (const Placed& at : placed({options, 7}, 101'000'000)) {
    if (at.stretch.phase == Phase::Unit) first.push_back(at.begin % 101'000);
  }
  for (const Placed& at : placed({options, 7}, 101'000'000)) {
    if (at.stretch.phase == Phase::Unit) second.push_back(at.begin % 101'000);
  }
  for (const Placed& at : placed({options, 8}, 101'000'000)) {
    if (at.stretch.phase == Phase::Unit) other.push_back(at.begin % 101'000);
  }
  EXPECT_EQ(first, second);
  EXPECT_NE(first, other);
  for (const std::uint64_t place : first) sum += static_cast<double>(place);
  ASSERT_EQ(first.size(), 1000U);
  EXPECT_NEAR(sum / 1000, 50'000, 4 * 100'000 / std::sqrt(12.0 * 1000)) << "four standard deviations of the mean";
}

TEST(UnitSchedule, PeriodsDoubleUpToTheLongest) {
  const UnitOptions options{
      .unit = 1000, .warm_up = 1000, .first_period = 5000, .units_per_period = 10, .longest_period = 20'000};
  std::vector<std::uint64_t> units_of_weight(21, 0);
  for (const Placed& at : placed({options, 1}, 1'000'000)) {
    if (at.stretch.phase == Phase::Unit) ++units_of_weight[at.weight];
  }
  EXPECT_EQ(units_of_weight[5], 10U);
  EXPECT_EQ(units_of_weight[10], 10U);
  EXPECT_NEAR(static_cast<double>(units_of_weight[20]), 42, 1);
}

TEST(UnitSchedule, LongPeriodsHaveLongWarmUps) {
  const UnitOptions options{
      .unit = 1000, .warm_up = 1000, .first_period = 10'000, .units_per_period = 2, .longest_period = 320'000};
  std::vector<std::uint64_t> warm_ups;
  for (const Placed& at : placed({options, 1}, 2'000'000)) {
    if (at.stretch.phase == Phase::WarmUp) warm_ups.push_back(at.stretch.instructions);
  }
  ASSERT_GT(warm_ups.size(), 11U);
  EXPECT_EQ(warm_ups.front(), 1000U);
  EXPECT_EQ(warm_ups[8], 3200U) << "a fiftieth of 160,000";
  EXPECT_EQ(warm_ups[11], 6400U);
}

TEST(UnitSchedule, WhatIsCompleteComesFirstAndNotInABranch) {
  const UnitOptions options{.complete = 123};
  UnitSchedule schedule(options, 1), branch(options, 1);
  const auto first = schedule.next();
  EXPECT_EQ(first.phase, Phase::Unit);
  EXPECT_EQ(first.instructions, 123U);
  EXPECT_TRUE(first.complete);
  EXPECT_FALSE(schedule.next().complete);
  branch.branch(1);
  EXPECT_NE(branch.next().phase, Phase::Unit);
}

TEST(UnitSchedule, NoRoomForAUnitIsNotPossible) {
  EXPECT_TRUE(UnitOptions{}.possible());
  EXPECT_FALSE((UnitOptions{.unit = 0}.possible()));
  EXPECT_FALSE((UnitOptions{.unit = 10'000, .warm_up = 50'000}.possible()));
  EXPECT_FALSE((UnitOptions{.unit = 10'000, .first_period = 55'000}.possible())) << "weights are whole";
}

}  // namespace
}  // namespace zs::session

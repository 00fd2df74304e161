#include "session/units/unit_schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace zs::session {
namespace {

using engine::Phase;
using testing::Each;
using testing::ElementsAre;

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

UnitSchedule seeded(UnitOptions options, std::uint64_t seed) {
  options.seed = seed;
  return UnitSchedule(options);
}

TEST(UnitSchedule, EachPeriodHasOneUnit) {
  const UnitOptions options{
      .unit = 1000, .warm_up = 500, .first_period = 5000, .fewest_units = 100, .longest_period = 5000};
  std::size_t units = 0;
  for (const Placed& at : placed(UnitSchedule(options), 1'000'000)) {
    EXPECT_GT(at.stretch.instructions, 0U);
    if (at.stretch.phase != Phase::Unit) continue;
    EXPECT_EQ(at.stretch.instructions, 1000U);
    const std::uint64_t period = units++;
    EXPECT_GE(at.begin, 5000 * period);
    EXPECT_LT(at.begin, 5000 * period + 5000 + 1000) << "or behind one that reaches over the end of the last";
    EXPECT_EQ(at.weight, 5U);
  }
  EXPECT_EQ(units, 200U);
}

TEST(UnitSchedule, WhatComesNextIsCompleteWhereThatIsAskedFor) {
  UnitSchedule schedule({.complete = 1'000'000});
  schedule.set_pieces(false);
  EXPECT_TRUE(schedule.next().complete);
  for (int again = 0; again < 2; ++again) {
    EXPECT_TRUE(schedule.complete_is_over());
    schedule.go_on_complete();
    EXPECT_FALSE(schedule.complete_is_over());
    const UnitSchedule::Stretch stretch = schedule.next();
    EXPECT_TRUE(stretch.complete);
    EXPECT_EQ(stretch.phase, Phase::Unit);
    EXPECT_EQ(schedule.units(), 0U);
  }
  while (schedule.next().phase != Phase::Unit) continue;
  EXPECT_EQ(schedule.units(), 1U) << "and units follow";
}

TEST(UnitSchedule, WhatIsCompleteComesInPiecesAsLongAsAUnit) {
  UnitSchedule schedule({.complete = 120'000, .unit = 50'000});
  std::vector<std::uint64_t> pieces;
  for (UnitSchedule::Stretch stretch = schedule.next(); stretch.complete; stretch = schedule.next())
    pieces.push_back(stretch.instructions);
  EXPECT_THAT(pieces, ElementsAre(50'000, 50'000, 20'000));
}

TEST(UnitSchedule, APeriodIsAtMostAnEighthOfTheRunSoFar) {
  const UnitOptions options{.unit = 1000, .warm_up = 500, .first_period = 5000, .fewest_units = 1};
  UnitSchedule schedule(options);
  std::uint64_t longest = 0;
  for (std::uint64_t ran = 0; ran < 100'000'000;) {
    const UnitSchedule::Stretch stretch = schedule.next();
    ran += stretch.instructions;
    if (stretch.phase != Phase::Unit) continue;
    const std::uint64_t period = schedule.weight() * options.unit;
    EXPECT_LE(period, std::max<std::uint64_t>(options.first_period, ran / 8));
    longest = std::max(longest, period);
    schedule.set_sure(true);
  }
  EXPECT_GT(longest, 2'000'000U);
}

TEST(UnitSchedule, EveryPlaceOfAPeriodIsAsLikelyToBeInAUnit) {
  const UnitOptions options{
      .unit = 1000, .warm_up = 1000, .first_period = 8000, .fewest_units = 1, .longest_period = 8000};
  std::array<double, 8> share{};  // by eighths of the period: of units there
  for (const Placed& at : placed(UnitSchedule(options), 80'000'000)) {
    if (at.stretch.phase != Phase::Unit) continue;
    const auto first = at.begin % 8000 / 1000;
    const double in_second = static_cast<double>(at.begin % 1000) / 1000;
    share[first] += (1 - in_second) / 10'000;
    share[(first + 1) % 8] += in_second / 10'000;
  }
  for (const double one : share) EXPECT_NEAR(one, 0.125, 0.01);
}

TEST(UnitSchedule, UnitsCloseToEachOtherHaveLessOfAWarmUpAndNeverOverlap) {
  const UnitOptions options{
      .unit = 1000, .warm_up = 1000, .first_period = 4000, .fewest_units = 1, .longest_period = 4000};
  std::size_t units = 0, cold = 0;
  std::uint64_t warm = 0;
  for (const Placed& at : placed(UnitSchedule(options), 4'000'000)) {
    if (at.stretch.phase == Phase::WarmUp) warm = at.stretch.instructions;
    if (at.stretch.phase != Phase::Unit) continue;
    ++units;
    cold += std::exchange(warm, 0) < 1000 ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(units), 1000, 1);
  EXPECT_NEAR(static_cast<double>(cold) / static_cast<double>(units), 0.125, 0.03) << "half of (2000 / 4000) squared";
}

TEST(UnitSchedule, PlacesAreSpreadAndFollowTheSeed) {
  const UnitOptions options{
      .unit = 1000, .warm_up = 0, .first_period = 101'000, .fewest_units = 1, .longest_period = 101'000};
  double sum = 0;
  std::vector<std::uint64_t> first, second, other;
  for (const Placed& at : placed(seeded(options, 7), 101'000'000)) {
    if (at.stretch.phase == Phase::Unit) first.push_back(at.begin % 101'000);
  }
  for (const Placed& at : placed(seeded(options, 7), 101'000'000)) {
    if (at.stretch.phase == Phase::Unit) second.push_back(at.begin % 101'000);
  }
  for (const Placed& at : placed(seeded(options, 8), 101'000'000)) {
    if (at.stretch.phase == Phase::Unit) other.push_back(at.begin % 101'000);
  }
  EXPECT_EQ(first, second);
  EXPECT_NE(first, other);
  for (const std::uint64_t place : first) sum += static_cast<double>(place);
  ASSERT_EQ(first.size(), 1000U);
  EXPECT_NEAR(sum / 1000, 50'000, 4 * 100'000 / std::sqrt(12.0 * 1000)) << "four standard deviations of the mean";
}

TEST(UnitSchedule, PeriodsDoubleUpToTheLongest) {
  const UnitOptions options{.unit = 1000,
                            .warm_up = 1000,
                            .first_period = 5000,
                            .fewest_units = 10,
                            .longest_period = 20'000,
                            .fewest_periods = 0};
  std::vector<std::uint64_t> units_of_weight(21, 0);
  for (const Placed& at : placed(UnitSchedule(options), 1'000'000)) {
    if (at.stretch.phase == Phase::Unit) ++units_of_weight[at.weight];
  }
  EXPECT_EQ(units_of_weight[5], 10U);
  EXPECT_EQ(units_of_weight[10], 10U);
  EXPECT_NEAR(static_cast<double>(units_of_weight[20]), 42, 1);
}

TEST(UnitSchedule, PeriodsFollowTheTrendWhenThereAreUnitsEnough) {
  UnitSchedule schedule(
      {.unit = 1000, .warm_up = 0, .first_period = 5000, .fewest_units = 10, .longest_period = 20'000});
  const auto weight_behind = [&schedule](std::size_t units) {
    while (units != 0) units -= schedule.next().phase == Phase::Unit ? 1 : 0;
    return schedule.weight();
  };
  schedule.set_trend(Trend::Same);
  EXPECT_EQ(weight_behind(35), 5U);
  schedule.set_trend(Trend::Longer);
  EXPECT_EQ(weight_behind(1), 10U);
  EXPECT_EQ(weight_behind(40), 20U);
  schedule.set_trend(Trend::Shorter);
  EXPECT_EQ(weight_behind(1), 10U);
  EXPECT_EQ(weight_behind(100), 5U) << "and no shorter than the first";
}

/// Weights of the units up to here, where nobody or everybody is sure.
std::vector<std::uint64_t> weights(const UnitOptions& options, bool sure, std::size_t units) {
  UnitSchedule schedule(options);
  std::vector<std::uint64_t> all;
  while (all.size() < units) {
    if (schedule.next().phase != Phase::Unit) continue;
    all.push_back(schedule.weight());
    if (schedule.asks_how_sure()) schedule.set_sure(sure);
  }
  return all;
}

TEST(UnitSchedule, WhereTheFirstEstimateIsSureFewUnitsAreEnough) {
  UnitOptions options{.unit = 1000,
                      .warm_up = 0,
                      .first_period = 5000,
                      .fewest_units = 3,
                      .longest_period = 20'000,
                      .fewest_periods = 0};
  EXPECT_THAT(weights(options, true, 8), ElementsAre(5, 5, 5, 10, 10, 10, 20, 20));
  EXPECT_THAT(weights(options, false, 12), Each(5));
  options.modelled_at_first = 0;
  EXPECT_THAT(weights(options, false, 8), ElementsAre(5, 5, 5, 10, 10, 10, 20, 20)) << "what is modelled is enough";
  options.insists = true;
  EXPECT_THAT(weights(options, true, 4), ElementsAre(5, 5, 5, 10));
  EXPECT_THAT(weights(options, false, 30), Each(5)) << "and waits until it is";
}

TEST(UnitSchedule, PeriodsThatBecameLongAreHalvedAtEachUnitWhileAnErrorIsAskedForThatIsNotReached) {
  UnitSchedule schedule({.unit = 1000,
                         .warm_up = 1000,
                         .first_period = 5000,
                         .fewest_units = 3,
                         .longest_period = 160'000,
                         .fewest_periods = 0,
                         .insists = true});
  std::vector<std::uint64_t> found;
  while (found.size() < 14) {
    if (schedule.next().phase != Phase::Unit) continue;
    found.push_back(schedule.weight());
    if (schedule.asks_how_sure()) schedule.set_sure(found.size() < 9);
  }
  EXPECT_THAT(found, ElementsAre(5, 5, 5, 10, 10, 10, 20, 20, 20, 10, 5, 5, 5, 5));
}

TEST(UnitSchedule, NoMoreIsModelledThanAPartOfTheRunUnlessThatIsInsistedOn) {
  UnitOptions options{.unit = 1000,
                      .warm_up = 1000,
                      .first_period = 10'000,
                      .fewest_units = 2,
                      .modelled_at_first = 20'000,
                      .modelled_one_in = 100,
                      .longest_period = 10'000'000,
                      .fewest_periods = 0};
  const auto modelled = [&options](std::uint64_t whole) {
    UnitSchedule schedule(options);
    std::uint64_t sum = 0;
    for (std::uint64_t told = 0; told < whole;) {
      const UnitSchedule::Stretch stretch = schedule.next();
      told += stretch.instructions;
      if (stretch.phase != Phase::FastForward) sum += stretch.instructions;
      if (stretch.phase == Phase::Unit && schedule.asks_how_sure()) schedule.set_sure(false);
    }
    return sum;
  };
  EXPECT_LT(modelled(10'000'000), 20'000 + 1.2 * 10'000'000 / 100);
  options.insists = true;
  EXPECT_GT(modelled(10'000'000), 10'000'000 / 10);
}

TEST(UnitSchedule, WhereTheRunComesToNewCodePeriodsBeginAnewAndGrowAgain) {
  constexpr std::uint64_t kSkipped = 500'000;
  UnitOptions options{.fewest_units = 3, .longest_period = 12'800'000, .fewest_periods = 0};
  const auto weights = [](UnitSchedule& schedule, std::size_t units) {
    std::vector<std::uint64_t> found;
    while (found.size() < units) {
      if (schedule.next().phase == Phase::Unit) found.push_back(schedule.weight());
    }
    return found;
  };
  const auto look = [](UnitSchedule& schedule, arch::CodeAge age) {
    while (schedule.next().instructions != kSkipped) continue;
    schedule.looked_at_code(age);
  };
  UnitSchedule schedule(options);
  EXPECT_EQ(weights(schedule, 25).back(), 256U);
  look(schedule, arch::CodeAge::Old);
  EXPECT_THAT(weights(schedule, 2), Each(256));
  look(schedule, arch::CodeAge::Unknown);
  EXPECT_THAT(weights(schedule, 14), ElementsAre(4, 4, 8, 8, 16, 16, 32, 32, 64, 64, 128, 128, 256, 256));
  look(schedule, arch::CodeAge::Unknown);
  EXPECT_THAT(weights(schedule, 2), Each(256)) << "much of the code is new";
  options.budget = 300;
  UnitSchedule timed(options);
  EXPECT_EQ(weights(timed, 25).back(), 256U);
  look(timed, arch::CodeAge::Unknown);
  EXPECT_THAT(weights(timed, 2), Each(256));
}

TEST(UnitSchedule, AShortLatePartOfNewCodeIsMetAndCountsForAsMuchAsItIs) {
  constexpr std::uint64_t kWhole = 120'000'000;
  constexpr std::size_t kRuns = 4000;
  std::mt19937_64 random(std::random_device{}());
  std::size_t unmet = 0, unmet_else = 0;
  double sum = 0, squares = 0;
  for (std::size_t run = 0; run < kRuns; ++run) {
    const std::uint64_t first = 60'000'000 + random() % 50'000'000, last = first + 3'000'000;
    const auto share = [&](bool looks) {
      UnitSchedule schedule({.complete = 10'000'000, .seed = run});
      double stands_for = 0;
      auto age = arch::CodeAge::Unknown;
      Phase before = Phase::FastForward;
      for (std::uint64_t at = 0; at < kWhole;) {
        const UnitSchedule::Stretch stretch = schedule.next();
        const std::uint64_t end = at + stretch.instructions;
        const double inside = static_cast<double>(std::min(end, last)) - static_cast<double>(std::max(at, first));
        if (before == Phase::FastForward && stretch.phase != before && age == arch::CodeAge::New)
          age = arch::CodeAge::Old;
        if (stretch.phase != Phase::FastForward && inside > 0 && age == arch::CodeAge::Unknown)
          age = arch::CodeAge::New;
        before = stretch.phase;
        if (stretch.phase == Phase::Unit && inside > 0) stands_for += inside * static_cast<double>(schedule.weight());
        if (stretch.phase == Phase::FastForward && looks)
          schedule.looked_at_code(end >= first && end < last ? age : arch::CodeAge::Old);
        at = end;
        schedule.set_sure(true);
      }
      return stands_for / static_cast<double>(last - first);
    };
    const double one = share(true);
    sum += one;
    squares += one * one;
    unmet += one == 0 ? 1 : 0;
    unmet_else += share(false) == 0 ? 1 : 0;
  }
  const double mean = sum / kRuns, deviation = std::sqrt(squares / kRuns - mean * mean);
  EXPECT_NEAR(mean, 1, 4 * deviation / std::sqrt(kRuns));
  EXPECT_LT(unmet, kRuns / 50);
  EXPECT_GT(unmet_else, kRuns / 5) << "the test tells the difference";
}

TEST(UnitSchedule, WhatIsCompleteComesFirstAndNotInABranch) {
  const UnitOptions options{.complete = 123};
  UnitSchedule schedule(options), branch(options);
  const auto first = schedule.next();
  EXPECT_EQ(first.phase, Phase::Unit);
  EXPECT_EQ(first.instructions, 123U);
  EXPECT_TRUE(first.complete);
  EXPECT_FALSE(schedule.next().complete);
  branch.branch(1);
  EXPECT_NE(branch.next().phase, Phase::Unit);
}

TEST(UnitSchedule, TheMoreImagesBeganTheFewerUnitsHasOneThatIsShort) {
  constexpr std::uint64_t kShort = 200'000;
  const auto units_of_images = [](std::uint64_t first, std::uint64_t last) {
    std::size_t units = 0;
    for (std::uint64_t images = first; images < last; ++images) {
      UnitSchedule schedule({.complete = 2'000'000});
      schedule.branch(images);
      for (std::uint64_t told = 0; told < kShort;) {
        const UnitSchedule::Stretch stretch = schedule.next();
        told += stretch.instructions;
        if (stretch.phase == Phase::Unit && told <= kShort) ++units;
      }
    }
    return units;
  };
  EXPECT_GE(units_of_images(1, 9), 4U);
  EXPECT_LT(units_of_images(1000, 2000), 20U);
  EXPECT_GT(units_of_images(1000, 2000), 0U);
}

TEST(UnitSchedule, EachImageHasUnitsElsewhere) {
  std::set<std::uint64_t> places;
  for (std::uint64_t images = 1; images <= 8; ++images) {
    UnitSchedule schedule({.complete = 2'000'000});
    schedule.branch(images);
    places.insert(schedule.next().instructions);
  }
  EXPECT_GE(places.size(), 7U);
}

TEST(UnitSchedule, NoRoomForAUnitIsNotPossible) {
  EXPECT_TRUE(UnitOptions{}.possible());
  EXPECT_FALSE((UnitOptions{.unit = 0}.possible()));
  EXPECT_FALSE((UnitOptions{.unit = 10'000, .warm_up = 1'000'000}.possible()));
  EXPECT_FALSE((UnitOptions{.unit = 10'000, .warm_up = 10'000, .first_period = 55'000}.possible()))
      << "weights are whole";
}

}  // namespace
}  // namespace zs::session

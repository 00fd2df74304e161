#include "session/units/unit_sums.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "session/units/unit_schedule.h"

namespace zs::session {
namespace {

TEST(UnitSums, WhatIsCompleteIsNoEstimate) {
  UnitSums sums(2);
  sums.add_complete(1000, std::vector<std::uint64_t>{7, 2000});
  sums.set_instructions(1000);
  EXPECT_TRUE(sums.all_complete());
  EXPECT_EQ(sums.total(0), 7);
  const auto cycles = sums.estimate(1);
  EXPECT_EQ(cycles.value, 2000);
  EXPECT_TRUE(cycles.known);
  EXPECT_EQ(cycles.half_width, 0);
}

TEST(UnitSums, UnitsStandForTheRest) {
  UnitSums sums(1);
  sums.add_complete(1000, std::vector<std::uint64_t>{50});
  for (std::uint64_t i = 0; i < 40; ++i) sums.add_unit(i, 10, 100, std::vector<std::uint64_t>{30});
  sums.set_instructions(1000 + 50'000);  // 40 units stand for 40,000 of them
  EXPECT_DOUBLE_EQ(sums.total(0), 50 + 0.3 * 50'000);
  EXPECT_NEAR(sums.estimate(0).half_width, 0, 1e-6) << "all alike";
  EXPECT_TRUE(sums.estimate(0).known);
  EXPECT_EQ(sums.in_detail(), 5000U);
  EXPECT_EQ(sums.units(), 40U);
}

TEST(UnitSums, AFewUnitsHaveNoInterval) {
  UnitSums sums(1);
  for (std::uint64_t i = 0; i < 3; ++i) sums.add_unit(i, 10, 100, std::vector<std::uint64_t>{i});
  sums.set_instructions(3000);
  EXPECT_FALSE(sums.estimate(0).known);
}

TEST(UnitSums, WhereMostIsCompleteTheRestMayBeOffByAllOfIt) {
  UnitSums sums(1);
  sums.add_complete(9000, std::vector<std::uint64_t>{900});
  sums.set_instructions(10'000);
  EXPECT_DOUBLE_EQ(sums.total(0), 1000) << "no unit: as it was so far";
  EXPECT_EQ(sums.seen(0), 900);
  EXPECT_TRUE(sums.estimate(0).known);
  EXPECT_DOUBLE_EQ(sums.estimate(0).half_width, 100);
  sums.add_unit(0, 10, 100, std::vector<std::uint64_t>{30});
  EXPECT_DOUBLE_EQ(sums.total(0), 900 + 300);
  EXPECT_DOUBLE_EQ(sums.estimate(0).half_width, 300);
}

// One piece in twenty has two hundred times as many events: 20 units meet none of them in a third of the runs, and are
// then all alike. What was complete has met some.
TEST(UnitSums, UnitsThatAreAlikeAreNotSurerThanWhatWasCompleteTells) {
  constexpr std::uint64_t kOfPiece = 50'000, kRuns = 1000;
  const auto seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  std::bernoulli_distribution busy(0.05);
  const auto piece = [&] { return std::vector<std::uint64_t>{busy(random) ? 40'000U : 200U}; };
  std::uint64_t held = 0, held_by_units = 0;
  for (std::uint64_t run = 0; run < kRuns; ++run) {
    UnitSums of_thread(1), sums;
    of_thread.add_complete(40 * kOfPiece, std::vector<std::uint64_t>{1'000'000});  // the loader's say nothing
    for (std::uint64_t i = 0; i < 160; ++i) of_thread.add_complete(kOfPiece, piece());
    for (std::uint64_t i = 0; i < 20; ++i) of_thread.add_unit(i, 50, kOfPiece, piece());
    double rest = 0;
    for (std::uint64_t i = 0; i < 1000; ++i) rest += static_cast<double>(piece().front());
    of_thread.set_instructions((200 + 1000) * kOfPiece);
    ASSERT_TRUE(sums.unpack(of_thread.packed(), 1));
    const UnitSums::Estimate estimate = sums.estimate(0);
    const double off = std::abs(estimate.value - sums.complete(0) - rest), by_complete = sums.half_width_by_complete(0);
    ASSERT_NEAR(by_complete, of_thread.half_width_by_complete(0), 1e-6 * by_complete);
    held += off <= std::max(estimate.half_width, by_complete) ? 1 : 0;
    held_by_units += off <= estimate.half_width ? 1 : 0;
  }
  EXPECT_GE(held, 0.93 * kRuns);
  EXPECT_LE(held_by_units, 0.75 * kRuns) << "else nothing is tested here";
}

TEST(UnitSums, ThreadsAddUp) {
  UnitSums one(1), two(1), all;
  for (std::uint64_t i = 0; i < 32; ++i) one.add_unit(i, 10, 60, std::vector<std::uint64_t>{6});
  for (std::uint64_t i = 0; i < 32; ++i) two.add_unit(i, 10, 40, std::vector<std::uint64_t>{20});
  one.set_instructions(19'200);
  two.set_instructions(12'800);
  all.add(one);
  all.add(two);
  EXPECT_EQ(all.instructions(), 32'000U);
  EXPECT_DOUBLE_EQ(all.total(0), 32'000 * 0.26);
}

TEST(UnitSums, OfNoEventKnowHowMuchWasInDetail) {
  UnitSums one, all;
  one.add_unit(0, 10, 100, {});
  one.set_instructions(1000);
  all.add(one);
  all.add(one);
  EXPECT_EQ(all.in_detail(), 200U);
  EXPECT_EQ(all.instructions(), 2000U);
  EXPECT_FALSE(all.all_complete());
}

TEST(UnitSums, ComeBackFromTheWire) {
  UnitSums sums(2), back;
  sums.add_complete(10, std::vector<std::uint64_t>{1, 2});
  for (std::uint64_t i = 0; i < 40; ++i) sums.add_unit(i, 5, 100, std::vector<std::uint64_t>{i, 3});
  sums.set_instructions(30'000);
  ASSERT_TRUE(back.unpack(sums.packed(), 2));
  EXPECT_EQ(back.packed(), sums.packed());
  EXPECT_EQ(back.estimate(0).half_width, sums.estimate(0).half_width);
  std::vector<double> hostile = sums.packed();
  EXPECT_FALSE(back.unpack(hostile, 3));
  hostile[5] = std::nan("");
  EXPECT_FALSE(back.unpack(hostile, 2));
}

// Programs whose events per instruction change from place to place, seen through units at drawn places.
struct WarmUpProgram {
  std::vector<double> rate;  // of each stretch of 10,000 instructions
  double total() const {
    double sum = 0;
    for (const double each : rate) sum += 10'000 * each;
    return sum;
  }
  std::uint64_t events(std::uint64_t begin, std::uint64_t instructions) const {
    double sum = 0;
    for (std::uint64_t at = begin; at < begin + instructions; at += 1000)
      sum += 1000 * rate[std::min<std::size_t>(at / 10'000, rate.size() - 1)];
    return static_cast<std::uint64_t>(std::llround(sum));
  }
};

UnitSums sampled(const WarmUpProgram& program, std::uint64_t seed) {
  const UnitOptions options{.unit = 10'000,
                            .warm_up = 10'000,
                            .first_period = 50'000,
                            .fewest_units = 25,
                            .modelled_at_first = UINT64_MAX / 2,
                            .seed = seed};
  UnitSchedule schedule(options);
  UnitSums sums(1);
  const std::uint64_t end = 10'000 * program.rate.size();
  for (std::uint64_t at = 0; at < end;) {
    const auto stretch = schedule.next();
    if (stretch.phase == engine::Phase::Unit && at + stretch.instructions <= end)
      sums.add_unit(schedule.units(), schedule.weight(), stretch.instructions,
                    std::vector<std::uint64_t>{program.events(at, stretch.instructions)});
    at += stretch.instructions;
    if (stretch.phase != engine::Phase::Unit || !schedule.asks_how_sure()) continue;
    sums.set_instructions(at);
    const UnitSums::Estimate so_far = sums.estimate(0);
    schedule.set_sure(1000 * so_far.half_width <= static_cast<double>(options.wanted_error) * so_far.value);
  }
  sums.set_instructions(end);
  return sums;
}

TEST(UnitSums, IntervalsHoldTheTruthInNineteenOfTwentySeeds) {
  std::mt19937_64 random(1);
  std::gamma_distribution<double> uneven(0.5, 2);  // most stretches quiet, a few busy
  WarmUpProgram noise, phases, rising;
  for (std::size_t i = 0; i < 50'000; ++i) {
    noise.rate.push_back(uneven(random));
    phases.rate.push_back((i / 5000 % 2 == 0 ? 0.4 : 2.0) + 0.2 * uneven(random));
    rising.rate.push_back(static_cast<double>(i) / 50'000 + 0.2 * uneven(random));
  }
  constexpr std::uint64_t kSeeds = 200;
  for (const WarmUpProgram* program : {&noise, &phases, &rising}) {
    std::size_t held = 0;
    double bias = 0, half_widths = 0;
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
      const auto estimate = sampled(*program, seed).estimate(0);
      ASSERT_TRUE(estimate.known);
      held += std::abs(estimate.value - program->total()) <= estimate.half_width ? 1 : 0;
      bias += (estimate.value - program->total()) / kSeeds;
      half_widths += estimate.half_width / kSeeds;
    }
    EXPECT_GE(held, 0.90 * kSeeds);
    EXPECT_LT(half_widths, 0.15 * program->total()) << "1.4 times the mean apart, 900 units";
    // Half a width is one standard deviation; the mean of so many differs by four of its own at most.
    EXPECT_LT(std::abs(bias), 4 * half_widths / 2 / std::sqrt(kSeeds));
  }
}

}  // namespace
}  // namespace zs::session

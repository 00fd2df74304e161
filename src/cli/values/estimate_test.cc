#include "cli/values/estimate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "arch/cpu_model.h"
#include "arch/metrics/metric.h"
#include "cli/stat/stat_metrics.h"

namespace zs::cli {
namespace {

using session::UnitSums;

constexpr arch::Metric kIpc{"IPC", "", "per cycle", "instructions / cycles", ""};
constexpr arch::Metric kShare{"of all instructions", "", "%", "misses / instructions", ""};

/// Columns: instructions, which are exact, cycles and misses. 64 units, each of 10,000 of a million instructions; every
/// second one takes 9,000 cycles, and the others 11,000.
struct SampledRun {
  explicit SampledRun(std::uint64_t misses_in_each, std::uint64_t units_taken = 64) : units(2) {
    for (std::uint64_t i = 0; i < units_taken; ++i)
      units.add_unit(i, 100, 10'000, std::vector<std::uint64_t>{i % 2 == 0 ? 9'000U : 11'000U, misses_in_each});
    units.set_instructions(64'000'000);
  }
  Counted counted() const {
    return {.counts = {64e6, units.total(0), units.total(1)}, .units = &units, .columns = &columns};
  }
  StatMetric metric(const arch::Metric& row) const {
    return bind_metric(row, *arch::find_cpu_model("skylake-server"),
                       [](std::string_view event) {
                         return event == "instructions" ? 0U : event == "cycles" ? 1U : 2U;
                       },
                       {{.name = "instructions"}, {.name = "cycles"}, {.name = "misses"}});
  }
  UnitSums units;
  EstimatedColumns columns{{}, EstimatedColumn{0}, EstimatedColumn{1}};
};

TEST(Estimate, OfAnExactCountIsTheCount) {
  const SampledRun run(1);
  const Estimate instructions = estimate_of(run.counted(), 0);
  EXPECT_EQ(instructions.value, 64e6);
  EXPECT_FALSE(instructions.half_width);
  EXPECT_TRUE(instructions.has_number());
}

// Groups differ by 1,000 cycles in 10,000 from their mean; 32 of them, and Student's t of 31 degrees of freedom.
TEST(Estimate, OfACountHasTheIntervalOfTheJackknife) {
  const SampledRun run(1);
  const Estimate cycles = estimate_of(run.counted(), 1);
  EXPECT_DOUBLE_EQ(cycles.value, 64e6);
  ASSERT_TRUE(cycles.half_width);
  EXPECT_NEAR(*cycles.half_width, 2.040 * 0.1 / std::sqrt(31) * 64e6, 1);
  EXPECT_EQ(interval_text(cycles, false), "+- 3.7 %");
}

TEST(Estimate, OfARatioIsThatOfItsOwnReplicates) {
  const SampledRun run(1);
  const Estimate ipc = estimate_of(run.counted(), run.metric(kIpc));
  EXPECT_DOUBLE_EQ(ipc.value, 1);
  ASSERT_TRUE(ipc.half_width);
  EXPECT_NEAR(*ipc.half_width, 0.0366, 0.001);
  EXPECT_EQ(interval_text(ipc, false), "+- 3.7 %");
}

TEST(Estimate, OfWhatIsTheSameInEveryUnitIsSure) {
  const SampledRun run(10);
  const Estimate misses = estimate_of(run.counted(), 2);
  EXPECT_DOUBLE_EQ(misses.value, 64'000);
  ASSERT_TRUE(misses.half_width);
  EXPECT_NEAR(*misses.half_width, 0, 1e-6);
}

TEST(Estimate, IsNoSurerThanWarmUpsLetItBe) {
  SampledRun run(10);
  run.columns[2]->warm_up_error = {.share = 0.2, .per_instruction = 0.1e-3};
  const Estimate misses = estimate_of(run.counted(), 2);
  EXPECT_DOUBLE_EQ(misses.value, 64'000);
  EXPECT_NEAR(*misses.half_width, 0.3 * 64'000, 1e-6);
  run.columns[1]->warm_up_error = {.share = 0.05};
  EXPECT_NEAR(*estimate_of(run.counted(), run.metric(kIpc)).half_width, std::hypot(0.0366, 0.05), 0.003);
  run.columns[2]->warm_up_error = {.per_instruction = 1.5e-3};
  const Estimate below = estimate_of(run.counted(), 2);
  EXPECT_FALSE(below.has_number());
  EXPECT_EQ(below.too_few, "below 160,000");
}

TEST(Estimate, OfARareEventHasNoNumber) {
  SampledRun run(0);
  EXPECT_EQ(estimate_of(run.counted(), 2).too_few, "below 300") << "three that were not seen, each of a hundred";
  run.units.add_unit(64, 100, 10'000, std::vector<std::uint64_t>{9'000, 29});
  const Estimate misses = estimate_of(run.counted(), 2);
  EXPECT_EQ(misses.too_few, "below 15,181");
  EXPECT_FALSE(misses.half_width);
  run.units.add_unit(65, 100, 10'000, std::vector<std::uint64_t>{9'000, 1});
  EXPECT_THAT(estimate_of(run.counted(), 2).too_few, testing::StartsWith("below ")) << "two units of 64 are not sure";
  EXPECT_TRUE(estimate_of(run.counted(), 1).has_number()) << "and of another event nothing follows";
}

TEST(Estimate, OfAShareIsSureToBeSmallWhereItsEventIsRare) {
  const SampledRun run(0);
  const Estimate share = estimate_of(run.counted(), run.metric(kShare));
  EXPECT_TRUE(share.has_number());
  EXPECT_EQ(share.value, 0);
  ASSERT_TRUE(share.half_width);
  EXPECT_NEAR(*share.half_width, 300 / 64e6, 1e-9);
}

TEST(Estimate, OfAShareHasANumberHoweverRareItsEventIsBehindWhatWasComplete) {
  SampledRun run(0);
  run.units.add_complete(1'000'000, std::vector<std::uint64_t>{1'000'000, 500'000});
  run.units.set_instructions(65'000'000);
  Counted counted = run.counted();
  counted.counts[0] = 65e6;
  const Estimate share = estimate_of(counted, run.metric(kShare));
  EXPECT_TRUE(share.has_number()) << share.too_few;
  EXPECT_NEAR(share.value, 500'000 / 65e6, 1e-9);
  run.units.add_unit(64, 100, 10'000, std::vector<std::uint64_t>{9'000, 16});
  EXPECT_NEAR(*estimate_of(counted, run.metric(kShare)).half_width, 2 * 4 * 100 / 65e6, 1e-3);
}

TEST(Estimate, OfAFewUnitsHasNoNumber) {
  EXPECT_EQ(estimate_of(SampledRun(100, 3).counted(), 1).too_few, "3 units");
  EXPECT_EQ(estimate_of(SampledRun(100, 1).counted(), 1).too_few, "one unit");
}

TEST(Estimate, OfWhatIsCompleteIsTheNumberHoweverRare) {
  SampledRun run(0, 0);
  run.units.add_complete(64'000'000, std::vector<std::uint64_t>{50'000'000, 3});
  EXPECT_FALSE(is_estimated(&run.units));
  const Estimate misses = estimate_of(run.counted(), 2);
  EXPECT_EQ(misses.value, 3);
  EXPECT_TRUE(misses.has_number());
  EXPECT_FALSE(misses.half_width);
}

TEST(Estimate, OfSeveralRunsIsTheMeansAndNoSurerWhereTheyTookTheSameUnits) {
  const SampledRun run(1);
  SampledRun twice(1);
  twice.units.add(run.units);
  Counted counted = twice.counted();
  counted.counts = {64e6, 64e6, 6400};
  counted.runs = 2;
  const Estimate cycles = estimate_of(counted, 1), once = estimate_of(run.counted(), 1);
  EXPECT_DOUBLE_EQ(cycles.value, 64e6);
  EXPECT_NEAR(*cycles.half_width, *once.half_width, 1e-3);
}

TEST(Estimate, SpellsTwoDigits) {
  EXPECT_EQ(two_digits(0.004), "0.00");
  EXPECT_EQ(two_digits(0.034), "0.03");
  EXPECT_EQ(two_digits(0.7), "0.70");
  EXPECT_EQ(two_digits(2.06), "2.1");
  EXPECT_EQ(two_digits(9.94), "9.9");
  EXPECT_EQ(two_digits(9.96), "10");
  EXPECT_EQ(two_digits(123.4), "123");
}

}  // namespace
}  // namespace zs::cli

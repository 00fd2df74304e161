#include "profile/windows/window_rates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace zs::profile {
namespace {

using testing::ElementsAre;

Window window(std::int32_t tid, std::uint64_t start, std::uint64_t end, std::vector<std::uint64_t> values) {
  return {.pid = 7, .tid = tid, .comm = "t", .start = start, .end = end, .reason = "100i", .values = std::move(values)};
}

WindowTable table_of(std::vector<Window> windows) {
  return {.events = {{"INST_RETIRED.ANY:u", ValueClass::Exact},
                     {"cpu-cycles", ValueClass::Estimated},
                     {"branches", ValueClass::Exact},
                     {"LLC-load-misses", ValueClass::NotModelled}},
          .windows = std::move(windows)};
}

constexpr arch::Metric kIpc{
    .name = "IPC", .unit = "instructions per cycle", .formula = "inst_retired.any / cpu_clk_unhalted.thread"};

/// The metric, and the two events that it is not made of.
std::vector<Curve> curves_of(const WindowTable& table) {
  CurveChoice choice{.own_curve = {false, false, true, true}};
  choice.metrics.emplace_back(arch::default_cpu_model(), kIpc, [&](std::string_view event) {
    return event == "inst_retired.any" ? length_column(table) : std::size_t{1};
  });
  return profile::curves_of(table, choice);
}

std::vector<std::string> labels(const Curve& curve) {
  std::vector<std::string> out;
  for (const Metric& metric : curve.metrics) out.push_back(metric.label());
  return out;
}

TEST(WindowRates, AreInstructionsPerCycleAndEveryOtherEventPerThousandInstructions) {
  const auto curves =
      curves_of(table_of({window(7, 0, 100, {100, 50, 20, 0}), window(7, 100, 400, {300, 600, 30, 0})}));
  ASSERT_EQ(curves.size(), 1u);
  EXPECT_THAT(labels(curves[0]), ElementsAre("IPC (instructions per cycle)", "branches per 1000 instructions",
                                             "LLC-load-misses per 1000 instructions"));
  const auto& [cycles, branches, misses] = std::tie(curves[0].metrics[0], curves[0].metrics[1], curves[0].metrics[2]);
  EXPECT_EQ(cycles.value_class, ValueClass::Estimated);
  EXPECT_DOUBLE_EQ(cycles.rate(0, 1), 2.0);
  EXPECT_DOUBLE_EQ(cycles.rate(0, 2), 400.0 / 650);
  EXPECT_DOUBLE_EQ(branches.rate(1, 2), 100);
  EXPECT_DOUBLE_EQ(branches.rate(0, 2), 125);  // of all instructions, not the mean of the windows' rates
  EXPECT_FALSE(misses.modelled());
}

TEST(WindowRates, SayThatInstructionsPerCycleAreNotModelledWhereCyclesAreNot) {
  WindowTable table = table_of({window(7, 0, 100, {100, 0, 20, 0})});
  table.events[1].value_class = ValueClass::NotModelled;
  EXPECT_FALSE(curves_of(table)[0].metrics[0].modelled());
  EXPECT_EQ(curves_of(table)[0].metrics[0].value_class, ValueClass::NotModelled);
}

TEST(WindowRates, OfAMetricAreOfItsFormulaAndZeroWhereItDividesByZero) {
  const auto curves = curves_of(table_of({window(7, 0, 100, {100, 0, 20, 0}), window(7, 100, 200, {100, 40, 20, 0})}));
  EXPECT_EQ(curves[0].metrics[0].rate(0, 1), 0);
  EXPECT_EQ(curves[0].metrics[0].rate(0, 2), 5);
}

TEST(WindowRates, AreOfEveryEventWhereNothingIsChosen) {
  const WindowTable table = table_of({window(7, 0, 100, {100, 50, 20, 0})});
  EXPECT_EQ(profile::curves_of(table, {})[0].metrics.size(), 4u);
}

TEST(WindowRates, KeepThreadsApartAndAThreadNumberThatIsUsedAgain) {
  const std::vector<std::uint64_t> counts = {100, 50, 20, 0};
  const auto curves =
      curves_of(table_of({window(7, 0, 100, counts), window(8, 0, 100, counts), window(7, 100, 150, counts),
                          window(8, 100, 180, counts), window(7, 0, 60, counts)}));
  EXPECT_TRUE(curves_of(table_of({})).empty());
  ASSERT_EQ(curves.size(), 3u);
  EXPECT_EQ(curves[0].tid, 7);
  EXPECT_EQ(curves[0].length(), 150u);
  EXPECT_EQ(curves[1].tid, 8);
  EXPECT_EQ(curves[1].points.size(), 2u);
  EXPECT_EQ(curves[2].length(), 60u);
}

TEST(WindowRates, LeaveOutWindowsWithoutAnInstruction) {
  const auto curves = curves_of(table_of({window(7, 0, 0, {0, 0, 0, 0}), window(7, 0, 100, {100, 50, 20, 0})}));
  ASSERT_EQ(curves.size(), 1u);
  EXPECT_EQ(curves[0].points.size(), 1u);
}

TEST(WindowRates, HaveTheRegionsOfTheirThreadTheOuterOneFirst) {
  WindowTable table = table_of({window(7, 100, 200, {100, 50, 20, 0})});
  table.regions = {{"inner", 7, 7, 120, 130},
                   {"outer", 7, 7, 120, 190},
                   {"other", 7, 8, 120, 190},
                   {"before", 7, 7, 0, 100},
                   {"across", 7, 7, 50, 150}};
  const auto curves = curves_of(table);
  std::vector<std::string> names;
  for (const RegionSpan& region : curves[0].regions) names.push_back(region.name);
  EXPECT_THAT(names, ElementsAre("across", "outer", "inner"));
}

TEST(WindowRates, AreTheSameOfFoldedPoints) {
  std::vector<Window> windows;
  for (std::uint64_t i = 0; i < 10; ++i) windows.push_back(window(7, i * 100, (i + 1) * 100, {100, 200, i, 0}));
  const Curve curve = curves_of(table_of(windows))[0];
  const Curve coarse = folded(curve, 4);  // three windows make a point; the last has one
  ASSERT_EQ(coarse.points.size(), 4u);
  EXPECT_EQ(coarse.windows(), 10u);
  EXPECT_EQ(coarse.points[3].windows, 1u);
  EXPECT_EQ(coarse.points[1].start, 300u);
  EXPECT_EQ(coarse.end(), 1000u);
  for (std::size_t i = 0; i < 4; ++i) {
    const std::size_t last = std::min<std::size_t>(3 * i + 3, 10);
    EXPECT_DOUBLE_EQ(coarse.metrics[1].rate(i, i + 1), curve.metrics[1].rate(3 * i, last));
  }
  EXPECT_DOUBLE_EQ(coarse.metrics[0].rate(0, 4), 0.5);
  EXPECT_EQ(folded(curve, 10).points.size(), 10u);
}

}  // namespace
}  // namespace zs::profile

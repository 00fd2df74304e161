#include "profile/windows/counted_metric.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace zs::profile {
namespace {

const arch::CpuModel& skylake() { return *arch::find_cpu_model("skylake-server"); }

/// Columns in the order in which they were asked for.
struct Columns {
  std::vector<std::string> names;
  std::size_t operator()(std::string_view event) {
    const auto at = std::find(names.begin(), names.end(), event);
    if (at == names.end()) names.emplace_back(event);
    return static_cast<std::size_t>(std::find(names.begin(), names.end(), event) - names.begin());
  }
};

CountedMetric counted(const char* name, Columns& columns) {
  return {skylake(), *arch::find_metric(skylake(), name), [&](std::string_view event) { return columns(event); }};
}

TEST(CountedMetric, AsksForItsEventsOnceEachAndDoesTheArithmetic) {
  Columns columns;
  const CountedMetric rate = counted("L1_Hit_Rate", columns);
  EXPECT_THAT(columns.names,
              testing::ElementsAre("mem_load_retired.l1_hit", "mem_load_retired.fb_hit", "mem_load_retired.l1_miss"));
  EXPECT_THAT(rate.columns(), testing::ElementsAre(0, 1, 2));
  const std::vector<double> counts = {470, 10, 20};
  EXPECT_DOUBLE_EQ(rate.value([&](std::size_t column) { return counts[column]; }), 0.94);
}

TEST(CountedMetric, HasTheColumnsOfTheMetricsInIt) {
  Columns columns;
  const CountedMetric bandwidth = counted("Fetch_Bandwidth", columns);
  EXPECT_THAT(columns.names, testing::ElementsAre("idq_uops_not_delivered.core", "cpu_clk_unhalted.thread",
                                                  "idq_uops_not_delivered.cycles_0_uops_deliv.core"));
  const std::vector<double> counts = {1000, 500, 125};
  EXPECT_DOUBLE_EQ(bandwidth.value([&](std::size_t column) { return counts[column]; }), 0.5 - 0.25);
  EXPECT_THAT(bandwidth.columns(), testing::ElementsAre(0, 1, 2));
}

TEST(CountedMetric, IsOfTheWorstClassOfItsInputs) {
  Columns columns;
  const CountedMetric ipc = counted("IPC", columns);
  std::vector<ValueClass> classes = {ValueClass::Exact, ValueClass::Modelled};
  const auto class_of = [&](std::size_t column) { return classes[column]; };
  EXPECT_EQ(ipc.value_class(class_of), ValueClass::Modelled);
  classes = {ValueClass::NotModelled, ValueClass::Estimated};
  EXPECT_EQ(ipc.value_class(class_of), ValueClass::NotModelled);
}

}  // namespace
}  // namespace zs::profile

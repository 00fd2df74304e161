#include "cli/stat/stat_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "arch/metrics/metric.h"
#include "cli/events/pfm_names.h"

namespace zs::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const arch::CpuModel& skylake() { return *arch::find_cpu_model("skylake-server"); }

std::vector<std::string> names(const std::vector<std::string>& lists) {
  const auto metrics = named_metrics(lists, skylake());
  EXPECT_TRUE(metrics) << metrics.error().message;
  std::vector<std::string> out;
  if (!metrics) return out;
  for (const arch::Metric* const metric : *metrics) out.emplace_back(metric->name);
  return out;
}

CountedColumns columns(const std::vector<std::string>& events) {
  CountedColumns out;
  for (const std::string& event : events) {
    const auto parsed = parse_events(event, skylake());
    EXPECT_TRUE(parsed) << event;
    out.emplace_back(parsed->front().events.front());
  }
  return out;
}

TEST(NamedMetrics, AreMetricsAndGroupsEachOnce) {
  EXPECT_THAT(names({"ipc,CPI", "Summary"}), ElementsAre("IPC", "CPI"));
  EXPECT_THAT(names({"topdownl1"}), ElementsAre("Frontend_Bound", "Bad_Speculation", "Backend_Bound", "Retiring"));
  EXPECT_GT(names({"all"}).size(), 30U);
}

TEST(NamedMetrics, OfAnotherNameAreRefusedWithTheNearest) {
  const auto mistyped = named_metrics({"IPC,L1MKPI"}, skylake());
  ASSERT_FALSE(mistyped);
  EXPECT_EQ(mistyped.error().message, "-M L1MKPI: no such metric or group of metrics");
  EXPECT_THAT(mistyped.error().hint, HasSubstr("nearest: L1MPKI"));
  const auto of_others = named_metrics({"Frontend_Bound"}, *arch::find_cpu_model("westmere"));
  ASSERT_FALSE(of_others);
  EXPECT_EQ(of_others.error().message, "-M Frontend_Bound: westmere@1 has no events for it");
}

TEST(Columns, AreFoundByWhatTheyCount) {
  const CountedColumns counted = columns({"task-clock", "br_inst_retired.all_branches:u", "INST_RETIRED.ANY_P"});
  EXPECT_EQ(find_column(counted, "inst_retired.any", skylake()), 2U);
  EXPECT_EQ(find_column(counted, "branches", skylake()), 1U);
  EXPECT_EQ(find_column(counted, "task-clock", skylake()), 0U);
  EXPECT_EQ(find_column(counted, "mem_inst_retired.all_loads", skylake()), std::nullopt);
  EXPECT_EQ(find_column({std::nullopt}, "instructions", skylake()), std::nullopt);
}

TEST(Rates, AreOfEventsThatAreCountedWithAllTheyNeed) {
  const CountedColumns counted = columns({"L1-dcache-loads", "L1-dcache-load-misses", "branch-misses", "LLC-loads"});
  const std::vector<StatEvent> events(counted.size());
  const std::vector<StatMetric> rates = rates_of(counted, events, skylake());
  ASSERT_EQ(rates.size(), 1U);
  EXPECT_EQ(rates[0].name(), "of all L1-dcache accesses");
  EXPECT_EQ(rates[0].event, 1U);
  const std::vector<double> counts = {400, 30, 7, 9};
  EXPECT_DOUBLE_EQ(rates[0].counted.value([&](std::size_t column) { return counts[column]; }), 0.075);
}

}  // namespace
}  // namespace zs::cli

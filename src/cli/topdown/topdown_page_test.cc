#include "cli/topdown/topdown_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "arch/cpu_model.h"
#include "arch/metrics/metric.h"
#include "cli/stat/stat_metrics.h"
#include "cli/stat/stat_page.h"

namespace zs::cli {
namespace {

using profile::ValueClass;
using testing::HasSubstr;
using testing::Not;

const arch::CpuModel& skylake_server() { return *arch::find_cpu_model("skylake-server"); }

/// A run of 1000 cycles, 4000 slots, on Skylake server: 400 of the front end, 200 of wrong paths, 3000 of the back end,
/// of which 2400 of memory, and 400 that retired.
const std::map<std::string, double, std::less<>> kCounts = {{"cpu_clk_unhalted.thread", 1000},
                                                            {"idq_uops_not_delivered.core", 400},
                                                            {"idq_uops_not_delivered.cycles_0_uops_deliv.core", 75},
                                                            {"uops_issued.any", 480},
                                                            {"uops_retired.retire_slots", 400},
                                                            {"int_misc.recovery_cycles", 30},
                                                            {"cycle_activity.stalls_mem_any", 600},
                                                            {"exe_activity.bound_on_stores", 0},
                                                            {"cycle_activity.stalls_total", 650},
                                                            {"exe_activity.1_ports_util", 100},
                                                            {"uops_retired.macro_fused", 20},
                                                            {"inst_retired.any", 380}};

struct WalkRun {
  explicit WalkRun(const std::vector<const char*>& groups) {
    const auto column_of = [this](std::string_view event) {
      for (std::size_t i = 0; i < events.size(); ++i) {
        if (events[i].name == event) return i;
      }
      const auto at = kCounts.find(event);
      const bool number = at != kCounts.end();
      events.push_back({.name = std::string(event),
                        .number_class = number ? ValueClass::Modelled : ValueClass::NotModelled,
                        .reason = number ? "" : "has no number"});
      counts.push_back(number ? at->second : 0);
      return events.size() - 1;
    };
    for (const arch::Metric& row : arch::metric_rows()) {
      for (const char* const group : groups) {
        if (row.in_group(group) && arch::has_metric(skylake_server(), row)) {
          metrics.push_back(bind_metric(row, skylake_server(), column_of, events));
        }
      }
    }
    report = {.program = "./walk", .cpu_model = "skylake-server@1", .slots = {.value = 4000}};
    report.nodes = topdown_tree(metrics, {.counts = counts});
    for (TopdownNode& node : report.nodes) node.next = look_here_next(node.metric->name(), skylake_server(), "./walk");
  }
  std::vector<StatEvent> events;
  std::vector<double> counts;
  std::vector<StatMetric> metrics;
  TopdownReport report;
};

TEST(TopdownPage, HasBarsMarksAndWhatToLookAtNext) {
  const WalkRun run({"TopdownL1", "TopdownL2"});
  const std::string page = topdown_page(run.report, {});
  EXPECT_THAT(page, testing::StartsWith(R"(
 Top-down analysis of './walk': 4,000 issue slots (modelled)

 Frontend_Bound              10.0 %  ####
   Fetch_Latency              7.5 %  ###
   Fetch_Bandwidth            2.5 %  #
 Bad_Speculation              5.0 %  ##
   Branch_Mispredicts         5.0 %  ##
   Machine_Clears         not modelled: needs machine_clears.count, which has no number
 Backend_Bound               75.0 %  ##############################           <==
   Memory_Bound              60.0 %  ########################                 <==
   Core_Bound                15.0 %  ######                                   <==
 Retiring                    10.0 %  ####
   Light_Operations           9.0 %  ####
   Heavy_Operations           1.0 %
 of the slots               100.0 %

 Look here next:
   Memory_Bound: waiting for loads, or for room in the store buffer
     zeroskid record -e cycles:pp -- ./walk
   Core_Bound: waiting for ports, the divider, or results of other instructions
     zeroskid record -e cycles:pp -- ./walk

)"));
}

TEST(TopdownPage, EveryNodeHasACommandOnEveryCpuModelThatHasACore) {
  for (const char* const name :
       {"westmere", "haswell", "skylake-server", "icelake-server", "sapphire-rapids", "zen4"}) {
    const arch::CpuModel& model = *arch::find_cpu_model(name);
    std::size_t nodes = 0;
    for (const arch::Metric& row : arch::metric_rows()) {
      const bool is_node = row.groups.find("TopdownL") != std::string_view::npos;
      if (!is_node || !arch::has_metric(model, row)) continue;
      ++nodes;
      EXPECT_THAT(look_here_next(row.name, model, "./walk"), testing::EndsWith(" -- ./walk"))
          << name << " " << row.name;
    }
    EXPECT_GT(nodes, 3U) << name;
  }
}

TEST(TopdownPage, BarsAreEighthsOfACellWhereThereAreSuch) {
  const WalkRun run({"TopdownL1"});
  const std::string page = topdown_page(run.report, {.unicode = true, .descriptions = false});
  EXPECT_THAT(page, HasSubstr("\n Bad_Speculation              5.0 %  ██\n"));
  EXPECT_THAT(page, HasSubstr("\n Frontend_Bound              10.0 %  ████\n"));
  EXPECT_THAT(page, HasSubstr("75.0 %  ██████████████████████████████           <==\n"));
  EXPECT_THAT(page, Not(HasSubstr("Look here next")));
}

TEST(TopdownTree, MarksAPartOnlyBelowAMarkedParent) {
  WalkRun run({"TopdownL1", "TopdownL2"});
  for (const TopdownNode& node : run.report.nodes) {
    const std::string_view name = node.metric->name();
    EXPECT_EQ(node.marked, name == "Backend_Bound" || name == "Memory_Bound" || name == "Core_Bound") << name;
  }
}

TEST(TopdownPage, OfARunWithoutASlotHasNoNumbers) {
  WalkRun run({"TopdownL1"});
  run.counts.assign(run.counts.size(), 0);
  run.report.nodes = topdown_tree(run.metrics, {.counts = run.counts});
  const std::string page = topdown_page(run.report, {});
  EXPECT_THAT(page, HasSubstr("Retiring                       - %\n"));
  EXPECT_THAT(page, HasSubstr(" No node is above its threshold.\n"));
  EXPECT_THAT(topdown_json(run.report), HasSubstr("\"percent\": null"));
}

TEST(TopdownCsv, HasALineForEachNode) {
  const WalkRun run({"TopdownL1", "TopdownL2"});
  const std::string csv = topdown_csv(run.report, ",");
  EXPECT_THAT(csv, testing::StartsWith("node,level,parent,percent,above,marked,class\n"
                                       "Frontend_Bound,1,,10.000000,15.00,0,modelled\n"
                                       "Fetch_Latency,2,Frontend_Bound,7.500000,10.00,0,modelled\n"));
  EXPECT_THAT(csv, HasSubstr("\nMachine_Clears,2,Bad_Speculation,,10.00,0,not modelled\n"));
  EXPECT_THAT(csv, HasSubstr("\nMemory_Bound,2,Backend_Bound,60.000000,20.00,1,modelled\n"));
}

TEST(TopdownJson, IsAnObjectWithTheNodesInOrder) {
  const WalkRun run({"TopdownL1"});
  EXPECT_THAT(topdown_json(run.report), testing::StartsWith(R"({
  "program": "./walk",
  "cpu-model": "skylake-server@1",
  "slots": 4000,
  "nodes": [
    {
      "node": "Frontend_Bound",
      "level": 1,
      "percent": 10.0,
      "above": 15.0,
      "marked": false,
      "class": "modelled"
    },
)"));
}

/// The run again, of which 64 units of a hundredth were modelled: all alike, but that every second one waited for
/// memory.
struct SampledWalk : WalkRun {
  SampledWalk() : WalkRun({"TopdownL1", "TopdownL2"}) {
    units = session::UnitSums(counts.size());
    for (std::uint64_t unit = 0; unit < 64; ++unit) {
      std::vector<std::uint64_t> brought;
      for (std::size_t i = 0; i < counts.size(); ++i) {
        const bool waits = events[i].name == "cpu_clk_unhalted.thread" ||
                           events[i].name == "cycle_activity.stalls_mem_any" ||
                           events[i].name == "cycle_activity.stalls_total";
        brought.push_back(static_cast<std::uint64_t>(counts[i]) + (waits ? 100 * (unit % 2) : 0));
      }
      units.add_unit(unit, 100, 380, brought);
    }
    units.set_instructions(64 * 38'000);
    for (std::size_t i = 0; i < counts.size(); ++i) columns.emplace_back(EstimatedColumn{i});
    for (StatMetric& metric : metrics) {
      if (metric.has_number()) metric.value_class = ValueClass::Estimated;
    }
    const Counted counted{.counts = counts, .units = &units, .columns = &columns};
    report.nodes = topdown_tree(metrics, counted);
    report.slots = {.value = 268'800, .half_width = 4690, .too_few = ""};
    report.percent_in_detail = percent_in_detail(units);
  }
  session::UnitSums units;
  EstimatedColumns columns;
};

TEST(TopdownPage, EstimatesHaveTheirIntervalsInPoints) {
  const SampledWalk run;
  EXPECT_EQ(topdown_page(run.report, {.descriptions = false}), R"(
 Top-down analysis of './walk': 268,800 issue slots (estimated +- 1.7 %; +- of shares in points)

 Frontend_Bound               9.5 % +- 0.17   ####
   Fetch_Latency              7.1 % +- 0.12   ###
   Fetch_Bandwidth            2.4 % +- 0.04   #
 Bad_Speculation              4.8 % +- 0.08   ##
   Branch_Mispredicts         4.8 % +- 0.08   ##
   Machine_Clears         not modelled: needs machine_clears.count, which has no number
 Backend_Bound               76.2 % +- 0.42   ##############################           <==
   Memory_Bound              61.9 % +- 0.66   #########################                <==
   Core_Bound                14.3 % +- 0.25   ######                                   <==
 Retiring                     9.5 % +- 0.17   ####
   Light_Operations           8.6 % +- 0.15   ###
   Heavy_Operations           1.0 % +- 0.02
 of the slots               100.0 %

)");
}

TEST(TopdownCsv, EstimatesHaveTheirIntervalsInAColumnOfTheirOwn) {
  EXPECT_THAT(topdown_csv(SampledWalk().report, ","),
              HasSubstr("node,level,parent,percent,above,marked,class,half-width\n"
                        "Frontend_Bound,1,,9.523810,15.00,0,estimated,0.166166\n"));
  EXPECT_THAT(topdown_csv(SampledWalk().report, ","),
              HasSubstr("Machine_Clears,2,Bad_Speculation,,10.00,0,not modelled,\n"));
}

TEST(TopdownJson, EstimatesHaveTheirIntervals) {
  EXPECT_THAT(topdown_json(SampledWalk().report), HasSubstr(R"("slots": 268800,
  "slots-half-width": 4690,
  "detail-percent": 1.0,
  "nodes": [
    {
      "node": "Frontend_Bound",
      "level": 1,
      "percent": 9.523809523809524,
      "half-width": 0.166)"));
}

TEST(TopdownPage, WhatIsSeenTooRarelyHasNoShare) {
  SampledWalk run;
  run.report.nodes[0].share = {.value = 0.1, .half_width = {}, .too_few = "5 units"};
  EXPECT_THAT(topdown_page(run.report, {}), HasSubstr(" Frontend_Bound           too few: 5 units\n"));
  EXPECT_THAT(topdown_csv(run.report, ","), HasSubstr("Frontend_Bound,1,,,15.00,"));
  EXPECT_THAT(topdown_json(run.report), HasSubstr("\"too-few\": \"5 units\""));
}

}  // namespace
}  // namespace zs::cli

#include "cli/stat/stat_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "arch/cpu_model.h"
#include "arch/metrics/metric.h"
#include "cli/stat/stat_metrics.h"

namespace zs::cli {
namespace {

using profile::ValueClass;

StatReport report() {
  return {.command = "gzip -9 file",
          .events = {{.name = "instructions"},
                     {.name = "BR_INST_RETIRED.NEAR_TAKEN:u"},
                     {.name = "task-clock", .milliseconds = true, .number_class = ValueClass::Measured},
                     {.name = "LLC-loads",
                      .number_class = ValueClass::NotModelled,
                      .reason = "needs a model of the core (caches)"}},
          .runs = {{.values = {1234567, 89, 2500000, 0}, .elapsed = 0.0123456, .user = 0.01, .system = 0.002}}};
}

StatReport three_runs() {
  StatReport r = report();
  r.runs.push_back({.values = {1234567, 91, 2600000, 0}, .elapsed = 0.0133456, .user = 0.01, .system = 0.002});
  r.runs.push_back({.values = {1234567, 93, 2700000, 0}, .elapsed = 0.0143456, .user = 0.01, .system = 0.002});
  return r;
}

TEST(StatPage, IsPerfsLayoutWithEachNumbersClass) {
  EXPECT_EQ(stat_page(report(), false), R"(
 Performance counter stats for 'gzip -9 file':

         1,234,567      instructions                     # exact
                89      BR_INST_RETIRED.NEAR_TAKEN:u     # exact
              2.50 msec task-clock                       # measured, zeroskid's share included
    <not modelled>      LLC-loads                        # needs a model of the core (caches)

       0.012345600 seconds time elapsed

       0.010000000 seconds user
       0.002000000 seconds sys

)");
}

TEST(StatPage, RepeatedRunsGiveTheMeanAndItsDeviation) {
  EXPECT_EQ(stat_page(three_runs(), false), R"(
 Performance counter stats for 'gzip -9 file' (3 runs):

         1,234,567      instructions                     # exact  ( +-  0.00% )
                91      BR_INST_RETIRED.NEAR_TAKEN:u     # exact  ( +-  1.27% )
              2.60 msec task-clock                       # measured, zeroskid's share included  ( +-  2.22% )
    <not modelled>      LLC-loads                        # needs a model of the core (caches)

         0.0133456 +- 0.0005774 seconds time elapsed  ( +-  4.33% )

)");
}

/// Two events that took turns, and one that never had its turn.
StatReport of_the_kernel() {
  StatReport r{.command = "1234",
               .whose = "process id ",
               .events = {{.name = "cycles", .number_class = ValueClass::Measured},
                          {.name = "r01c0", .number_class = ValueClass::Measured},
                          {.name = "cs", .number_class = ValueClass::Measured}},
               .runs = {{.values = {3000, 7, 0},
                         .elapsed = 1.5,
                         .times = {{.enabled_ns = 900, .running_ns = 300},
                                   {.enabled_ns = 900, .running_ns = 900},
                                   {.enabled_ns = 900, .running_ns = 0}}}}};
  r.by_kernel = r.watched = true;
  return r;
}

TEST(StatPage, WhatTheKernelCountedIsMarkedAsPerfMarksIt) {
  EXPECT_EQ(stat_page(of_the_kernel(), false), R"(
 Performance counter stats for process id '1234':

             3,000      cycles                           # measured by the kernel  (33.33%)
                 7      r01c0                            # measured by the kernel
     <not counted>      cs                               # measured by the kernel  (0.00%)

       1.500000000 seconds time elapsed

)");
  EXPECT_EQ(stat_columns(of_the_kernel(), ","),
            "3000,,cycles,300,33.33,,\n"
            "7,,r01c0,900,100.00,,\n"
            "<not counted>,,cs,0,0.00,,\n");
  EXPECT_THAT(stat_json(of_the_kernel()), testing::HasSubstr(R"("event-runtime" : 300, "pcnt-running" : 33.33)"));
}

TEST(StatPage, OfRunsOfTheKernelsTimesAreMeans) {
  StatReport r = of_the_kernel();
  r.runs.push_back({.values = {5000, 7, 0}, .elapsed = 1, .times = {{900, 900}, {900, 900}, {900, 0}}});
  EXPECT_THAT(stat_columns(r, ","), testing::StartsWith("4000,,cycles,25.00%,600,66.67,,\n"));
}

TEST(StatPage, SaysWhyRepeatedRunsDoNotDeviate) {
  StatReport same = report();
  same.runs.push_back(same.runs.front());
  same.runs.push_back(same.runs.front());
  same.runs.back().values[2] = 2600000;  // the kernel's clock may
  EXPECT_THAT(stat_page(same, false), testing::HasSubstr(" Every run counted the same: exact and modelled counts"));
  EXPECT_THAT(stat_page(three_runs(), false), testing::Not(testing::HasSubstr("Every run counted the same")));
  EXPECT_THAT(stat_page(report(), false), testing::Not(testing::HasSubstr("Every run counted the same")));
}

TEST(StatPage, KilledProcessesMakeTheNumbersIncompleteAndItSaysSo) {
  StatReport r = report();
  r.incomplete = true;
  const std::string page = stat_page(r, false);
  EXPECT_THAT(page, testing::HasSubstr("instructions                     # exact, incomplete\n"));
  EXPECT_THAT(page,
              testing::EndsWith(
                  " Some processes were killed before they could report; theirs are the counts they last sent.\n\n"));
}

TEST(StatPage, PerThreadHasOneRowForEachThreadOfEachEvent) {
  StatReport r = report();
  r.threads = {{.pid = 7, .tid = 7, .comm = "main", .values = {1000, 1, 1000000, 0}},
               {.pid = 7, .tid = 12345, .comm = "a-name-of-15-ch", .values = {2000, 2, 2000000, 0}}};
  const std::string page = stat_page(r, false);
  EXPECT_THAT(page, testing::HasSubstr("            main-7                     1,000      instructions"));
  EXPECT_THAT(page, testing::HasSubstr(" a-name-of-15-ch-12345                 2,000      instructions"));
}

TEST(StatPage, ColourDimsTheRemarksOnly) {
  const std::string page = stat_page(report(), true);
  EXPECT_THAT(page,
              testing::HasSubstr("         1,234,567      instructions                     \033[2m# exact\033[0m\n"));
}

TEST(StatPage, ALongEventNameIsNotCut) {
  StatReport r = report();
  r.events[0].name = std::string(700, 'x');
  EXPECT_THAT(stat_page(r, false), testing::HasSubstr(std::string(700, 'x') + " # exact"));
}

TEST(StatColumns, AreThoseOfPerfStatX) {
  EXPECT_EQ(stat_columns(report(), ","),
            "1234567,,instructions,12000000,100.00,,\n"
            "89,,BR_INST_RETIRED.NEAR_TAKEN:u,12000000,100.00,,\n"
            "2.50,msec,task-clock,12000000,100.00,,\n"
            "<not supported>,,LLC-loads,0,100.00,,\n");
}

TEST(StatColumns, OfRepeatedRunsHaveTheDeviationBeforeTheRunTime) {
  EXPECT_EQ(stat_columns(three_runs(), ";"),
            "1234567;;instructions;0.00%;12000000;100.00;;\n"
            "91;;BR_INST_RETIRED.NEAR_TAKEN:u;1.27%;12000000;100.00;;\n"
            "2.60;msec;task-clock;2.22%;12000000;100.00;;\n"
            "<not supported>;;LLC-loads;0;100.00;;\n");
}

TEST(StatColumns, OfThreadsBeginWithTheThread) {
  StatReport r = report();
  r.threads = {{.pid = 7, .tid = 8, .comm = "main", .values = {1000, 1, 1000000, 0}}};
  EXPECT_THAT(stat_columns(r, ","), testing::StartsWith("main-8,1000,,instructions,12000000,100.00,,\n"));
}

TEST(StatJson, IsAnObjectPerLineWithPerfsKeysAndTheClass) {
  EXPECT_EQ(
      stat_json(report()),
      R"({"counter-value" : "1234567.000000", "unit" : "", "event" : "instructions", "event-runtime" : 12000000, )"
      R"("pcnt-running" : 100.00, "metric-value" : 0.000000, "metric-unit" : "", "class" : "exact"})"
      "\n"
      R"({"counter-value" : "89.000000", "unit" : "", "event" : "BR_INST_RETIRED.NEAR_TAKEN:u", )"
      R"("event-runtime" : 12000000, "pcnt-running" : 100.00, "metric-value" : 0.000000, "metric-unit" : "", )"
      R"("class" : "exact"})"
      "\n"
      R"({"counter-value" : "2.500000", "unit" : "msec", "event" : "task-clock", "event-runtime" : 12000000, )"
      R"("pcnt-running" : 100.00, "metric-value" : 0.000000, "metric-unit" : "", "class" : "measured"})"
      "\n"
      R"({"counter-value" : "<not supported>", "unit" : "", "event" : "LLC-loads", "event-runtime" : 0, )"
      R"("pcnt-running" : 100.00, "metric-value" : 0.000000, "metric-unit" : "", "class" : "not modelled"})"
      "\n");
}

TEST(StatJson, QuotesWhatTheUserTyped) {
  StatReport r = report();
  r.events[0].name = "cpu/name=\"a\\b\"/";
  EXPECT_THAT(stat_json(r), testing::HasSubstr(R"("event" : "cpu/name=\"a\\b\"/")"));
}

/// Instructions, cycles, and a metric of an event that has no number.
StatReport with_metrics() {
  StatReport r{.command = "gzip -9 file",
               .events = {{.name = "instructions"},
                          {.name = "cycles", .number_class = ValueClass::Modelled},
                          {.name = "br_misp_retired.all_branches",
                           .number_class = ValueClass::NotModelled,
                           .reason = "needs the core model (branch predictor)"}},
               .runs = {{.values = {3000, 2000, 0}, .elapsed = 0.01, .user = 0.01, .system = 0.002}}};
  const arch::CpuModel& model = *arch::find_cpu_model("skylake-server");
  const auto column_of = [](std::string_view event) -> std::size_t {
    if (event == "inst_retired.any") return 0;
    return event == "cpu_clk_unhalted.thread" ? 1 : 2;
  };
  for (const char* const name : {"IPC", "CPI", "BrMispredict_MPKI"}) {
    r.metrics.push_back(bind_metric(*arch::find_metric(model, name), model, column_of, r.events));
  }
  static constexpr arch::Metric kShare{
      .name = "of all instructions", .unit = "%", .formula = "cpu_clk_unhalted.thread / inst_retired.any"};
  r.metrics.push_back(bind_metric(kShare, model, column_of, r.events));
  return r;
}

TEST(StatPage, MetricsStandBehindTheirFirstEvent) {
  EXPECT_THAT(stat_page(with_metrics(), false), testing::HasSubstr(R"(
             3,000      instructions                     #     1.500  IPC (modelled)          # exact
             2,000      cycles                           #    0.6667  CPI                     # modelled
                                                         #    66.67%  of all instructions
    <not modelled>      br_misp_retired.all_branches     # <not modelled>  BrMispredict_MPKI  # needs the core model (branch predictor)
)"));
}

TEST(StatPage, MetricsOfThreadsAreOfTheirOwnCounts) {
  StatReport r = with_metrics();
  r.threads = {{.pid = 7, .tid = 7, .comm = "main", .values = {1000, 2000, 0}},
               {.pid = 7, .tid = 8, .comm = "main", .values = {0, 0, 0}}};
  const std::string page = stat_page(r, false);
  EXPECT_THAT(page, testing::HasSubstr(
                        "main-7                     1,000      instructions                     #    0.5000  IPC"));
  EXPECT_THAT(page, testing::HasSubstr(
                        "main-8                         0      instructions                     #            IPC"));
}

TEST(StatPage, AShareOfNothingIsEmptyNotANumber) {
  StatReport r = with_metrics();
  r.runs = {{.values = {0, 5, 0}}};
  for (const std::string& page : {stat_page(r, false), stat_columns(r, ","), stat_json(r)}) {
    EXPECT_THAT(page, testing::Not(testing::HasSubstr("nan"))) << page;
    EXPECT_THAT(page, testing::Not(testing::HasSubstr("inf"))) << page;
  }
  EXPECT_THAT(stat_columns(r, ","), testing::HasSubstr(",,,,,,of all instructions\n"));
  EXPECT_THAT(stat_json(r), testing::HasSubstr("\"metric-value\" : null, \"metric-unit\" : \"CPI\""));
}

TEST(StatPage, MetricsOfRepeatedRunsAreOfTheMeans) {
  StatReport r = with_metrics();
  r.runs.push_back({.values = {5000, 2000, 0}});
  EXPECT_THAT(stat_page(r, false), testing::HasSubstr("#     2.000  IPC (modelled)          # exact  ( +- 25.00% )\n"));
}

TEST(StatColumns, HaveMetricsInTheLastTwoAndFurtherOnesOnLinesOfTheirOwn) {
  EXPECT_EQ(stat_columns(with_metrics(), ","),
            "3000,,instructions,12000000,100.00,1.500000,IPC\n"
            "2000,,cycles,12000000,100.00,0.666667,CPI\n"
            ",,,,,66.666667,of all instructions\n"
            "<not supported>,,br_misp_retired.all_branches,0,100.00,,BrMispredict_MPKI\n");
}

TEST(StatJson, HasMetricsWithTheirClassAndNullForThoseWithoutANumber) {
  const std::string json = stat_json(with_metrics());
  EXPECT_THAT(
      json,
      testing::HasSubstr(
          R"("metric-value" : 1.500000, "metric-unit" : "IPC", "metric-class" : "modelled", "class" : "exact"})"));
  EXPECT_THAT(json, testing::HasSubstr("{\"metric-value\" : 66.666667, \"metric-unit\" : \"of all instructions\", "
                                       "\"metric-class\" : \"modelled\"}\n"));
  EXPECT_THAT(
      json,
      testing::HasSubstr(
          R"-("metric-value" : null, "metric-unit" : "BrMispredict_MPKI", "metric-class" : "not modelled", "metric-lacks" : "br_misp_retired.all_branches, which needs the core model (branch predictor)", "class" : "not modelled"})-"));
}

constexpr arch::Metric kPerCycle{"insn per cycle", "", "per cycle", "instructions / cycles", ""};
constexpr arch::Metric kMissed{"of all instructions", "", "%", "misses / instructions", ""};

/// A run of 64 million instructions, of which 64 units of 10,000 were modelled: half of them took 9,000 cycles, and
/// half 11,000.
session::UnitSums some_units(std::uint64_t cycles = 9000) {
  session::UnitSums units(3);  // cycles, misses, rare
  for (std::uint64_t i = 0; i < 64; ++i) {
    const std::uint64_t more = i % 2;
    units.add_unit(i, 100, 10'000, std::vector<std::uint64_t>{cycles + 2000 * more, 70 + 60 * more, i < 12 ? 1U : 0U});
  }
  units.set_instructions(64'000'000);
  return units;
}

StatReport sampled() {
  StatReport r{.command = "sort", .runs = {}, .threads = {}};
  r.events = {{.name = "instructions"},
              {.name = "cycles", .number_class = ValueClass::Estimated},
              {.name = "misses", .number_class = ValueClass::Estimated},
              {.name = "rare", .number_class = ValueClass::Estimated}};
  r.estimated = {{}, EstimatedColumn{0}, EstimatedColumn{1}, EstimatedColumn{2}};
  const auto column_of = [&](std::string_view event) {
    return static_cast<std::size_t>(std::ranges::find(r.events, event, &StatEvent::name) - r.events.begin());
  };
  for (const arch::Metric* const metric : {&kPerCycle, &kMissed}) {
    r.metrics.push_back(bind_metric(*metric, *arch::find_cpu_model("skylake-server"), column_of, r.events));
    r.metrics.back().event = metric == &kPerCycle ? 1 : 2;
  }
  return r;
}

StatReport sampled_once() {
  StatReport r = sampled();
  add_run(r, {.values = {64'000'000, 1, 1, 1}, .elapsed = 1, .user = 0.5, .system = 0.5}, some_units());
  return r;
}

TEST(StatPage, AnEstimateHasItsIntervalAndARareOneNoNumber) {
  EXPECT_THAT(stat_page(sampled_once(), false), testing::HasSubstr(R"(
        64,000,000      instructions                                                                           # exact
        64,000,000      cycles                           #     1.000  insn per cycle  ( +- 3.7 % )             # estimated ( +- 3.7 % ), 1.0 % in detail
           640,000      misses                           #     1.00%  of all instructions  ( +- 0.11 points )  # estimated ( +- 11 % ), 1.0 % in detail
           too few      rare                                                                                   # estimated: below 2,095, 1.0 % in detail
)"));
}

TEST(StatPage, RepeatedRunsHaveTheirDeviationAndTheIntervalOfTheMean) {
  StatReport r = sampled_once();
  add_run(r, {.values = {64'000'000, 1, 1, 1}}, some_units(11000));
  EXPECT_THAT(stat_page(r, false), testing::HasSubstr("  # estimated ( +- 3.3 % ), 1.0 % in detail  ( +-  9.09% )\n"));
  EXPECT_THAT(stat_page(r, false), testing::Not(testing::HasSubstr("Every run counted the same")));
}

TEST(StatPage, RunsThatTookTheSameUnitsDoNotDeviateAndItSaysWhy) {
  StatReport r = sampled_once();
  add_run(r, {.values = {64'000'000, 1, 1, 1}}, some_units());
  EXPECT_THAT(stat_page(r, false), testing::HasSubstr("estimates on --seed too"));
}

TEST(StatPage, WhatWasCompleteIsModelledAndNoEstimate) {
  StatReport r = sampled();
  session::UnitSums units(3);
  units.add_complete(1000, std::vector<std::uint64_t>{2000, 500, 1});
  units.set_instructions(1000);
  add_run(r, {.values = {1000, 0, 0, 0}}, units);
  EXPECT_THAT(stat_page(r, false), testing::HasSubstr(R"(
             1,000      instructions                                                       # exact
             2,000      cycles                           #    0.5000  insn per cycle       # modelled
               500      misses                           #    50.00%  of all instructions  # modelled
                 1      rare                                                               # modelled
)"));
}

TEST(StatPage, ThreadsHaveIntervalsOfTheirOwn) {
  StatReport r = sampled_once();
  session::UnitSums few(3);
  few.add_unit(0, 100, 10'000, std::vector<std::uint64_t>{5000, 100, 0});
  few.set_instructions(500'000);
  r.threads = {
      {.pid = 7, .tid = 7, .comm = "main", .values = {64'000'000, 64'000'000, 640'000, 1200}, .units = some_units()},
      {.pid = 7, .tid = 8, .comm = "main", .values = {500'000, 250'000, 5000, 0}, .units = few}};
  const std::string page = stat_page(r, false);
  EXPECT_THAT(page, testing::HasSubstr("main-7                64,000,000      cycles  "));
  EXPECT_THAT(page, testing::HasSubstr("main-8                   too few      cycles  "));
  EXPECT_THAT(page, testing::HasSubstr("# estimated: one unit, 2.0 % in detail\n"));
}

TEST(StatColumns, HaveClassAndIntervalsBehindPerfsOwnWhereThereAreEstimates) {
  EXPECT_EQ(stat_columns(sampled_once(), ","),
            "64000000,,instructions,1000000000,100.00,,,exact,,,\n"
            "64000000,,cycles,1000000000,100.00,1.000000,insn per cycle,estimated,2344927,0.036640,1.00\n"
            "640000,,misses,1000000000,100.00,1.000000,of all instructions,estimated,70348,0.109918,1.00\n"
            "<not counted>,,rare,1000000000,100.00,,,estimated,,,1.00\n");
}

TEST(StatJson, HasTheIntervalOfAnEstimateAndHowMuchWasInDetail) {
  const std::string json = stat_json(sampled_once());
  EXPECT_THAT(json, testing::HasSubstr(
                        R"("metric-half-width" : 0.036640, "class" : "estimated", "half-width" : 2344926.823262)"));
  EXPECT_THAT(json, testing::HasSubstr(R"(, "detail-percent" : 1.00})"));
  EXPECT_THAT(json, testing::HasSubstr(R"({"counter-value" : "<not counted>", "unit" : "", "event" : "rare")"));
  EXPECT_THAT(json, testing::HasSubstr(R"("half-width" : null, "too-few" : "below 2,095")"));
}

}  // namespace
}  // namespace zs::cli

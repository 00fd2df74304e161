#include "cli/stat_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "arch/cpu_model.h"
#include "arch/metrics/metric.h"
#include "cli/stat_metrics.h"

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

}  // namespace
}  // namespace zs::cli

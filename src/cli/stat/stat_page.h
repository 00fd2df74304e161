// What `zeroskid stat` prints: perf stat's page for people, its -x columns and its -j lines for programs that read
// those already. To perf's we add each number's class and, where it is an estimate, its interval.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/stat/stat_totals.h"
#include "cli/values/estimate.h"
#include "cli/values/stat_metric.h"
#include "profile/windows/window_table.h"

namespace zs::cli {

struct StatEvent {
  std::string name;           // as the user spelled it
  bool milliseconds = false;  // the value is nanoseconds and is shown as msec
  profile::ValueClass number_class = profile::ValueClass::Exact;
  std::string reason;  // NotModelled: what it would need
};

struct StatRun {
  std::vector<std::uint64_t> values;         // by event
  double elapsed = 0, user = 0, system = 0;  // seconds
  std::vector<CountedTime> times;            // by event, where the kernel counted
};

struct StatReport {
  std::string command;  // the words, joined by blanks; or what was watched
  std::string whose;    // before it: "process id "
  std::string machine;  // that the program saw, where it was none of this world; else empty
  std::vector<StatEvent> events;
  std::vector<StatMetric> metrics;
  std::vector<StatRun> runs;          // at least one
  std::vector<ThreadTotals> threads;  // not empty: --per-thread
  bool table = false;                 // --table: of several runs, how long each took
  bool incomplete = false;            // some process was killed before its last word
  bool watched = false;               // it ran already, and goes on
  bool by_kernel = false;             // through perf_event_open: nothing of zeroskid's is in it
  EstimatedColumns estimated;         // by event; empty: there are no estimates
  session::UnitSums units;            // what they follow from, of all runs; a thread has its own
};

/// What stands behind +-: the standard deviation of the runs' mean, in percent of the mean; 0 of one run.
double deviation_percent(const StatReport& report, std::size_t event);

/// A run is over: its estimated counts follow from its units.
void add_run(StatReport& report, StatRun run, const session::UnitSums& units);

/// The page's rows alone: one per event (and thread), and one for each further metric behind an event.
std::string stat_rows(const StatReport& report, bool colour);
std::string stat_page(const StatReport& report, bool colour);

/// One line per event (and thread), columns as perf stat -x has them; where there are estimates, behind them class,
/// half width of the interval, that of the metric, and percent in detail.
std::string stat_columns(const StatReport& report, const std::string& separator);

/// One JSON object per line, keys as perf stat -j has them, "class" and, of estimates, "half-width".
std::string stat_json(const StatReport& report);

}  // namespace zs::cli

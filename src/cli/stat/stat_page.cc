#include "cli/stat/stat_page.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <memory>
#include <utility>

#include "base/units.h"
#include "report/text/json.h"

namespace zs::cli {
namespace {

using profile::ValueClass;

constexpr double kNsPerMs = 1e6;

template <typename... Args>
std::string print(const char* format, Args... args) {
  char text[512];
  std::snprintf(text, sizeof text, format, args...);
  return text;
}

/// The mean of some runs and, as perf prints it, the standard deviation of that mean.
struct Spread {
  double mean = 0, deviation = 0;
  double percent() const { return mean == 0 ? 0 : 100 * deviation / mean; }
};

Spread spread_over(const std::vector<StatRun>& runs, const std::function<double(const StatRun&)>& value) {
  const auto n = static_cast<double>(runs.size());
  Spread s;
  for (const StatRun& run : runs) s.mean += value(run) / n;
  double squares = 0;
  for (const StatRun& run : runs) squares += (value(run) - s.mean) * (value(run) - s.mean);
  if (runs.size() > 1) s.deviation = std::sqrt(squares / (n - 1) / n);
  return s;
}

Spread spread_of(const StatReport& report, std::size_t event) {
  return spread_over(report.runs, [=](const StatRun& run) { return static_cast<double>(run.values[event]); });
}

std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.resize(width, ' ');
  return text;
}

std::string dimmed(const std::string& text, bool colour) { return colour ? "\033[2m" + text + "\033[0m" : text; }

std::string thread_name(const ThreadTotals& thread) {
  return (thread.comm.empty() ? "?" : thread.comm) + "-" + std::to_string(thread.tid);
}

/// Why counts deviate by nothing, where they do not.
std::string why_no_deviation(const StatReport& report) {
  if (report.runs.size() < 2) return "";
  bool counted = false;
  for (std::size_t event = 0; event < report.events.size(); ++event) {
    const ValueClass value_class = report.events[event].number_class;
    if (value_class == ValueClass::NotModelled || value_class == ValueClass::Measured) continue;
    for (const StatRun& run : report.runs) {  // the counts themselves: a deviation is rounded
      if (run.values[event] != report.runs.front().values[event]) return "";
    }
    counted = true;
  }
  if (!counted) return "";
  if (is_estimated(&report.units)) {
    return " Every run counted the same: exact counts depend on the program and its input alone, estimates on --seed "
           "too, "
           "which says\n where the units lie.\n\n";
  }
  return " Every run counted the same: exact and modelled counts depend on the program and its input alone, so one run "
         "is enough.\n\n";
}

/// perf's table of runs: how long each took, how far that is from the mean, and a mark for every 5 % of itself.
std::string table_of_runs(const StatReport& report, double mean) {
  constexpr double kPercentPerMark = 5;
  const std::string margin(print("%18.7f", mean).find_first_not_of(' '), ' ');
  std::string table = "\n" + margin + "# Table of individual measurements:\n";
  for (const StatRun& run : report.runs) {
    const double off = std::abs(100 * (run.elapsed - mean) / run.elapsed);
    table += print("%18.7f (%+.7f) ", run.elapsed, run.elapsed - mean);
    table.append(1 + static_cast<std::size_t>(off / kPercentPerMark), '#').append("\n");
  }
  return table + "\n" + margin + "# Final result:";
}

std::string times(const StatReport& report) {
  const Spread elapsed = spread_over(report.runs, [](const StatRun& run) { return run.elapsed; });
  if (report.runs.size() > 1) {
    return (report.table ? table_of_runs(report, elapsed.mean) : "") +
           print("\n%18.7f +- %.7f seconds time elapsed  ( +-%6.2f%% )\n\n", elapsed.mean, elapsed.deviation,
                 elapsed.percent());
  }
  const StatRun& run = report.runs.front();
  std::string wall = print("\n%18.9f seconds time elapsed\n\n", run.elapsed);
  if (report.watched) return wall;  // it was not ours to wait for
  return wall + print("%18.9f seconds user\n", run.user) + print("%18.9f seconds sys\n\n", run.system);
}

/// What stands before the event's columns (the thread, or nothing) and what it counted.
struct Row {
  const ThreadTotals* thread = nullptr;
  std::size_t event = 0;
  Spread value;
  std::shared_ptr<const Counted> counted;  // of all events, in the row's thread
  Estimate estimate;                       // of the row's
  CountedTime time;                        // where the kernel counted

  const session::UnitSums* units() const { return counted->units; }
};

/// Of a thread; of the whole program in the mean of all runs for null.
std::shared_ptr<const Counted> counted_by(const StatReport& report, const ThreadTotals* thread) {
  Counted counted{.counts = {}, .units = nullptr, .columns = &report.estimated};
  if (!report.estimated.empty()) counted.units = thread != nullptr ? &thread->units : &report.units;
  if (thread == nullptr) counted.runs = static_cast<double>(report.runs.size());
  for (std::size_t event = 0; event < report.events.size(); ++event) {
    counted.counts.push_back(thread != nullptr ? static_cast<double>(thread->values[event])
                                               : spread_of(report, event).mean);
  }
  return std::make_shared<const Counted>(std::move(counted));
}

CountedTime time_of(const StatReport& report, const ThreadTotals* thread, std::size_t event) {
  if (thread != nullptr) return thread->times[event];
  CountedTime sum;
  for (const StatRun& run : report.runs) {
    sum.enabled_ns += run.times[event].enabled_ns;
    sum.running_ns += run.times[event].running_ns;
  }
  return sum;
}

std::vector<Row> rows_of(const StatReport& report) {
  std::vector<const ThreadTotals*> threads;
  for (const ThreadTotals& thread : report.threads) threads.push_back(&thread);
  if (threads.empty()) threads.push_back(nullptr);
  std::vector<std::shared_ptr<const Counted>> counted;
  counted.reserve(threads.size());
  for (const ThreadTotals* const thread : threads) counted.push_back(counted_by(report, thread));
  std::vector<Row> rows;
  for (std::size_t event = 0; event < report.events.size(); ++event) {
    for (std::size_t i = 0; i < threads.size(); ++i) {
      Row row{.thread = threads[i], .event = event, .value = {}, .counted = counted[i], .estimate = {}};
      row.estimate = estimate_of(*row.counted, event);
      row.value = threads[i] != nullptr ? Spread{.mean = std::round(row.estimate.value)} : spread_of(report, event);
      if (report.by_kernel) row.time = time_of(report, threads[i], event);
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

bool is_counted(const StatEvent& event) { return event.number_class != ValueClass::NotModelled; }

/// Where the kernel counts, an event may never have been on: its thread did not run, or others had its counter.
bool never_ran(const StatReport& report, const Row& row) { return report.by_kernel && row.time.running_ns == 0; }

bool has_number(const StatReport& report, const Row& row) {
  return is_counted(report.events[row.event]) && row.estimate.has_number() && !never_ran(report, row);
}

/// Of the time for which it was wanted; 0 if it never ran.
double percent_running(const CountedTime& time) {
  return time.enabled_ns == 0 ? 0 : 100 * static_cast<double>(time.running_ns) / static_cast<double>(time.enabled_ns);
}

/// "  (66.67%)", as perf marks what it scaled up to the whole time.
std::string share_text(const StatReport& report, const Row& row) {
  if (!report.by_kernel || row.time.running_ns == row.time.enabled_ns) return "";
  return print("  (%.2f%%)", percent_running(row.time));
}

/// "exact"; "estimated ( +- 0.7 % ), 2.1 % in detail"
std::string remark(const StatReport& report, const Row& row) {
  const StatEvent& event = report.events[row.event];
  if (!is_counted(event)) return event.reason;
  const ValueClass value_class = class_of(row.units(), event.number_class);
  std::string text(name_of(value_class));
  if (value_class == ValueClass::Measured) text += report.by_kernel ? " by the kernel" : ", zeroskid's share included";
  if (value_class == ValueClass::Estimated) {
    const std::string interval = interval_text(row.estimate, false);
    if (!interval.empty()) text += " ( " + interval + " )";
    if (!row.estimate.has_number()) text += ": " + row.estimate.too_few;
    text += ", " + two_digits(percent_in_detail(*row.units())) + " % in detail";
  }
  return text + (report.incomplete ? ", incomplete" : "");
}

/// "     1,234,567      instructions                     "
std::string count_text(const StatReport& report, const Row& row) {
  const StatEvent& event = report.events[row.event];
  std::string number = with_thousands(static_cast<std::uint64_t>(std::llround(row.value.mean)));
  if (event.milliseconds) number = print("%.2f", row.value.mean / kNsPerMs);
  if (!is_counted(event)) number = "<not modelled>";
  if (!row.estimate.has_number()) number = "too few";
  if (never_ran(report, row)) number = "<not counted>";
  return print("%18s %-4s ", number.c_str(), event.milliseconds ? "msec" : "") + padded(event.name, 32) + " ";
}

/// "#    1.250  insn per cycle"; with its class, if that is not the count's, and its interval.
std::string metric_cell(const StatReport& report, const Row& row, const StatMetric& metric) {
  const Estimate value = estimate_of(*row.counted, metric);
  const std::string number = value.has_number() ? metric_text(metric, value.value) : "too few";
  const bool same = metric.value_class == report.events[row.event].number_class;
  const std::string interval = interval_text(value, metric.counted.metric().is_share());
  return print("# %9s  ", number.c_str()) + std::string(metric.name()) +
         (same ? "" : " (" + std::string(name_of(class_of(row.units(), metric.value_class))) + ")") +
         (interval.empty() ? "" : "  ( " + interval + " )");
}

/// The cells of each row of the page, and how wide the widest is.
struct MetricCells {
  std::vector<std::vector<std::string>> by_row;
  std::size_t width = 0;
};

MetricCells metric_cells(const StatReport& report, const std::vector<Row>& rows) {
  MetricCells cells;
  for (const Row& row : rows) {
    std::vector<std::string>& here = cells.by_row.emplace_back();
    for (const StatMetric* const metric : metrics_behind(report.metrics, row.event)) {
      here.push_back(metric_cell(report, row, *metric));
      cells.width = std::max(cells.width, here.back().size());
    }
  }
  return cells;
}

std::uint64_t run_time_ns(const StatReport& report) {
  const Spread cpu = spread_over(report.runs, [](const StatRun& run) { return run.user + run.system; });
  return static_cast<std::uint64_t>(cpu.mean * 1e9);
}

std::string number_text(double number) { return print("%f", number); }

/// As a count is spelled: whole, or milliseconds.
std::string count_number(const StatEvent& event, double count) {
  return event.milliseconds ? print("%.2f", count / kNsPerMs) : print("%.0f", count);
}

CountColumns count_columns(const Row& row, const StatEvent& event) {
  const ValueClass value_class = class_of(row.units(), event.number_class);
  return {
      .value_class = name_of(value_class),
      .half_width = row.estimate.half_width ? count_number(event, *row.estimate.half_width) : "",
      .percent_in_detail = value_class == ValueClass::Estimated ? print("%.2f", percent_in_detail(*row.units())) : ""};
}

std::string json_text(std::string_view text) { return report::Json(text).dump(-1); }

/// perf's two keys, and the metric's class and interval.
std::string metric_json(const Row& row, const StatMetric& metric) {
  const Estimate value = estimate_of(*row.counted, metric);
  const bool number = value.has_number() && std::isfinite(value.value);
  return "\"metric-value\" : " + (number ? metric_number(metric, value.value) : "null") +
         ", \"metric-unit\" : " + json_text(metric_unit(metric)) +
         ", \"metric-class\" : " + json_text(name_of(class_of(row.units(), metric.value_class))) +
         (value.half_width ? ", \"metric-half-width\" : " + metric_number(metric, *value.half_width) : "") +
         (value.has_number() ? "" : ", \"metric-too-few\" : " + json_text(value.too_few)) +
         (metric.lacks.empty() ? "" : ", \"metric-lacks\" : " + json_text(metric.lacks));
}

/// The class of a row's count and, of an estimate, what is known of it.
std::string class_json(const StatReport& report, const Row& row) {
  const ValueClass value_class = class_of(row.units(), report.events[row.event].number_class);
  std::string json = "\"class\" : " + json_text(name_of(value_class));
  if (value_class == ValueClass::Estimated) {
    json += ", \"half-width\" : " + (row.estimate.half_width ? number_text(*row.estimate.half_width) : "null");
    if (!row.estimate.has_number()) json += ", \"too-few\" : " + json_text(row.estimate.too_few);
    json += print(", \"detail-percent\" : %.2f", percent_in_detail(*row.units()));
  }
  return json + (report.incomplete ? ", \"incomplete\" : true" : "");
}

/// perf's words for a count that is not there: no model, or seen too rarely, or never on.
const char* no_count(const StatReport& report, const Row& row) {
  return row.estimate.has_number() && !never_ran(report, row) ? "<not supported>" : "<not counted>";
}

/// perf's columns: for how long it was counted, ns, and how much that is of the time for which it was wanted.
struct RunTime {
  std::uint64_t ns = 0;
  std::string percent = "100.00";
};
RunTime run_time_of(const StatReport& report, const Row& row) {
  if (!is_counted(report.events[row.event])) return {};
  if (!report.by_kernel) return {.ns = run_time_ns(report)};
  return {.ns = row.time.running_ns / report.runs.size(),
          .percent = row.time.enabled_ns == 0 ? "100.00" : print("%.2f", percent_running(row.time))};
}

}  // namespace

void add_run(StatReport& report, StatRun run, const session::UnitSums& units) {
  for (std::size_t event = 0; event < report.estimated.size(); ++event) {
    if (const auto& estimated = report.estimated[event])
      run.values[event] = static_cast<std::uint64_t>(std::llround(units.total(estimated->place)));
  }
  if (units.events() != 0) report.units.add(units);
  report.runs.push_back(std::move(run));
}

double deviation_percent(const StatReport& report, std::size_t event) { return spread_of(report, event).percent(); }

std::string stat_rows(const StatReport& report, bool colour) {
  std::string page;
  const std::vector<Row> rows = rows_of(report);
  const MetricCells cells = metric_cells(report, rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    std::string text;
    if (row.thread != nullptr) {
      const std::string comm = row.thread->comm.empty() ? "?" : row.thread->comm;
      text = print("%16.16s-%-8d ", comm.c_str(), row.thread->tid);
    }
    text += count_text(report, row);
    const std::size_t indent = text.size();
    const std::vector<std::string>& behind = cells.by_row[i];
    if (cells.width != 0) text += padded(behind.empty() ? "" : behind.front(), cells.width) + "  ";
    const bool spreads = report.runs.size() > 1 && has_number(report, row);
    const std::string spread = spreads ? print("  ( +-%6.2f%% )", row.value.percent()) : "";
    page.append(text).append(dimmed("# " + remark(report, row), colour)).append(spread);
    page.append(share_text(report, row)).append("\n");
    for (std::size_t k = 1; k < behind.size(); ++k) page.append(indent, ' ').append(behind[k]).append("\n");
  }
  return page;
}

std::string stat_page(const StatReport& report, bool colour) {
  std::string page = "\n Performance counter stats for " + report.whose + "'" + report.command + "'";
  if (!report.machine.empty()) page += " on " + report.machine;
  if (report.runs.size() > 1) page += " (" + std::to_string(report.runs.size()) + " runs)";
  page += ":\n\n" + stat_rows(report, colour);
  page += times(report) + why_no_deviation(report);
  if (report.incomplete) {
    page += " Some processes were killed before they could report; theirs are the counts they last sent.\n\n";
  }
  return page;
}

std::string stat_columns(const StatReport& report, const std::string& separator) {
  std::string out;
  for (const Row& row : rows_of(report)) {
    const StatEvent& event = report.events[row.event];
    const bool number = has_number(report, row);
    std::vector<std::string> columns = {number ? count_number(event, row.value.mean) : no_count(report, row),
                                        event.milliseconds ? "msec" : "", event.name};
    if (row.thread != nullptr) columns.insert(columns.begin(), thread_name(*row.thread));
    if (report.runs.size() > 1 && is_counted(event)) columns.push_back(print("%.2f%%", row.value.percent()));
    const RunTime time = run_time_of(report, row);
    columns.push_back(std::to_string(time.ns));
    columns.push_back(time.percent);
    const std::vector<const StatMetric*> metrics = metrics_behind(report.metrics, row.event);
    const auto add_line = [&](const StatMetric* metric, const CountColumns& ours) {
      for (const std::string& column : columns) out += column + separator;
      out += end_of_columns(metric, metric != nullptr ? estimate_of(*row.counted, *metric) : Estimate{},
                            report.estimated.empty() ? nullptr : &ours, separator);
    };
    add_line(metrics.empty() ? nullptr : metrics.front(), count_columns(row, event));
    std::fill(columns.begin() + (row.thread != nullptr ? 1 : 0), columns.end(), "");
    for (std::size_t i = 1; i < metrics.size(); ++i) add_line(metrics[i], {});
  }
  return out;
}

std::string stat_json(const StatReport& report) {
  std::string out;
  for (const Row& row : rows_of(report)) {
    const StatEvent& event = report.events[row.event];
    const bool number = has_number(report, row);
    const std::string count =
        number ? number_text(event.milliseconds ? row.value.mean / kNsPerMs : row.value.mean) : no_count(report, row);
    const RunTime time = run_time_of(report, row);
    out += "{";
    if (row.thread != nullptr) out += "\"thread\" : " + json_text(thread_name(*row.thread)) + ", ";
    out += "\"counter-value\" : \"" + count + "\", \"unit\" : \"" + (event.milliseconds ? "msec" : "") +
           "\", \"event\" : " + json_text(event.name) + ", ";
    if (report.runs.size() > 1) out += print("\"variance\" : %.2f, ", number ? row.value.percent() : 0.0);
    out += "\"event-runtime\" : " + std::to_string(time.ns) + ", \"pcnt-running\" : " + time.percent + ", ";
    const std::vector<const StatMetric*> metrics = metrics_behind(report.metrics, row.event);
    out += metrics.empty() ? "\"metric-value\" : 0.000000, \"metric-unit\" : \"\"" : metric_json(row, *metrics.front());
    out += ", " + class_json(report, row) + "}\n";
    for (std::size_t i = 1; i < metrics.size(); ++i) {
      const std::string thread =
          row.thread != nullptr ? "\"thread\" : " + json_text(thread_name(*row.thread)) + ", " : std::string();
      out += "{" + thread + metric_json(row, *metrics[i]) + "}\n";
    }
  }
  return out;
}

}  // namespace zs::cli

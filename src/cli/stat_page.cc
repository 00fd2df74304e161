#include "cli/stat_page.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>

#include "cli/say.h"

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

std::string remark(const StatEvent& event, bool incomplete) {
  if (event.number_class == ValueClass::NotModelled) return event.reason;
  std::string text(name_of(event.number_class));
  if (event.number_class == ValueClass::Measured) text += ", zeroskid's share included";
  return text + (incomplete ? ", incomplete" : "");
}

std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.resize(width, ' ');
  return text;
}

/// "     1,234,567      instructions                     "
std::string count_text(const StatEvent& event, double value) {
  std::string number = with_separators(static_cast<std::uint64_t>(std::llround(value)));
  if (event.milliseconds) number = print("%.2f", value / kNsPerMs);
  if (event.number_class == ValueClass::NotModelled) number = "<not modelled>";
  return print("%18s %-4s ", number.c_str(), event.milliseconds ? "msec" : "") + padded(event.name, 32) + " ";
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
  return " Every run counted the same: exact and modelled counts depend on the program and its input alone, so one run "
         "is enough.\n\n";
}

std::string times(const StatReport& report) {
  const Spread elapsed = spread_over(report.runs, [](const StatRun& run) { return run.elapsed; });
  if (report.runs.size() > 1) {
    return print("\n%18.7f +- %.7f seconds time elapsed  ( +-%6.2f%% )\n\n", elapsed.mean, elapsed.deviation,
                 elapsed.percent());
  }
  const StatRun& run = report.runs.front();
  return print("\n%18.9f seconds time elapsed\n\n", run.elapsed) + print("%18.9f seconds user\n", run.user) +
         print("%18.9f seconds sys\n\n", run.system);
}

/// What stands before the event's columns (the thread, or nothing) and what it counted.
struct Row {
  const ThreadTotals* thread = nullptr;
  std::size_t event = 0;
  Spread value;
};

std::vector<Row> rows_of(const StatReport& report) {
  std::vector<Row> rows;
  for (std::size_t event = 0; event < report.events.size(); ++event) {
    if (report.threads.empty()) rows.push_back({.event = event, .value = spread_of(report, event)});
    for (const ThreadTotals& thread : report.threads) {
      rows.push_back({.thread = &thread, .event = event, .value = {.mean = static_cast<double>(thread.values[event])}});
    }
  }
  return rows;
}

/// Not a number also where an event of it has none.
double value_of(const StatReport& report, const Row& row, const StatMetric& metric) {
  if (!metric.has_number()) return std::nan("");
  return metric.counted.value([&](std::size_t event) {
    return row.thread != nullptr ? static_cast<double>(row.thread->values[event]) : spread_of(report, event).mean;
  });
}

/// What stands behind a row's count.
std::vector<const StatMetric*> metrics_behind(const StatReport& report, const Row& row) {
  std::vector<const StatMetric*> metrics;
  for (const StatMetric& metric : report.metrics) {
    if (metric.event == row.event) metrics.push_back(&metric);
  }
  return metrics;
}

/// "#    1.250  insn per cycle"; with its class, if that is not the count's.
std::string metric_cell(const StatReport& report, const Row& row, const StatMetric& metric) {
  const std::string number = metric_text(metric, value_of(report, row, metric));
  const bool same = metric.value_class == report.events[row.event].number_class;
  return print("# %9s  ", number.c_str()) + std::string(metric.name()) +
         (same ? "" : " (" + std::string(name_of(metric.value_class)) + ")");
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
    for (const StatMetric* const metric : metrics_behind(report, row)) {
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

/// The last two of perf's columns.
struct MetricColumns {
  std::string value, unit;
};

MetricColumns metric_columns(const StatReport& report, const Row& row, const StatMetric& metric) {
  return {metric_number(metric, value_of(report, row, metric)), metric_unit(metric)};
}

std::string line_of(const std::vector<std::string>& columns, const MetricColumns& metric,
                    const std::string& separator) {
  std::string line;
  for (const std::string& column : columns) line += column + separator;
  return line + metric.value + separator + metric.unit + "\n";
}

std::string json_text(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// perf's two keys, and the metric's class.
std::string metric_json(const StatReport& report, const Row& row, const StatMetric& metric) {
  const double value = value_of(report, row, metric);
  const std::string number = std::isfinite(value) ? metric_number(metric, value) : "null";
  return "\"metric-value\" : " + number + ", \"metric-unit\" : " + json_text(metric_unit(metric)) +
         ", \"metric-class\" : " + json_text(name_of(metric.value_class)) +
         (metric.lacks.empty() ? "" : ", \"metric-lacks\" : " + json_text(metric.lacks));
}

}  // namespace

double deviation_percent(const StatReport& report, std::size_t event) { return spread_of(report, event).percent(); }

std::string stat_page(const StatReport& report, bool colour) {
  std::string page = "\n Performance counter stats for '" + report.command + "'";
  if (report.runs.size() > 1) page += " (" + std::to_string(report.runs.size()) + " runs)";
  page += ":\n\n";
  const std::vector<Row> rows = rows_of(report);
  const MetricCells cells = metric_cells(report, rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    const StatEvent& event = report.events[row.event];
    std::string text;
    if (row.thread != nullptr) {
      const std::string comm = row.thread->comm.empty() ? "?" : row.thread->comm;
      text = print("%16.16s-%-8d ", comm.c_str(), row.thread->tid);
    }
    text += count_text(event, row.value.mean);
    const std::size_t indent = text.size();
    const std::vector<std::string>& behind = cells.by_row[i];
    if (cells.width != 0) text += padded(behind.empty() ? "" : behind.front(), cells.width) + "  ";
    const bool counted = event.number_class != ValueClass::NotModelled;
    const std::string spread = report.runs.size() > 1 && counted ? print("  ( +-%6.2f%% )", row.value.percent()) : "";
    page.append(text).append(dimmed("# " + remark(event, report.incomplete), colour)).append(spread).append("\n");
    for (std::size_t k = 1; k < behind.size(); ++k) page.append(indent, ' ').append(behind[k]).append("\n");
  }
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
    const bool counted = event.number_class != ValueClass::NotModelled;
    std::string number = "<not supported>";  // the words that readers of perf's columns know
    if (counted) number = event.milliseconds ? print("%.2f", row.value.mean / kNsPerMs) : print("%.0f", row.value.mean);
    std::vector<std::string> columns = {number, event.milliseconds ? "msec" : "", event.name};
    if (row.thread != nullptr) columns.insert(columns.begin(), thread_name(*row.thread));
    if (report.runs.size() > 1 && counted) columns.push_back(print("%.2f%%", row.value.percent()));
    columns.push_back(std::to_string(counted ? run_time_ns(report) : 0));
    columns.emplace_back("100.00");  // of the time it was counted
    const std::vector<const StatMetric*> metrics = metrics_behind(report, row);
    out +=
        line_of(columns, metrics.empty() ? MetricColumns{} : metric_columns(report, row, *metrics.front()), separator);
    std::fill(columns.begin() + (row.thread != nullptr ? 1 : 0), columns.end(), "");
    for (std::size_t i = 1; i < metrics.size(); ++i) {
      out += line_of(columns, metric_columns(report, row, *metrics[i]), separator);
    }
  }
  return out;
}

std::string stat_json(const StatReport& report) {
  std::string out;
  const std::uint64_t run_time = run_time_ns(report);
  for (const Row& row : rows_of(report)) {
    const StatEvent& event = report.events[row.event];
    const bool counted = event.number_class != ValueClass::NotModelled;
    std::string number = print("%f", event.milliseconds ? row.value.mean / kNsPerMs : row.value.mean);
    if (!counted) number = "<not supported>";
    out += "{";
    if (row.thread != nullptr) out += "\"thread\" : " + json_text(thread_name(*row.thread)) + ", ";
    out += "\"counter-value\" : \"" + number + "\", \"unit\" : \"" + (event.milliseconds ? "msec" : "") +
           "\", \"event\" : " + json_text(event.name) + ", ";
    if (report.runs.size() > 1) out += print("\"variance\" : %.2f, ", counted ? row.value.percent() : 0.0);
    out += "\"event-runtime\" : " + std::to_string(counted ? run_time : 0) + ", \"pcnt-running\" : 100.00, ";
    const std::vector<const StatMetric*> metrics = metrics_behind(report, row);
    out += metrics.empty() ? "\"metric-value\" : 0.000000, \"metric-unit\" : \"\""
                           : metric_json(report, row, *metrics.front());
    out += ", \"class\" : " + json_text(name_of(event.number_class)) +
           (report.incomplete ? ", \"incomplete\" : true" : "") + "}\n";
    for (std::size_t i = 1; i < metrics.size(); ++i) {
      const std::string thread =
          row.thread != nullptr ? "\"thread\" : " + json_text(thread_name(*row.thread)) + ", " : std::string();
      out += "{" + thread + metric_json(report, row, *metrics[i]) + "}\n";
    }
  }
  return out;
}

}  // namespace zs::cli

#include "cli/stat_page.h"

#include <cmath>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>

#include "cli/say.h"

namespace zs::cli {
namespace {

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

const char* word_for(NumberClass number_class) {
  switch (number_class) {
    case NumberClass::Exact: return "exact";
    case NumberClass::Modelled: return "modelled";
    case NumberClass::Measured: return "measured";
    case NumberClass::NotModelled: return "not modelled";
  }
  return "";
}

std::string remark(const StatEvent& event, bool incomplete) {
  if (event.number_class == NumberClass::NotModelled) return event.reason;
  std::string text = word_for(event.number_class);
  if (event.number_class == NumberClass::Measured) text += ", zeroskid's share included";
  return text + (incomplete ? ", incomplete" : "");
}

std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.resize(width, ' ');
  return text;
}

/// "     1,234,567      instructions                     # exact"
std::string page_row(const StatEvent& event, double value, const std::string& remark, const std::string& spread,
                     bool colour) {
  std::string number = with_separators(static_cast<std::uint64_t>(std::llround(value)));
  if (event.milliseconds) number = print("%.2f", value / kNsPerMs);
  if (event.number_class == NumberClass::NotModelled) number = "<not modelled>";
  const std::string comment = colour ? "\033[2m# " + remark + "\033[0m" : "# " + remark;
  return print("%18s %-4s ", number.c_str(), event.milliseconds ? "msec" : "") + padded(event.name, 32) + " " +
         comment + spread + "\n";
}

std::string thread_name(const ThreadTotals& thread) {
  return (thread.comm.empty() ? "?" : thread.comm) + "-" + std::to_string(thread.tid);
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

std::uint64_t run_time_ns(const StatReport& report) {
  const Spread cpu = spread_over(report.runs, [](const StatRun& run) { return run.user + run.system; });
  return static_cast<std::uint64_t>(cpu.mean * 1e9);
}

}  // namespace

std::string stat_page(const StatReport& report, bool colour) {
  std::string page = "\n Performance counter stats for '" + report.command + "'";
  if (report.runs.size() > 1) page += " (" + std::to_string(report.runs.size()) + " runs)";
  page += ":\n\n";
  for (const Row& row : rows_of(report)) {
    const StatEvent& event = report.events[row.event];
    if (row.thread != nullptr) {
      const std::string comm = row.thread->comm.empty() ? "?" : row.thread->comm;
      page += print("%16.16s-%-8d ", comm.c_str(), row.thread->tid);
    }
    const bool counted = event.number_class != NumberClass::NotModelled;
    const std::string spread = report.runs.size() > 1 && counted ? print("  ( +-%6.2f%% )", row.value.percent()) : "";
    page += page_row(event, row.value.mean, remark(event, report.incomplete), spread, colour);
  }
  page += times(report);
  if (report.incomplete) {
    page += " Some processes were killed before they could report; theirs are the counts they last sent.\n\n";
  }
  return page;
}

std::string stat_columns(const StatReport& report, const std::string& separator) {
  std::string out;
  for (const Row& row : rows_of(report)) {
    const StatEvent& event = report.events[row.event];
    const bool counted = event.number_class != NumberClass::NotModelled;
    std::string number = "<not supported>";  // the words that readers of perf's columns know
    if (counted) number = event.milliseconds ? print("%.2f", row.value.mean / kNsPerMs) : print("%.0f", row.value.mean);
    std::vector<std::string> columns = {number, event.milliseconds ? "msec" : "", event.name};
    if (row.thread != nullptr) columns.insert(columns.begin(), thread_name(*row.thread));
    if (report.runs.size() > 1 && counted) columns.push_back(print("%.2f%%", row.value.percent()));
    columns.push_back(std::to_string(counted ? run_time_ns(report) : 0));
    columns.insert(columns.end(), {"100.00", "", ""});  // time it was counted for; perf's metric and its unit
    for (std::size_t i = 0; i < columns.size(); ++i) out.append(i == 0 ? "" : separator).append(columns[i]);
    out += '\n';
  }
  return out;
}

std::string stat_json(const StatReport& report) {
  std::string out;
  const std::uint64_t run_time = run_time_ns(report);
  const auto quoted = [](const std::string& text) {
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  };
  for (const Row& row : rows_of(report)) {
    const StatEvent& event = report.events[row.event];
    const bool counted = event.number_class != NumberClass::NotModelled;
    std::string number = print("%f", event.milliseconds ? row.value.mean / kNsPerMs : row.value.mean);
    if (!counted) number = "<not supported>";
    out += "{";
    if (row.thread != nullptr) out += "\"thread\" : " + quoted(thread_name(*row.thread)) + ", ";
    out += "\"counter-value\" : \"" + number + "\", \"unit\" : \"" + (event.milliseconds ? "msec" : "") +
           "\", \"event\" : " + quoted(event.name) + ", ";
    if (report.runs.size() > 1) out += print("\"variance\" : %.2f, ", counted ? row.value.percent() : 0.0);
    out += "\"event-runtime\" : " + std::to_string(counted ? run_time : 0) +
           ", \"pcnt-running\" : 100.00, \"metric-value\" : 0.000000, \"metric-unit\" : \"\", \"class\" : " +
           quoted(word_for(event.number_class)) + (report.incomplete ? ", \"incomplete\" : true" : "") + "}\n";
  }
  return out;
}

}  // namespace zs::cli

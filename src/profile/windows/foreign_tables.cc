#include "profile/windows/foreign_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "arch/events/event.h"
#include "base/items.h"
#include "base/number.h"
#include "profile/perf_data/file_bytes.h"

namespace zs::profile {
namespace {

using Fields = std::vector<std::string>;

constexpr std::string_view kOwnFirstLine = "# zeroskid windows";
constexpr double kNsPerSecond = 1e9;
constexpr double kMostCount = 9e15;  // below 2^53: whole numbers of a double

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

/// Fields between separators; those in quotes may hold any.
Fields split(std::string_view line, char separator) {
  Fields fields(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == separator && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  for (std::string& field : fields) field = std::string(trimmed(field));
  return fields;
}

std::optional<double> number(std::string_view text) {
  const auto value = whole_number<double>(text);
  return value && *value >= 0 && *value <= kMostCount ? value : std::nullopt;
}

bool is_instructions(std::string_view name) {
  const std::string small = arch::in_lower_case(name.substr(0, name.find(':')));
  return small == "instructions" || small == "ins" || small == "inst_retired.any" || small == "cpu/instructions/";
}

struct Line {
  std::string_view text;
  std::size_t number = 1;
};

std::vector<Line> lines_of(std::string_view text) {
  std::vector<Line> lines;
  std::size_t number = 0;
  for (const std::string_view whole : pieces_of(text, '\n')) {
    const std::string_view line = trimmed(whole);
    ++number;
    if (!line.empty() && line.front() != '#') lines.push_back({line, number});
  }
  return lines;
}

/// A place or count; far beyond any that a run has, the largest.
std::uint64_t whole(double number) { return static_cast<std::uint64_t>(std::llround(std::min(number, 9e18))); }

/// One row before it is a window: what each column had; nothing where there is no number.
struct RawRow {
  std::string group;  // of perf's -A, --per-thread and their like
  double end_seconds = 0;
  std::vector<std::optional<double>> values;
};

struct RawTable {
  std::vector<std::string> columns;
  std::vector<std::string_view> units;  // by column
  std::vector<RawRow> rows;
  bool timed = false;
};

/// Counts are whole numbers in a window; what is not is kept as a multiple of its last decimal place.
double scale_of(const RawTable& raw, std::size_t column) {
  constexpr int kMostDecimals = 9;
  double scale = 1;
  for (int decimals = 0; decimals < kMostDecimals; ++decimals, scale *= 10) {
    const bool settled = std::all_of(raw.rows.begin(), raw.rows.end(), [&](const RawRow& row) {
      const auto& value = row.values[column];
      return !value || std::abs(*value * scale - std::round(*value * scale)) < 1e-6 * scale;
    });
    if (settled) break;
  }
  return scale;
}

/// A table of counts becomes one of windows.
WindowTable windows_of(const RawTable& raw, std::string_view kind, ValueClass value_class) {
  WindowTable table;
  table.program = std::string(kind);
  const auto counted = std::find_if(raw.columns.begin(), raw.columns.end(), is_instructions);
  const auto instructions = static_cast<std::size_t>(counted - raw.columns.begin());
  const bool by_instructions = counted != raw.columns.end();
  table.places = by_instructions ? Places::Instructions : raw.timed ? Places::Nanoseconds : Places::Rows;

  std::vector<std::size_t> columns;
  std::vector<double> scales;
  for (std::size_t i = 0; i < raw.columns.size(); ++i) {
    if (by_instructions && i == instructions) continue;
    const double scale = scale_of(raw, i);
    const std::string name =
        raw.units[i].empty() ? raw.columns[i] : fmt::format("{} ({})", raw.columns[i], raw.units[i]);
    columns.push_back(i);
    scales.push_back(scale);
    table.events.push_back({.name = name, .value_class = value_class, .scale = 1 / scale});
  }

  struct Thread {
    std::int32_t number = 0;
    std::uint64_t windows = 0, place = 0;
    double seconds = 0;
  };
  std::map<std::string, Thread> threads;
  std::size_t left_out = 0;
  for (const RawRow& row : raw.rows) {
    const auto [found, added] = threads.try_emplace(row.group);
    Thread& thread = found->second;
    if (added) thread.number = static_cast<std::int32_t>(threads.size());
    const double begin = std::exchange(thread.seconds, row.end_seconds);
    const bool complete =
        std::all_of(row.values.begin(), row.values.end(), [](const auto& one) { return one.has_value(); });
    Window window{.number = ++thread.windows, .pid = 1, .tid = thread.number, .comm = row.group, .reason = "row"};
    if (table.places == Places::Nanoseconds) {
      window.start = whole(begin * kNsPerSecond);
      window.end = whole(std::max(row.end_seconds, begin) * kNsPerSecond);
    } else {
      const double step = !by_instructions ? 1 : row.values[instructions].value_or(0);
      window.start = thread.place;
      window.end = whole(static_cast<double>(thread.place) + step);
      thread.place = window.end;
    }
    if (!complete) {
      ++left_out;
      continue;
    }
    for (std::size_t k = 0; k < columns.size(); ++k) {
      window.values.push_back(whole(*row.values[columns[k]] * scales[k]));
    }
    table.windows.push_back(std::move(window));
  }
  if (left_out != 0) {
    table.notes.push_back(
        fmt::format("{} of {} rows are left out: something in them was not counted", left_out, raw.rows.size()));
  }
  return table;
}

// ---- perf stat -I -x ---------------------------------------------------------------------------------------------

bool is_value(std::string_view field) {
  return number(field).has_value() || (field.starts_with('<') && field.ends_with('>'));
}

/// The separator and the column of the count, if the line is one of perf's: "TIME,COUNT,UNIT,EVENT,...", a name of a
/// thread or processors perhaps before the count (and then how many processors there were).
struct PerfShape {
  char separator = ',';
  std::size_t count = 1;
};
std::optional<PerfShape> perf_shape(std::string_view line) {
  for (const char separator : {',', ';', '|', '\t', ':'}) {
    const Fields fields = split(line, separator);
    if (fields.size() < 6 || !number(fields[0]) || fields[0].find('.') == std::string::npos) continue;
    for (const std::size_t count : {1, 2, 3}) {
      if (count + 4 >= fields.size() || !is_value(fields[count]) || fields[count + 2].empty()) continue;
      if (number(fields[count + 2]) || !number(fields[count + 3])) continue;
      return PerfShape{separator, count};
    }
  }
  return std::nullopt;
}

Result<WindowTable> parse_perf(const std::vector<Line>& lines, PerfShape shape, const std::string& name) {
  RawTable raw;
  raw.timed = true;
  for (const Line& line : lines) {
    const Fields fields = split(line.text, shape.separator);
    if (fields.size() < shape.count + 3 || !number(fields[0])) {
      return Error{fmt::format("{}:{}:1: no line of perf stat -I: a time, a count, its unit and an event are needed",
                               name, line.number),
                   ""};
    }
    const std::string& event = fields[shape.count + 2];
    if (event.empty()) continue;  // a further metric of the event above
    const double seconds = *number(fields[0]);
    const std::string group = shape.count == 1 ? "" : fields[1];
    auto column = std::find(raw.columns.begin(), raw.columns.end(), event);
    if (column == raw.columns.end()) {
      raw.columns.push_back(event);
      raw.units.emplace_back(fields[shape.count + 1] == "msec" ? "msec" : "");
      column = raw.columns.end() - 1;
    }
    const auto index = static_cast<std::size_t>(column - raw.columns.begin());
    auto row = std::find_if(raw.rows.rbegin(), raw.rows.rend(),
                            [&](const RawRow& one) { return one.end_seconds == seconds && one.group == group; });
    if (row == raw.rows.rend()) {
      raw.rows.push_back({.group = group, .end_seconds = seconds, .values = {}});
      row = raw.rows.rbegin();
    }
    row->values.resize(std::max(row->values.size(), index + 1));
    row->values[index] = number(fields[shape.count]);
  }
  for (RawRow& row : raw.rows) row.values.resize(raw.columns.size());
  return windows_of(raw, "perf stat", ValueClass::Measured);
}

// ---- with a header -----------------------------------------------------------------------------------------------

/// Seconds in one of the unit that a column of times names, or nothing if it is none.
std::optional<double> seconds_of(std::string_view column) {
  static constexpr std::pair<std::string_view, double> kNames[] = {
      {"time", 1},  {"seconds", 1},     {"timestamp", 1},  {"t", 1},           {"time_s", 1},      {"time(s)", 1},
      {"sec", 1},   {"time_ms", 1e-3},  {"ms", 1e-3},      {"time(ms)", 1e-3}, {"msec", 1e-3},     {"time_us", 1e-6},
      {"us", 1e-6}, {"time(us)", 1e-6}, {"time_ns", 1e-9}, {"ns", 1e-9},       {"time(ns)", 1e-9}, {"elapsed", 1}};
  const std::string small = arch::in_lower_case(column);
  for (const auto& [name, seconds] : kNames) {
    if (small == name) return seconds;
  }
  return std::nullopt;
}

Result<WindowTable> parse_with_header(const std::vector<Line>& lines, const std::string& name) {
  const auto wrong = [&](const Line& line, std::size_t column, const std::string& what) {
    return Error{
        fmt::format("{}:{}:{}: {}", name, line.number, column, what),
        "plot reads tables of zeroskid stat -I 50000i --format csv and --format hpctool-csv, of perf stat -I MS -x, "
        "and CSV of numbers with a header"};
  };
  char separator = ',';
  for (const char one : {',', ';', '\t'}) {
    if (lines.front().text.find(one) == std::string_view::npos) continue;
    separator = one;
    break;
  }
  const Fields header = split(lines.front().text, separator);
  const bool named =
      std::all_of(header.begin(), header.end(), [](const std::string& one) { return !one.empty() && !number(one); });
  if (!named) return wrong(lines.front(), 1, "the first line is no header: a name for each column is needed");
  if (lines.size() < 2) return wrong(lines.front(), 1, "not a table: there is no line of numbers");

  RawTable raw;
  const std::optional<double> unit = seconds_of(header[0]);
  raw.timed = unit.has_value();
  const std::size_t first = raw.timed ? 1 : 0;
  if (header.size() == first) return wrong(lines.front(), 1, "a time is the only column");
  const bool hpctool = arch::in_lower_case(lines.front().text) == trimmed(hpctool_csv_head());
  for (std::size_t i = first; i < header.size(); ++i) {
    std::string column = header[i];
    if (hpctool && column == "l_cycle") column = "cycles";
    if (hpctool && column == "ref_cycle") column = "ref-cycles";
    raw.columns.push_back(std::move(column));
  }
  raw.units.resize(raw.columns.size());
  double last = 0;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const Fields fields = split(lines[i].text, separator);
    if (fields.size() != header.size()) {
      return wrong(lines[i], 1, fmt::format("{} fields, where {} are needed", fields.size(), header.size()));
    }
    RawRow row;
    std::size_t at = 1;
    for (std::size_t k = 0; k < fields.size(); at += fields[k].size() + 1, ++k) {
      const auto value = number(fields[k]);
      if (!value && !fields[k].empty() && fields[k] != "not modelled" && !is_value(fields[k])) {
        return wrong(lines[i], at, fmt::format("'{}' is no number from 0 up", fields[k]));
      }
      if (k < first && !value) return wrong(lines[i], at, "a time is missing");
      if (k < first) {
        row.end_seconds = *value * *unit;
        if (row.end_seconds < last) return wrong(lines[i], at, "a time before that of the row above");
        last = row.end_seconds;
      } else {
        row.values.push_back(value);
      }
    }
    raw.rows.push_back(std::move(row));
  }
  // A column that is empty throughout was not modelled: the others can be drawn.
  WindowTable dropped;
  for (std::size_t k = raw.columns.size(); k-- > 0;) {
    if (std::any_of(raw.rows.begin(), raw.rows.end(), [&](const RawRow& row) { return row.values[k].has_value(); }))
      continue;
    dropped.notes.push_back(raw.columns[k] + ": no row has a number");
    raw.columns.erase(raw.columns.begin() + static_cast<std::ptrdiff_t>(k));
    raw.units.pop_back();
    for (RawRow& row : raw.rows) row.values.erase(row.values.begin() + static_cast<std::ptrdiff_t>(k));
  }
  if (raw.columns.empty()) return wrong(lines.front(), 1, "no column has a number");
  WindowTable table = windows_of(raw, hpctool ? "hpctool-csv" : name, ValueClass::NotTold);
  table.notes.insert(table.notes.end(), dropped.notes.begin(), dropped.notes.end());
  return table;
}

}  // namespace

Result<WindowTable> parse_table(std::string_view text, const std::string& name) {
  if (text.starts_with(kOwnFirstLine)) return parse_window_csv(text, name);
  const std::vector<Line> lines = lines_of(text);
  if (lines.empty()) {
    return Error{name + ": there is no table in it", "zeroskid stat -I 50000i --format csv -o FILE PROGRAM makes one"};
  }
  if (const auto shape = perf_shape(lines.front().text)) return parse_perf(lines, *shape, name);
  return parse_with_header(lines, name);
}

Result<WindowTable> read_table(const std::string& path) {
  const auto file = read_file_bytes(path);
  if (!file) {
    return Error{file.error().message, "zeroskid stat -I 50000i --format csv -o FILE PROGRAM makes a table to plot"};
  }
  if (file->damage) return *file->damage;
  const std::string_view text(reinterpret_cast<const char*>(file->bytes.data()), file->bytes.size());
  return parse_table(text, path == "-" ? "standard input" : path);
}

}  // namespace zs::profile

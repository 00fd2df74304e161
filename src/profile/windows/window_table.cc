#include "profile/windows/window_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/check.h"

namespace zs::profile {
namespace {

constexpr std::string_view kFirstLine = "# zeroskid windows 1";
constexpr std::string_view kNotModelled = "not modelled";
/// Behind the name of an event that is estimated: the column of its half widths.
constexpr std::string_view kHalfWidth = " half-width";

/// By ValueClass.
constexpr std::array<std::string_view, 6> kClassNames = {"exact",    "modelled",   "estimated",
                                                         "measured", kNotModelled, "not told"};

enum Column : std::size_t { kNumber, kPid, kTid, kComm, kStart, kEnd, kStartNs, kEndNs, kReason, kFixedColumns };
constexpr std::array<std::string_view, kFixedColumns> kColumnNames = {"window", "pid",      "tid",    "comm",  "start",
                                                                      "end",    "start_ns", "end_ns", "reason"};

/// What "# KEY,..." lines there are, in their order in a file, and how many fields each has after the key.
enum Key : std::size_t { kProgram, kCpuModel, kClock, kNote, kEvent, kRegion, kKeys };
struct KeyRow {
  std::string_view name;
  std::size_t fields;
  bool repeats;
};
constexpr std::array<KeyRow, kKeys> kKeyRows = {{
    {"program", 1, false},
    {"cpu-model", 1, false},
    {"clock", 1, false},
    {"note", 1, true},
    {"event", 2, true},
    {"region", 5, true},
}};

/// The columns behind the fixed ones, in their order.
struct ValueColumn {
  std::size_t event = 0;
  bool half_width = false;
};
std::vector<ValueColumn> value_columns(const WindowTable& table) {
  std::vector<ValueColumn> columns;
  for (std::size_t event = 0; event < table.events.size(); ++event) {
    columns.push_back({event, false});
    if (table.events[event].has_half_widths) columns.push_back({event, true});
  }
  return columns;
}

std::string name_of(const WindowTable& table, const ValueColumn& column) {
  return table.events[column.event].name + std::string(column.half_width ? kHalfWidth : "");
}

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }

std::string key_line(Key key, std::initializer_list<std::string> fields) {
  CHECK(fields.size() == kKeyRows[key].fields, fields.size());
  std::string line = fmt::format("# {}", kKeyRows[key].name);
  for (const std::string& one : fields) line += ',' + csv_field(one);
  return line + '\n';
}

struct Field {
  std::string text;
  std::size_t column = 1;  // where it begins in its line
};

std::optional<int> hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return std::nullopt;
}

class Parser {
 public:
  Parser(std::string_view text, const std::string& name) : rest_(text), name_(name) {}

  Result<WindowTable> parse() {
    if (!next_line() || line_ != kFirstLine) {
      return wrong(1, fmt::format("not a table of windows: its first line is not '{}'", kFirstLine));
    }
    while (next_line()) {
      const bool read = line_.starts_with("# ") ? read_key() : have_columns_ ? read_window() : read_columns();
      if (!read) return *error_;
    }
    if (!have_columns_) return wrong(1, fmt::format("ends before its column names ({},...)", kColumnNames[kNumber]));
    return std::move(table_);
  }

 private:
  Error wrong(std::size_t column, const std::string& what) const {
    return {fmt::format("{}:{}:{}: {}", name_, line_number_, column, what),
            "zeroskid stat -I 50000i --format csv writes such tables; docs/formats/windows.md describes them"};
  }
  bool refuse(std::size_t column, const std::string& what) {
    if (!error_) error_ = wrong(column, what);
    return false;
  }

  bool next_line() {
    if (rest_.empty()) {
      ++line_number_;
      return false;
    }
    const std::size_t length = std::min(rest_.find('\n'), rest_.size());
    line_ = rest_.substr(0, length);
    rest_.remove_prefix(std::min(length + 1, rest_.size()));
    if (line_.ends_with('\r')) line_.remove_suffix(1);
    ++line_number_;
    return true;
  }

  /// One escape or character of a field at `at`.
  bool take_character(std::size_t& at, std::string& into) {
    const char c = line_[at];
    if (is_control(c)) return refuse(at + 1, fmt::format("byte 0x{:02x} must be written as \\x{:02x}", c, c));
    if (c != '\\') {
      into += c;
      ++at;
      return true;
    }
    if (line_.substr(at + 1).starts_with('\\')) {
      into += '\\';
      at += 2;
      return true;
    }
    if (line_.size() - at >= 4 && line_[at + 1] == 'x') {
      const auto high = hex_digit(line_[at + 2]);
      const auto low = hex_digit(line_[at + 3]);
      if (high && low) {
        into += static_cast<char>(*high * 16 + *low);
        at += 4;
        return true;
      }
    }
    return refuse(at + 1, "a backslash is followed by neither a backslash nor x and two digits of 0-9a-f");
  }

  bool take_quoted(std::size_t& at, std::string& into) {
    const std::size_t opened = at++;
    while (at < line_.size()) {
      if (line_[at] == '"') {
        if (!line_.substr(at + 1).starts_with('"')) {
          ++at;
          return at == line_.size() || line_[at] == ',' || refuse(at + 1, "a comma is missing after the closing quote");
        }
        ++at;
      }
      if (!take_character(at, into)) return false;
    }
    return refuse(opened + 1, "the quote that opens here is not closed on this line");
  }

  /// Splits the line from `at` on.
  bool split(std::size_t at) {
    fields_.clear();
    while (true) {
      Field one{.text = {}, .column = at + 1};
      if (at < line_.size() && line_[at] == '"') {
        if (!take_quoted(at, one.text)) return false;
      } else {
        while (at < line_.size() && line_[at] != ',') {
          if (line_[at] == '"') return refuse(at + 1, "a quote inside a field that does not begin with one");
          if (!take_character(at, one.text)) return false;
        }
      }
      fields_.push_back(std::move(one));
      if (at >= line_.size()) return true;
      ++at;
    }
  }

  template <typename Number>
  bool number(std::size_t index, Number& into) {
    const Field& from = fields_[index];
    const char* const end = from.text.data() + from.text.size();
    const auto [stopped, error] = std::from_chars(from.text.data(), end, into);
    const bool leading_zero = from.text.size() > 1 && from.text[0] == '0';
    if (error == std::errc::result_out_of_range) {
      return refuse(from.column, fmt::format("{} is larger than a count can be", from.text));
    }
    if (error != std::errc{} || stopped != end || leading_zero) {
      return refuse(from.column, fmt::format("'{}' is not a whole number", from.text));
    }
    return true;
  }
  template <typename Number>
  bool thread_number(std::size_t index, Number& into) {
    return number(index, into) &&
           (into >= 0 || refuse(fields_[index].column, fmt::format("{} is no process or thread", into)));
  }
  bool in_order(std::size_t end_index, std::uint64_t start, std::uint64_t end) {
    return start <= end ||
           refuse(fields_[end_index].column, fmt::format("ends at {}, before its start at {}", end, start));
  }

  bool read_key() {
    if (!split(2)) return false;
    const auto* const row = std::find_if(kKeyRows.begin(), kKeyRows.end(),
                                         [this](const KeyRow& one) { return one.name == fields_[0].text; });
    if (row == kKeyRows.end()) return refuse(3, fmt::format("unknown line '# {}'", fields_[0].text));
    const auto key = static_cast<Key>(row - kKeyRows.begin());
    if (fields_.size() != 1 + row->fields) {
      return refuse(3, fmt::format("'# {}' has {} fields, not {}", row->name, row->fields, fields_.size() - 1));
    }
    if ((key == kRegion) != have_columns_) {
      return refuse(3, fmt::format("'# {}' stands {} the column names", row->name, have_columns_ ? "after" : "before"));
    }
    if (!row->repeats && std::exchange(seen_[key], true)) {
      return refuse(3, fmt::format("a second '# {}'", row->name));
    }
    return take_key(key);
  }

  bool take_key(Key key) {
    switch (key) {
      case kProgram: table_.program = fields_[1].text; return true;
      case kCpuModel: table_.cpu_model = fields_[1].text; return true;
      case kClock:
        table_.clock = fields_[1].text;
        return !table_.clock.empty() || refuse(fields_[1].column, "a clock without a name");
      case kNote: table_.notes.push_back(fields_[1].text); return true;
      case kEvent: return take_event();
      case kRegion: return take_region();
      case kKeys: break;
    }
    return false;
  }

  bool take_event() {
    const auto* const found = std::find(kClassNames.begin(), kClassNames.end(), fields_[2].text);
    if (found == kClassNames.end()) {
      return refuse(fields_[2].column, fmt::format("'{}' is no class of numbers", fields_[2].text));
    }
    table_.events.push_back(
        {.name = fields_[1].text, .value_class = static_cast<ValueClass>(found - kClassNames.begin())});
    return true;
  }

  bool take_region() {
    RegionSpan span{.name = fields_[1].text};
    if (!thread_number(2, span.pid) || !thread_number(3, span.tid) || !number(4, span.begin) || !number(5, span.end) ||
        !in_order(5, span.begin, span.end)) {
      return false;
    }
    table_.regions.push_back(std::move(span));
    return true;
  }

  bool expect_fields(std::size_t wanted) {
    if (fields_.size() == wanted) return true;
    return refuse(fields_[std::min(wanted, fields_.size() - 1)].column,
                  fmt::format("{} fields, where {} are needed", fields_.size(), wanted));
  }

  /// An estimate may have a column of them behind its own.
  void find_half_widths() {
    std::size_t field = kFixedColumns,
                more = fields_.size() - std::min(kFixedColumns + table_.events.size(), fields_.size());
    for (WindowEvent& event : table_.events) {
      ++field;
      event.has_half_widths = event.value_class == ValueClass::Estimated && more != 0 &&
                              fields_[field].text == event.name + std::string(kHalfWidth);
      if (!event.has_half_widths) continue;
      ++field;
      --more;
    }
  }

  bool read_columns() {
    if (!split(0)) return false;
    find_half_widths();
    columns_ = value_columns(table_);
    if (!expect_fields(kFixedColumns + columns_.size())) return false;
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      const std::string wanted =
          i < kFixedColumns ? std::string(kColumnNames[i]) : name_of(table_, columns_[i - kFixedColumns]);
      if (fields_[i].text != wanted) {
        return refuse(fields_[i].column, fmt::format("column '{}', where '{}' belongs", fields_[i].text, wanted));
      }
    }
    have_columns_ = true;
    return true;
  }

  bool read_time(Window& window) {
    if (!table_.clock.empty()) {
      TimeSpan time;
      if (!number(kStartNs, time.start_ns) || !number(kEndNs, time.end_ns) ||
          !in_order(kEndNs, time.start_ns, time.end_ns)) {
        return false;
      }
      window.time = time;
      return true;
    }
    for (const std::size_t column : {kStartNs, kEndNs}) {
      if (!fields_[column].text.empty()) {
        return refuse(fields_[column].column, "a time, though no '# clock' is declared");
      }
    }
    return true;
  }

  bool read_value(std::size_t field, std::size_t event, std::uint64_t& value) {
    if (table_.events[event].value_class != ValueClass::NotModelled) return number(field, value);
    const Field& from = fields_[field];
    return from.text == kNotModelled ||
           refuse(from.column, fmt::format("'{}', though {} is not modelled", from.text, table_.events[event].name));
  }

  bool read_half_width(std::size_t field, std::optional<std::uint64_t>& half_width) {
    return fields_[field].text.empty() || number(field, half_width.emplace());
  }

  bool read_window() {
    if (!split(0) || !expect_fields(kFixedColumns + columns_.size())) return false;
    Window window;
    window.comm = fields_[kComm].text;
    window.reason = fields_[kReason].text;
    window.values.resize(table_.events.size());
    if (!number(kNumber, window.number) || !thread_number(kPid, window.pid) || !thread_number(kTid, window.tid) ||
        !number(kStart, window.start) || !number(kEnd, window.end) || !in_order(kEnd, window.start, window.end) ||
        !read_time(window)) {
      return false;
    }
    if (window.reason.empty()) return refuse(fields_[kReason].column, "no reason why the window ended");
    if (table_.has_half_widths()) window.half_widths.resize(table_.events.size());
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const auto [event, half_width] = columns_[i];
      const std::size_t field = kFixedColumns + i;
      if (!(half_width ? read_half_width(field, window.half_widths[event])
                       : read_value(field, event, window.values[event])))
        return false;
    }
    table_.windows.push_back(std::move(window));
    return true;
  }

  std::string_view rest_, line_;
  const std::string& name_;
  std::size_t line_number_ = 0;
  std::vector<Field> fields_;
  std::array<bool, kKeys> seen_{};
  bool have_columns_ = false;
  std::vector<ValueColumn> columns_;
  WindowTable table_;
  std::optional<Error> error_;
};

}  // namespace

std::string_view name_of(ValueClass value_class) { return kClassNames[static_cast<std::size_t>(value_class)]; }

bool WindowTable::has_half_widths() const { return std::ranges::any_of(events, &WindowEvent::has_half_widths); }

std::string csv_field(std::string_view text) {
  std::string escaped;
  bool quote = !text.empty() && (text.front() == ' ' || text.back() == ' ');
  for (const char c : text) {
    if (c == '\\') {
      escaped += "\\\\";
    } else if (is_control(c)) {
      escaped += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      if (c == '"') escaped += '"';
      escaped += c;
      quote = quote || c == '"' || c == ',';
    }
  }
  return quote ? '"' + escaped + '"' : escaped;
}

std::string window_csv_head(const WindowTable& table) {
  std::string out = fmt::format("{}\n", kFirstLine);
  out += key_line(kProgram, {table.program});
  out += key_line(kCpuModel, {table.cpu_model});
  if (!table.clock.empty()) out += key_line(kClock, {table.clock});
  for (const std::string& note : table.notes) out += key_line(kNote, {note});
  for (const WindowEvent& event : table.events) {
    out += key_line(kEvent, {event.name, std::string(name_of(event.value_class))});
  }
  out += fmt::format("{}", fmt::join(kColumnNames, ","));
  for (const ValueColumn& column : value_columns(table)) out += ',' + csv_field(name_of(table, column));
  return out + '\n';
}

std::string window_csv_row(const WindowTable& table, const Window& window) {
  CHECK(window.values.size() == table.events.size(), window.values.size(), table.events.size());
  CHECK(window.half_widths.size() == (table.has_half_widths() ? table.events.size() : 0), window.half_widths.size());
  CHECK(window.time.has_value() == !table.clock.empty(), window.number);
  std::string out;
  out.reserve(128);
  fmt::format_to(std::back_inserter(out), "{},{},{},{},{},{},", window.number, window.pid, window.tid,
                 csv_field(window.comm), window.start, window.end);
  out += window.time ? fmt::format("{},{},", window.time->start_ns, window.time->end_ns) : ",,";
  out += csv_field(window.reason);
  for (std::size_t i = 0; i < window.values.size(); ++i) {
    out += ',';
    if (table.events[i].value_class == ValueClass::NotModelled) {
      out += kNotModelled;
    } else {
      fmt::format_to(std::back_inserter(out), "{}", window.values[i]);
    }
    if (!table.events[i].has_half_widths) continue;
    out += ',';
    if (const auto& half_width = window.half_widths[i]) fmt::format_to(std::back_inserter(out), "{}", *half_width);
  }
  return out + '\n';
}

std::string window_csv_region(const RegionSpan& region) {
  return key_line(kRegion, {region.name, std::to_string(region.pid), std::to_string(region.tid),
                            std::to_string(region.begin), std::to_string(region.end)});
}

Result<WindowTable> parse_window_csv(std::string_view text, const std::string& name) {
  return Parser(text, name).parse();
}

Result<void> check_hpctool_events(const WindowTable& table) {
  if (table.events.size() == kHpctoolColumns) return {};
  return Error{
      fmt::format("hpctool-csv has {} columns, and {} events are counted", kHpctoolColumns, table.events.size()),
      "-e hpctool counts HPCTool's seven: instructions, cycles, reference cycles and four more"};
}

std::string hpctool_csv_head() { return "ins,l_cycle,ref_cycle,event1,event2,event3,event4\r\n"; }

std::string hpctool_csv_row(const WindowTable& table, const Window& window) {
  CHECK(window.values.size() == kHpctoolColumns && table.events.size() == kHpctoolColumns, window.values.size());
  std::string out;
  for (std::size_t i = 0; i < kHpctoolColumns; ++i) {
    if (i != 0) out += ',';
    if (table.events[i].value_class != ValueClass::NotModelled) out += std::to_string(window.values[i]);
  }
  return out + "\r\n";
}

}  // namespace zs::profile

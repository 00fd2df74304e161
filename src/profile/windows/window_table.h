// The table of windows: what each event counted between two points of a thread, one row per closed window, and where
// named regions lie. `stat -I` writes it, `plot` reads it. The text format is docs/formats/windows.md.
//
// A class belongs to an event, not to a cell: the events of a run are chosen before its first window.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace zs::profile {

/// What the numbers of an event are worth.
enum class ValueClass : std::uint8_t {
  Exact,        // architectural
  Modelled,     // caches, predictors
  Estimated,    // of the whole run, from units of it that were modelled
  Measured,     // by the kernel, zeroskid's share included
  NotModelled,  // there are none
  NotTold,      // a table of another tool does not say
};
std::string_view name_of(ValueClass value_class);  // "exact" ... "not modelled"

struct WindowEvent {
  std::string name;  // as the user spelled it
  ValueClass value_class = ValueClass::Exact;
  double scale = 1;              // what one in a window is; another number only in tables that others wrote
  bool has_half_widths = false;  // of an estimate: windows have them
  bool operator==(const WindowEvent&) const = default;
};

/// What the places of windows count.
enum class Places : std::uint8_t {
  Instructions,  // retired by their thread: always, in tables of ours
  Nanoseconds,   // since the run began
  Rows,          // of the table
};

struct TimeSpan {
  std::uint64_t start_ns = 0, end_ns = 0;
  bool operator==(const TimeSpan&) const = default;
};

/// One closed window of one thread. Places are that thread's retired instructions, exact; `end` is not in the window.
struct Window {
  std::uint64_t number = 1;  // of this thread's windows; the first is 1
  std::int32_t pid = 0, tid = 0;
  std::string comm;  // when the window closed
  std::uint64_t start = 0, end = 0;
  std::optional<TimeSpan> time;  // with a declared clock, and only then
  std::string reason;  // the trigger that closed it, "50000i"; two at once joined by '+'; "end": the left-over
  std::vector<std::uint64_t> values;  // by event; 0 where the event is not modelled
  /// Of the 95 % intervals, by event; nothing where the window has too few units for one, and of events that are no
  /// estimates. Empty in tables without any.
  std::vector<std::optional<std::uint64_t>> half_widths;
  std::uint64_t instructions() const { return end - start; }
  bool operator==(const Window&) const = default;
};

/// One entry of a named region, in the same places.
struct RegionSpan {
  std::string name;
  std::int32_t pid = 0, tid = 0;
  std::uint64_t begin = 0, end = 0;
  bool operator==(const RegionSpan&) const = default;
};

struct WindowTable {
  std::string program;             // the command line, for people
  std::string cpu_model;           // "skylake-server@1"
  std::string clock;               // what times are of; "" if windows have none
  std::vector<std::string> notes;  // what a reader must know, e.g. that a skid was replayed
  Places places = Places::Instructions;
  std::vector<WindowEvent> events;
  bool has_half_widths() const;     // of any event
  std::vector<Window> windows;      // in the order in which they closed; of one thread, by place
  std::vector<RegionSpan> regions;  // in the order in which they ended
  bool operator==(const WindowTable&) const = default;
};

/// Our CSV, piece by piece while a run goes on: head, then rows and regions as they come.
std::string window_csv_head(const WindowTable& table);
/// CHECKs that the window has a value per event, a half width per event if any event has them, and a time if and only
/// if a clock was declared.
std::string window_csv_row(const WindowTable& table, const Window& window);
std::string window_csv_region(const RegionSpan& region);

/// A field of one of our CSVs: escapes keep every record on one line, quotes keep commas.
std::string csv_field(std::string_view text);

/// Reads what these wrote (profile/windows/foreign_tables.h has what others write); lines may end in CRLF, and
/// fields may be quoted that need not be.
/// name  of the file, for messages: "app.csv:12:7: ..." names line and column, both from 1
Result<WindowTable> parse_window_csv(std::string_view text, const std::string& name);

/// HPCTool's CSV: `ins,l_cycle,ref_cycle,event1,event2,event3,event4`, lines ending in CRLF, one row a window.
/// A cell of an event that is not modelled is empty: readers see a missing number, never a zero.
inline constexpr std::size_t kHpctoolColumns = 7;
/// returns an error unless the table has exactly the seven events, in HPCTool's order
Result<void> check_hpctool_events(const WindowTable& table);
std::string hpctool_csv_head();
std::string hpctool_csv_row(const WindowTable& table, const Window& window);

}  // namespace zs::profile

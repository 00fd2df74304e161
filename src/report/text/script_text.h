// Samples one by one as text, field for field what `perf script` prints.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "profile/aggregate/aggregate.h"
#include "profile/perf_data/perf_data_reader.h"
#include "profile/symbols/callchain.h"
#include "profile/symbols/symbolizer.h"

namespace zs::report {

// clang-format off
enum class ScriptField : std::uint8_t {
  Comm, Pid, Tid, Cpu, Time, Period, Event, Address, DataSource, Weight, InstructionLatency, Ip, Symbol, SymbolOffset,
  Dso, SourceLine, InterruptRegisters, UserRegisters, BranchStack, BranchStackSymbols, PhysicalAddress, Misc,
  InstructionBytes, InstructionLength,
};
// clang-format on

/// A set of fields.
class ScriptFields {
 public:
  bool has(ScriptField field) const { return (bits_ >> static_cast<unsigned>(field) & 1) != 0; }
  void set(ScriptField field) { bits_ |= 1u << static_cast<unsigned>(field); }
  void clear(ScriptField field) { bits_ &= ~(1u << static_cast<unsigned>(field)); }
  bool operator==(const ScriptFields&) const = default;

 private:
  std::uint32_t bits_ = 0;
};

enum class ScriptTimes : std::uint8_t { OfClock, SinceFirst, SinceBefore };

struct ScriptStyle {
  std::string fields;        // of -F: "comm,tid,ip", or "+addr,-period" to change the usual ones; "" for the usual
  bool nanoseconds = false;  // nine digits of time
  ScriptTimes times = ScriptTimes::OfClock;
  profile::SampleLists only;
  bool call_chains = true;
  profile::Inlines inlines = profile::Inlines::Always;
  std::size_t max_stack = 127;
};

/// Prints the samples in the order of time through `out`, in pieces of any size.
/// returns an error if -F names an unknown field, or one that an event's samples do not have; then nothing is printed
Result<void> script_text(const profile::PerfDataReader& reader, profile::Symbolizer& symbolizer,
                         const ScriptStyle& style, const std::function<void(std::string_view)>& out);

/// The names of all fields, with blanks between.
std::string script_field_names();

}  // namespace zs::report

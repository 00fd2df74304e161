// The steps from a piece of an event list to a ParsedEvent. Between them stands the Draft: what the piece says, before
// it is decided whether and how the CPU model can count that.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arch/cpu_model.h"
#include "arch/events/event.h"
#include "arch/msrs.h"
#include "base/result.h"
#include "events/event_parser.h"
#include "events/list_text.h"
#include "events/modifiers.h"
#include "events/perf_names.h"

namespace zs::session::event_list {

/// Whose events are meant.
struct Vocabulary {
  const arch::CpuModel& cpu;
  const EventNames* more;  // may be null
  bool ring_0 = false;     // may be counted, too
};

/// What an event's name says: exactly one of perf, row, select.
struct Named {
  const PerfName* perf = nullptr;
  const arch::Event* row = nullptr;
  std::optional<arch::PerfEvtSel> select = std::nullopt;
  std::string known_as = {};  // the name behind `select`, where it came from a further name
  std::size_t segments = 1;   // how many pieces between colons the name takes
};

struct Draft {
  Text typed;  // without modifiers, for messages
  Named named;
  Modifiers modifiers;
  std::string name;  // name=TEXT
  std::optional<std::uint64_t> period, frequency;
  std::optional<std::uint16_t> latency_threshold;  // ldlat=
  std::size_t threshold_column = 0;
  std::uint64_t unit_bits = 0;  // of a PMU beside the core's: of its control register
};

/// segments  the event's text, split at its colons; those behind the name are left alone
Result<Named> resolve(const std::vector<Text>& segments, const Vocabulary& vocabulary);

/// The digits of a raw config. `text` is what was typed, for messages.
Result<arch::PerfEvtSel> raw_config(Text text, std::string_view hex_digits, const arch::CpuModel& cpu);

/// NAME [":" MODIFIERS]
Result<Draft> read_named(Text text, const Vocabulary& vocabulary);

/// "cpu/" TERMS "/" [MODIFIERS]
Result<Draft> read_terms(Text text, const Vocabulary& vocabulary);

/// Decides what is counted and on which counters, or says why it cannot be.
/// text  the whole event as typed
Result<ParsedEvent> choose(const Draft& draft, Text text, const arch::CpuModel& cpu);

inline constexpr const char* kListHint = "`zeroskid list` shows what is counted";

/// "not modelled: TYPED (KNOWN_AS) needs more of the core (PART) than its models have"
Error not_modelled(Text typed, std::string_view known_as, std::string_view part);
/// "not modelled: TYPED (KNOWN_AS) needs a model of the core (PART), which nehalem@1 does not have"
Error no_core(Text typed, std::string_view known_as, std::string_view part, const arch::CpuModel& cpu);

}  // namespace zs::session::event_list

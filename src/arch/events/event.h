// A row of a CPU model's event table: how software asks for an event, which counters can count it, how precise a sample
// of it can be, and what it counts here.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "arch/counter_set.h"
#include "arch/events/meanings.h"
#include "arch/msrs.h"
#include "arch/retired.h"
#include "base/items.h"

namespace zs::arch {

/// How much a number of this event is worth.
enum class EventClass : std::uint8_t {
  Exact,        // follows from the architecture: `meaning` counts it
  Modelled,     // a core model tells of it, where the processor has one: `meaning` sums its signals, or it is time
  NotModelled,  // known by name and encoding, but there is no number to give
};

/// What the vendor promises of PEBS with this event. The hardware takes any event; only these are precise.
enum class Precise : std::uint8_t {
  No,
  Yes,
  Always,        // exists for PEBS only, or with PEBS only under restrictions
  Distribution,  // the overflowing instruction itself is recorded (on CpuModel::distribution_counters)
};

/// Events that are time rather than something retired. The processor reports time to its PMU, if it has a clock.
enum class Tick : std::uint8_t {
  None,
  Core,       // core cycles
  Reference,  // ticks at the rate of the time-stamp counter
  Bus,        // ticks of the crystal or bus clock
  Slots,      // issue slots, if a core model tells of them
};

/// What of the PMU samples the event, where its records say more of an access than those of other events. A CPU model
/// says which of them it has.
enum class Facility : std::uint8_t {
  None,
  LoadLatency,   // tags loads and counts those that took more than MSR_PEBS_LD_LAT says
  PreciseStore,  // with MSR_PEBS_ENABLE[63] the records on PMC3 have a store's address
  StoreLatency,  // the records have a store's latency and place
};

struct Event {
  std::string_view name;     // perf's spelling: lower case
  std::string_view aliases;  // names the same event has elsewhere, separated by one space; "" if none
  std::uint16_t code;        // EVENT of the select register, 8 bits, AMD's 12; 00H: of a fixed counter only
  std::uint8_t umask;        // UMASK; of a fixed counter as perf numbers those
  CounterSet counters;       // that can count it
  Precise precise;
  const EventMeaning* meaning;  // null: NotModelled, or time
  std::string_view description;

  std::uint8_t cmask = 0;
  bool invert = false, edge = false, any = false;
  bool data_address = false;  // its PEBS record carries the data linear address
  bool of_store = false;      // and that is the store's, if the instruction loads as well
  bool extension = false;     // this processor has no such event: the encoding is zeroskid's own
  Facility facility = Facility::None;
  Tick tick = Tick::None;      // what Pmu::advance() adds to; `meaning` is null then
  std::uint32_t selector = 0;  // to be written to MSR_PEBS_LD_LAT (code CDH) or MSR_PEBS_FRONTEND (C6H) too

  constexpr EventClass kind() const {
    if (meaning == nullptr) return tick != Tick::None ? EventClass::Modelled : EventClass::NotModelled;
    return meaning->of_signals != nullptr ? EventClass::Modelled : EventClass::Exact;
  }
  /// Whether CMASK, INV, E or ANY are part of what is encoded, and not a condition upon it.
  constexpr bool has_condition() const { return cmask != 0 || edge || any; }

  /// The select register without rings, INT and EN: what perf calls the raw config.
  constexpr std::uint64_t config() const {
    return select_code(code, umask).raw() | std::uint64_t{edge} << 18 | std::uint64_t{any} << 21 |
           std::uint64_t{invert} << 23 | std::uint64_t{cmask} << 24;
  }

  // For table rows: the same event with one more property.
  template <typename T>
  constexpr Event with(T Event::*property, T value) const {
    Event event = *this;
    event.*property = value;
    return event;
  }
  constexpr Event also(std::string_view other_names) const { return with(&Event::aliases, other_names); }
  constexpr Event cycles(std::uint8_t at_least) const { return with(&Event::cmask, at_least); }
  constexpr Event cycles_below(std::uint8_t limit) const { return cycles(limit).with(&Event::invert, true); }
  constexpr Event rising() const { return with(&Event::edge, true); }
  constexpr Event any_thread() const { return with(&Event::any, true); }
  constexpr Event with_address() const { return with(&Event::data_address, true); }
  constexpr Event with_store_address() const { return with_address().with(&Event::of_store, true); }
  constexpr Event own_encoding() const { return with(&Event::extension, true); }
  constexpr Event selecting(std::uint32_t value) const { return with(&Event::selector, value); }
  constexpr Event by(Facility sampling) const { return with(&Event::facility, sampling); }
};

/// A row whose events `meaning` counts.
constexpr Event exact(std::string_view name, std::uint16_t code, std::uint8_t umask, CounterSet counters,
                      Precise precise, const EventMeaning& meaning, std::string_view description = "") {
  return {name, "", code, umask, counters, precise, &meaning, description};
}

/// A row of which a core model tells: `meaning` is a kModelled. Tagged loads are those of the load-latency facility.
constexpr Event modelled(std::string_view name, std::uint16_t code, std::uint8_t umask, CounterSet counters,
                         Precise precise, const EventMeaning& meaning, std::string_view description = "") {
  Event event{name, "", code, umask, counters, precise, &meaning, description};
  if (depends_on(meaning, CoreSignal::LatencyLoads)) event.facility = Facility::LoadLatency;
  return event;
}

/// A row of time. It counts where the processor reports time to its PMU.
constexpr Event time(std::string_view name, std::uint16_t code, std::uint8_t umask, CounterSet counters, Tick clock,
                     std::string_view description = "") {
  Event event{name, "", code, umask, counters, Precise::No, nullptr, description};
  event.tick = clock;
  return event;
}

/// A row known by name only.
constexpr Event not_modelled(std::string_view name, std::uint16_t code, std::uint8_t umask, CounterSet counters,
                             Precise precise, std::string_view description = "") {
  return {name, "", code, umask, counters, precise, nullptr, description};
}

constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

inline std::string in_lower_case(std::string_view text) {
  std::string lower_case(text);
  std::ranges::transform(lower_case, lower_case.begin(), lower);
  return lower_case;
}

constexpr bool equal_case_blind(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return lower(x) == lower(y); });
}

/// Whether `name` is the event's name or one of its aliases; upper and lower case are the same.
constexpr bool goes_by(const Event& event, std::string_view name) {
  if (equal_case_blind(event.name, name)) return true;
  for (const std::string_view alias : pieces_of(event.aliases, ' ')) {
    if (equal_case_blind(alias, name)) return true;
  }
  return false;
}

/// What every table must satisfy: names ascend (so none comes twice), some counter of the processor counts each row,
/// and a row is described.
constexpr bool is_consistent(std::span<const Event> events, CounterSet existing) {
  for (std::size_t i = 0; i < events.size(); ++i) {
    const Event& e = events[i];
    if (i > 0 && !(events[i - 1].name < e.name)) return false;
    if (e.counters.empty() || !e.counters.subset_of(existing)) return false;
    if ((e.code == 0) != e.counters.general().empty()) return false;
    if (e.description.empty()) return false;
    for (const char c : e.name) {
      if (lower(c) != c) return false;
    }
  }
  return true;
}

}  // namespace zs::arch

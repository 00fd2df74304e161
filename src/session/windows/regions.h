// Named regions of a program: what a thread counts between a begin and an end. Marks in the source say where
// (include/zeroskid/region.h), or the configuration does: functions, and stretches between two places.
//
// A thread's regions nest. An end closes the newest open region of its name, and with it those that were begun since
// and have lost their end: an exception or longjmp went past it. Those are counted up to there and told of as cut
// short.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "arch/retired.h"
#include "engine/observer.h"
#include "session/driver/event_counters.h"
#include "session/memory/program_memory.h"
#include "session/settings/config.h"
#include "session/units/unit_sums.h"
#include "session/wire/wire.h"

namespace zs::session {

/// Of the file that is mapped.
inline FileIdentity identity_of(const engine::Mapping& mapping) {
  return {.device_major = mapping.device_major, .device_minor = mapping.device_minor, .inode = mapping.inode};
}

/// What happens to regions at the probed places of a process.
class RegionProbes {
 public:
  enum class Kind : std::uint8_t {
    Begin,          // of the source
    End,            // of the source
    StretchBegin,   // of the configuration
    StretchEnd,     // likewise; ends nothing where it is not open
    FunctionEntry,  // ends where the function returns to
    FunctionReturn,
    SwitchOn,  // of a trace: no region
    SwitchOff,
  };
  struct Action {
    Kind kind;
    std::uint32_t region = 0;
    bool repeats = false;  // of an entry: the function jumps back to it
  };
  using Actions = std::vector<Action>;  // ends first

  RegionProbes(const RecordingConfig& config, ProgramMemory& memory);

  const std::string& name(std::uint32_t region) const { return names_[region]; }
  /// The code that `mapping` made visible may have places of the configuration.
  void mapped(const engine::Mapping& mapping);
  /// As engine::Observer::marker.
  engine::ProbeTime marker(std::uint64_t pc, std::uint64_t operand);
  /// Where the function that `at_entry` has just entered will return to; that place is probed.
  std::uint64_t return_address(const arch::RegisterFile& at_entry);
  /// What the program has there; 0 where nothing can be read.
  std::uint64_t word_at(std::uint64_t address) const;
  std::vector<engine::CodeProbe> take_new() { return std::exchange(new_, {}); }
  const Actions& at(std::uint64_t pc) {
    Found& found = found_[(pc * 0x9E3779B97F4A7C15u) >> (64 - kFoundBits)];
    if (found.actions == nullptr || found.pc != pc) found = {pc, &look_up(pc)};
    return *found.actions;
  }

 private:
  const Actions& look_up(std::uint64_t pc) const;
  std::uint32_t region(const std::string& name);
  void add(std::uint64_t pc, Action action, bool with_registers);

  const RecordingConfig& config_;
  ProgramMemory& memory_;
  std::vector<std::string> names_;
  std::map<std::string, std::uint32_t> numbers_;
  std::unordered_map<std::uint64_t, Actions> actions_;  // never walked
  /// What at() found last, by a hash of the address; empty again when actions_ changes.
  struct Found {
    std::uint64_t pc = 0;
    const Actions* actions = nullptr;
  };
  static constexpr unsigned kFoundBits = 6;
  std::array<Found, std::size_t{1} << kFoundBits> found_{};
  std::vector<engine::CodeProbe> new_;
};

/// One thread's regions.
class ThreadRegions {
 public:
  /// All references must outlive this.
  ThreadRegions(const RecordingConfig& config, RegionProbes& probes, const EventCounters& counters);

  /// As engine::Observer::reached. spans: where regions that ended there lay, if the configuration wants them
  void reached(std::span<const engine::ProbeVisit> visits, const arch::RegisterFile* registers,
               std::vector<RegionSpan>& spans);
  /// The thread ends: so do its regions, cut short.
  void end(std::vector<RegionSpan>& spans);
  /// Where the run is modelled in units, one begins, and ends.
  void begin_unit(const Unit& unit);
  void end_unit();
  /// Whether the thread is in one now.
  bool any_open() const { return depth_ != 0; }
  /// What all entries that have ended counted, one message per region; without origin and `final`.
  std::vector<Region> counts() const;

 private:
  struct Open {
    std::uint32_t region = 0;
    std::uint64_t sp = 0, return_to = 0;  // of a function: at its entry
    std::uint64_t position = 0;           // of the thread; only for spans
    std::vector<std::uint64_t> before;    // totals at its begin
    std::uint64_t first_instruction = 0;  // likewise, instructions; where there are units
    UnitCounts unit_before;               // likewise, or at that of the unit, if that is later
  };

  bool has_units() const { return config_.in_units; }
  std::uint64_t instructions_now() const { return now(config_.events.size() - 1); }
  void look_at(UnitCounts& counts) const;
  void add_part_of_unit(const Open& open);
  void read_counters();
  /// What the counters have counted of `event` at the visit that is looked at.
  std::uint64_t now(std::size_t event) const {
    const Accumulator accumulator = accumulators_[event];
    return base_[event] + (uncounted_[accumulator.number] & accumulator.mask);
  }
  void visit(const engine::ProbeVisit& visit, const arch::RegisterFile* registers, std::vector<RegionSpan>& spans);
  void begin(std::uint32_t region, const arch::RegisterFile* at_entry);
  void enter(RegionProbes::Action entry, const arch::RegisterFile& registers, std::vector<RegionSpan>& spans);
  void close(bool cut, std::vector<RegionSpan>& spans);
  void close_down_to(std::size_t open, std::vector<RegionSpan>& spans);
  void leave_frames_below(std::uint64_t sp, std::uint64_t pc, std::vector<RegionSpan>& spans);
  std::optional<std::size_t> newest(std::uint32_t region) const;
  Region& of(std::uint32_t region);

  const RecordingConfig& config_;
  RegionProbes& probes_;
  const EventCounters& counters_;
  std::size_t events_;
  std::vector<Open> open_;  // the first `depth_`; the rest is kept for its memory
  std::size_t depth_ = 0;
  std::vector<std::uint64_t> base_;  // what the counters held when visits were last told of, by event
  struct Accumulator {
    std::size_t number = 0;
    std::uint32_t mask = 0;  // 0: the event has none
  };
  std::vector<Accumulator> accumulators_;  // by event
  const std::uint32_t* uncounted_ =
      nullptr;                          // by accumulator: of the visit that is looked at, since the counters held base_
  std::vector<std::uint32_t> nothing_;  // of a visit that has nothing uncounted
  std::vector<Region> regions_;         // by number
  std::vector<std::uint32_t> nesting_;  // by number: how many of its entries are open
  const std::vector<std::uint32_t> estimated_;  // events
  std::optional<Unit> unit_;                    // that is under way
  struct Estimated {
    std::uint64_t instructions = 0;
    UnitSums sums;
  };
  std::vector<Estimated> estimates_;  // by number; where there are units
};

}  // namespace zs::session

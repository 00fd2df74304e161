// What a recording is to do: events, periods, what a sample carries, how the program runs. `zeroskid` makes one and
// hands it to every zeroskid-run of the recording in a sealed memfd whose descriptor survives execve; nobody changes
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "arch/counter_set.h"
#include "base/result.h"
#include "engine/settings.h"
#include "session/units/unit_schedule.h"

namespace zs::session {

enum class EventKind : std::uint8_t {
  Hardware,   // a PMU counter counts it
  TaskClock,  // software events: what the kernel measured for the thread, the tool's own share included
  ContextSwitches,
  PageFaults,
  MinorFaults,
  MajorFaults,
  BranchTrace,  // no number: every taken branch, through the Branch Trace Store
  // Instruction-based sampling; `select` is what the control register is to have beside its period.
  IbsOp,
  IbsFetch,
  // Of an exact profile: how often each instruction retired, and each branch was taken (Ran).
  RanInstructions,
  RanBranches,
  RanInContexts,
};
constexpr bool is_profile(EventKind kind) {
  return kind >= EventKind::RanInstructions && kind <= EventKind::RanInContexts;
}
constexpr bool is_ibs(EventKind kind) { return kind == EventKind::IbsOp || kind == EventKind::IbsFetch; }
constexpr bool is_counted_by_kernel(EventKind kind) {
  return kind != EventKind::Hardware && kind != EventKind::BranchTrace && !is_ibs(kind) && !is_profile(kind);
}

/// How much of a processor is played beside what follows from the architecture.
enum class Detail : std::uint8_t {
  Exact,  // nothing
  Full,   // the whole core: caches, TLBs, branch prediction, store buffer, time
};

/// One event of the recording, with all that assigning it to a counter needs. The event table is not consulted again.
struct EventSpec {
  std::string name;  // as the user spelled it
  EventKind kind = EventKind::Hardware;
  std::uint64_t select = 0;   // EVENT, UMASK, USR, OS, E, INV, CMASK as IA32_PERFEVTSELx has them; no EN, no INT
  arch::CounterSet counters;  // can count it
  arch::CounterSet precise_counters;  // can also sample it through PEBS
  std::uint8_t precise = 0;           // 0 PMI sampling; 1 :p (IP after); 2 :pp (the instruction); 3 :ppp
  bool precise_distribution = false;  // INST_RETIRED.PREC_DIST on PMC1: the overflowing instruction itself is recorded
  bool has_address = false;           // its PEBS records carry a data linear address
  Detail detail = Detail::Exact;      // the least that counts it; above Exact its number is modelled
  /// Recorded in units, what counts exactly counts in them alone, and the number of the run is estimated.
  bool only_in_units = false;
  std::uint16_t latency_threshold = 0;  // load latency: MSR_PEBS_LD_LAT, core cycles
  std::uint64_t period = 0;             // 0: only counted; with a frequency the first one, 1 if that is not known
  std::uint32_t frequency =
      0;  // samples per nominal second (session/driver/adaptive_period.h); 0: `period` stays as it is
  std::uint32_t leader = 0;    // index of its group's first event; its own index if it stands alone
  bool closes_window = false;  // every `period` of it end a window; no samples, and precise is 0

  std::uint64_t first_period() const { return frequency != 0 && period == 0 ? 1 : period; }
  bool samples() const { return (period != 0 && !closes_window) || frequency != 0; }
  static void fields(auto& e, auto& visit) {
    visit(e.name, e.kind, e.select, e.counters, e.precise_counters, e.precise, e.precise_distribution, e.has_address,
          e.detail, e.only_in_units, e.latency_threshold, e.period, e.frequency, e.leader, e.closes_window);
  }
  bool operator==(const EventSpec&) const = default;
};

enum class Callchain : std::uint8_t {
  None,
  FramePointers,
  Dwarf,  // registers and a piece of the stack, for the reader to unwind
  LbrCallStack,
  Exact,  // unwound at the sample (session/stacks/stack_walk.h)
};

/// How long after an overflow its window ends or its sample is taken. Where it is not None, samples say which
/// instruction made the counter overflow (arch/records/skid_note.h).
enum class Skid : std::uint8_t {
  None,          // the interrupt comes at once
  Fixed,         // the interrupt comes RecordingConfig::skid_instructions later
  Distribution,  // as many later as were seen on a machine (session/driver/late_interrupt.h)
  // Of samples alone, which then show an instruction that has the event:
  Armed,    // the first one behind the shadow of the overflow, as PEBS arms (session/driver/skid_replay.h)
  Precise,  // the one that made the counter overflow, as with precise distribution
};
constexpr bool is_late_interrupt(Skid skid) { return skid == Skid::Fixed || skid == Skid::Distribution; }

inline constexpr std::uint32_t kNoEvent = UINT32_MAX;
inline constexpr std::size_t kMostEstimated = 160;  // events; what a thread says of them is one message
inline constexpr std::size_t kMostClosers = 64;     // events that close windows; Window::ended_by has a bit for each

/// As the kernel tells files apart.
struct FileIdentity {
  std::uint32_t device_major = 0, device_minor = 0;
  std::uint64_t inode = 0;
  bool operator==(const FileIdentity&) const = default;
};

/// Which branches of a trace, or counts of a profile, are kept. Of several kinds of filters they pass each.
struct TraceFilter {
  struct FileRange {
    FileIdentity file;
    std::uint64_t offset = 0, bytes = 0;  // in it, wherever that is mapped
    bool operator==(const FileRange&) const = default;
  };
  std::vector<FileRange> ranges;     // a branch passes that leaves one or leads into one; none: all pass
  bool switched = false;             // RegionSpec::switches turn it on and off, for each thread
  bool begins_on = true;             // before the first of them
  std::vector<std::string> regions;  // while the thread is in one of these; none: always
  std::vector<std::string> threads;  // by name, or the how-manieth of its process from 1; none: all

  bool any() const { return !ranges.empty() || switched || !regions.empty() || !threads.empty(); }
  static void fields(auto& f, auto& visit) { visit(f.switched, f.begins_on, f.regions, f.threads, f.ranges); }
  bool operator==(const TraceFilter&) const = default;
};

/// A region that the source does not mark. Places are addresses, or offsets in a file wherever that is mapped.
struct RegionSpec {
  std::string name;
  bool function = false;  // `begins` are entries; the region ends where the function returns to
  bool switches = false;  // no region: where TraceFilter turns on and off
  bool in_file = false;
  FileIdentity file;  // then
  std::vector<std::uint64_t> begins, ends;
  std::vector<std::uint64_t> repeated;  // of `begins`: those that their function jumps back to
  static void fields(auto& r, auto& visit) {
    visit(r.name, r.function, r.switches, r.in_file, r.file, r.begins, r.ends, r.repeated);
  }
  bool operator==(const RegionSpec&) const = default;
};

struct RecordingConfig : engine::RunSettings {
  std::string cpu_model = "skylake-server@1";  // and its core, which has the same name
  Detail detail = Detail::Exact;
  std::vector<std::string> model_settings;  // "l2.bytes=2M" (uarch/overrides.h), in the order in which they are made
  std::uint32_t cores = 1;                  // that threads are placed on
  std::vector<EventSpec> events;

  /// PEBS records a buffer takes before its PMI. measured: CPU seconds for 156,000 samples (qsort of 20,000 numbers, 20
  /// times, every 997 instructions) 0.77 at 1, 0.71 at 4, 0.68 from 16 up to 1024.
  std::uint32_t ds_records = 64;
  Callchain callchain = Callchain::None;
  std::uint32_t max_stack = 127;  // callchain entries
  std::uint32_t stack_bytes = 0;  // user stack copied per sample, Callchain::Dwarf
  bool branch_stack = false;      // LBR into every sample
  std::uint64_t lbr_select = 0;   // LBR_SELECT: a 1 suppresses (bit 9: call-stack mode)
  bool registers = true;          // general registers into every sample
  bool raw_records = false;       // the PEBS record itself into every sample that has one
  bool data_mappings = false;     // report mappings that are not executable too
  bool heap_blocks = false;       // find the block of the program's heap that each sampled address lies in

  bool log_sharing = false;         // keep what the model sees of lines that threads fight over
  std::uint64_t schedule_seed = 0;  // of when threads begin, and so of who meets whom; 0: each as soon as it can

  bool marked_regions = false;  // count the regions that the source marks (include/zeroskid/region.h)
  std::vector<RegionSpec> regions;
  TraceFilter trace_filter;
  bool region_spans = false;                // say where each entry lay; needs position_event
  std::uint32_t position_event = kNoEvent;  // counts instructions: where windows and regions begin and end
  Skid skid = Skid::None;
  std::uint64_t skid_instructions = 0;  // Skid::Fixed
  std::uint32_t skid_event = kNoEvent;  // counts instructions, to be late by them; with late interrupts only

  /// What is modelled is modelled in samples of the program only, and modelled events are estimates
  /// (session/units/unit_sums.h). They close no windows, and there is no skid.
  bool in_units = false;
  UnitOptions units;

  bool samples() const;
  bool traces_branches() const;
  /// An exact profile: its events are those from kRanInstructions on.
  bool profiles() const;
  bool samples_by_ibs() const;
  bool has_windows() const;
  bool closes_windows_by_an_estimate() const;
  /// Of the events that close windows, the least period; UINT64_MAX without any. Hardly any instruction counts twice,
  /// so a window has about so many instructions or more.
  std::uint64_t shortest_window() const;
  /// Whether the number of this event, one of them, follows from units.
  bool is_estimated(const EventSpec& event) const {
    return in_units && (event.detail != Detail::Exact || event.only_in_units);
  }
  /// Of the events, those whose numbers are estimates: what UnitSums has, in this order.
  std::vector<std::uint32_t> estimated_events() const;
  /// A branch stack, a callchain and an adaptive period are taken at the PMI, so each record then needs its own: as
  /// Linux has it, the threshold is one record.
  std::uint32_t records_per_pmi() const;

  static void fields(auto& c, auto& visit) {
    engine::RunSettings::fields(c, visit);
    visit(c.cpu_model, c.detail, c.model_settings, c.cores, c.ds_records, c.callchain, c.max_stack, c.stack_bytes,
          c.branch_stack, c.lbr_select, c.registers, c.raw_records, c.data_mappings, c.heap_blocks, c.log_sharing,
          c.schedule_seed, c.marked_regions, c.region_spans, c.position_event, c.skid, c.skid_instructions,
          c.skid_event, c.in_units, c.units.complete, c.units.unit, c.units.warm_up, c.units.first_period,
          c.units.fewest_units, c.units.longest_period, c.units.wanted_error, c.units.insists, c.units.budget,
          c.units.seed, c.events, c.regions, c.trace_filter);
  }
  bool operator==(const RecordingConfig&) const = default;
};

/// Bytes that decode_config gives back unchanged: magic, version, length, checksum, then the fields.
std::vector<std::byte> encode_config(const RecordingConfig& config);

/// returns an error that names what is wrong if the bytes are no configuration of this version or are damaged
Result<RecordingConfig> decode_config(std::span<const std::byte> bytes);

}  // namespace zs::session

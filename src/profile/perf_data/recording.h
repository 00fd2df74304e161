// What a recording is, before its first sample: its events and how they sample, on which machine, by which command.
// A perf.data file begins and ends with it; given to the writer, given back by the reader.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "profile/perf_data/perf_data.h"
#include "profile/perf_data/records.h"

namespace zs::profile {

struct EventDescription {
  std::string name;  // as the user typed it; every reader shows it like this
  std::uint32_t type = static_cast<std::uint32_t>(perf::EventType::Raw);
  std::uint64_t config = 0;  // Raw: PERFEVTSEL bits, umask << 8 | event
  std::uint64_t config1 = 0, config2 = 0;
  std::uint64_t period = 0;     // events per sample, or
  bool frequency = false;       //   samples per second
  std::uint8_t precise_ip = 0;  // how many p: 0 to 3
  bool exclude_user = false, exclude_kernel = true, exclude_hypervisor = true;
  std::vector<std::uint64_t> ids;  // that the kernel gave it, one for each place it is open at; empty: ours

  bool is_branch_trace() const { return type == perf::kBranchTraceType; }
};

/// Events counted together: `{a,b}` is name "" (perf then says "anon group"), leader 0, members 2.
struct EventGroup {
  std::string name;
  std::uint32_t leader = 0, members = 0;  // index of the first event; how many, the leader included
  bool operator==(const EventGroup&) const = default;
};

/// How samples got their call chains, and so how a reader completes them.
enum class CallchainMode : std::uint8_t {
  None,
  FramePointers,  // Sample::callchain holds it
  LastBranches,   // Sample::branches holds the LBR call stack, Sample::callchain what frame pointers gave
  Dwarf,          // Sample::registers and user_stack hold what unwinding needs
};

/// Which machine. Readers show it; only `cpus` must be right: more than the largest Sample::cpu.
struct Machine {
  std::string hostname, os_release;
  std::string architecture = "x86_64";
  std::string cpu_description;  // the CPU that was sampled: a model's name, for a software PMU
  std::string cpu_id;           // as perf has it: "GenuineIntel,6,85,4"
  std::uint32_t cpus = 1;
  std::uint64_t memory_kb = 0;
  std::vector<Note> pmu_capabilities;  // "branches" = "32", "max_precise" = "3"
};

struct RecordingDescription {
  std::vector<EventDescription> events;
  std::vector<EventGroup> groups;
  std::uint64_t branch_filter = 0;       // perf::branch_filter bits of -b or -j; 0: samples have no branches
  bool branch_prediction_known = false;  // false: nothing modelled a predictor, and no entry says M or P
  CallchainMode callchain = CallchainMode::None;
  std::uint32_t stack_bytes = 8192;                                // Dwarf: how much stack a sample has at most
  std::uint64_t interrupt_registers = perf::kAllGeneralRegisters;  // mask; 0: samples have none
  bool raw_records = false;                                        // samples have their PEBS records
  bool data_sources = false;                                       // samples say where their data was
  bool latencies = false;                                          // and how long that took
  bool physical_addresses = false;                                 // and its address in memory
  bool data_mappings = false;                                      // the kernel tells of mappings of data, too
  bool inherit = true;
  bool file_numbers = true;   // device and inode of what has no build ID; false: they are this machine's own
  int compression_level = 0;  // zstd's; 0: records are not compressed. Traces never are: perf could not read them
  Machine machine;
  std::string version;  // of what wrote it
  std::vector<std::string> command_line;
  std::vector<Note> notes;  // "cpu model", "seed", options
};

/// The key of the note that a recording of `zeroskid profile` has.
inline constexpr const char* kExactProfile = "exact profile";
/// Whether it is one: its samples stand for all instructions and branches (session::kRanInstructions).
inline bool is_exact_profile(const RecordingDescription& description) {
  return std::ranges::any_of(description.notes, [](const Note& note) { return note.key == kExactProfile; });
}

/// What is known when it ends.
struct Summary {
  /// "PMIs", "PEBS records", "lost"; "in detail": how much of a run with estimates was modelled.
  std::vector<Note> notes;
};
/// What "in detail" says where all was: then there are no estimates.
inline constexpr const char* kAllInDetail = "all of it";

/// The machine this runs on; cpu_description, cpu_id and pmu_capabilities are left empty.
Machine this_machine();

}  // namespace zs::profile

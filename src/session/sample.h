// What is kept of one PEBS record, with what the recording adds at its PMI. The only header of `session` that `profile`
// sees.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "arch/retired.h"

namespace zs::session {

struct SampledBranch {
  std::uint64_t from = 0, to = 0;
  bool mispredicted = false;
  std::uint16_t cycles = 0;
  arch::BranchKind kind = arch::BranchKind::None;
  arch::BranchSpeculation speculation = arch::BranchSpeculation::Unknown;
};

/// Memory that the program asked its allocator for.
struct HeapBlock {
  std::uint64_t number = 0;  // no two blocks of a process have one
  std::uint64_t start = 0, size = 0;
  std::vector<std::uint64_t>
      site;  // return addresses, innermost first: where the allocator was called, and its callers
  bool operator==(const HeapBlock&) const = default;
};

/// Where a call chain ends.
enum class ChainEnd : std::uint8_t {
  NotSaid,
  Outermost,    // nobody called the last function
  NoRule,       // no table and no way through the code says where the last function's caller is
  BrokenStack,  // the stack does not have it where the rule says
  Limit,        // no more entries were wanted
};

/// Of an exact profile, the events in their order: a sample's period says how often the instruction ran, or the branch
/// was taken to `address`, or how many instructions of that function ran in that calling context.
inline constexpr std::uint32_t kRanInstructions = 0, kRanBranches = 1, kRanInContexts = 2;

struct Sample {
  std::uint32_t event = 0;  // index into the recording's events
  std::int32_t pid = 0, tid = 0;
  std::uint32_t cpu = 0;  // modelled CPU
  std::uint64_t time_ns = 0;
  std::uint64_t ip = 0;
  bool exact_ip = false;          // EventingIP of a PEBS record
  std::uint64_t address = 0;      // data linear address; 0 if none
  std::uint64_t data_source = 0;  // where its data was, in perf's word (arch/records/perf_mem.h); 0: nobody asked
  std::uint64_t latency = 0;      // core cycles of that access; 0: not known
  std::uint16_t instruction_latency = 0;  // likewise, of the instruction, where records tell both
  std::uint64_t period = 0;
  bool has_registers = false;
  arch::RegisterFile registers;          // ip = the next instruction
  std::vector<SampledBranch> branches;   // newest first
  std::vector<std::uint64_t> callchain;  // innermost first; callchain[0] == ip
  ChainEnd chain_end = ChainEnd::NotSaid;
  std::vector<std::byte> user_stack;  // copied from registers.sp upwards, for DWARF unwinding
  std::vector<std::byte> raw;         // its PEBS record as it lay in memory: arch/records/ds_excerpt.h
  /// What `address` lay in when the sample was taken; null: in none, or nobody looked.
  std::shared_ptr<const HeapBlock> heap_block;
};

}  // namespace zs::session

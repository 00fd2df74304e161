// What the code of paths consists of (replay_code.h): for each access, branch and line of instructions what
// MemorySystem::Filter and BranchUnit do with it. All paths call the same routines, because what programs with much
// code wait for here is that code comes into the host's caches; a few paths, those of small programs, have copies of
// the two that are needed most.
//
// Arguments are in registers. kRax, kRcx, kRdx, kRsi and kRdi are lost, all others stay as they are, but for what is
// said.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "uarch/memory/memory_system.h"
#include "uarch/replay/assembler_names.h"

namespace zs::uarch {

struct ReplayState;

/// What the code keeps where; kRax, kRcx, kRdx, kRsi and kRdi hold nothing for long.
namespace replay_registers {
constexpr Gpr kState = kRbx, kValues = kR12, kRun = kR13;
// These are lost when somebody is asked, and loaded again.
constexpr Gpr kTags = kR8, kHot = kR9, kCounts = kR10, kStamp = kR11;

inline Memory in_state(std::size_t offset) { return {kState, static_cast<std::int64_t>(offset)}; }
inline Memory in_counts(std::size_t offset) { return {kCounts, static_cast<std::int64_t>(offset)}; }
}  // namespace replay_registers

#define ZS_STATE(member) replay_registers::in_state(offsetof(ReplayState, member))
#define ZS_COUNTS(member) replay_registers::in_counts(offsetof(MemorySystem::InlineCounts, member))

class ReplayRoutines {
 public:
  /// Writes them.
  ReplayRoutines(Assembler& code, const MemorySystem::Filter& filter);
  ReplayRoutines() = default;

  // Where they are, and what the flags say behind them.
  // A store of the bytes from kRax to kRdx. Not equal: they are not hot, and kRsi is what kRax was.
  const std::uint8_t* store = nullptr;
  // The same of bytes that are not, from kRsi to kRdx. Not equal: they do not hit.
  const std::uint8_t* store_again = nullptr;
  const std::uint8_t* taken = nullptr;  // a taken branch whose footprint is kRdx
  const std::uint8_t* touch =
      nullptr;  // the same in the BTB, if it is not its set's newest; kRsi: where it is. Not equal: it was not there
  const std::uint8_t* call = nullptr;  // kRdx: the address behind it
  // A return to where the run goes on; kRdx: path_footprint() of it and 0. Not equal: mispredicted, and nothing has
  // happened.
  const std::uint8_t* returned = nullptr;
  // The line kRsi of instructions; by whether the path before may have fetched it (if not, it is counted). Not equal:
  // it does not hit.
  std::array<const std::uint8_t*, 2> fetch{};

  /// What `store` does, of a store or a load. Returns the jump of what is not hot.
  static std::uint8_t* write_look(Assembler& code, bool own_tlb, unsigned store);
  /// Loads the registers that are lost when somebody is asked.
  static void write_places(Assembler& code);
  /// Stores what of them others change: before somebody is asked.
  static void write_stamp(Assembler& code);
  /// From within a routine. Its arguments are in their places.
  static void write_call_out(Assembler& code, Memory function);
  /// The same of a function that says whether it did it; behind it the flags say: not equal, it did not. Ends the
  /// routine.
  static void write_try(Assembler& code, Memory function);

 private:
  static const std::uint8_t* write_try(Assembler& code, Memory function, Memory first);
  static const std::uint8_t* write_call(Assembler& code);
  const std::uint8_t* write_return(Assembler& code) const;
  static const std::uint8_t* write_fetch(Assembler& code, std::uint64_t page_mask, bool first,
                                         const std::uint8_t* fetches);
  static void write_touch(Assembler& code, Gpr lines, Memory stamps, unsigned store);
};

}  // namespace zs::uarch

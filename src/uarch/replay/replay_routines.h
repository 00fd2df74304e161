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

#include "uarch/branch/tournament_predictor.h"
#include "uarch/memory/memory_system.h"
#include "uarch/replay/assembler_names.h"

namespace zs::uarch {

struct ReplayState;

/// What the code keeps where; kRax, kRcx, kRdx, kRsi and kRdi hold nothing for long.
namespace replay_registers {
constexpr Gpr kState = kRbx, kNow = kRbp, kValues = kR12, kRun = kR13, kSlots = kR14, kOutcomes = kR15;
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
  /// tournament  null: another one predicts, and taken branches are told to BranchUnit
  /// by_targets  whether TargetCache says where indirect branches go; then nobody wants to know of taken ones
  ReplayRoutines(Assembler& code, const MemorySystem::Filter& filter, const TournamentPredictor::Inline* tournament,
                 bool by_targets);
  ReplayRoutines() = default;

  // Where they are, and what the flags say behind them.
  // The bytes from kRax to kRdx, by whether it is a store. Not equal: they are not hot, and kRsi is what kRax was.
  std::array<const std::uint8_t*, 2> descriptor{};
  // The same of bytes that are not, from kRsi to kRdx. Not equal: they do not hit.
  std::array<const std::uint8_t*, 2> look_again{};
  // By whether the branch is taken; kRsi: its hash, masked. Not equal: mispredicted.
  std::array<const std::uint8_t*, 2> conditional{};
  const std::uint8_t* taken = nullptr;  // a taken branch whose footprint is kRdx; null: nobody wants it
  // An indirect one to where the run goes on; kRsi: its hash. Not equal: mispredicted. Null: another one predicts.
  const std::uint8_t* indirect = nullptr;
  const std::uint8_t* called = nullptr;  // kRdx: the address behind an indirect call to where the run goes on
  const std::uint8_t* touch =
      nullptr;  // the same in the BTB, if it is not its set's newest; kRsi: where it is. Not equal: it was not there
  const std::uint8_t* call = nullptr;  // kRdx: the address behind it
  // A return to where the run goes on; kRdx: path_footprint() of it and 0. Not equal: mispredicted, and nothing has
  // happened.
  const std::uint8_t* returned = nullptr;
  /// Which lines of instructions a routine answers for.
  enum Lines : std::uint8_t {
    kAnyLine,     // that hit
    kNewestLine,  // that are the newest of their sets: nothing happens to these
    kWayHint,     // that are that, or hot
  };
  // The line kRsi of instructions; by whether the path before may have fetched it (if not, it is counted), and by
  // Lines. Not equal: it is none of those.
  std::array<std::array<const std::uint8_t*, 3>, 2> fetch{};
  // Where the tournament predicts, a conditional branch that it predicted wrong, by whether it is taken; then kRsi:
  // where it is, kRdx: its footprint. Not equal: somebody wants to know, and nothing has happened.
  std::array<const std::uint8_t*, 2> wrong{};
  const std::uint8_t* room = nullptr;  // there, waits for room in the reorder buffer

  /// Copies of the first and the third. Returns the jump of what is not hot.
  static std::uint8_t* write_look(Assembler& code, bool own_tlb, unsigned store);
  static void write_conditional(Assembler& code, const TournamentPredictor::Inline& tournament, bool taken);
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
  static const std::uint8_t* write_taken(Assembler& code);
  static const std::uint8_t* write_call(Assembler& code);
  static const std::uint8_t* write_indirect(Assembler& code);
  const std::uint8_t* write_called(Assembler& code) const;
  const std::uint8_t* write_return(Assembler& code) const;
  const std::uint8_t* write_wrong(Assembler& code, bool is_taken) const;
  static const std::uint8_t* write_room(Assembler& code);
  static const std::uint8_t* write_fetch(Assembler& code, std::uint64_t page_mask, bool first, Lines lines,
                                         const std::uint8_t* fetches);
  static void write_touch(Assembler& code, Gpr lines, Memory stamps, unsigned store);
};

}  // namespace zs::uarch

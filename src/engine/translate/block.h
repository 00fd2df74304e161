// Translated code, described: blocks, the ways out of them, and what each translated instruction needs so that a fault
// in it can be told in the program's terms.
#pragma once

#include <cstdint>

#include "arch/retired.h"
#include "engine/observer.h"

namespace zs::engine {

/// How much a translation may run before it comes back to C++.
enum class Variant : std::uint8_t {
  Full,  // links to its successors; appends records to the trace
  Near,  // close to the event horizon, budget form: looks first whether all of it may run; linked to its like; appends no record
  Step,  // one instruction; appends nothing: the dispatcher retires it
  // With a core model, where an overflow may be near: stores all registers on the way (AddressSlots::clear(true)), so
  // that it may go beyond the overflow, which is found when the trace is read; linked to its like.
  Logged,
  // Close to an overflow, with nothing modelled: no instruction of it has an event that may overflow, so it runs on as
  // Full does; linked to its like.
  Quiet,
  // Close to the event horizon, never linked: until so many instructions have run that may bring the horizon closer.
  UpTo0,
  UpTo1,
  UpTo2,
  UpTo4,
  UpTo8,
  UpTo16,
  UpTo32,
};

inline constexpr Variant kLastVariant = Variant::UpTo32;

constexpr bool is_up_to(Variant variant) { return variant >= Variant::UpTo0; }
/// How many they are.
constexpr unsigned most_risky(Variant variant) {
  return variant == Variant::UpTo0 ? 0 : 1u << (static_cast<unsigned>(variant) - static_cast<unsigned>(Variant::UpTo1));
}
static_assert(most_risky(Variant::UpTo32) == 32);
/// The one that may run farthest within `risky`.
constexpr Variant up_to(std::uint64_t risky) {
  Variant variant = Variant::UpTo0;
  while (variant < Variant::UpTo32 && most_risky(static_cast<Variant>(static_cast<unsigned>(variant) + 1)) <= risky)
    variant = static_cast<Variant>(static_cast<unsigned>(variant) + 1);
  return variant;
}
static_assert(up_to(0) == Variant::UpTo0 && up_to(3) == Variant::UpTo2 && up_to(1000) == Variant::UpTo32);

/// Which instructions can have an event that only a core model knows.
enum Risk : std::uint8_t { kRiskAny = 1, kRiskLoad = 2, kRiskStore = 4, kRiskBranch = 8 };

enum class ExitKind : std::uint8_t {
  Direct,       // to `target`
  Indirect,     // target in rcx, program's rcx in its slot
  Syscall,      // `pc` is the SYSCALL, `target` the instruction after it
  Interrupt,    // `pc` likewise the INT 80h
  Emulated,     // `pc` is the instruction, `target` the one after it
  Breakpoint,   // `pc` likewise
  Refused,      // `pc` is an instruction that the engine does not run
  Undecodable,  // no instruction at `pc`: SIGILL
  Unfetchable,  // `pc` is not executable: SIGSEGV
  Stale,        // the code of the block is not what it was when the block was made; `target` is its pc
  NeedsStep,    // the instruction at `target` must run as Variant::Step
  Horizon,      // of Variant::Near: less may run than the whole block, or nothing in this form; `target` is its pc
};

inline constexpr std::uint32_t kNone = UINT32_MAX;

/// One way out of a block; its index is the id that the trace records.
struct Exit {
  std::uint64_t pc = 0;  // of the instruction that leaves where the kind says so, and of a side exit's branch
  std::uint64_t target = 0;
  std::uint32_t patch_after = 0;  // end of the rel32 that leaves; 0 if it cannot be linked
  // Of a side exit of which another copy can be made, closer to where it leads (BlockLinker::link):
  std::uint32_t branch_after = 0;  // end of the rel32 of the branch that leads to it, else 0
  std::uint32_t stub = 0;          // where it was made first; of the end of a path that is quiet, where its id is told
  std::uint32_t block = kNone;
  std::uint32_t linked_to = kNone;      // block
  std::uint32_t next_incoming = kNone;  // list of exits linked to the same block
  std::uint16_t instructions = 0;       // retired on this path
  std::int16_t advance = 0;             // in the budget form: what is added to the trace pointer
  ExitKind kind = ExitKind::Direct;
  bool taken = false;      // a side exit of a branch whose fall-through (or target) the block follows
  bool brake = false;      // taken because the trace pointer has come close to the guard (HorizonCheck)
  bool adjacent = false;   // linked to what follows: the jump is a NOP
  bool near = false;       // says its id in Context::exit_id, not in the trace, and is linked to Variant::Near
  bool quiet = false;      // behind a brake in the budget form: says its id there too
  bool came_out = false;   // `near`: has led to C++ behind a stop
  std::uint8_t risky = 0;  // with addresses: instructions on this path that may bring the event horizon closer
  // With TranslationOptions::stack_pointers:
  bool returns = false;         // by a return to no call of the path
  std::uint16_t called_by = 0;  // instruction of the path, from 1, whose call it is in; 0: of none

  /// By a branch that the block does not follow, or not that way.
  bool leaves_by_branch() const { return kind == ExitKind::Direct && pc != 0; }
};

/// State that the copied instruction runs in, and where it is.
struct InsnMeta {
  std::uint16_t code_offset = 0;      // of the copied instruction's glue, from Block::entry
  std::uint8_t map_register : 4 = 0;  // stands in for r11; 0 = none (rax is never chosen)
  std::uint8_t foreseen : 1 =
      0;                       // a direct jump: what it will do follows from the flags before it, and it cannot fault
  std::uint8_t plain : 1 = 0;  // what it did can be told afterwards, from its bytes and the registers it leaves
  std::uint8_t rcx_spilled : 1 = 0;  // an indirect transfer: the program's rcx is in its slot
  std::uint8_t far_or_access = 0;    // far_register() or last_access(), by rcx_spilled
  std::int32_t pc_delta = 0;         // from Block::pc

  /// Holds a far address: number + 1; 0 = none.
  unsigned far_register() const { return rcx_spilled != 0 ? 0 : far_or_access; }
  /// Of an indirect transfer: from code_offset to the last instruction that accesses the program's memory for it; 0:
  /// none does. Up to there nothing has been done that would be done twice if it began again.
  unsigned last_access() const { return rcx_spilled != 0 ? far_or_access : 0; }
};
static_assert(sizeof(InsnMeta) == 8);

struct Block {
  std::uint64_t pc = 0;
  std::uint64_t entry = 0;
  std::uint64_t direct_entry = 0;  // for the direct table: reloads rcx and goes on at `entry`; 0 if none
  std::uint64_t hashed_entry = 0;  // for the hashed table: checks the pc first; 0 if none
  std::uint64_t cold_entry = 0;    // the side exits of Variant::Full lie apart, from here to those of the next block
  std::uint32_t code_bytes = 0;    // from entry
  std::uint32_t first_meta = 0;
  std::uint32_t first_exit = 0;
  std::uint32_t incoming = kNone;  // exits linked to this block
  std::uint16_t instructions = 0;
  std::uint16_t exits = 0;
  Variant variant = Variant::Full;
  ProbeTime probe = ProbeTime::None;  // of its first instruction
  bool dead = false;
  std::uint8_t met_indirectly = 0;       // by so many indirect branches, by way of C++
  std::uint16_t module = 0;              // of a snapshot: the one that it was made of (stored_code.h); 0: it is new
  std::uint16_t braked_at = UINT16_MAX;  // instructions before its brake
  /// In the budget form: what the trace pointer has been advanced by where `instruction` of them have run.
  std::uint64_t advanced(unsigned instruction) const { return instruction >= braked_at ? instructions : 0; }
  std::uint64_t pc_of(const InsnMeta& insn) const {
    return pc + static_cast<std::uint64_t>(std::int64_t{insn.pc_delta});
  }
  bool unseen_changes = false;  // compared with the program's bytes whenever it is entered (code_check.cc)
  std::uint64_t checksum = 0;
};

}  // namespace zs::engine

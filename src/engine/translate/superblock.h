// A superblock before any code is made of it: the instructions on one way through the program, entered at the first of
// them, left behind the last or by a branch in between that goes another way. And what those who choose, emit and look
// back at them have in common.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <unordered_set>
#include <vector>

#include "arch/retired.h"
#include "engine/isa_names.h"
#include "engine/translate/address_slots.h"
#include "engine/translate/block.h"
#include "engine/translate/code_probes.h"
#include "engine/translate/trace_record.h"
#include "isa/decode.h"
#include "isa/flag_writer.h"

namespace zs::engine {

/// Where guest instructions come from, and who must hear that code was taken from a page.
class CodeSource {
 public:
  virtual ~CodeSource() = default;
  /// The executable bytes at `pc`, at most 15; empty if `pc` is not executable.
  virtual std::span<const std::uint8_t> fetch(std::uint64_t pc) = 0;
  /// Whether the bytes at `pc` may change without notice: executable shared memory, which another view may write.
  virtual bool may_change_unseen(std::uint64_t pc) = 0;
  /// Whether somebody wants to hear of `insn`, which is about to be translated.
  virtual Probe probe(const Insn& insn) = 0;
  /// Page number `page` (address / 4096) now has translations.
  virtual void translated(std::uint64_t page) = 0;
};

/// Which instructions are watched (LineWatch), by their addresses.
class WatchedInsns {
 public:
  bool contains(std::uint64_t pc) const { return all_ || insns_.contains(pc); }
  /// returns whether it was not watched before
  bool insert(std::uint64_t pc) { return insns_.insert(pc).second && !all_; }
  bool all() const { return all_; }
  void set_all(bool all) { all_ = all; }

 private:
  bool all_ = false;
  std::unordered_set<std::uint64_t> insns_;
};

/// Hears of blocks and of their end, while their code can still be read.
class CodeHistory {
 public:
  virtual ~CodeHistory() = default;
  /// A block was made, whose code may change without notice.
  virtual void made(std::uint32_t block) = 0;
  /// Blocks of code in [start, end) are about to die.
  virtual void code_changes(std::uint64_t start, std::uint64_t end) = 0;
  /// This one is, whose code has changed already.
  virtual void block_dies(std::uint32_t block) = 0;
  virtual void all_blocks_die() = 0;
};

/// What translations are for, and with that what they look like.
struct TranslationOptions {
  unsigned max_instructions = 32;
  isa::Processor processor;
  bool wants_retirements = false;  // SuperblockReplay::retirements() will be asked for
  bool count_elements = false;     // REP strings add to Context::elements instead of running alone
  bool brakes = false;  // an overflow may be near: leave before the guard is hit where that costs next to nothing
  TraceForm form = TraceForm::Records;
  bool addresses =
      false;  // with TraceForm::Spaced: what is needed to tell all addresses is stored too (address_slots.h)
  /// Set of Risk. In a spaced trace each instruction of these takes a word at least, and so does in a bounded
  /// block what an accumulator near its overflow counts.
  std::uint8_t risks = 0;
  bool logs = false;  // with addresses: Variant::Logged is wanted
  /// Of these, Variant::Full tells of accesses to some lines (LineWatch); null: of none. They may become more.
  const WatchedInsns* watched = nullptr;
  CodeHistory* history = nullptr;  // null: nobody asks
  /// Calls and returns store the stack pointer in the slot beside their record (TraceBuffer), and what may go to
  /// another stack runs alone.
  bool stack_pointers = false;

  /// With more instructions in a block, a brake could not tell the way to the guard from that to an overflow.
  static constexpr unsigned kMostBraked = 64;
  /// Whether exits stand for counts of each accumulator. In the budget form they are all the same, and in the trace
  /// pointer.
  bool tallies() const { return form != TraceForm::Budget; }
  /// Whether Variant::Near exists: in the budget form, with brakes.
  bool has_near() const { return brakes && form == TraceForm::Budget; }
  /// The most that runs in a block of Variant::Full before its brake, or before the exit where it has none. Fewer: less
  /// is left at a brake, for Variant::Near. More: code without a place for a brake is cut into fewer pieces.
  unsigned most_unbraked() const {
    constexpr unsigned kMost = 10;
    return has_near() && max_instructions > kMost ? kMost : max_instructions;
  }
};

struct PathStep {
  Insn insn;
  InsnSlots slots;     // with TranslationOptions::addresses
  bool risky = false;  // may bring the event horizon closer; with TranslationOptions::addresses
  bool follow_taken = false;
  std::uint64_t follow_return = 0;  // of a RET whose CALL is on the path: where it must lead for the path to go on

  /// Whether it is a branch that the path takes.
  bool taken() const {
    const arch::BranchKind kind = insn.facts.branch;
    return follow_taken || (kind != arch::BranchKind::None && kind != arch::BranchKind::Conditional);
  }
};

/// A vector that keeps its elements when it is cleared: decoding writes what an instruction has, and no more.
class PathSteps {
 public:
  PathStep& add() {
    if (size_ == kept_.size()) kept_.emplace_back();
    PathStep& step = kept_[size_++];
    step.follow_taken = false;
    step.follow_return = 0;
    return step;
  }
  void drop_last() { --size_; }
  void cut(std::size_t size) { size_ = size; }
  void clear() { size_ = 0; }
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  const PathStep* begin() const { return kept_.data(); }
  const PathStep* end() const { return kept_.data() + size_; }
  const PathStep& operator[](std::size_t at) const { return kept_[at]; }
  const PathStep& back() const { return kept_[size_ - 1]; }
  PathStep& back() { return kept_[size_ - 1]; }

 private:
  std::vector<PathStep> kept_;
  std::size_t size_ = 0;
};

/// The instructions of a superblock, and how it ends.
struct Path {
  PathSteps steps;
  std::vector<std::uint64_t> calls;      // return addresses of calls that the path is in
  ProbeTime probe = ProbeTime::None;     // of its first instruction
  ExitKind end_kind = ExitKind::Direct;  // how it goes on after the last step, unless that step says
  std::uint64_t end_pc = 0;
  bool terminated = false;  // the last step leaves by itself
  bool full = false;        // it ends only because it, or what it stores, would become too long

  void clear() {
    steps.clear();
    calls.clear();
    terminated = full = false;
    probe = ProbeTime::None;
  }
  /// Whether there is a place for a brake behind the first instruction.
  bool has_brake() const {
    return std::any_of(steps.begin() + 1, steps.end(),
                       [](const PathStep& step) { return overwrites_flags(step.insn); });
  }
  /// Of its bytes.
  std::uint64_t checksum() const {
    std::uint64_t sum = 0xCBF29CE484222325;  // FNV-1a
    for (const PathStep& step : steps) {
      for (std::size_t i = 0; i < step.insn.length; ++i) sum = (sum ^ step.insn.bytes[i]) * 0x100000001B3;
    }
    return sum;
  }
  /// Of what follows the last step there are no bytes, or none that are an instruction. That may change.
  bool ends_without_code() const {
    return !terminated && (end_kind == ExitKind::Unfetchable || end_kind == ExitKind::Undecodable);
  }
  /// note(page) for each page (address / 4096) of its code; for one again and again. Of code that is missing, too.
  template <typename Note>
  void for_each_page(Note note) const {
    constexpr unsigned kPageShift = 12;
    for (const PathStep& step : steps) {
      const std::uint64_t first = step.insn.pc >> kPageShift, last = (step.insn.next() - 1) >> kPageShift;
      note(first);
      if (last != first) note(last);
    }
    if (ends_without_code()) {
      constexpr std::uint64_t kLongest = 15;
      note(end_pc >> kPageShift);
      note((end_pc + kLongest - 1) >> kPageShift);
    }
  }
};

/// One instruction on a path, as it was translated.
struct PathInsn {
  const Insn* insn = nullptr;
  const InsnSlots* slots = nullptr;
  bool taken = false;         // a branch, on this path
  std::uint64_t went_to = 0;  // of one that is taken, if that is known
};

/// A taken branch on a path.
struct PathBranch {
  std::uint64_t from, to;
  arch::BranchKind kind;
};

struct Retirement {
  arch::InsnFacts facts;
  bool taken;
};

/// The instructions of a block, as its path goes.
struct Retirements {
  std::vector<Retirement> insns;
  std::vector<std::uint16_t>
      sums;  // by accumulator, before the first instruction, before the second, ..., after the last
};

/// Whether it is what 32 bits sign-extend to.
inline bool fits32(std::uint64_t value) { return static_cast<std::int64_t>(value) == static_cast<std::int32_t>(value); }

/// Where the rip-relative operand of `insn` lies.
inline std::uint64_t rip_target(const Insn& insn) {
  std::int32_t displacement;
  std::memcpy(&displacement, insn.bytes.data() + insn.disp_at, sizeof displacement);
  return insn.next() + static_cast<std::uint64_t>(std::int64_t{displacement});
}

}  // namespace zs::engine

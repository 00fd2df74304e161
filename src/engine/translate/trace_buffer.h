// The trace that translated code appends to, with the guard behind it, and what lies beside it: the slots for the
// registers that addresses are made of, and the notes of a budget trace.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/memory/layout.h"
#include "engine/translate/context.h"

namespace zs::engine {

class TraceBuffer {
 public:
  /// Of the trace in the forms other than the budget form.
  static constexpr std::size_t kBytes = 512 << 10;
  /// Of a budget view at first: most processes end soon.
  static constexpr std::size_t kFirstViewBytes = 64 << 10;
  /// What a budget view may grow to, backwards: so much is kept free in front of the trace.
  static constexpr std::size_t kMostBytes = 4 << 20;
  static constexpr std::size_t kGuardBytes = 64 << 10;
  static constexpr std::size_t kSlotBytes = 2 * kBytes + kPageSize;  // and of the block that runs into the guard
  static constexpr std::size_t kNoteBytes = sizeof(ProbeNote) * kMostBytes + kPageSize;  // likewise

  /// All is mapped already; slots and notes are no memory yet. guard: where the trace ends; slots, notes: where those
  /// begin
  TraceBuffer(std::uint64_t guard, std::uint64_t slots, std::uint64_t notes)
      : begin_(guard - kBytes), end_(guard), slots_(slots), notes_(notes) {}
  TraceBuffer(const TraceBuffer&) = delete;
  TraceBuffer& operator=(const TraceBuffer&) = delete;

  std::uint64_t begin() const { return begin_; }
  std::uint64_t end() const { return end_; }  // the guard starts here
  std::uint64_t room() const { return end_ - begin_; }
  /// Whether `address` lies in it, or in the guard.
  bool faults_at(std::uint64_t address) const { return address >= begin_ && address < end_ + kGuardBytes; }

  /// What the stolen register holds less than the trace pointer. 0, but in the budget form with brakes: there its sign
  /// says whether one is due. From there to the guard, which is for what has no brake, a block's exit and the way to
  /// the next brake have to fit.
  std::uint64_t pointer_bias() const { return biased_ ? end_ - kBrakeBudget : 0; }
  static constexpr std::uint64_t kBrakeBudget = 20;
  /// Before any code is made.
  void bias_pointer() { biased_ = true; }

  /// What code adds to twice the trace pointer, to where a block entered with that pointer stores registers: two words
  /// of eight bytes for each two of the trace, so that it stays ahead of both.
  std::uint64_t slots_bias() const { return slots_ - 2 * (end_ - kBytes); }
  const std::uint64_t* slots() const { return reinterpret_cast<const std::uint64_t*>(slots_); }
  /// The first of those that a block entered with the trace pointer at `pointer` stores to, among them all.
  std::uint32_t slot_number_at(std::uint64_t pointer) const {
    return static_cast<std::uint32_t>((2 * pointer + slots_bias() - slots_) / sizeof(std::uint64_t));
  }
  /// Where a budget trace notes the probes it meets (ProbeNote). Room for one at each of its instructions, so nothing
  /// guards it.
  std::uint64_t notes_begin() const { return notes_; }
  /// Slots and notes are memory only where they are needed, so that fewer stores of the program reach them: the ones of
  /// the two that `address` is in are from now on. returns whether they were not before. Async-signal-safe.
  bool open_beside(std::uint64_t address);

  /// Makes the next append fault (async-signal-safe), and back.
  void trip() const;
  void untrip() const;

  /// Budget view: many addresses, few physical pages, for appends of which only the pointer counts.
  void use_budget_view();
  /// The budget view reaches twice as far back from now on, up to kMostBytes: a run that goes on and on meets the guard
  /// less often. Between two stretches.
  void grow_budget_view();
  /// Re-creates what fork must not share: the aliased pages of the budget view.
  void after_fork();

 private:
  void map_alias() const;

  std::uint64_t begin_, end_, slots_, notes_;
  bool aliased_ = false;
  bool biased_ = false;
  bool has_slots_ = false, has_notes_ = false;
};

}  // namespace zs::engine

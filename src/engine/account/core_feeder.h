// Trace to core model: what ran becomes paths and addresses (arch::CoreFeed), and what the model makes of them goes to
// the modelled accumulators and to the clocks of the PMUs.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/account/core_paths.h"
#include "engine/account/deferred_trace.h"
#include "engine/account/tally.h"
#include "engine/translate/code_bound.h"

namespace zs::engine {

/// What was added to `before`.
inline arch::CoreSignals signals_since(const arch::CoreSignals& before, const arch::CoreSignals& now) {
  arch::CoreSignals since;
  for (std::size_t i = 0; i < arch::kCoreSignals; ++i) since.counts[i] = now.counts[i] - before.counts[i];
  return since;
}

class CoreFeeder {
 public:
  CoreFeeder(Run& run, Tally& tally) : run_(run), tally_(tally) {}

  /// What the PMUs of a thread that begins want of its core.
  static void pass_wishes(const VirtualCpu& cpu);

  // Of the trace that is about to be read, newest first: `most` records at most, then each.
  void begin_runs(std::size_t most);
  void note_run(std::size_t at, std::uint32_t exit, std::uint32_t slots);
  const arch::PathRun& run_of(std::size_t records, std::size_t at) const { return runs_[runs_.size() - records + at]; }
  CorePaths::Path path(std::uint32_t exit_id);

  /// Tells the core of runs. Returns whether it has.
  using PlayRuns = std::function<bool(std::span<const arch::PathRun> runs, const arch::SlotValues& values)>;
  /// Records [from, to) of the `records` that are being drained, told to the core, at once. Returns false, and has told
  /// nothing, if `play` did.
  bool run_core(std::size_t records, std::size_t from, std::size_t to, const PlayRuns& play);
  /// Instructions of a path, and where the thread goes on behind them.
  struct Piece {
    unsigned from = 0, to = 0;
    std::uint64_t next = 0;
  };
  /// Of the first instructions of a block that was left in its middle; they have stored what they need, but no record.
  void run_core_into(const Block& block, Piece piece);
  /// Records [from, to), as run_core() has them, told and counted.
  void count_modelled(std::span<const std::uint32_t> ids, std::size_t from, std::size_t to);
  /// The first instructions of a block, likewise, where overflows are found in the trace.
  void count_into_and_split(std::uint32_t block, unsigned instructions, std::uint64_t next);
  /// Where a count decides what happens next, what was told must have been played. Else it may wait for the other
  /// threads' turns.
  void settle_if_asked();
  /// The first instructions of a block, and one that ran alone, where overflows are found when the core has played
  /// them.
  void count_into_deferred(std::uint32_t block, unsigned instructions, std::uint64_t next);
  void defer_step(const arch::Retired& retired, const arch::RegisterFile& after) { deferred_.add_step(retired, after); }
  /// The thread has a new core.
  void begin(Thread& thread) const { deferred_.begin(thread); }
  void count_signals();
  /// Probes were met in the program's code, so the observer asks for counts.
  void counts_are_asked_for() { asked_ = true; }

  // One instruction alone: before it, and when it has run and `next` is where the thread goes on.
  void begin_step(StepInProgress& step);
  void run_step(bool taken, std::uint64_t next);
  /// What only the model knows of the instruction that has just run alone.
  void add_outcome(arch::Retired& retired) const;

  /// What the model says has passed since it was last asked goes to the clocks of the PMUs.
  void advance_time() { advance_time(run_.thread->cpu.core->signals()); }
  void advance_time(const arch::CoreSignals& now);
  /// An overflow of time, which belongs to no instruction: taken when the thread's state is known.
  void take_time_pmi();

  /// Everything that the thread did is counted: it ends, perhaps while another one runs.
  void settle(Thread& thread);
  static std::uint64_t time_of(const Thread& thread);
  /// Whose turn is next, among those that wait and the one that runs; null: the running thread goes on.
  Thread* next_by_time();
  /// What `woken` does next, it does after what the running thread has done.
  void runs_after_this(Thread& woken);
  void unmapped(std::uint64_t address, std::uint64_t length);
  /// MADV_HUGEPAGE and MAP_HUGETLB, MADV_NOHUGEPAGE.
  void large_pages(std::uint64_t address, std::uint64_t length, bool wanted);
  /// In a new process, whose cores know nothing.
  void forget_all_paths() {
    paths_.forget_all();
    pieces_.clear();
  }
  /// Bytes that others hold for the sake of the trace count towards what may be held.
  void set_bytes_elsewhere(std::size_t bytes) { bytes_elsewhere_ = bytes; }

 private:
  /// chosen: as much as ten reorder buffers full of misses take; stretches are a sixteenth of the cycles that are left.
  static constexpr std::uint64_t kWatchedCycles = 1U << 14;

  void name_waiting(pmu::Pmu& pmu, std::uint64_t cycles_ago) const;
  arch::SlotValues slot_values(const std::uint64_t* slots) const;
  void run_records(std::size_t records, std::size_t from, std::size_t to);
  void run_piece(std::span<const std::uint32_t> ids, std::size_t at, Piece piece);
  void count_and_split(std::span<const std::uint32_t> ids, std::size_t from, std::size_t to);
  void count_up_to_splits();
  void forget_flushed_paths();
  void bound_memory(CorePaths::Path path);
  std::uint64_t element_address(const MemoryOperand& operand, std::uint64_t index) const;
  void list_lines(const Access& access, StepInProgress& step) const;
  void list_elements(const ElementList& list, const Access& access, StepInProgress& step) const;

  Run& run_;
  Tally& tally_;
  DeferredTrace deferred_{run_, tally_, *this};
  CorePaths paths_{run_.moved_code};
  std::unordered_map<std::uint64_t, std::uint32_t> pieces_;  // numbers of pieces of paths, by exit and instructions
  std::uint64_t paths_of_flush_ = 0;                         // Translator::flushes() when they were begun
  CodeBound code_bound_;
  std::size_t bytes_elsewhere_ = 0;
  bool asked_ = false;
  std::vector<arch::PathRun> runs_;           // what each record of the trace means to the model
  std::vector<arch::PathRun> reported_runs_;  // those of which something is to be told, where that is not all
  bool any_empty_run_ = false;
  std::uint64_t behind_run_ = 0;  // where the run behind the one that is noted next begins
};

}  // namespace zs::engine

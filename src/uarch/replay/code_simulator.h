// Simulates runs by specialised code (replay_code.h), and answers what the code asks: the same as BlockSimulator does
// for any path. And tells who watches a run which instructions changed what is watched, by code or step by step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "arch/core_feed.h"
#include "uarch/replay/block_simulator.h"
#include "uarch/replay/code_book.h"
#include "uarch/replay/replay_state.h"

namespace zs::uarch {

class CodeSimulator : public BlockSimulator {
 public:
 protected:
  using BlockSimulator::BlockSimulator;

  /// While run_watched() is under way, or from keep_outcomes() on.
  struct Watch {
    arch::RunWatcher* watcher = nullptr;  // null: nobody watches
    const arch::PathRun* runs = nullptr;
    std::vector<std::uint8_t> signals;  // those that are watched; empty: whatever is done is told
    std::uint64_t sum = 0;              // of these, when the watcher was last told
    bool each = false;                  // every instruction changes something that is watched
    bool changes_in_code = false;       // some may change in paths that code replays, which tags no load
  };
  /// A block of a run under watch.
  struct WatchedBlock {
    const arch::PathRun* run = nullptr;
    std::size_t segment = 0;               // of the run's plan
    std::size_t first = 0;                 // number of the block's first instruction in the path
    const SimpleBlock* counted = nullptr;  // the path's, if their hits are counted only when all are over; else null
  };

  /// Good until words are asked for again.
  std::span<const std::uint64_t> words_of(const arch::PathRun& run, const arch::SlotValues& values) {
    return words_of(book_.addresses(run.path), values.slots + run.slots, values);
  }
  std::span<const std::uint64_t> words_of(const PathAddresses& addresses, const std::uint64_t* slots,
                                          const arch::SlotValues& values) {
    const std::size_t most = addresses.most_words(values.listed.size());
    if (words_.size() < most) words_.resize(most);
    return {words_.data(), write_words(addresses, slots, values, words_.data())};
  }
  /// By ReplayCode, as far as it goes. Moves `run` on.
  void replay_code(const arch::PathRun*& run, const arch::PathRun* end, const arch::SlotValues& values) {
    ReplayCode& code = core_.code_for(filter_, model_.timing);
    code.make_room(book_.paths());
    if (code.has(run->path)) run_code(code, run, end, values);
  }
  /// The first of these runs that takes its merging plan (CodeBook::UpperUse), else `end`; what becomes of the upper
  /// halves up to behind it is noted.
  const arch::PathRun* next_merging(const arch::PathRun* run, const arch::PathRun* end) {
    if (!book_.any_leaves_upper()) return end;
    for (; run != end; ++run) {
      const CodeBook::UpperUse use = book_.upper_use(run->path);
      const bool merges = upper_in_use_ && use.merges;
      upper_in_use_ = use.filled || (upper_in_use_ && !use.cleared);
      if (merges) return run;
    }
    return end;
  }
  const std::uint64_t* watch_block(const Plan& plan, const WatchedBlock& block, std::uint64_t line, std::size_t done,
                                   const std::uint64_t* words);
  /// Where in a block the replay under watch is.
  struct WatchedPlace {
    const Step* step = nullptr;  // what comes next
    std::size_t told = 0;        // the block's next instruction, of which to tell
  };
  /// The clock has begun the block, and nothing of it was replayed.
  WatchedPlace begin_watch(const Plan& plan, const WatchedBlock& block, std::uint64_t line);
  /// The block from `place` on, up to a step for which `waits(step, words)`; place.step is that one then, otherwise
  /// null and the block is over. line, done: as watch_block() has them. returns the words behind those of its own
  template <typename Waits>
  const std::uint64_t* watch_steps(const Plan& plan, const WatchedBlock& block, WatchedPlace& place, std::uint64_t line,
                                   std::size_t done, const std::uint64_t* words, const Waits& waits);
  void set_watch(const arch::SignalSet& watched, arch::RunWatcher& watcher);
  /// Runs, under watch.
  void watch_runs(std::span<const arch::PathRun> runs, const arch::SlotValues& values);
  void watch_run(const arch::PathRun& run, const Plan& plan, std::span<const std::uint64_t> words);
  /// Steps from `step` to `end` of the plan, without a watch, up to one that waits; `step` is that one then.
  template <typename Waits>
  const std::uint64_t* replay_steps(const Plan& plan, std::size_t& step, std::size_t end, const std::uint64_t* words,
                                    const Waits& waits) {
    while (step != end && !waits(plan.steps[step], words)) {
      words = replay_step<true>(plan.steps[step], words);
      step += steps_of(plan.steps[step]);
    }
    return words;
  }
  void report_to_watcher(const WatchedBlock& block, std::size_t instruction, std::uint64_t line,
                         std::span<const Step> behind, const BlockTiming* under_way);
  static WatchedBlock watched(const Plan& plan, const ReplayState& state, const SimpleBlock* blocks,
                              const SimpleBlock& block);

  Watch watch_;

 private:
  void over_up_to(const Plan& plan, const WatchedBlock& block, WatchedPlace& place, std::uint64_t line,
                  std::size_t instruction);
  void note_address(const Step& step, const std::uint64_t* words);
  void end_watch(const Plan& plan, const WatchedBlock& block, std::uint64_t line);
  void run_code(ReplayCode& code, const arch::PathRun*& run, const arch::PathRun* end, const arch::SlotValues& values);
  static std::uint64_t answer(ReplayState& state, std::uint32_t what);
  void answer_step(ReplayState& state, const SimpleBlock* blocks, const Plan& plan, Callout callout);
  void count_uops(ReplayState& state, const Plan& plan, std::size_t segments);
  void watch_rest(ReplayState& state, const SimpleBlock* blocks, const Plan& plan, Callout callout);
  void undo_fetch(const SimpleBlock& block, const SimpleBlock* before, std::size_t line);
  const std::uint64_t* words_of_block(const ReplayState& state, const SimpleBlock* blocks, const SimpleBlock& block);

  std::vector<std::uint64_t> words_;  // of one run: scratch of words_of()
  bool upper_in_use_ = false;         // upper halves of the thread's vector registers
};

template <typename Waits>
const std::uint64_t* CodeSimulator::watch_steps(const Plan& plan, const WatchedBlock& block, WatchedPlace& place,
                                                std::uint64_t line, std::size_t done, const std::uint64_t* words,
                                                const Waits& waits) {
  const Segment& segment = plan.segments[block.segment];
  const std::size_t last = segment.instructions - 1U;
  const Step* const end = plan.steps.data() + segment.steps_end;
  const Step*& step = place.step;
  while (step != end) {
    if (waits(*step, words)) return words;
    const std::size_t instruction = step->instruction;
    if (watch_.each && place.told < instruction) over_up_to(plan, block, place, line, instruction - 1);
    note_address(*step, words);
    if (step->kind == StepKind::Fetch) {
      if (step->at >> kLineBits >= line) replay_step<true>(*step, words);
    } else if (done != 0) {
      if (step->kind != StepKind::Other) {
        const bool store = step->kind == StepKind::Store;
        filter_.count(store ? 0 : 1, store ? 1 : 0);
      }
      --done;
      ++words;
    } else {
      words = replay_step<true>(*step, words);
    }
    step += steps_of(*step);
    const bool over = step == end || step->instruction != instruction;
    if (over && !(segment.ends && instruction == last)) over_up_to(plan, block, place, line, instruction);
  }
  const std::size_t ends = segment.ends ? 1U : 0U;
  if (watch_.each && place.told + ends <= last) over_up_to(plan, block, place, line, last - ends);
  if (segment.ends) end_watch(plan, block, line);
  step = nullptr;
  return words;
}

}  // namespace zs::uarch

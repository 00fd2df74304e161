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

template <typename Clock>
class CodeSimulator : public BlockSimulator<Clock> {
 public:
  using StepSimulator<Clock>::kTimed;
  using StepSimulator<Clock>::tell;

 protected:
  using BlockSimulator<Clock>::BlockSimulator;
  using StepSimulator<Clock>::model_;
  using StepSimulator<Clock>::l1_cycles_;
  using StepSimulator<Clock>::book_;
  using StepSimulator<Clock>::memory_;
  using StepSimulator<Clock>::core_;
  using StepSimulator<Clock>::filter_;
  using StepSimulator<Clock>::signals_;
  using StepSimulator<Clock>::counts_;
  using StepSimulator<Clock>::last_;
  using StepSimulator<Clock>::tags_;
  using StepSimulator<Clock>::passed_over_;
  using StepSimulator<Clock>::prefetch;
  using StepSimulator<Clock>::end_block;
  using StepSimulator<Clock>::note_mispredicted;
  using BlockSimulator<Clock>::replay_branch;
  using BlockSimulator<Clock>::pass_outcome;
  using BlockSimulator<Clock>::replay_part;
  using BlockSimulator<Clock>::report_to_clock;

  /// While run_watched() is under way.
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
  const std::uint64_t* watch_block(const Plan& plan, const WatchedBlock& block, std::uint64_t line, std::size_t done,
                                   const std::uint64_t* words);
  void report_to_watcher(const WatchedBlock& block, std::size_t instruction, std::uint64_t line,
                         std::span<const Step> behind, const BlockTiming* under_way);
  static WatchedBlock watched(const Plan& plan, const ReplayState& state, const SimpleBlock* blocks,
                              const SimpleBlock& block);

  Watch watch_;

 private:
  void run_code(ReplayCode& code, const arch::PathRun*& run, const arch::PathRun* end, const arch::SlotValues& values);
  static std::uint64_t answer(ReplayState& state, std::uint32_t what);
  static std::uint64_t answer_timed(ReplayState& state, std::uint32_t what);
  void answer_step(ReplayState& state, const SimpleBlock* blocks, const Plan& plan, Callout callout);
  void count_uops(ReplayState& state, const Plan& plan, std::size_t segments);
  void watch_rest(ReplayState& state, const SimpleBlock* blocks, const Plan& plan, Callout callout);
  static std::uint64_t answer_prefetch(ReplayState& state, std::uint64_t linear, std::uint64_t descriptor,
                                       std::uint32_t what);
  static std::uint64_t answer_line(ReplayState& state, std::uint64_t line, std::uint64_t offset, std::uint32_t what);
  bool answer_lines(ReplayState& state, const SimpleBlock* blocks, Callout callout);
  template <bool kStore>
  static std::uint64_t answer_look(ReplayState& state, std::uint64_t linear, std::uint64_t descriptor,
                                   std::uint32_t what);
  bool answer_access(ReplayState& state, const SimpleBlock* blocks, const SimpleBlock& block, std::size_t done);
  void replay_by_hand(ReplayState& state, const SimpleBlock* blocks, const SimpleBlock& block, std::uint64_t line,
                      std::size_t done);
  void undo_fetch(const SimpleBlock& block, const SimpleBlock* before, std::size_t line);
  const std::uint64_t* words_of_block(const ReplayState& state, const SimpleBlock* blocks, const SimpleBlock& block);
  void answer_branch(ReplayState& state, Callout::Kind kind, const SimpleBlock* blocks, const SimpleBlock& block);

  std::vector<std::uint64_t> words_;  // of one run: scratch of words_of()
};

extern template class CodeSimulator<CoreClock>;
extern template class CodeSimulator<ThroughputClock>;

}  // namespace zs::uarch

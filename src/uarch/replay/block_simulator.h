// Simulates blocks of nothing but plain accesses, each as a whole: where all its lines and accesses are hits that lead
// nowhere they are only counted. What is more than a hit goes step by step.
#pragma once

#include <cstddef>
#include <cstdint>

#include "arch/core_feed.h"
#include "uarch/replay/code_book.h"
#include "uarch/replay/step_simulator.h"

namespace zs::uarch {

template <typename Clock>
class BlockSimulator : public StepSimulator<Clock> {
 public:
  using StepSimulator<Clock>::kTimed;

 protected:
  using StepSimulator<Clock>::StepSimulator;
  using StepSimulator<Clock>::model_;
  using StepSimulator<Clock>::l1_cycles_;
  using StepSimulator<Clock>::book_;
  using StepSimulator<Clock>::memory_;
  using StepSimulator<Clock>::core_;
  using StepSimulator<Clock>::filter_;
  using StepSimulator<Clock>::signals_;
  using StepSimulator<Clock>::counts_;
  using StepSimulator<Clock>::end_block;
  using StepSimulator<Clock>::note_mispredicted;

  /// A run of nothing but simple blocks. Core: a ReplayCore whose clock can pass() blocks
  template <typename Core>
  void replay_simple(const SimpleBlock* block, const arch::PathRun& run, const std::uint64_t* words,
                     MemorySystem::Filter& filter, Core& core);
  /// The same where every step has its time: only fetches and branches are shorter.
  template <typename Core>
  void replay_timed(const SimpleBlock* block, const arch::PathRun& run, const std::uint64_t* words,
                    MemorySystem::Filter& filter, Core& core);
  const std::uint64_t* replay_part(const Plan& plan, std::size_t which, std::uint64_t line, std::size_t done,
                                   std::uint64_t next, const std::uint64_t* words);
  /// What the clock waits for behind a simple block's branch.
  template <typename Core>
  static void pass_outcome(const BranchOutcome& outcome, Core& core);
  template <typename Core>
  BranchOutcome replay_branch(const SimpleBlock& block, std::uint64_t next, Core& core);
  void report_to_clock(const Segment& segment, const BranchOutcome& outcome);

 private:
  bool is_hit(std::uint64_t linear, AccessDescriptor descriptor);
  template <typename Core>
  bool replay_miss(const Step& step, std::uint64_t linear, std::uint64_t started, Core& core);
  template <typename Core>
  const std::uint64_t* replay_rest(const Segment& segment, const Step* step, const Step* end, std::size_t done,
                                   std::uint64_t next, const std::uint64_t* words, Core& core);
  template <typename Core>
  void end_simple(const Segment& segment, std::uint64_t next, Core& core);
};

template <typename Clock>
template <typename Core>
[[gnu::always_inline]] inline void BlockSimulator<Clock>::pass_outcome(const BranchOutcome& outcome, Core& core) {
  if (outcome.mispredicted) [[unlikely]] {
    core.clock.passed_mispredict();
  } else if (outcome.btb_miss) [[unlikely]] {
    core.clock.passed_resteer();
  }
}

/// The branch that ends a simple block. next: as PathRun has it
template <typename Clock>
template <typename Core>
[[gnu::always_inline]] inline BranchOutcome BlockSimulator<Clock>::replay_branch(const SimpleBlock& block,
                                                                                 std::uint64_t next, Core& core) {
  BranchOutcome outcome;
  if (block.kind == arch::BranchKind::None) return outcome;
  if (block.kind == arch::BranchKind::Conditional) {
    outcome = core.branches.predict_conditional(block.pc, block.hash, block.footprint, block.taken);
    if (outcome.mispredicted) [[unlikely]]
      note_mispredicted(block.kind, block.taken);
  } else {
    const bool indirect = is_indirect(block.kind);
    const std::uint64_t behind = block.pc + block.length;
    const BranchFacts branch{.pc = block.pc,
                             .next = behind,
                             .target = indirect           ? next
                                       : block.calls_next ? behind
                                                          : 0,
                             .kind = block.kind,
                             .taken = block.taken};
    outcome = core.branches.predict_and_update(branch, block.hash,
                                               indirect ? path_footprint(block.pc, next) : block.footprint);
    if (outcome.mispredicted) [[unlikely]]
      note_mispredicted(block.kind, true);
  }
  if (outcome.btb_miss) [[unlikely]]
    ++signals_[arch::CoreSignal::Resteers];
  return outcome;
}

/// What became of the branch at the end of the block under way.
template <typename Clock>
[[gnu::always_inline]] inline void BlockSimulator<Clock>::report_to_clock(const Segment& segment,
                                                                          const BranchOutcome& outcome) {
  if (outcome.mispredicted) [[unlikely]] {
    core_.clock.mispredict(segment.branch);
  } else if (outcome.btb_miss) [[unlikely]] {
    core_.clock.resteer(segment.branch);
  }
}

/// A run of nothing but simple blocks. What is more than hits goes the way of all others.
template <typename Clock>
template <typename Core>
[[gnu::always_inline]] inline void BlockSimulator<Clock>::replay_simple(const SimpleBlock* block,
                                                                        const arch::PathRun& run,
                                                                        const std::uint64_t* words,
                                                                        MemorySystem::Filter& filter, Core& core) {
  for (std::size_t which = 0;; ++which, ++block) {
    core.clock.wait_for_room();
    const std::uint64_t end = block->first_line + block->lines;
    const std::uint64_t fetched_before = filter.fetched;
    const bool in_turn = filter.in_turn(block->lines);
    if (block->prefetches != 0) [[unlikely]] {
      words = replay_part(book_.plan(run.path, nullptr), which, block->first_line, 0, run.next, words);
      if (block->last) return;
      continue;
    }
    if (filter.are_plain(block->first_line, block->lines, block->lines_known)) {
      filter.pass(block->first_line, block->lines);
    } else {
      std::uint64_t line = block->first_line;
      while (!in_turn && line != end && (filter.fetched == line || filter.fetch_hits(line))) ++line;
      if (line != end) [[unlikely]] {
        words = replay_part(book_.plan(run.path, nullptr), which, line, 0, run.next, words);
        if (block->last) return;
        continue;
      }
    }
    const std::size_t descriptors = block->descriptors;
    std::size_t done = 0;
    for (; done != descriptors; ++done) {
      const AccessDescriptor descriptor = block->descriptor[done];
      if (filter.hits(words[done], descriptor.bytes(), descriptor.store())) continue;
      if (!memory_.quiet_hit(core.number, words[done], block->descriptor[done], core.clock.start_cycle())) break;
    }
    if (done != descriptors) [[unlikely]] {
      if (in_turn) filter.undo(block->first_line, block->lines, fetched_before);
      const std::uint64_t line = in_turn ? block->first_line : end;
      words = replay_part(book_.plan(run.path, nullptr), which, line, done, run.next, words);
      if (block->last) return;
      continue;
    }
    filter.count(descriptors - block->stores, block->stores);
    words += descriptors;
    const BranchOutcome outcome = replay_branch(*block, run.next, core);
    core.clock.pass(block->units, block->slots);
    pass_outcome(outcome, core);
    if (block->last) return;
  }
}

/// The same where every step has its time: only fetches and branches are shorter.
template <typename Clock>
template <typename Core>
[[gnu::always_inline]] inline void BlockSimulator<Clock>::replay_timed(const SimpleBlock* block,
                                                                       const arch::PathRun& run,
                                                                       const std::uint64_t* words,
                                                                       MemorySystem::Filter& filter, Core& core) {
  const Plan& plan = book_.plan(run.path, nullptr);
  const Step* step = plan.steps.data();
  for (const Segment& segment : plan.segments) {
    core.clock.begin(*segment.timing);
    const bool plain = filter.are_plain(block->first_line, block->lines, block->lines_known);
    const Step* const end = plan.steps.data() + segment.steps_end;
    for (; step != end; ++step) {
      // An access before it may have taken the line out of L1I, where L2 or LLC include that.
      if (step->kind == StepKind::Fetch && plain && filter.code_known == block->lines_known) {
        filter.pass(step->at >> kLineBits, 1);
      } else {
        words = this->template replay_step<false>(*step, words);
      }
    }
    report_to_clock(segment, replay_branch(*block++, run.next, core));
    core.clock.end();
  }
  counts_.uops += plan.uops;
  counts_.fused += plan.fused;
}

extern template class BlockSimulator<CoreClock>;
extern template class BlockSimulator<ThroughputClock>;

}  // namespace zs::uarch

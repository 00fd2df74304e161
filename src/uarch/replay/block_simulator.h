// Simulates blocks of nothing but plain accesses: their fetches and branches are shorter than those of other blocks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "arch/core_feed.h"
#include "uarch/replay/code_book.h"
#include "uarch/replay/step_simulator.h"

namespace zs::uarch {

template <typename Clock>
class BlockSimulator : public StepSimulator<Clock> {
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

  /// A run of nothing but simple blocks.
  template <typename Core>
  void replay_simple(const SimpleBlock* block, const arch::PathRun& run, const std::uint64_t* words,
                     MemorySystem::Filter& filter, Core& core);
  template <typename Core>
  BranchOutcome replay_branch(const SimpleBlock& block, std::uint64_t next, Core& core);
  void report_to_clock(const Segment& segment, const BranchOutcome& outcome);
};

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

template <typename Clock>
template <typename Core>
[[gnu::always_inline]] inline void BlockSimulator<Clock>::replay_simple(const SimpleBlock* block,
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

}  // namespace zs::uarch

// Simulates blocks of nothing but plain accesses: their fetches and branches are shorter than those of other blocks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "arch/core_feed.h"
#include "uarch/replay/code_book.h"
#include "uarch/replay/step_simulator.h"

namespace zs::uarch {

class BlockSimulator : public StepSimulator {
 protected:
  using StepSimulator::StepSimulator;

  /// A run of nothing but simple blocks.
  void replay_simple(const SimpleBlock* block, const arch::PathRun& run, const std::uint64_t* words);
  BranchOutcome replay_branch(const SimpleBlock& block, std::uint64_t next);
  void report_to_clock(const Segment& segment, const BranchOutcome& outcome);
};

/// The branch that ends a simple block. next: as PathRun has it
[[gnu::always_inline]] inline BranchOutcome BlockSimulator::replay_branch(const SimpleBlock& block,
                                                                          std::uint64_t next) {
  BranchOutcome outcome;
  if (block.kind == arch::BranchKind::None) return outcome;
  if (block.kind == arch::BranchKind::Conditional) {
    outcome = core_.branches.predict_conditional(block.pc, block.hash, block.footprint, block.taken);
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
    outcome = core_.branches.predict_and_update(branch, block.hash,
                                                indirect ? path_footprint(block.pc, next) : block.footprint);
    if (outcome.mispredicted) [[unlikely]]
      note_mispredicted(block.kind, true);
  }
  if (outcome.btb_miss) [[unlikely]]
    ++signals_[arch::CoreSignal::Resteers];
  return outcome;
}

/// What became of the branch at the end of the block under way.
[[gnu::always_inline]] inline void BlockSimulator::report_to_clock(const Segment& segment,
                                                                   const BranchOutcome& outcome) {
  if (outcome.mispredicted) [[unlikely]] {
    core_.clock.mispredict(segment.branch);
  } else if (outcome.btb_miss) [[unlikely]] {
    core_.clock.resteer(segment.branch);
  }
}

[[gnu::always_inline]] inline void BlockSimulator::replay_simple(const SimpleBlock* block, const arch::PathRun& run,
                                                                 const std::uint64_t* words) {
  const Plan& plan = book_.plan(run.path, nullptr);
  const Step* step = plan.steps.data();
  for (const Segment& segment : plan.segments) {
    core_.clock.begin(*segment.timing);
    const bool plain = filter_.are_plain(block->first_line, block->lines, block->lines_known);
    const Step* const end = plan.steps.data() + segment.steps_end;
    for (; step != end; ++step) {
      // An access before it may have taken the line out of L1I, where L2 or LLC include that.
      if (step->kind == StepKind::Fetch && plain && filter_.code_known == block->lines_known) {
        filter_.pass(step->at >> kLineBits, 1);
      } else {
        words = replay_step<false>(*step, words);
      }
    }
    report_to_clock(segment, replay_branch(*block++, run.next));
    core_.clock.end();
  }
  counts_.uops += plan.uops;
  counts_.fused += plan.fused;
}

}  // namespace zs::uarch

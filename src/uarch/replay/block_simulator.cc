#include "uarch/replay/block_simulator.h"

namespace zs::uarch {

using arch::BranchKind;
using arch::CoreSignal;

/// Apart, or the compiler leaves the inline path of simple blocks out of line.
template <typename Clock>
[[gnu::noinline]] bool BlockSimulator<Clock>::is_hit(std::uint64_t linear, AccessDescriptor descriptor) {
  return filter_.hits(linear, descriptor.bytes(), descriptor.store());
}

/// An access of the block under way which the filter does not answer for. Nobody asks for what became of it. started:
/// when the block began. Returns whether it was a quiet hit, which is to be counted.
template <typename Clock>
template <typename Core>
[[gnu::always_inline]] inline bool BlockSimulator<Clock>::replay_miss(const Step& step, std::uint64_t linear,
                                                                      std::uint64_t started, Core& core) {
  const std::uint64_t at = core.clock.dispatch(step.instruction);
  const Access access{linear, at / kUnitsPerCycle, step.bytes, static_cast<std::uint32_t>(step.at), started, 0};
  if (step.kind == StepKind::Store) {
    const std::uint32_t cycles = memory_.quiet_or_other_store(core.number, access);
    if (cycles > l1_cycles_) core.clock.store_missed_from(at, cycles);
    return cycles == 0;
  }
  const std::uint32_t cycles = memory_.quiet_or_other_load(core.number, access);
  if (cycles > l1_cycles_) core.clock.load_done_from(at, cycles);
  return cycles == 0;
}

/// end_block() of a simple block, while nobody asks for its branches.
template <typename Clock>
template <typename Core>
[[gnu::always_inline]] inline void BlockSimulator<Clock>::end_simple(const Segment& segment, std::uint64_t next,
                                                                     Core& core) {
  if (segment.kind == BranchKind::None) return core.clock.end();
  const std::uint64_t target = segment.target_is_next ? next : segment.target;
  const std::uint16_t footprint = path_footprint(segment.pc, target);
  const BranchOutcome outcome =
      segment.kind == BranchKind::Conditional
          ? core.branches.predict_conditional(segment.pc, segment.address, footprint, segment.taken)
          : core.branches.predict_and_update({.pc = segment.pc,
                                              .next = segment.next(),
                                              .target = target,
                                              .kind = segment.kind,
                                              .taken = segment.taken},
                                             segment.address, footprint);
  if (outcome.mispredicted) [[unlikely]] {
    note_mispredicted(segment.kind, segment.taken);
    core.clock.mispredict(segment.branch);
  } else if (outcome.btb_miss) [[unlikely]] {
    ++signals_[CoreSignal::Resteers];
    core.clock.resteer(segment.branch);
  }
  core.clock.end();
}

/// The accesses of a simple block of a plan from the `done`th on, which no inline path answers for; those before it
/// were hits that are not counted yet, and all its lines were fetched. Nobody asks for what became of them.
template <typename Clock>
template <typename Core>
[[gnu::always_inline]] inline const std::uint64_t* BlockSimulator<Clock>::replay_rest(
    const Segment& segment, const Step* step, const Step* end, std::size_t done, std::uint64_t next,
    const std::uint64_t* words, Core& core) {
  MemorySystem::Filter& filter = memory_.filter(core.number);
  const std::uint64_t started = core.clock.start_cycle();
  std::uint64_t hits = done, written = 0;
  for (const Step* before = step; done != 0; ++before) {
    step = before + 1;
    if (before->kind == StepKind::Fetch) continue;
    written += before->kind == StepKind::Store ? 1 : 0;
    ++words;
    --done;
  }
  bool tried = true;
  for (; step != end; ++step) {
    if (step->kind == StepKind::Fetch) continue;
    const std::uint64_t linear = *words++;
    const bool store = step->kind == StepKind::Store;
    const bool hit =
        (!tried && is_hit(linear, AccessDescriptor(step->bytes, store))) || replay_miss(*step, linear, started, core);
    tried = false;
    if (!hit) continue;
    ++hits;
    written += store ? 1 : 0;
  }
  filter.count(hits - written, written);
  end_simple(segment, next, core);
  return words;
}

/// One whole simple block of a plan, of which something may have happened: its lines below `line` were fetched, and its
/// first `done` accesses were hits that are not counted yet; where all lines were fetched, the one behind them is none.
template <typename Clock>
[[gnu::noinline]] const std::uint64_t* BlockSimulator<Clock>::replay_part(const Plan& plan, std::size_t which,
                                                                          std::uint64_t line, std::size_t done,
                                                                          std::uint64_t next,
                                                                          const std::uint64_t* words) {
  const Segment& segment = plan.segments[which];
  core_.clock.begin(*segment.timing);
  const std::span<const Step> steps = plan.steps_of(which);
  const Step* step = steps.data();
  const Step* const end = step + steps.size();
  if constexpr (!kTimed) {
    const bool all_fetched = line > (segment.next() - 1) >> kLineBits;
    if (all_fetched && !segment.prefetches) return replay_rest(segment, step, end, done, next, words, core_);
  }
  std::uint64_t loads = 0, stores = 0;
  for (; step != end; ++step) {
    if (step->kind == StepKind::Fetch) {
      if (step->at >> kLineBits >= line) this->template replay_step<false>(*step, words);
    } else if (done != 0) {
      if (step->kind != StepKind::Other) ++(step->kind == StepKind::Store ? stores : loads);
      ++words;
      --done;
    } else {
      words = this->template replay_step<false>(*step, words);
    }
  }
  filter_.count(loads, stores);
  end_block(segment, next);
  return words;
}

template class BlockSimulator<CoreClock>;
template class BlockSimulator<ThroughputClock>;

}  // namespace zs::uarch

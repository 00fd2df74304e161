// Simulates the steps of a plan one after the other: asks the memory system and the branch unit in program order, and
// tells the clock what they said. Every other way to simulate a block comes back to these steps for what it does not do
// itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "arch/core_feed.h"
#include "uarch/chance.h"
#include "uarch/replay/code_book.h"
#include "uarch/replay/replay_core.h"
#include "uarch/replay/time_signals.h"
#include "uarch/timing/retirement_order.h"

namespace zs::uarch {

/// Steps that `step` stands for.
constexpr std::size_t steps_of(const Step& step) {
  return step.form == arch::AccessForm::Repeated && step.with_next ? 2 : 1;
}

class StepSimulator {
 public:
  StepSimulator(const StepSimulator&) = delete;
  StepSimulator& operator=(const StepSimulator&) = delete;

  ReplayCore& core() const { return core_; }
  const KnownBlock* open() const { return open_; }
  /// Whether what was replayed last ended a block.
  bool between_blocks() const { return open_ == nullptr; }
  /// The totals show everything that was replayed.
  void tell();

 protected:
  struct Last {
    Outcome load, store, fetch;
    bool loaded = false, stored = false, locked = false, mispredicted = false;
    std::uint64_t load_address = 0, store_address = 0;  // of the first of each, where somebody watches
  };
  struct TakenBranch {
    std::uint64_t pc = 0;
    bool mispredicted = false;
    std::uint64_t cycle = 0;  // of the block behind it
  };
  // chosen: many times the deepest LBR stack, whose filter may let few through.
  static constexpr std::size_t kRemembered = 1024;

  /// seed  of which loads the load-latency facility tags
  StepSimulator(const CoreModel& model, CodeBook& book, MemorySystem& memory, ReplayCore& core, std::uint64_t seed)
      : model_(model), book_(book), memory_(memory), core_(core), random_(seed) {}
  ~StepSimulator() = default;

  /// Whether somebody asks for what only steps tell.
  bool asks_for_steps() const { return !taken_.empty() || watches_retirement_; }
  /// As CoreFeed::was_mispredicted() has them.
  TakenBranch taken(std::size_t back, std::uint64_t pc) const {
    if (back >= taken_.size()) return {};
    const TakenBranch& branch = taken_[(taken_count_ - 1 - back) % kRemembered];
    return branch.pc == pc ? branch : TakenBranch{};
  }
  /// One step, and its partner if it has one. kLast: whether somebody may ask for what became of this run's last load,
  /// store and branch returns the words behind its own
  template <bool kLast>
  const std::uint64_t* replay_step(const Step& step, const std::uint64_t* words);
  Outcome replay_fetch(const Step& step);
  void prefetch(arch::AccessKind kind, const Access& access);
  void end_block(const Segment& segment, std::uint64_t next);
  void note_mispredicted(arch::BranchKind kind, bool taken);
  void close_open();
  std::uint64_t dispatch_of(const Step& step) {
    return step.load != kNoLane ? core_.clock.load_dispatch(step.load) : core_.clock.dispatch_cycle(step.instruction);
  }

  const CoreModel& model_;
  const std::uint32_t l1_cycles_ = model_.memory.l1d.load_to_use_cycles;
  CodeBook& book_;
  MemorySystem& memory_;
  ReplayCore& core_;
  MemorySystem::Filter& filter_ = memory_.filter(core_.number);
  const KnownBlock* open_ = nullptr;  // the block that goes on with the next run
  arch::CoreSignals signals_;
  SlotAccount account_;
  TimeCounts counts_;
  Last last_;
  std::vector<TakenBranch> taken_;  // a ring; empty unless asked for
  std::size_t taken_count_ = 0;
  // What retirement waits for; code and simple blocks do not tell it.
  bool watches_retirement_ = false;
  std::optional<RetirementOrder> retirement_;
  std::uint64_t retirement_of_ = 0;  // CodeBook::forgotten() when it learned its blocks
  // The load-latency facility.
  bool tags_ = false;
  std::uint32_t threshold_ = 0;
  std::uint64_t passed_over_ = 0;  // loads that will not be tagged, whenever they are dispatched
  std::uint32_t times_tagged_ = 1;
  std::int64_t due_ =
      0;  // loads to the next that is tagged, in parts of kMostTimesTagged, that were not waited for yet

 private:
  void fetched_late(const Step& step, const Outcome& outcome);
  void note_retirement(std::uint32_t block);
  const std::uint64_t* other(const Step& step, const std::uint64_t* words);
  void loaded(const Step& step, std::uint64_t now, const Outcome& outcome);
  void stored(const Step& step, const Outcome& outcome);
  /// Whether the load-latency facility does not pass over the load that comes next. Code replays those that it does
  /// without asking, as long as there are enough (ReplayState::untagged).
  bool may_be_tagged() {
    if (!tags_ || passed_over_ == 0) return tags_;
    --passed_over_;
    return false;
  }
  void tag(std::uint32_t latency);
  const std::uint64_t* continued(const Step& step, const std::uint64_t* words);
  const std::uint64_t* gather(const Step& step, const std::uint64_t* words);
  const std::uint64_t* repeat(const Step* step, const std::uint64_t* words);
  /// Cycle in which the data of a store is known.
  std::uint64_t ready_of(const Step& step) const {
    return step.store != kNoLane ? core_.clock.store_ready(step.store) : 0;
  }
  /// Cycle in which it retires at the earliest.
  std::uint64_t retires_of(const Step& step) const {
    return step.store != kNoLane ? core_.clock.store_retires(step.store) : core_.clock.retired_cycle();
  }
  Access access_of(const Step& step, std::uint64_t linear, std::uint64_t now) const {
    return {linear,
            now,
            step.bytes,
            static_cast<std::uint32_t>(step.at),
            core_.clock.start_cycle(),
            retires_of(step),
            ready_of(step),
            step.place,
            static_cast<std::uint16_t>(step.at >> 32)};
  }
  SlotCause level_of(const Outcome& outcome) const;

  Random random_;
  std::uint32_t repeat_cycles_ = 0;  // of a string instruction, until its block ends
  SlotCause repeat_cause_ = SlotCause::Ports;
};

template <bool kLast>
[[gnu::always_inline]] inline const std::uint64_t* StepSimulator::replay_step(const Step& step,
                                                                              const std::uint64_t* words) {
  CoreClock& clock = core_.clock;
  const unsigned core = core_.number;
  switch (step.kind) {
    case StepKind::Fetch: {
      const Outcome fetched = replay_fetch(step);
      if constexpr (kLast) {
        if (fetched.latency > last_.fetch.latency) last_.fetch = fetched;
      }
      return words;
    }
    case StepKind::Load: {
      const std::uint64_t linear = *words;
      // Nearly always nothing depends on when that is, and only the clock knows it.
      if (const std::uint32_t cycles = memory_.timeless_load(core, linear, step.bytes); cycles != 0) {
        if constexpr (kLast) {
          last_.loaded = true;
          last_.load = {.latency = cycles};
        }
        if (may_be_tagged()) tag(cycles);
        return words + 1;
      }
      const std::uint64_t now = clock.load_dispatch(step.load);
      if (const Outcome forwarded = memory_.forwarded_load(core, linear, step.bytes, now, step.place);
          forwarded.latency != 0) {
        loaded(step, now, forwarded);
        return words + 1;
      }
      std::uint32_t cycles = memory_.plain_load(core, linear, step.bytes, now);
      if (cycles == 0) cycles = memory_.quiet_load(core, linear, step.bytes, now, clock.start_cycle());
      if (cycles != 0) {
        if constexpr (kLast) {
          last_.loaded = true;
          last_.load = {.latency = cycles};
        }
        if (may_be_tagged()) tag(cycles);
      } else {
        loaded(step, now, memory_.other_load(core, access_of(step, linear, now)));
      }
      return words + 1;
    }
    case StepKind::Store: {
      const std::uint64_t linear = *words;
      const StoreFacts facts{.now = clock.dispatch_cycle(step.instruction),
                             .retires = retires_of(step),
                             .ready = ready_of(step),
                             .place = step.place};
      std::uint32_t waited = 0;
      if (memory_.plain_store(core, linear, step.bytes, facts, waited) ||
          memory_.quiet_store(core, linear, step.bytes, facts, clock.start_cycle(), waited)) {
        if constexpr (kLast) {
          last_.stored = true;
          last_.store = {.latency = l1_cycles_};
        }
        if (waited != 0) clock.store_stall(step.instruction, waited);
      } else {
        stored(step, memory_.other_store(core, access_of(step, linear, facts.now)));
      }
      return words + 1;
    }
    case StepKind::Other: break;
  }
  return other(step, words);
}

inline void StepSimulator::loaded(const Step& step, std::uint64_t now, const Outcome& outcome) {
  last_.load = outcome;
  last_.loaded = true;
  if (may_be_tagged()) tag(outcome.latency);
  core_.clock.load_again(outcome.begun_again());
  if (outcome.latency <= l1_cycles_) return;
  const SlotCause level = level_of(outcome);
  if (step.load != kNoLane) core_.clock.load_done(step.load, outcome.latency, level);
  if (level != SlotCause::L1) {
    const auto missed = static_cast<unsigned>(level) - static_cast<unsigned>(SlotCause::L1);
    counts_.pending.add(missed, now, now + outcome.latency);
  }
}

inline void StepSimulator::stored(const Step& step, const Outcome& outcome) {
  last_.store = outcome;
  last_.stored = true;
  if (outcome.waited != 0) core_.clock.store_stall(step.instruction, outcome.waited);
}

inline void StepSimulator::end_block(const Segment& segment, std::uint64_t next) {
  if (segment.kind != arch::BranchKind::None) {
    const BranchFacts branch{.pc = segment.pc,
                             .next = segment.next(),
                             .target = segment.target_is_next ? next : segment.target,
                             .kind = segment.kind,
                             .taken = segment.taken};
    const BranchOutcome outcome =
        core_.branches.predict_and_update(branch, segment.address, path_footprint(branch.pc, branch.target));
    if (!taken_.empty() && segment.taken) taken_[taken_count_++ % kRemembered] = {segment.pc, outcome.mispredicted, 0};
    if (outcome.mispredicted) {
      note_mispredicted(segment.kind, segment.taken);
      core_.clock.mispredict(segment.branch);
    } else if (outcome.btb_miss) {
      ++signals_[arch::CoreSignal::Resteers];
      core_.clock.resteer(segment.branch);
    }
  }
  if (segment.serialises) core_.clock.serialise(0);
  if (repeat_cycles_ != 0) core_.clock.occupy(std::exchange(repeat_cycles_, 0), repeat_cause_);
  if (watches_retirement_) [[unlikely]]
    note_retirement(segment.timing->id());
  core_.clock.end();
  if (!taken_.empty() && segment.taken) taken_[(taken_count_ - 1) % kRemembered].cycle = core_.clock.start_cycle();
}

}  // namespace zs::uarch

#include "uarch/replay/step_simulator.h"

#include <algorithm>
#include <array>
#include <utility>

namespace zs::uarch {
namespace {

using arch::AccessForm;
using arch::AccessKind;
using arch::BranchKind;
using arch::CoreSignal;

/// By how a REP string instruction accesses memory: cycles that an element takes at least, and bytes that one can move
/// in a cycle. chosen: 32 bytes a cycle for MOVS and STOS, which microcode does in large pieces; 2 cycles an element of
/// LODS and SCAS, 3 of CMPS, which it does one by one. source for the order of magnitude: Optimization manual, "REP
/// string enhancement".
constexpr std::uint32_t kPieceBytes = 32;
constexpr std::uint32_t kLoadElementCycles = 2, kCompareElementCycles = 3;
/// Lines that a string instruction has under way at most. chosen: as many as the smallest L1D has fill buffers.
constexpr std::size_t kLinesAhead = 10;

/// One access of a REP string instruction, element after element. Elements that lie wholly in the line that was touched
/// last hit L1D whatever came between, so they are counted and not looked up.
class Elements {
 public:
  Elements(std::uint64_t first, std::uint64_t count, std::uint32_t bytes)
      : at_(first), left_(count & ~kDown), bytes_(bytes), down_((count & kDown) != 0) {}

  bool done() const { return left_ == 0; }
  std::uint64_t linear() const { return at_; }
  /// Leaves the element at linear() and those behind it that need no look. Returns how many of the latter.
  std::uint64_t leave() {
    const std::uint64_t room = down_ ? (at_ & (kLineBytes - 1)) / bytes_
                                     : (((at_ + bytes_ - 1) | (kLineBytes - 1)) + 1 - (at_ + bytes_)) / bytes_;
    const std::uint64_t skipped = std::min(room, left_ - 1);
    const std::uint64_t distance = (skipped + 1) * bytes_;
    at_ = down_ ? at_ - distance : at_ + distance;
    left_ -= skipped + 1;
    number_ += skipped + 1;
    return skipped;
  }
  std::uint64_t number() const { return number_; }  // of the element at linear()

 private:
  static constexpr std::uint64_t kDown = std::uint64_t{1} << 63;
  std::uint64_t at_, left_;
  std::uint64_t number_ = 0;
  std::uint32_t bytes_;
  bool down_;
};

/// Signals of retired loads and stores, as they were before an instruction of several accesses that counts as one.
class OneRetirement {
 public:
  explicit OneRetirement(const arch::CoreSignals& signals) {
    for (std::size_t i = 0; i < before_.size(); ++i) before_[i] = signals[kRetired[i]];
  }
  void undo(arch::CoreSignals& signals) const {
    for (std::size_t i = 0; i < before_.size(); ++i) signals[kRetired[i]] = before_[i];
  }

 private:
  using enum CoreSignal;
  static constexpr std::array kRetired{Loads,         LoadL1Hit,      LoadFillBuffer, LoadL2Hit,    LoadL3HitNone,
                                       LoadL3HitMiss, LoadL3SnoopHit, LoadL3Hitm,     LoadDram,     SplitLoads,
                                       LoadStlbMiss,  Stores,         SplitStores,    StoreStlbMiss};
  std::array<std::uint64_t, kRetired.size()> before_;
};

/// Of the loads or the stores of such an instruction: where the slowest was, and whether any was split or needed a
/// walk.
struct Together {
  Outcome slowest;
  bool any = false, split = false, walked = false;

  void add(const Outcome& outcome) {
    const std::uint32_t waited = std::max(slowest.waited, outcome.waited);
    if (!any || outcome.latency > slowest.latency) slowest = outcome;
    slowest.waited = waited;
    any = true;
    split = split || outcome.split;
    walked = walked || outcome.tlb == TlbOutcome::Walk;
  }
  void count(arch::CoreSignals& signals, bool is_load) const {
    using enum CoreSignal;
    ++signals[is_load ? Loads : Stores];
    if (is_load) ++signals[kLoadFrom[static_cast<std::size_t>(slowest.source)]];
    if (split) ++signals[is_load ? SplitLoads : SplitStores];
    if (walked) ++signals[is_load ? LoadStlbMiss : StoreStlbMiss];
  }
};

}  // namespace

void StepSimulator::tell() {
  memory_.counts(core_.number);
  set_time_signals(signals_, account_, counts_, model_.timing.issue_width);
}

void StepSimulator::close_open() {
  const BlockTiming& timing = book_.closed(*open_);
  counts_.uops += timing.uops();
  counts_.fused += timing.fused();
  counts_.under_way = {};
  if (watches_retirement_) note_retirement(open_->id);
  core_.clock.end();
  open_ = nullptr;
}

/// The block is about to end.
void StepSimulator::note_retirement(std::uint32_t block) {
  if (std::exchange(retirement_of_, book_.forgotten()) != book_.forgotten()) retirement_->forget();
  if (!retirement_->knows(block)) retirement_->learn(block, book_.placed(block));
  retirement_->passed(block, core_.clock.units(), core_.clock.events());
}

Outcome StepSimulator::replay_fetch(const Step& step) {
  const Outcome outcome = memory_.fetch(core_.number, step.at, core_.clock.dispatch_cycle(step.instruction));
  if (outcome.latency != 0) fetched_late(step, outcome);
  return outcome;
}

[[gnu::noinline]] void StepSimulator::note_mispredicted(BranchKind kind, bool taken) {
  last_.mispredicted = true;
  ++signals_[kind == BranchKind::Conditional
                 ? (taken ? CoreSignal::MispredictedTaken : CoreSignal::MispredictedNotTaken)
             : kind == BranchKind::IndirectJump ? CoreSignal::MispredictedIndirectJump
             : kind == BranchKind::IndirectCall ? CoreSignal::MispredictedIndirectCall
                                                : CoreSignal::MispredictedReturn];
  counts_.recovery_cycles += model_.timing.mispredict_cycles;
}

void StepSimulator::fetched_late(const Step& step, const Outcome& outcome) {
  const bool had_line = outcome.source == Source::L1;
  core_.clock.fetch_stall(step.instruction, outcome.latency,
                          had_line ? SlotCause::InstructionTlb : SlotCause::InstructionCache);
}

SlotCause StepSimulator::level_of(const Outcome& outcome) const {
  switch (outcome.source == Source::FillBuffer ? outcome.whence : outcome.source) {
    case Source::L1: return SlotCause::L1;
    case Source::L2: return SlotCause::L2;
    case Source::L3:
    case Source::L3SnoopMiss:
    case Source::L3SnoopHit:
    case Source::L3Hitm: return SlotCause::L3;
    case Source::Dram: return SlotCause::Dram;
    case Source::FillBuffer: break;
  }
  // Of a fill buffer whose request was forgotten the rest of its way tells at least from where the line comes.
  if (outcome.latency <= model_.memory.l2.load_to_use_cycles) return SlotCause::L2;
  return outcome.latency <= model_.memory.llc.load_to_use_cycles ? SlotCause::L3 : SlotCause::Dram;
}

/// A load that the load-latency facility does not pass over. Which loads it tags depends on chance alone, not on how
/// long they take: hardware follows one at a time, but one that followed the next load behind a slow one would for ever
/// meet the same load of a loop.
void StepSimulator::tag(std::uint32_t latency) {
  // chosen; always as many, and a loop could hide one of its loads for ever.
  constexpr std::uint64_t kFewest = 9, kAtRandom = 16;
  constexpr std::int64_t kParts = arch::kMostTimesTagged;
  due_ += static_cast<std::int64_t>(kFewest + random_.below(kAtRandom)) * (kParts / times_tagged_);
  const std::int64_t loads = std::max<std::int64_t>(due_ / kParts, 1);
  due_ -= loads * kParts;
  passed_over_ = static_cast<std::uint64_t>(loads - 1);
  if (latency > threshold_) ++signals_[CoreSignal::LatencyLoads];
}

const std::uint64_t* StepSimulator::other(const Step& step, const std::uint64_t* words) {
  if (step.form == AccessForm::Listed) return gather(step, words);
  if (step.form == AccessForm::Repeated) return repeat(&step, words);
  if (step.with_last) return continued(step, words);
  const std::uint64_t linear = *words;
  const unsigned core = core_.number;
  const std::uint64_t now = dispatch_of(step);
  const Access access = access_of(step, linear, now);
  switch (step.access) {
    case AccessKind::Load: loaded(step, now, memory_.load(core, access)); break;
    case AccessKind::LockedLoad:
      loaded(step, now, memory_.locked(core, access));
      last_.store = last_.load;
      last_.stored = last_.locked = true;
      return words + (step.with_next ? 2 : 1);
    case AccessKind::Store: stored(step, memory_.store(core, access)); break;
    case AccessKind::Prefetch:
    case AccessKind::PrefetchT1:
    case AccessKind::PrefetchNta:
    case AccessKind::PrefetchW: prefetch(step.access, access); break;
    case AccessKind::StreamingStore: stored(step, memory_.streaming_store(core, access)); break;
    case AccessKind::Flush: memory_.flush(core, linear); break;
  }
  return words + 1;
}

/// Another access of the load or store that retires with the one before: CMPS where instructions are counted, XSAVE and
/// its kin everywhere.
const std::uint64_t* StepSimulator::continued(const Step& step, const std::uint64_t* words) {
  const unsigned core = core_.number;
  memory_.counts(core);
  const OneRetirement before(signals_);
  const std::uint64_t now = dispatch_of(step);
  const Access access = access_of(step, *words, now);
  if (step.access == AccessKind::Load) {
    loaded(step, now, memory_.load(core, access));
  } else {
    stored(step, memory_.store(core, access));
  }
  memory_.counts(core);
  before.undo(signals_);
  return words + 1;
}

/// By an instruction for that; kind says which.
void StepSimulator::prefetch(AccessKind kind, const Access& access) {
  const PrefetchHint hint = kind == AccessKind::PrefetchT1    ? PrefetchHint::T1
                            : kind == AccessKind::PrefetchNta ? PrefetchHint::Nta
                            : kind == AccessKind::PrefetchW   ? PrefetchHint::W
                                                              : PrefetchHint::T0;
  memory_.software_prefetch(core_.number, access, hint);
}

/// Elements of a gather or a scatter. One load retires, whatever it gathers, and its slowest element is where it was;
/// the stores of a scatter likewise.
const std::uint64_t* StepSimulator::gather(const Step& step, const std::uint64_t* words) {
  const unsigned core = core_.number;
  memory_.counts(core);
  const OneRetirement one(signals_);
  const std::uint64_t now = dispatch_of(step);
  const std::uint64_t count = *words++;
  const bool is_load = step.access == AccessKind::Load;
  Together all{.slowest = {.latency = model_.memory.l1d.load_to_use_cycles}};
  for (std::uint64_t i = 0; i < count; ++i) {
    const Access access = access_of(step, *words++, now);
    all.add(is_load ? memory_.load(core, access) : memory_.store(core, access));
  }
  memory_.counts(core);
  one.undo(signals_);
  all.count(signals_, is_load);
  if (is_load) {
    loaded(step, now, all.slowest);
  } else {
    stored(step, all.slowest);
  }
  return words;
}

/// A REP string instruction: its lines one after the other. Where processors count instructions it is one load, from
/// where its slowest element was, and one store. Memory may lag behind by kLinesAhead of them; all of its time
/// passes before the next instruction.
const std::uint64_t* StepSimulator::repeat(const Step* step, const std::uint64_t* words) {
  const unsigned core = core_.number;
  const std::size_t count = step->with_next ? 2 : 1;
  const bool stores = step[count - 1].access != AccessKind::Load;
  std::array<Elements, 2> elements{Elements(words[0], words[1], step[0].bytes), Elements(0, 0, 1)};
  if (count == 2) elements[1] = Elements(words[2], words[3], step[1].bytes);

  const bool counts_once = model_.memory.retired.instructions;
  if (counts_once) memory_.counts(core);
  const OneRetirement one_retirement(signals_);
  const Outcome hit{.latency = model_.memory.l1d.load_to_use_cycles};  // of no elements
  Together loads{.slowest = hit}, stored{.slowest = hit};
  const std::uint64_t began = dispatch_of(*step);
  std::uint64_t now = began, complete = began;
  std::array<std::uint64_t, kLinesAhead> under_way{};
  std::size_t touched = 0;
  SlotCause slowest = SlotCause::Ports;
  std::uint64_t waited_for_loads = 0, waited_for_stores = 0;
  while (!elements[0].done() || !elements[1].done()) {
    const bool second = elements[0].done() || (!elements[1].done() && elements[1].number() < elements[0].number());
    const Step& one = step[second ? 1 : 0];
    Elements& own = elements[second ? 1 : 0];
    std::uint64_t& slot = under_way[touched++ % kLinesAhead];
    if (slot > now) (stores ? waited_for_stores : waited_for_loads) += slot - now;
    now = std::max(now, slot);
    Access access = access_of(one, own.linear(), now);
    access.earliest = now;  // the block is this instruction's from here on
    const bool is_load = one.access == AccessKind::Load;
    const Outcome outcome = is_load ? memory_.load(core, access) : memory_.store(core, access);
    const std::uint64_t more = own.leave();
    (is_load ? loads : stored).add(outcome);
    if (is_load) {
      last_.load = outcome;
      last_.loaded = true;
      if (!counts_once && may_be_tagged()) tag(outcome.latency);
      signals_[CoreSignal::Loads] += more;
      signals_[CoreSignal::LoadL1Hit] += more;
      slot = now + outcome.latency;
      complete = std::max(complete, slot);
      const SlotCause level = level_of(outcome);
      if (level > SlotCause::L1 && outcome.latency > model_.memory.l1d.load_to_use_cycles) {
        slowest = slowest == SlotCause::Ports ? level : std::max(slowest, level);
        counts_.pending.add(static_cast<unsigned>(level) - static_cast<unsigned>(SlotCause::L1), now, slot);
      }
    } else {
      last_.store = outcome;
      last_.stored = true;
      signals_[CoreSignal::Stores] += more;
      now += outcome.waited;
      waited_for_stores += outcome.waited;
      slot = now + outcome.latency;
    }
    if (second || count == 1) {
      const std::uint32_t bytes = one.bytes;
      now += stores ? std::max<std::uint64_t>(1, (more + 1) * bytes / kPieceBytes)
                    : (more + 1) * (count == 2 ? kCompareElementCycles : kLoadElementCycles);
    }
  }
  if (counts_once) {
    memory_.counts(core);
    one_retirement.undo(signals_);
    const bool loading = step[0].access == AccessKind::Load;
    if (loading) {
      loads.count(signals_, true);
      last_.load = loads.slowest;
      last_.loaded = true;
      if (may_be_tagged()) tag(loads.slowest.latency);
    }
    if (stores) stored.count(signals_, false);
  }
  const std::uint64_t whole = std::max(now, complete) - began;
  waited_for_loads += complete > now ? complete - now : 0;
  repeat_cycles_ = static_cast<std::uint32_t>(whole);
  repeat_cause_ = 2 * waited_for_loads > whole    ? slowest
                  : 2 * waited_for_stores > whole ? SlotCause::StoreBuffer
                                                  : SlotCause::Ports;
  return words + 2 * count;
}

}  // namespace zs::uarch

// A machine of one core and one thread once more, plainly: instruction by instruction, without paths or plans, on
// structures that are searched from end to end. For tests, which hold that ModelledMachine counts the same.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "uarch/branch/branch_unit.h"
#include "uarch/core_model.h"
#include "uarch/reference/plain_clock.h"
#include "uarch/reference/plain_parts.h"
#include "uarch/reference/synthetic_workload.h"
#include "uarch/replay/modelled_machine.h"
#include "uarch/replay/time_signals.h"

namespace zs::uarch {

class PlainMachine {
 public:
  PlainMachine(const CoreModel& model, const MachineOptions& options)
      : model_(model),
        memory_(model.memory, {.seed = options.seed}),
        branches_(model.branch),
        clock_(model.timing, memory_limits(model.memory)) {
    memory_.count_into(0, &signals_);
  }

  void run(const Executed& one) {
    const arch::PathInstruction& told = one.instruction;
    if (!block_.empty() && block_.back().pc + block_.back().shape.length != told.pc) end_block(false);
    if (block_.empty()) clock_.begin();
    const PlacedInstruction placed{told.pc, one.shape};
    block_.push_back(placed);
    clock_.enter(placed);
    fetch(told.pc);
    fetch(told.pc + told.length - 1);
    for (std::size_t i = 0; i < one.accesses.size(); ++i) access(one, i);
    clock_.leave();

    const bool is_branch = one.shape.branch != arch::BranchKind::None;
    if (!is_branch && !one.shape.serialising && block_.size() < 32) {
      counts_.under_way = issue_sums(block_costs(model_.timing, memory_limits(model_.memory), block_)).back();
      return tell();
    }
    const BlockTiming& timing = timing_of(told.taken);
    clock_.finish(timing);
    if (is_branch) predict(one);
    if (one.shape.serialising) clock_.serialise(0);
    count(timing);
    clock_.end();
    block_.clear();
    tell();
  }

  const arch::CoreSignals& signals() const { return signals_; }
  void unmap(std::uint64_t first, std::uint64_t last) { memory_.unmap(first, last); }

 private:
  void fetch(std::uint64_t linear) {
    const Outcome outcome = memory_.fetch(0, linear, clock_.dispatch());
    if (outcome.latency == 0) return;
    clock_.fetch_stall(outcome.latency,
                       outcome.source == Source::L1 ? SlotCause::InstructionTlb : SlotCause::InstructionCache);
  }

  void access(const Executed& one, std::size_t i) {
    using arch::AccessKind;
    const arch::PathAccess& told = one.accesses[i];
    CHECK(told.form == arch::AccessForm::One);
    const std::uint64_t dispatched = told.kind == AccessKind::Store ? clock_.dispatch() : clock_.load_dispatch();
    const Access access{one.words[i],         dispatched,
                        told.address.bytes,   static_cast<std::uint32_t>(one.instruction.pc),
                        clock_.start_cycle(), clock_.store_retires(),
                        clock_.store_ready(), one.shape.place};
    const arch::CoreSignals before = signals_before(one, i);
    switch (told.kind) {
      case AccessKind::Load:
        loaded(dispatched, memory_.load(0, access));
        if (retires_with_another(one, i)) undo(before);
        break;
      case AccessKind::LockedLoad: loaded(dispatched, memory_.locked(0, access)); break;
      case AccessKind::Prefetch: memory_.software_prefetch(0, access, PrefetchHint::T0); break;
      case AccessKind::PrefetchT1: memory_.software_prefetch(0, access, PrefetchHint::T1); break;
      case AccessKind::PrefetchNta: memory_.software_prefetch(0, access, PrefetchHint::Nta); break;
      case AccessKind::PrefetchW: memory_.software_prefetch(0, access, PrefetchHint::W); break;
      case AccessKind::Flush: memory_.flush(0, access.linear); break;
      case AccessKind::Store: {
        if (i != 0 && one.accesses[i - 1].kind == AccessKind::LockedLoad) return;
        stored(memory_.store(0, access));
        if (retires_with_another(one, i)) undo(before);
        break;
      }
      case AccessKind::StreamingStore: stored(memory_.streaming_store(0, access)); break;
    }
  }

  /// Whether the access counts with one before it of the same instruction.
  bool retires_with_another(const Executed& one, std::size_t i) const {
    const arch::AccessKind kind = one.accesses[i].kind;
    const std::size_t operands = kind == arch::AccessKind::Load ? one.shape.loads : one.shape.stores;
    const std::size_t most = model_.memory.retired.instructions ? 1 : std::max<std::size_t>(operands, 1);
    const auto alike = [kind](const arch::PathAccess& access) { return access.kind == kind; };
    return static_cast<std::size_t>(std::count_if(
               one.accesses.begin(), one.accesses.begin() + static_cast<std::ptrdiff_t>(i), alike)) >= most;
  }
  arch::CoreSignals signals_before(const Executed& one, std::size_t i) {
    if (retires_with_another(one, i)) memory_.counts(0);
    return signals_;
  }
  void undo(const arch::CoreSignals& before) {
    using enum arch::CoreSignal;
    memory_.counts(0);
    for (const arch::CoreSignal signal :
         {Loads, LoadL1Hit, LoadFillBuffer, LoadL2Hit, LoadL3HitNone, LoadL3HitMiss, LoadL3SnoopHit, LoadL3Hitm,
          LoadDram, SplitLoads, LoadStlbMiss, Stores, SplitStores, StoreStlbMiss}) {
      signals_[signal] = before[signal];
    }
  }

  void stored(const Outcome& outcome) {
    if (outcome.waited != 0) clock_.store_stall(outcome.waited);
  }

  void loaded(std::uint64_t dispatched, const Outcome& outcome) {
    clock_.load_again(outcome.begun_again());
    if (outcome.latency <= model_.memory.l1d.load_to_use_cycles) return;
    std::map<Source, SlotCause> levels{{Source::L1, SlotCause::L1},         {Source::L2, SlotCause::L2},
                                       {Source::L3, SlotCause::L3},         {Source::L3SnoopMiss, SlotCause::L3},
                                       {Source::L3SnoopHit, SlotCause::L3}, {Source::L3Hitm, SlotCause::L3},
                                       {Source::Dram, SlotCause::Dram}};
    levels[Source::FillBuffer] = outcome.latency <= model_.memory.l2.load_to_use_cycles    ? SlotCause::L2
                                 : outcome.latency <= model_.memory.llc.load_to_use_cycles ? SlotCause::L3
                                                                                           : SlotCause::Dram;
    const SlotCause level = levels[outcome.source == Source::FillBuffer ? outcome.whence : outcome.source];
    clock_.load_done(outcome.latency, level);
    const unsigned missed = level == SlotCause::L1 ? 0 : level == SlotCause::L2 ? 1 : level == SlotCause::L3 ? 2 : 3;
    if (missed != 0) counts_.pending.add(missed, dispatched, dispatched + outcome.latency);
  }

  void predict(const Executed& one) {
    using arch::BranchKind;
    using enum arch::CoreSignal;
    const arch::PathInstruction& told = one.instruction;
    const BranchKind kind = one.shape.branch;
    const BranchOutcome outcome =
        branches_.predict_and_update({told.pc, told.pc + told.length, one.next, kind, told.taken});
    if (outcome.mispredicted) {
      if (kind == BranchKind::Conditional) ++signals_[told.taken ? MispredictedTaken : MispredictedNotTaken];
      if (kind == BranchKind::IndirectJump) ++signals_[MispredictedIndirectJump];
      if (kind == BranchKind::IndirectCall) ++signals_[MispredictedIndirectCall];
      if (kind == BranchKind::Return) ++signals_[MispredictedReturn];
      clock_.mispredict();
      counts_.recovery_cycles += model_.timing.mispredict_cycles;
    } else if (outcome.btb_miss) {
      ++signals_[Resteers];
      clock_.resteer();
    }
  }

  void end_block(bool taken) {
    const BlockTiming& timing = timing_of(taken);
    clock_.finish(timing);
    count(timing);
    clock_.end();
    block_.clear();
  }
  void count(const BlockTiming& timing) {
    counts_.uops += timing.uops();
    counts_.fused += timing.fused();
    counts_.under_way = {};
  }
  void tell() {
    memory_.counts(0);
    for (const auto& [cause, units] : clock_.lost) account_.units[static_cast<std::size_t>(cause)] = units;
    set_time_signals(signals_, account_, counts_, model_.timing.issue_width);
  }

  /// Blocks are the same if their instructions stand at the same addresses; the id is of the block, however it ends.
  const BlockTiming& timing_of(bool taken) {
    std::vector<std::uint64_t> key;
    for (const PlacedInstruction& placed : block_) key.push_back(placed.pc);
    const auto id = static_cast<std::uint32_t>(ids_.try_emplace(key, ids_.size()).first->second);
    auto& timing = timings_[{id, taken}];
    if (timing == nullptr) {
      timing = std::make_unique<BlockTiming>(model_.timing, memory_limits(model_.memory), block_, id, taken);
    }
    return *timing;
  }

  CoreModel model_;
  Hierarchy<PlainParts> memory_;
  BranchUnit branches_;
  PlainClock clock_;
  Block block_;
  arch::CoreSignals signals_;
  SlotAccount account_;
  TimeCounts counts_;
  std::map<std::vector<std::uint64_t>, std::size_t> ids_;
  std::map<std::pair<std::uint32_t, bool>, std::unique_ptr<BlockTiming>> timings_;
};

}  // namespace zs::uarch

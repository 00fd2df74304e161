#include "engine/account/deferred_trace.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "engine/account/core_feeder.h"
#include "isa/line_splits.h"

namespace zs::engine {
namespace {

std::uint8_t bytes_of(const MemoryOperand& operand) {
  return static_cast<std::uint8_t>(operand.bytes <= UINT8_MAX ? operand.bytes : 0);
}

}  // namespace

/// Of the paths of one batch: how far they are counted, and what the next instruction is that is not.
class DeferredTrace::Counting {
 public:
  Counting(DeferredTrace& owner, const DeferredBatch& batch)
      : owner_(owner), batch_(batch), waiting_(owner.run_.thread->deferred) {
    owner.tally_.look_at_room();
    owner.tally_.clear();
  }

  void outcome(const arch::WatchedOutcome& outcome) {
    add_up_to(outcome.run - waiting_.runs, outcome.instruction);
    const DeferredInsn& insn = batch_.paths[path_]->insns[insn_];
    Tally& tally = owner_.tally_;
    const auto counts = owner_.run_.translator->replay().counts_of(insn.facts, insn.taken);
    std::copy(counts.begin(), counts.end(), tally.more().begin());
    tally.add_signals(tally.more(), outcome.signals);
    if (!tally.adds_up()) retire(insn, outcome);
    waiting_.before = outcome.signals;
    if (++insn_ == batch_.paths[path_]->insns.size()) {
      ++path_;
      insn_ = 0;
    }
  }
  void finish(const arch::CoreSignals& end) {
    add_up_to(batch_.paths.size(), 0);
    Tally& tally = owner_.tally_;
    tally.add_signals(tally.totals(), end);
    tally.count();
    owner_.core_.advance_time(end);
    waiting_.before = end;
  }

 private:
  void add(std::span<const std::uint32_t> counts) {
    const std::span<std::uint64_t> totals = owner_.tally_.totals();
    for (std::size_t i = 0; i < counts.size(); ++i) totals[i] += counts[i];
  }
  void add_insns(std::size_t to) {
    for (; insn_ < to; ++insn_) {
      const DeferredInsn& insn = batch_.paths[path_]->insns[insn_];
      add(owner_.run_.translator->replay().counts_of(insn.facts, insn.taken));
    }
  }
  void add_up_to(std::size_t path, std::size_t insn) {
    for (; path_ < path; ++path_, insn_ = 0) {
      if (insn_ == 0)
        add(batch_.paths[path_]->counts);
      else
        add_insns(batch_.paths[path_]->insns.size());
    }
    CHECK(path_ == path && insn_ <= insn, path_, path, insn_, insn);
    if (insn != 0) add_insns(insn);
  }

  /// Where the thread went on behind the instruction.
  std::uint64_t next() const {
    const DeferredPath& path = *batch_.paths[path_];
    if (insn_ + 1 < path.insns.size()) return path.insns[insn_ + 1].pc;
    return path_ + 1 < batch_.paths.size() ? batch_.paths[path_ + 1]->insns.front().pc : batch_.next;
  }

  /// It overflows a counter.
  void retire(const DeferredInsn& insn, const arch::WatchedOutcome& outcome) {
    Tally& tally = owner_.tally_;
    tally.count();
    tally.clear();
    const arch::CoreSignals signals = signals_since(waiting_.before, outcome.signals);
    arch::Retired retired;
    static_cast<arch::InsnFacts&>(retired) = insn.facts;
    retired.ip = insn.pc;
    retired.next_ip = next();
    retired.taken = insn.taken;
    retired.load_count = insn.facts.loads;
    retired.store_count = insn.facts.stores;
    retired.data_address = outcome.load_address != 0 ? outcome.load_address : outcome.store_address;
    retired.store_address = outcome.store_address;
    retired.data_bytes = insn.data_bytes;
    retired.store_bytes = outcome.store_address != 0 ? insn.store_bytes : 0;
    retired.split_loads = crosses_line(outcome.load_address, insn.data_bytes) ? 1 : 0;
    retired.split_stores = crosses_line(outcome.store_address, insn.store_bytes) ? 1 : 0;
    retired.signals = &signals;
    retired.load = outcome.load;
    retired.store = outcome.store;
    retired.mispredicted = outcome.mispredicted;
    // Those of instructions before it are remembered, too.
    using enum arch::CoreSignal;
    if ((signals[FetchMiss] | signals[ItlbStlbHit] | signals[ItlbWalk]) != 0) retired.fetch = outcome.fetch;
    const arch::RegisterFile after{.flags = 0, .ip = retired.next_ip};
    owner_.core_.advance_time(outcome.signals);
    tally.retire(retired, after);
    tally.take_pmi(after);
    tally.look_at_room();
  }

  DeferredTrace& owner_;
  const DeferredBatch& batch_;
  DeferredBatches& waiting_;
  std::size_t path_ = 0, insn_ = 0;  // what comes next
};

void DeferredTrace::begin(Thread& thread) const {
  thread.deferred = {};
  if (!run_.counting.deferred || thread.cpu.core == nullptr) return;
  thread.deferred.before = thread.cpu.core->signals();
  thread.cpu.core->keep_outcomes(run_.counting.watched, thread.deferred.outcomes);
}

DeferredPath DeferredTrace::path_of(std::span<const PathInsn> insns) const {
  DeferredPath path;
  path.counts.resize(run_.counting.accumulators->size());
  for (const PathInsn& one : insns) {
    const Insn& insn = *one.insn;
    DeferredInsn& kept = path.insns.emplace_back();
    kept.pc = insn.pc;
    kept.facts = insn.facts;
    kept.taken = one.taken;
    path.next = one.taken ? one.went_to : insn.next();
    for (std::size_t i = 0; i < insn.memory_count; ++i) {
      const MemoryOperand& operand = insn.memory[i];
      if (i == 0 || (operand.read && !insn.memory[0].read)) kept.data_bytes = bytes_of(operand);
      if (operand.write && kept.store_bytes == 0) kept.store_bytes = bytes_of(operand);
    }
    const auto counts = run_.translator->replay().counts_of(insn.facts, one.taken);
    for (std::size_t i = 0; i < counts.size(); ++i) path.counts[i] += counts[i];
  }
  return path;
}

const DeferredPath& DeferredTrace::path(std::uint32_t exit) {
  auto& by_exit = paths_->by_exit;
  if (by_exit.size() <= exit) by_exit.resize(exit + 1 + exit / 2);
  if (by_exit[exit] != nullptr) return *by_exit[exit];
  by_exit[exit] = std::make_unique<const DeferredPath>(path_of(run_.translator->replay().path_to(exit)));
  const DeferredPath& made = *by_exit[exit];
  paths_->bytes += sizeof made + made.insns.size() * sizeof(DeferredInsn) + made.counts.size() * sizeof(std::uint32_t);
  core_.set_bytes_elsewhere(paths_->bytes);
  return made;
}

void DeferredTrace::add(std::span<const std::uint32_t> exits) {
  if (std::exchange(paths_of_flush_, run_.translator->flushes()) != run_.translator->flushes() || paths_ == nullptr)
    paths_ = std::make_shared<Paths>();
  DeferredBatch batch{.keeps = paths_, .paths = {}, .next = 0, .step = {}};
  for (const std::uint32_t exit : exits) {
    if (const DeferredPath& path = this->path(exit); !path.insns.empty()) batch.paths.push_back(&path);
  }
  if (batch.paths.empty()) return;
  const std::uint64_t next = batch.paths.back()->next;
  batch.next = next != 0 ? next : run_.indirect_target;
  add(std::move(batch));
}

void DeferredTrace::add_into(std::uint32_t block, unsigned instructions, std::uint64_t next) {
  const Block& left = run_.translator->blocks().block(block);
  const auto path =
      std::make_shared<const DeferredPath>(path_of(run_.translator->replay().path_into(left, instructions)));
  add({.keeps = path, .paths = {path.get()}, .next = next, .step = {}});
}

void DeferredTrace::add_step(const arch::Retired& retired, const arch::RegisterFile& after) {
  add({.keeps = {}, .paths = {}, .next = 0, .step = DeferredBatch::Step{retired, after}});
}

void DeferredTrace::add(DeferredBatch&& batch) {
  DeferredBatches& waiting = run_.thread->deferred;
  waiting.batches.push_back(std::move(batch));
  run_.thread->cpu.core->keep_signals(waiting.ends);
  count();
}

void DeferredTrace::count() {
  DeferredBatches& waiting = run_.thread->deferred;
  while (!waiting.ends.empty()) {
    const DeferredBatch batch = std::move(waiting.batches.front());
    const arch::CoreSignals end = waiting.ends.front();
    waiting.batches.pop_front();
    waiting.ends.pop_front();
    if (batch.step) {
      count_step(*batch.step, end);
    } else {
      Counting counting(*this, batch);
      for (auto& left = waiting.outcomes; !left.empty() && left.front().run < waiting.runs + batch.runs();
           left.pop_front())
        counting.outcome(left.front());
      counting.finish(end);
    }
    waiting.runs += batch.runs();
  }
}

void DeferredTrace::counted_step() const {
  DeferredBatches& waiting = run_.thread->deferred;
  CHECK(waiting.batches.empty(), waiting.batches.size());
  ++waiting.runs;
  waiting.before = run_.thread->cpu.core->signals();
  waiting.outcomes.clear();
}

void DeferredTrace::count_step(const DeferredBatch::Step& step, const arch::CoreSignals& end) {
  DeferredBatches& waiting = run_.thread->deferred;
  const arch::CoreSignals signals = signals_since(std::exchange(waiting.before, end), end);
  arch::Retired retired = step.retired;
  retired.signals = &signals;
  for (auto& left = waiting.outcomes; !left.empty() && left.front().run == waiting.runs; left.pop_front()) {
    retired.load = left.front().load;
    retired.store = left.front().store;
    retired.fetch = left.front().fetch;
    retired.mispredicted = left.front().mispredicted;
  }
  tally_.add_signals(tally_.more(), end);  // which the PMU counts as the instruction's
  core_.advance_time(end);
  tally_.retire(retired, step.after);
  tally_.take_pmi(step.after);
}

}  // namespace zs::engine

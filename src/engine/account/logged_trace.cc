#include "engine/account/logged_trace.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "arch/issue_signals.h"
#include "base/check.h"

namespace zs::engine {

namespace {

/// All signals, but what each instruction changes only where it is counted.
arch::SignalSet watched_signals(const CountingMode& counting) {
  arch::SignalSet watched;
  watched.set();
  for (const arch::CoreSignal signal : arch::kIssueSignals) {
    bool counted = false;
    for (std::size_t accumulator = 0; accumulator < counting.accumulators->size(); ++accumulator)
      counted |= counting.accumulators->modelled(accumulator) &&
                 arch::depends_on((*counting.accumulators)[accumulator], signal);
    watched[static_cast<std::size_t>(signal)] = counted;
  }
  return watched;
}

}  // namespace

/// The registers along a logged path, and the program's own back when it is over.
class LoggedTrace::LogReader {
 public:
  LogReader(LoggedTrace& owner, const LoggedBlock& block, const std::uint64_t* slots)
      : owner_(owner),
        block_(block),
        slots_(slots),
        flags_(owner.run_.context.flags),
        pc_(owner.run_.thread->pc),
        exit_id_(owner.run_.context.exit_id),
        store_(block.stores.data()) {
    std::ranges::copy(owner.run_.context.gpr, gpr_);
    std::copy_n(slots_, std::size(gpr_), owner.run_.context.gpr);
    owner.run_.context.flags = slots_[AddressSlots::kLoggedFlags];
  }
  ~LogReader() {
    std::ranges::copy(gpr_, owner_.run_.context.gpr);
    owner_.run_.context.flags = flags_;
    owner_.run_.context.exit_id = exit_id_;
    owner_.run_.thread->pc = pc_;
  }
  LogReader(const LogReader&) = delete;
  LogReader& operator=(const LogReader&) = delete;

  /// Goes past the next instruction.
  void pass() {
    Context& context = owner_.run_.context;
    const LoggedBlock::LoggedInsn& insn = block_.insns[passed_++];
    if (insn.target >= 0) {
      const std::uint64_t from = insn.source >= 0 ? context.gpr[insn.source] : 0;
      context.gpr[insn.target] = from + static_cast<std::uint64_t>(insn.delta);
    }
    for (unsigned i = 0; i < insn.stores; ++i, ++store_) context.gpr[store_->reg] = slots_[store_->slot];
    if (insn.flags != AddressTerm::kNoSlot) context.flags = slots_[insn.flags];
  }
  std::size_t passed() const { return passed_; }

 private:
  LoggedTrace& owner_;
  const LoggedBlock& block_;
  const std::uint64_t* slots_;
  std::uint64_t gpr_[16], flags_, pc_;
  std::uint32_t exit_id_;
  const InsnSlots::Store* store_;
  std::size_t passed_ = 0;
};

/// Counts drained records as the model replays them, from `from` on. The instructions between two of which the model
/// tells are counted one by one within a record, whole records together.
class LoggedTrace::LogWatcher final : public arch::RunWatcher {
 public:
  LogWatcher(LoggedTrace& owner, std::span<const std::uint32_t> ids, std::size_t from)
      : owner_(owner), ids_(ids), core_(*owner.run_.thread->cpu.core), before_(core_.signals()), at_(from) {
    owner.tally_.look_at_room();
    owner.tally_.clear();
    for (const pmu::Pmu* pmu : owner.run_.thread->cpu.pmus) wants_branches_ |= pmu->wants_branches();
  }

  void finished(std::size_t run, std::size_t instruction) override {
    reach(run);
    played_ = instruction + 1;
    while (reported_ < instruction) report(false);
    report(true);
    before_ = core_.signals();
  }
  /// Records up to `to` have been replayed.
  void finish(std::size_t to) {
    leave_record();
    add_records(to);
    owner_.tally_.add_signals(owner_.tally_.totals());
    owner_.tally_.count();
    owner_.core_.advance_time();
  }

 private:
  /// modelled: what the model's signals have changed by since the last time is this instruction's.
  void report(bool modelled) {
    if (!path_) path_.emplace(owner_.path(ids_, at_));
    const LoggedBlock::LoggedInsn& insn = path_->block.insns[reported_];
    const bool taken = path_->taken(reported_);
    const auto counts = owner_.run_.translator->replay().counts_of(insn.facts, taken);
    std::copy(counts.begin(), counts.end(), owner_.tally_.more().begin());
    if (modelled) owner_.tally_.add_signals(owner_.tally_.more());
    if (!owner_.tally_.adds_up()) {
      retire(modelled, taken);
    } else if (wants_branches_ && insn.facts.branch != arch::BranchKind::None && taken) {
      arch::TakenBranch branch;
      branch.from = insn.pc;
      branch.to = path_->next_of(reported_);
      branch.kind = insn.facts.branch;
      branch.mispredicted = modelled && core_.last_mispredicted();
      branch.cycle = branch_cycle();
      owner_.tally_.enter_branch(branch);
    }
    ++reported_;
  }

  /// Of the branch that is reported, behind which the model has replayed the taken ones up to `played_`.
  std::uint64_t branch_cycle() const {
    if (!wants_branches_) return 0;
    std::size_t behind = 0;
    for (std::size_t i = reported_ + 1; i < played_; ++i) {
      if (path_->block.insns[i].facts.branch != arch::BranchKind::None && path_->taken(i)) ++behind;
    }
    return core_.cycle_of_branch(behind, path_->block.insns[reported_].pc);
  }

  void retire(bool modelled, bool taken) {
    owner_.tally_.count();
    owner_.tally_.clear();
    LogReader registers(owner_, path_->block, path_->slots);
    while (registers.passed() < reported_) registers.pass();
    owner_.run_.thread->pc = path_->block.insns[reported_].pc;
    owner_.steps_.begin(false);
    StepInProgress& step = owner_.run_.thread->step;
    step.reported_to_core = true;
    step.signals = {};
    step.load = step.store = step.fetch = {};
    step.mispredicted = modelled && core_.last_mispredicted();
    step.branch_cycle = branch_cycle();
    if (modelled) {
      step.signals = signals_since(before_, core_.signals());
      step.load = core_.last_load();
      step.store = core_.last_store();
      // Those of instructions before it in its path are remembered, too.
      using enum arch::CoreSignal;
      if ((step.signals[FetchMiss] | step.signals[ItlbStlbHit] | step.signals[ItlbWalk]) != 0)
        step.fetch = core_.last_fetch();
    }
    registers.pass();
    owner_.run_.thread->pc = path_->next_of(reported_);
    owner_.core_.advance_time(modelled ? core_.signals() : before_);  // what has been replayed since is of later ones
    owner_.steps_.retire(taken);
    owner_.tally_.look_at_room();
  }

  bool runs(std::size_t at) const { return owner_.core_.path(ids_[at]).kind != CorePaths::Path::Empty; }
  /// The record whose run has that number comes next.
  void reach(std::size_t run) {
    if (run != run_) leave_record();
    std::size_t to = at_;
    for (; run_ != run || !runs(to); ++to) run_ += runs(to) ? 1 : 0;
    add_records(to);
  }
  /// What is left of a record of which something was reported.
  void leave_record() {
    if (!path_) return;
    played_ = path_->instructions;
    while (reported_ < path_->instructions) report(false);
    owner_.run_.ran += sizeof(std::uint32_t) * reported_;
    path_.reset();
    reported_ = 0;
    ++run_;
    ++at_;
  }
  void add_records(std::size_t to) {
    if (at_ == to) return;
    owner_.run_.ran += sizeof(std::uint32_t) * (to - at_);
    owner_.run_.translator->blocks().counts().sum(ids_.subspan(at_, to - at_), owner_.tally_.totals());
    at_ = to;
  }

  LoggedTrace& owner_;
  std::span<const std::uint32_t> ids_;
  const arch::CoreFeed& core_;
  arch::CoreSignals before_;
  std::size_t at_;                  // the record that comes next, or of which something was reported
  std::size_t run_ = 0;             // its number among the runs
  std::optional<LoggedPath> path_;  // that record's, once something was reported of it:
  std::size_t reported_ = 0;        // so many of its instructions,
  std::size_t played_ = 0;          // of so many that the model has replayed
  bool wants_branches_ = false;
};

const LoggedBlock& LoggedTrace::block(std::uint32_t index) {
  if (std::exchange(blocks_of_flush_, run_.translator->flushes()) != run_.translator->flushes()) {
    blocks_.clear();
    block_bytes_ = 0;
    core_.set_bytes_elsewhere(0);
  }
  const auto [at, fresh] = blocks_.try_emplace(index);
  LoggedBlock& logged = at->second;
  if (!fresh) return logged;
  const Block& block = run_.translator->blocks().block(index);
  for (const PathInsn& insn : run_.translator->replay().path_into(block, block.instructions)) {
    const InsnSlots& slots = *insn.slots;
    logged.insns.push_back({.pc = insn.insn->pc,
                            .delta = slots.delta,
                            .facts = insn.insn->facts,
                            .target = slots.target,
                            .source = slots.source,
                            .flags = slots.flags,
                            .stores = slots.stores_after,
                            .taken = insn.taken});
    logged.stores.insert(logged.stores.end(), slots.after.begin(), slots.after.begin() + slots.stores_after);
  }
  block_bytes_ +=
      sizeof(LoggedBlock) + logged.insns.size() * sizeof(LoggedBlock::LoggedInsn) + logged.stores.size() * 2;
  core_.set_bytes_elsewhere(block_bytes_);
  return logged;
}

// Each instruction alone, with the registers that it left.
void LoggedTrace::step_through(const LoggedPath& path) {
  // Paths of one instruction: not taken, then taken; of each instruction of the block.
  std::uint32_t& first_path = blocks_.at(path.index).first_path;
  if (first_path == 0)
    first_path = run_.translator->reserve_exits(static_cast<std::uint32_t>(2 * path.block.insns.size()));
  LogReader registers(*this, path.block, path.slots);
  for (unsigned i = 0; i < path.instructions; ++i) {
    run_.thread->pc = path.block.insns[i].pc;
    steps_.begin(true);
    StepInProgress& step = run_.thread->step;
    step.first_exit = run_.context.exit_id = first_path + 2 * i + (path.taken(i) ? 1 : 0);
    registers.pass();
    run_.thread->pc = path.next_of(i);
    steps_.retire(path.taken(i));
  }
}

LoggedPath LoggedTrace::path(std::span<const std::uint32_t> ids, std::size_t at) {
  const Exit exit = run_.translator->blocks().exit(ids[at]);
  return {
      .block = block(exit.block),
      .index = exit.block,
      .instructions = exit.instructions,
      .leaves = exit.leaves_by_branch(),
      .leaves_taken = exit.taken,
      .slots = run_.trace().slots() + core_.run_of(ids.size(), at).slots,
      .next = exit.kind != ExitKind::Indirect ? exit.target
              : at + 1 < ids.size()           ? run_.translator->blocks().block_of(ids[at + 1]).pc
                                              : run_.indirect_target,
  };
}

// Records [from, to) reported to the model under watch.
// watched: of what the model tells; returns false, and has done nothing, where that is not possible
bool LoggedTrace::watch(std::span<const std::uint32_t> ids, std::size_t from, std::size_t to,
                        const arch::SignalSet& watched) {
  // What is counted when a block ends, or of time, belongs to an instruction only where each is a path.
  if ((run_.counting.risks & kRiskAny) != 0) return false;
  core_.count_signals();  // what another thread on this core has ended
  LogWatcher watcher(*this, ids, from);
  const auto play = [&](std::span<const arch::PathRun> runs, const arch::SlotValues& values) {
    return run_.thread->cpu.core->run_watched(runs, values, watched, watcher);
  };
  if (!core_.run_core(ids.size(), from, to, play)) return false;
  watcher.finish(to);
  return true;
}

// returns up to which record from `at` on nothing but what happens seldom can overflow a counter; `at` where that is
// not so of any
std::size_t LoggedTrace::seldom_up_to(std::span<const std::uint32_t> ids, std::size_t at) {
  if (run_.counting.seldom.none()) return at;
  if (!run_.counting.others_are_near) return ids.size();
  tally_.look_at_room();
  tally_.clear();
  const auto rest = ids.subspan(at, std::min(ids.size() - at, CountTable::kMostWithin));
  return at + run_.translator->blocks().counts().add_within(rest, tally_.room(), tally_.totals());
}

void LoggedTrace::count(std::span<std::uint32_t> ids) {
  const auto risky = [&](std::size_t at) { return run_.translator->blocks().exit(ids[at]).risky; };
  const auto size = [&](std::size_t at) { return run_.translator->blocks().exit(ids[at]).instructions; };
  for (std::size_t at = 0; at < ids.size();) {
    if (const std::size_t end = seldom_up_to(ids, at); end != at && watch(ids, at, end, run_.counting.seldom)) {
      at = end;
      continue;
    }
    const Allowance room = tally_.allowance();
    std::uint64_t sum = 0, all = 0;
    std::size_t end = at;
    for (; end < ids.size() && sum + risky(end) <= room.instructions && all + size(end) <= room.plain; ++end) {
      sum += risky(end);
      all += size(end);
    }
    if (end != at) {
      run_.ran += sizeof(std::uint32_t) * sum;
      core_.count_modelled(ids, at, end);
      tally_.enter_branches({.stored = ids, .extra = {}}, at, end);
      at = end;
      continue;
    }
    if (!watch(ids, at, at + 1, watched_signals(run_.counting))) step_through(path(ids, at));
    ++at;
  }
}

void LoggedTrace::count_into(std::uint32_t index, unsigned instructions, std::uint64_t next) {
  step_through({.block = block(index),
                .index = index,
                .instructions = instructions,
                .slots = run_.trace().slots() + run_.trace().slot_number_at(run_.context.trace_pointer),
                .next = next});
}

std::uint64_t LoggedTrace::enter(std::uint32_t link_from) {
  const std::uint64_t generation = run_.code_generation();
  const Block& block = run_.translator->get(run_.thread->pc, Variant::Logged, link_from);
  const std::uint32_t index = run_.translator->blocks().index_of(block);
  if (link_from != kNone && generation == run_.code_generation()) run_.translator->link(link_from, block);
  if (block.instructions == 0 || !possible()) return 0;  // perhaps a probe was found just now
  if (run_.wants_indirect_entry) run_.translator->add_near_entry(index);
  // How far away the overflow is nobody knows: little where there is one event for a few instructions.
  bytes_ = std::min(bytes_, run_.threads.size() == 1 ? kMost : kTurn);
  run_.context.trace_pointer = run_.trace_start = run_.trace().end() - bytes_;
  bytes_ *= 2;
  running_ = true;
  return run_.translator->blocks().block(index).entry;
}

}  // namespace zs::engine

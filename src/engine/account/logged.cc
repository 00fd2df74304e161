// Overflows inside the trace of a modelled core. Which instruction misses, and so overflows a counter, the model says only when it is
// told what ran; to stop the thread before each that might would be a visit of the dispatcher for every few of them. In blocks of
// Variant::Logged the thread goes on, and the trace holds its registers behind each instruction. Here records are counted in
// bulk as far as no counter can overflow, and paths in which one may are told to the model under watch; the instruction that
// overflows is retired with the registers that it left. Where only what happens seldom can overflow a counter (a miss, a mispredicted
// branch), the whole trace is told under watch: the model then plays what changes nothing of that as it always does.

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "engine/runtime.h"

namespace zs::engine {

/// The registers along a logged path, and the program's own back when it is over.
class Runtime::LogReader {
 public:
  LogReader(Runtime& runtime, const LoggedBlock& block, const std::uint64_t* slots)
      : runtime_(runtime),
        block_(block),
        slots_(slots),
        flags_(runtime.context_.flags),
        pc_(runtime.thread_->pc),
        exit_id_(runtime.context_.exit_id),
        store_(block.stores.data()) {
    std::ranges::copy(runtime.context_.gpr, gpr_);
    std::copy_n(slots_, std::size(gpr_), runtime.context_.gpr);
    runtime.context_.flags = slots_[AddressSlots::kLoggedFlags];
  }
  ~LogReader() {
    std::ranges::copy(gpr_, runtime_.context_.gpr);
    runtime_.context_.flags = flags_;
    runtime_.context_.exit_id = exit_id_;
    runtime_.thread_->pc = pc_;
  }
  LogReader(const LogReader&) = delete;
  LogReader& operator=(const LogReader&) = delete;

  /// Goes past the next instruction.
  void pass() {
    Context& context = runtime_.context_;
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
  Runtime& runtime_;
  const LoggedBlock& block_;
  const std::uint64_t* slots_;
  std::uint64_t gpr_[16], flags_, pc_;
  std::uint32_t exit_id_;
  const InsnSlots::Store* store_;
  std::size_t passed_ = 0;
};

/// Counts drained records as the model plays them, from `from` on. The instructions between two of which the model tells are counted
/// one by one within a record, whole records together.
class Runtime::LogWatcher final : public arch::RunWatcher {
 public:
  LogWatcher(Runtime& runtime, std::span<const std::uint32_t> ids, std::size_t from)
      : runtime_(runtime), ids_(ids), core_(*runtime.thread_->cpu.core), before_(core_.signals()), at_(from) {
    runtime.look_at_room();
    std::fill(runtime.totals_.begin(), runtime.totals_.end(), 0);
    for (const pmu::Pmu* pmu : runtime.thread_->cpu.pmus) wants_branches_ |= pmu->wants_branches();
  }

  void finished(std::size_t run, std::size_t instruction) override {
    reach(run);
    while (told_ < instruction) tell(false);
    tell(true);
    before_ = core_.signals();
  }
  /// Records up to `to` have been played.
  void finish(std::size_t to) {
    leave_record();
    add_records(to);
    runtime_.add_signals(runtime_.totals_);
    runtime_.count(runtime_.totals_);
    runtime_.advance_time();
  }

 private:
  /// modelled: what the model's signals have changed by since the last time is this instruction's.
  void tell(bool modelled) {
    if (!path_) path_.emplace(runtime_.logged_path(ids_, at_));
    const LoggedBlock::LoggedInsn& insn = path_->block.insns[told_];
    const bool taken = path_->taken(told_);
    const auto counts = runtime_.translator_->replay().counts_of(insn.facts, taken);
    std::copy(counts.begin(), counts.end(), runtime_.more_.begin());
    if (modelled) runtime_.add_signals(runtime_.more_);
    if (!runtime_.adds_up(runtime_.more_)) {
      retire(modelled, taken);
    } else if (wants_branches_ && insn.facts.branch != arch::BranchKind::None && taken) {
      arch::TakenBranch branch;
      branch.from = insn.pc;
      branch.to = path_->next_of(told_);
      branch.kind = insn.facts.branch;
      branch.mispredicted = modelled && core_.last_mispredicted();
      runtime_.enter_branch(branch);
    }
    ++told_;
  }

  void retire(bool modelled, bool taken) {
    runtime_.count(runtime_.totals_);
    std::fill(runtime_.totals_.begin(), runtime_.totals_.end(), 0);
    LogReader registers(runtime_, path_->block, path_->slots);
    while (registers.passed() < told_) registers.pass();
    runtime_.thread_->pc = path_->block.insns[told_].pc;
    runtime_.begin_step(false);
    StepInProgress& step = runtime_.thread_->step;
    step.told_core = true;
    step.signals = {};
    step.load = step.store = {};
    step.mispredicted = modelled && core_.last_mispredicted();
    if (modelled) {
      for (std::size_t i = 0; i < arch::kCoreSignals; ++i)
        step.signals.counts[i] = core_.signals().counts[i] - before_.counts[i];
      step.load = core_.last_load();
      step.store = core_.last_store();
    }
    registers.pass();
    runtime_.thread_->pc = path_->next_of(told_);
    runtime_.advance_time(modelled ? core_.signals() : before_);  // what has been played since is of later ones
    runtime_.retire_step(taken);
    runtime_.look_at_room();
  }

  bool runs(std::size_t at) const { return runtime_.core_path(ids_[at]).kind != CorePaths::Path::Empty; }
  /// The record whose run has that number comes next.
  void reach(std::size_t run) {
    if (run != run_) leave_record();
    std::size_t to = at_;
    for (; run_ != run || !runs(to); ++to) run_ += runs(to) ? 1 : 0;
    add_records(to);
  }
  /// What is left of a record of which something was told.
  void leave_record() {
    if (!path_) return;
    while (told_ < path_->instructions) tell(false);
    runtime_.ran_ += sizeof(std::uint32_t) * told_;
    path_.reset();
    told_ = 0;
    ++run_;
    ++at_;
  }
  void add_records(std::size_t to) {
    if (at_ == to) return;
    runtime_.ran_ += sizeof(std::uint32_t) * (to - at_);
    runtime_.translator_->counts().sum(ids_.subspan(at_, to - at_), runtime_.totals_);
    at_ = to;
  }

  Runtime& runtime_;
  std::span<const std::uint32_t> ids_;
  const arch::CoreFeed& core_;
  arch::CoreSignals before_;
  std::size_t at_;                  // the record that comes next, or of which something was told
  std::size_t run_ = 0;             // its number among the runs
  std::optional<LoggedPath> path_;  // that record's, once something was told of it:
  std::size_t told_ = 0;            // so many of its instructions
  bool wants_branches_ = false;
};

const LoggedBlock& Runtime::logged_block(std::uint32_t index) {
  if (std::exchange(logged_of_flush_, translator_->flushes()) != translator_->flushes()) {
    logged_blocks_.clear();
    logged_bytes_ = 0;
  }
  const auto [at, fresh] = logged_blocks_.try_emplace(index);
  LoggedBlock& logged = at->second;
  if (!fresh) return logged;
  const Block& block = translator_->block(index);
  for (const PathInsn& insn : translator_->replay().path_into(block, block.instructions)) {
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
  logged_bytes_ +=
      sizeof(LoggedBlock) + logged.insns.size() * sizeof(LoggedBlock::LoggedInsn) + logged.stores.size() * 2;
  return logged;
}

// Each instruction alone, with the registers that it left.
void Runtime::step_through(const LoggedPath& path) {
  // Paths of one instruction: not taken, then taken; of each instruction of the block.
  std::uint32_t& first_path = logged_blocks_.at(path.index).first_path;
  if (first_path == 0) first_path = translator_->reserve_exits(static_cast<std::uint32_t>(2 * path.block.insns.size()));
  LogReader registers(*this, path.block, path.slots);
  for (unsigned i = 0; i < path.instructions; ++i) {
    thread_->pc = path.block.insns[i].pc;
    begin_step(true);
    StepInProgress& step = thread_->step;
    step.first_exit = context_.exit_id = first_path + 2 * i + (path.taken(i) ? 1 : 0);
    registers.pass();
    thread_->pc = path.next_of(i);
    retire_step(path.taken(i));
  }
}

LoggedPath Runtime::logged_path(std::span<const std::uint32_t> ids, std::size_t at) {
  const Exit exit = translator_->exit(ids[at]);
  return {
      .block = logged_block(exit.block),
      .index = exit.block,
      .instructions = exit.instructions,
      .leaves = exit.leaves_by_branch(),
      .leaves_taken = exit.taken,
      .slots = window_.slots() + runs_[runs_.size() - ids.size() + at].slots,
      .next = exit.kind != ExitKind::Indirect ? exit.target
              : at + 1 < ids.size()           ? translator_->block(translator_->exit(ids[at + 1]).block).pc
                                              : indirect_target_,
  };
}

// Records [from, to) told to the model under watch.
// watched: of what the model tells; returns false, and has done nothing, where that is not possible
bool Runtime::watch(std::span<const std::uint32_t> ids, std::size_t from, std::size_t to,
                    const arch::SignalSet& watched) {
  // What is counted when a block ends, or of time, belongs to an instruction only where each is a path.
  if ((risks_ & kRiskAny) != 0) return false;
  count_signals();  // what another thread on this core has ended
  LogWatcher watcher(*this, ids, from);
  const auto play = [&](std::span<const arch::PathRun> runs, const arch::SlotValues& values) {
    return thread_->cpu.core->run_watched(runs, values, watched, watcher);
  };
  if (!run_core(ids.size(), from, to, play)) return false;
  watcher.finish(to);
  return true;
}

// returns up to which record from `at` on nothing but what happens seldom can overflow a counter; `at` where that is not so of any
std::size_t Runtime::seldom_up_to(std::span<const std::uint32_t> ids, std::size_t at) {
  if (seldom_.none()) return at;
  if (!others_are_near_) return ids.size();
  look_at_room();
  std::fill(totals_.begin(), totals_.end(), 0);
  const auto rest = ids.subspan(at, std::min(ids.size() - at, CountTable::kMostWithin));
  return at + translator_->counts().add_within(rest, room_, totals_);
}

void Runtime::count_logged(std::span<std::uint32_t> ids) {
  const auto risky = [&](std::size_t at) { return translator_->exit(ids[at]).risky; };
  for (std::size_t at = 0; at < ids.size();) {
    if (const std::size_t end = seldom_up_to(ids, at); end != at && watch(ids, at, end, seldom_)) {
      at = end;
      continue;
    }
    const std::uint64_t room = allowance().instructions;
    std::uint64_t sum = 0;
    std::size_t end = at;
    while (end < ids.size() && sum + risky(end) <= room) sum += risky(end++);
    if (end != at) {
      ran_ += sizeof(std::uint32_t) * sum;
      count_modelled(ids, at, end);
      enter_branches({.stored = ids, .extra = {}}, at, end);
      at = end;
      continue;
    }
    if (!watch(ids, at, at + 1, arch::SignalSet().set())) step_through(logged_path(ids, at));
    ++at;
  }
}

// The first instructions of a block that was left in its middle.
void Runtime::count_logged_into(std::uint32_t block, unsigned instructions, std::uint64_t next) {
  step_through({.block = logged_block(block),
                .index = block,
                .instructions = instructions,
                .slots = window_.slots() + window_.slot_number_at(context_.trace_pointer),
                .next = next});
}

// Blocks that go beyond the overflow.
// returns where to enter the cache, or 0 where an instruction has to run alone
std::uint64_t Runtime::enter_logged(std::uint32_t link_from) {
  const std::uint64_t flushes = translator_->flushes();
  const Block& block = translator_->get(thread_->pc, Variant::Logged, link_from);
  const std::uint32_t index = translator_->index_of(block);
  if (link_from != kNone && flushes == translator_->flushes()) translator_->link(link_from, block);
  if (block.instructions == 0 || !may_log()) return 0;  // perhaps a mark was found just now
  if (wants_indirect_entry_) translator_->add_near_entry(index);
  // How far away the overflow is nobody knows: little where there is one event for a few instructions.
  context_.trace_pointer = trace_start_ = window_.trace_end() - log_bytes_;
  log_bytes_ = std::min(2 * log_bytes_, kMostLogged);
  logged_ = true;
  return translator_->block(index).entry;
}

}  // namespace zs::engine

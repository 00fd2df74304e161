#include "engine/account/exit_counts.h"

#include <algorithm>
#include <utility>

#include "arch/retired.h"

namespace zs::engine {

// ---- while the program runs -----------------------------------------------------------------------------------

ExitCounts::OfThread& ExitCounts::running() {
  OfThread& thread = threads_[run_.thread];
  thread.times.resize(std::max(thread.times.size(), run_.translator->blocks().exits()));
  return thread;
}

// Where an exit is indirect, which record came next says where it led. Those are found without a branch: which of many
// exits are indirect is nothing that a processor could predict.
void ExitCounts::add(const Records& records) {
  OfThread& thread = running();
  indirect_.resize(std::max(indirect_.size(), records.size() + 1));
  std::uint64_t* const times = thread.times.data();
  std::uint32_t* const indirect = indirect_.data();
  const BlockStore& blocks = run_.translator->blocks();
  std::size_t found = 0;
  const std::size_t count = records.stored.size();
  const std::uint32_t* const stored = records.stored.data();
  const auto add_one = [&](std::uint32_t exit, std::size_t at) __attribute__((always_inline)) {
    std::uint64_t now = times[exit] + 1;
    if (now == 1 && blocks.exit(exit).kind == ExitKind::Indirect) now |= kIndirect;
    times[exit] = now;
    indirect[found] = static_cast<std::uint32_t>(at);
    found += now >> 63;
  };
  std::size_t at = 0;
  for (; at + 4 <= count; at += 4) {
    for (std::size_t i = 0; i < 4; ++i) add_one(stored[at + i] & ~kProbedRecord, at + i);
  }
  for (; at < count; ++at) add_one(stored[at] & ~kProbedRecord, at);
  if (records.extra) add_one(*records.extra & ~kProbedRecord, count);
  const bool last_is_indirect = found != 0 && indirect[found - 1] + 1 == records.size();
  if (last_is_indirect) {
    ++thread.alone[{last_pc(records[indirect[found - 1]] & ~kProbedRecord), run_.indirect_target}];
    --found;
  }
  for (std::size_t i = 0; i < found; ++i)
    thread.led.add(records[indirect[i]] & ~kProbedRecord, records[indirect[i] + 1] & ~kProbedRecord);
  thread.records += records.size();
  tell_now_and_then(std::uint64_t{1} << 28);  // chosen: about a second
}

// What is told once more is longer by that, so it is told again when there is much more of it.
void ExitCounts::tell_now_and_then(std::uint64_t fewest) {
  OfThread& thread = running();
  constexpr std::uint64_t kMany = std::uint64_t{1} << 22;
  const std::uint64_t more = thread.told_at < kMany ? 7 * thread.told_at : thread.told_at;
  if (thread.records - thread.told_at > std::max(fewest, more)) tell_all(*run_.thread, thread);
}

void ExitCounts::add_into(std::uint32_t block, unsigned instructions) {
  OfThread& thread = running();
  const std::span<const Step> steps = steps_of(block, instructions);
  for (const Step& step : steps.first(instructions)) {
    ++thread.alone[{step.pc, 0}];
    if (step.taken) ++thread.alone[{step.pc, step.target}];
  }
}

void ExitCounts::add_step(const arch::Retired& retired) {
  OfThread& thread = running();
  ++thread.alone[{retired.ip, 0}];
  if (retired.taken && retired.branch != arch::BranchKind::Far) ++thread.alone[{retired.ip, retired.next_ip}];
}

// ---- what is told ---------------------------------------------------------------------------------------------

std::uint64_t ExitCounts::last_pc(std::uint32_t exit_id) const {
  const BlockStore& blocks = run_.translator->blocks();
  const Exit& exit = blocks.exit(exit_id);
  const Block& block = blocks.block(exit.block);
  return block.pc_of(blocks.meta(block, exit.instructions - 1u));
}

// Where the instructions lie is known of every block; what they are is read again, and code that has changed all the
// same, behind the program's back, does not fit.
std::span<const ExitCounts::Step> ExitCounts::steps_of(std::uint32_t index, unsigned instructions) {
  if (const auto kept = kept_.find(index); kept != kept_.end()) return kept->second;
  const BlockStore& blocks = run_.translator->blocks();
  const Block& block = blocks.block(index);
  const std::span<const PathInsn> path = run_.translator->replay().path_into(block, instructions);
  steps_.assign(instructions, {});
  for (unsigned i = 0; i < instructions; ++i) {
    Step& step = steps_[i];
    step.pc = block.pc_of(blocks.meta(block, i));
    if (i >= path.size() || path[i].insn->pc != step.pc) {
      if (!std::exchange(lost_branches_, true))
        run_.observer().notice("code changed in a way that cannot be followed: some of its branches are not counted");
      continue;
    }
    const Insn& insn = *path[i].insn;
    if (insn.facts.branch == arch::BranchKind::Far) continue;
    step.branch = insn.facts.branch;
    step.taken = path[i].taken;
    step.target = path[i].went_to != 0 ? path[i].went_to : insn.target;
  }
  return steps_;
}

void ExitCounts::tell(const Thread& who, std::uint64_t from, std::uint64_t to, std::uint64_t times) {
  constexpr std::size_t kAtOnce = 2048;  // chosen: they stay in the host's caches
  if (times == 0) return;
  told_.push_back({.from = from, .to = to, .times = times});
  if (told_.size() == kAtOnce) send(who);
}

// How often each instruction of the block retired is the sum over the exits behind it.
void ExitCounts::tell_block(const Thread& who, OfThread& thread, std::uint32_t index) {
  const BlockStore& blocks = run_.translator->blocks();
  const Block& block = blocks.block(index);
  unsigned longest = 0;
  for (std::uint32_t id = block.first_exit; id < block.first_exit + block.exits && id < thread.times.size(); ++id) {
    if ((thread.times[id] & ~kIndirect) != 0) longest = std::max<unsigned>(longest, blocks.exit(id).instructions);
  }
  if (longest == 0) return;
  const std::span<const Step> steps = steps_of(index, longest);
  on_.assign(longest + 1, 0);
  for (std::uint32_t id = block.first_exit; id < block.first_exit + block.exits && id < thread.times.size(); ++id) {
    const Exit& exit = blocks.exit(id);
    const std::uint64_t times = thread.times[id] & ~kIndirect;
    thread.times[id] = 0;
    if (times == 0 || exit.instructions == 0) continue;
    on_[exit.instructions - 1u] += times;
    const Step& last = steps[exit.instructions - 1u];
    const bool leaves = exit.leaves_by_branch() && last.branch == arch::BranchKind::Conditional;
    if (exit.kind != ExitKind::Indirect && (leaves ? exit.taken : last.taken)) tell(who, last.pc, last.target, times);
  }
  std::uint64_t behind = 0;  // went on behind the instruction
  for (unsigned i = longest; i-- != 0;) {
    if (steps[i].taken) tell(who, steps[i].pc, steps[i].target, behind);
    behind += on_[i];
    tell(who, steps[i].pc, 0, behind);
  }
}

void ExitCounts::tell_all(const Thread& who, OfThread& thread) {
  if (thread.records == thread.told_at && thread.alone.empty()) return;
  for (std::uint32_t index = 1; index < run_.translator->blocks().size(); ++index) tell_block(who, thread, index);
  thread.led.take([&](std::uint32_t exit, std::uint32_t next, std::uint64_t times) {
    tell(who, last_pc(exit), run_.translator->blocks().block_of(next).pc, times);
  });
  for (const auto& [pair, times] : thread.alone) tell(who, pair.first, pair.second, times);
  thread.alone.clear();
  thread.told_at = thread.records;
  send(who);
}

void ExitCounts::send(const Thread& who) {
  if (who.process->recorded && !told_.empty()) run_.recording.ran(run_.ids.shown(who.id), told_);
  told_.clear();
}

void ExitCounts::end(const Thread& thread) {
  const auto at = threads_.find(&thread);
  if (at == threads_.end()) return;
  tell_all(thread, at->second);
  threads_.erase(at);
}

// ---- code changes ---------------------------------------------------------------------------------------------

void ExitCounts::made(std::uint32_t index) {
  const std::span<const Step> steps = steps_of(index, run_.translator->blocks().block(index).instructions);
  kept_[index] = {steps.begin(), steps.end()};
}

void ExitCounts::block_dies(std::uint32_t block) {
  for_each_thread([&](const Thread& who, OfThread& thread) {
    tell_block(who, thread, block);
    send(who);
  });
}

// Where a file lay there is soon another one perhaps, so everything of it is told while the recording still knows it.
void ExitCounts::code_changes(std::uint64_t start, std::uint64_t end) {
  const GuestMapping* const mapping = run_.map.mappings().find(start);
  if (mapping != nullptr && mapping->kind == MapKind::File && mapping->end >= end) {
    return for_each_thread([this](const Thread& who, OfThread& thread) { tell_all(who, thread); });
  }
  for (std::uint64_t page = start / kPageSize; page <= (end - 1) / kPageSize; ++page)
    run_.translator->blocks().pages().for_each_on(page, [this](std::uint32_t block) { block_dies(block); });
}

void ExitCounts::all_blocks_die() {
  for_each_thread([this](const Thread& who, OfThread& thread) {
    tell_all(who, thread);
    thread.times.clear();
  });
  kept_.clear();
}

}  // namespace zs::engine

#include "engine/account/exit_counts.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "arch/retired.h"
#include "engine/translate/stack_switch.h"
#include "isa/decode.h"

namespace zs::engine {
namespace {

constexpr std::uint64_t kSeldom = std::uint64_t{1} << 28;  // records; chosen: about a second

/// In ExitCounts::returns_to_, beside addresses: of what is no call, of a return; and of an indirect call.
constexpr std::uint64_t kJump = 0, kReturn = UINT64_MAX, kIndirectCall = std::uint64_t{1} << 63;

}  // namespace

// ---- while the program runs -----------------------------------------------------------------------------------

ExitCounts::OfThread& ExitCounts::running() {
  const auto [at, is_new] = threads_.try_emplace(run_.thread);
  OfThread& thread = at->second;
  if (is_new && run_.config.contexts != 0) {
    const std::uint64_t sp = run_.gpr(kRsp);
    const GuestMapping* const mapping = run_.map.mappings().find(sp);
    thread.stack = CallStack(mapping != nullptr ? mapping->end : sp);
  }
  thread.want(run_.thread->cpu.paths_wanted == nullptr || *run_.thread->cpu.paths_wanted);
  thread.times.resize(std::max(thread.times.size(), run_.translator->blocks().exits()));
  return thread;
}

// Where an exit is indirect, which record came next says where it led. Those are found without a branch: which of many
// exits are indirect is nothing that a processor could predict.
void ExitCounts::add(const Records& records) {
  OfThread& thread = running();
  if (thread.wanted)
    thread.records += records.size();
  else if (run_.config.contexts == 0)
    return;
  if (run_.config.contexts != 0) {
    add_with_context(thread, records);
    return tell_now_and_then(kSeldom);
  }
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
    const std::uint64_t pc = last_pc(records[indirect[found - 1]] & ~kProbedRecord);
    ++thread.alone[{CallContexts::kNoCallers, pc, run_.indirect_target}];
    --found;
  }
  for (std::size_t i = 0; i < found; ++i)
    thread.led.add(records[indirect[i]] & ~kProbedRecord, records[indirect[i] + 1] & ~kProbedRecord);
  tell_now_and_then(kSeldom);
}

// What is told once more is longer by that, so it is told again when there is much more of it.
void ExitCounts::tell_now_and_then(std::uint64_t fewest) {
  OfThread& thread = running();
  if (!thread.wanted) return;
  constexpr std::uint64_t kMany = std::uint64_t{1} << 22;
  const std::uint64_t more = thread.told_at < kMany ? 7 * thread.told_at : thread.told_at;
  if (thread.records - thread.told_at > std::max(fewest, more)) tell_all(*run_.thread, thread);
}

void ExitCounts::add_into(std::uint32_t block, unsigned instructions) {
  OfThread& thread = running();
  const std::span<const Step> steps = steps_of(block, instructions);
  std::uint32_t context = thread.stack.context();
  std::uint64_t called = 0;  // by the path, which has not come back
  for (const Step& step : steps.first(instructions)) {
    ++thread.alone[{context, step.pc, 0}];
    if (step.taken) ++thread.alone[{CallContexts::kNoCallers, step.pc, step.target}];
    if (run_.config.contexts == 0 || (step.calls == 0 && !step.returns)) continue;
    called = step.calls;
    context = called != 0 ? contexts_.called(context, called) : thread.stack.context();
  }
  const TraceBuffer& trace = run_.trace();
  if (called != 0) thread.stack.call(called, trace.slots()[trace.slot_number_at(run_.context.trace_pointer)], context);
}

void ExitCounts::add_step(const arch::Retired& retired, const StepInProgress& step) {
  OfThread& thread = running();
  CallStack& stack = thread.stack;
  ++thread.alone[{stack.context(), retired.ip, 0}];
  if (retired.taken && retired.branch != arch::BranchKind::Far)
    ++thread.alone[{CallContexts::kNoCallers, retired.ip, retired.next_ip}];
  if (run_.config.contexts == 0) return;
  const std::uint64_t sp = run_.gpr(kRsp);
  const Insn& insn = step.insn;
  if (insn.flow == Flow::Call || insn.flow == Flow::IndirectCall) {
    stack.call(insn.next(), sp, contexts_.called(stack.context(), insn.next()));
  } else if (insn.flow == Flow::Return) {
    if (!stack.returns(retired.next_ip)) stack.returns_elsewhere(sp);
  } else if (insn.flow == Flow::IndirectJump) {
    stack.jumps();
  } else if (switches_stack(insn)) {
    stack.moves(step.sp_before, sp, insn.memory_count == 0);
  }
}

void ExitCounts::handler_begins(std::uint64_t interrupted_pc, std::uint64_t stack_pointer, std::uint64_t restorer) {
  if (run_.config.contexts == 0 || !run_.thread->cpu.counts_paths) return;
  CallStack& stack = running().stack;
  const std::uint32_t interrupted = contexts_.called(stack.context(), interrupted_pc);
  stack.handler_begins(stack_pointer, run_.gpr(kRsp), restorer, interrupted, contexts_.called(interrupted, restorer));
}

void ExitCounts::handler_returns(std::uint64_t stack_pointer) {
  if (run_.config.contexts == 0 || !run_.thread->cpu.counts_paths) return;
  running().stack.moves(stack_pointer, run_.gpr(kRsp), false);
}

// Its stack is its parent's.
void ExitCounts::forget() {
  std::optional<CallStack> stack;
  if (const auto at = threads_.find(run_.thread); at != threads_.end()) stack = std::move(at->second.stack);
  threads_.clear();
  if (stack) threads_[run_.thread].stack = *std::move(stack);
}

// ---- with contexts --------------------------------------------------------------------------------------------

// Each record asks for its slot, which is at its home nearly always. Only what calls, returns or jumps somewhere has
// more to be done for. Measured: to find those first and without a branch takes longer.
void ExitCounts::add_with_context(OfThread& thread, const Records& records) {
  note_exits();
  const std::uint64_t* const stack_pointers =
      run_.trace().slots() + run_.trace().slot_number_at(reinterpret_cast<std::uint64_t>(records.stored.data()));
  CallStack& stack = thread.stack;
  ContextCounts::Slot* slots = thread.in_context.slots();
  unsigned shift = thread.in_context.shift();
  std::uint32_t context = stack.context();
  const auto add_one = [&](std::uint32_t exit, std::size_t at) __attribute__((always_inline)) {
    const std::uint64_t key = ContextCounts::key_of(context, exit);
    std::size_t slot = ContextCounts::home_of(key, shift);
    if (slots[slot].key != key && slots[slot ^= 1].key != key) [[unlikely]] {
      slot = slot_of(thread, context, exit);
      slots = thread.in_context.slots();
      shift = thread.in_context.shift();
    }
    if (static_cast<std::int64_t>(++slots[slot].times) >= 0) return;
    const std::uint64_t returns_to = returns_to_[exit];
    const bool last = at + 1 == records.size();
    if (returns_to == kJump && !last) {
      thread.led.add(exit, records[at + 1] & ~kProbedRecord);
      return stack.jumps();
    }
    if (returns_to - 1 < kIndirectCall - 1) {
      stack.call(returns_to, stack_pointers[at], static_cast<std::uint32_t>(thread.in_context.beside(slot)));
    } else if (returns_to != kReturn || last ||
               contexts_.returns_to(context) != begins_[records[at + 1] & ~kProbedRecord] ||
               !stack.returns(contexts_.returns_to(context))) {
      leave(thread, slot, exit, stack_pointers[at], last ? 0 : records[at + 1] & ~kProbedRecord);
    }
    context = stack.context();
  };
  const std::size_t count = records.stored.size();
  for (std::size_t at = 0; at < count; ++at) add_one(records.stored[at] & ~kProbedRecord, at);
  if (records.extra) add_one(*records.extra & ~kProbedRecord, count);
}

__attribute__((noinline)) std::size_t ExitCounts::slot_of(OfThread& thread, std::uint32_t context, std::uint32_t exit) {
  return thread.in_context.find(ContextCounts::key_of(context, exit), [&] { return new_slot(context, exit); });
}

// Where the exit led is told by `led`, but for what returned to the call; next: the exit that came behind it, 0 at the
// end of the trace.
__attribute__((noinline)) void ExitCounts::leave(OfThread& thread, std::size_t slot, std::uint32_t exit,
                                                 std::uint64_t stack_pointer, std::uint32_t next) {
  const std::uint64_t returns_to = returns_to_[exit];
  std::uint64_t& beside = thread.in_context.beside(slot);
  CallStack& stack = thread.stack;
  if (returns_to == kReturn) {
    const std::uint64_t target = next != 0 ? begins_[next] : run_.indirect_target;
    const bool as_context_says = contexts_.returns_to(stack.context()) == target;
    const bool came_back = stack.returns(target);
    if (came_back && as_context_says) return;
    if (!came_back) stack.returns_elsewhere(stack_pointer);
    ++beside;
  }
  if (next != 0)
    thread.led.add(exit, next);
  else
    ++thread.alone[{CallContexts::kNoCallers, last_pc(exit), run_.indirect_target}];
  if (returns_to == kJump)
    stack.jumps();
  else if (returns_to != kReturn)
    stack.call(returns_to & ~kIndirectCall, stack_pointer, static_cast<std::uint32_t>(beside));
}

// Of the exit in that context, where nothing has been counted yet.
ContextCounts::New ExitCounts::new_slot(std::uint32_t context, std::uint32_t id) {
  const BlockStore& blocks = run_.translator->blocks();
  const Exit& exit = blocks.exit(id);
  const bool indirect = exit.kind == ExitKind::Indirect;
  const std::uint64_t special = indirect || exit.returns || exit.called_by != 0 ? ContextCounts::kSpecial : 0;
  if (exit.returns) returns_to_[id] = kReturn;
  if (exit.called_by == 0 || exit.returns) return {special, 0};
  const Block& block = blocks.block(exit.block);
  const std::uint64_t pc = block.pc_of(blocks.meta(block, exit.called_by - 1u));
  const std::optional<Insn> call = isa::decode(pc, run_.code->fetch(pc), run_.config.processor());
  const std::uint64_t returns_to = call ? call->next() : pc;
  returns_to_[id] = returns_to | (indirect ? kIndirectCall : 0);
  return {special, contexts_.called(context, returns_to)};
}

// Those that there are now.
void ExitCounts::note_exits() {
  const BlockStore& blocks = run_.translator->blocks();
  std::size_t id = std::max<std::size_t>(begins_.size(), BlockStore::kFirstExit);
  if (id >= blocks.exits()) return;
  begins_.resize(blocks.exits());
  returns_to_.resize(blocks.exits(), kJump);
  for (; id < blocks.exits(); ++id) {
    const std::uint32_t block = blocks.exit(static_cast<std::uint32_t>(id)).block;
    if (block != kNone) begins_[id] = blocks.block(block).pc;
  }
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
    step.goes_on_at = insn.flow == Flow::Plain || insn.flow == Flow::ConditionalJump ? insn.next() : 0;
    step.taken = path[i].taken;
    step.target = path[i].went_to != 0 ? path[i].went_to : insn.target;
    if (insn.flow == Flow::Call) step.calls = insn.next();
    step.returns = insn.flow == Flow::Return;
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
template <typename TellInstruction, typename TellBranch>
void ExitCounts::for_each_in_block(OfThread& thread, std::uint32_t index, TellInstruction tell_instruction,
                                   TellBranch tell_branch) {
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
    if (exit.kind != ExitKind::Indirect && (leaves ? exit.taken : last.taken)) tell_branch(last, times);
  }
  std::uint64_t behind = 0;  // went on behind the instruction
  for (unsigned i = longest; i-- != 0;) {
    if (steps[i].taken) tell_branch(steps[i], behind);
    behind += on_[i];
    tell_instruction(steps, i, behind);
  }
}

void ExitCounts::tell_block(const Thread& who, OfThread& thread, std::uint32_t index) {
  for_each_in_block(
      thread, index,
      [&](std::span<const Step> steps, unsigned i, std::uint64_t times) { tell(who, steps[i].pc, 0, times); },
      [&](const Step& branch, std::uint64_t times) { tell(who, branch.pc, branch.target, times); });
}

// Takes what the contexts have; what remains to be told is in OfThread::times then, as without contexts. On a path the
// context is another behind a call that it follows.
void ExitCounts::sum_contexts(const Thread& who, OfThread& thread) {
  std::vector<InContext> left;
  thread.in_context.take([&](std::uint32_t context, std::uint32_t exit, std::uint64_t times, std::uint64_t beside) {
    left.push_back({context, run_.translator->blocks().exit(exit).block, exit, times});
    if (returns_to_[exit] == kReturn) tell(who, last_pc(exit), contexts_.returns_to(context), times - beside);
  });
  std::ranges::sort(left, {}, [](const InContext& it) { return std::tuple(it.block, it.context, it.exit); });
  for (auto at = left.begin(); at != left.end();) {
    const InContext first = *at;
    for (; at != left.end() && at->block == first.block && at->context == first.context; ++at)
      thread.times[at->exit] = at->times;
    for_each_in_block(
        thread, first.block,
        [&](std::span<const Step> steps, unsigned i, std::uint64_t times) {
          std::uint64_t called = 0;
          for (const Step& step : steps.first(i)) {
            if (step.calls != 0 || step.returns) called = step.calls;
          }
          const std::uint32_t context = called != 0 ? contexts_.called(first.context, called) : first.context;
          in_contexts_.push_back({context, steps[i].pc, steps[i].goes_on_at, times});
        },
        [](const Step&, std::uint64_t) {});
  }
  for (const InContext& it : left) thread.times[it.exit] += it.times;
}

// One number for each stretch of code in which each instruction goes on to the next one: it is of one function.
void ExitCounts::tell_contexts(const Thread& who) {
  std::ranges::sort(in_contexts_, {}, [](const Stretch& it) { return std::tuple(it.context, it.pc, it.end); });
  for (auto at = in_contexts_.begin(); at != in_contexts_.end();) {
    const std::uint32_t context = at->context;
    while (at != in_contexts_.end() && at->context == context) {
      Stretch whole = *at;
      for (++at; at != in_contexts_.end() && at->context == context && (at->pc == whole.last || at->pc == whole.end);
           ++at) {
        whole.last = at->pc;
        whole.end = at->end;
        whole.times += at->times;
      }
      if (whole.times != 0) told_.push_back({.from = whole.pc, .times = whole.times});
    }
    if (who.process->recorded && !told_.empty())
      run_.recording.ran_in_context(run_.ids.shown(who.id), told_, contexts_.callers_of(context));
    told_.clear();
  }
  in_contexts_.clear();
  if (contexts_.some_not_kept() && !std::exchange(said_not_kept_, true)) {
    run_.observer().notice("more than " + std::to_string(run_.config.contexts) +
                           " calling contexts: what ran in others lacks its last callers (--contexts N keeps more)");
  }
}

void ExitCounts::tell_all(const Thread& who, OfThread& thread) {
  if (who.cpu.paths_wanted != nullptr) thread.other = {};  // its exits may be others soon
  if (thread.records == thread.told_at && thread.alone.empty()) return;
  if (run_.config.contexts != 0) sum_contexts(who, thread);
  for (std::uint32_t index = 1; index < run_.translator->blocks().size(); ++index) tell_block(who, thread, index);
  thread.led.take([&](std::uint32_t exit, std::uint32_t next, std::uint64_t times) {
    tell(who, last_pc(exit), run_.translator->blocks().block_of(next).pc, times);
  });
  for (const auto& [which, times] : thread.alone) {
    const auto& [context, from, to] = which;
    tell(who, from, to, times);
    if (to == 0 && run_.config.contexts != 0) in_contexts_.push_back({context, from, 0, times});
  }
  thread.alone.clear();
  thread.told_at = thread.records;
  send(who);
  tell_contexts(who);
}

void ExitCounts::send(const Thread& who) {
  if (who.process->recorded && !told_.empty()) run_.recording.ran(run_.ids.shown(who.id), told_);
  told_.clear();
}

void ExitCounts::end(const Thread& thread) {
  const auto at = threads_.find(&thread);
  if (at == threads_.end()) return;
  at->second.want(true);
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
    if (run_.config.contexts != 0) return tell_all(who, thread);
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
  begins_.clear();
  returns_to_.clear();
  kept_.clear();
}

}  // namespace zs::engine

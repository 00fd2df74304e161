#include "report/trace/calls.h"

#include <algorithm>

#include "profile/perf_data/file_traces.h"

namespace zs::report {

using isa::Flow;

std::uint64_t TracedCalls::calls_in(const std::vector<Frame>& frames) {
  return static_cast<std::uint64_t>(std::ranges::count_if(frames, [](const Frame& frame) { return !frame.signal; }));
}

/// What is called and never left, as by coroutines that change stacks, does not grow without bound.
void TracedCalls::push(Thread& thread, const Frame& frame) {
  constexpr std::size_t kMost = std::size_t{1} << 20;  // chosen: more than a stack of 8 MiB can hold
  if (thread.frames.size() == kMost) {
    const auto half = thread.frames.begin() + kMost / 2;
    sums_.left += calls_in({thread.frames.begin(), half});
    thread.frames.erase(thread.frames.begin(), half);
  }
  thread.frames.push_back(frame);
}

void TracedCalls::take(const profile::Record& record) {
  spaces_.apply(record);
  if (const auto* piece = std::get_if<profile::TracedBranches>(&record)) {
    Thread& thread = threads_[piece->tid];
    thread.pid = piece->pid;
    profile::for_each_branch(
        piece->records, [&](std::uint64_t from, std::uint64_t to) { take_branch(thread, piece->tid, from, to); },
        [&] { thread.begin = 0; });
  } else if (const auto* fork = std::get_if<profile::Fork>(&record)) {
    Thread thread;
    // A child process goes on where its parent was; a thread begins.
    if (fork->pid != fork->parent_pid) thread = threads_[fork->parent_tid];
    thread.begin = 0;
    sums_.inherited += calls_in(thread.frames);
    threads_[fork->tid] = std::move(thread);
  } else if (const auto* comm = std::get_if<profile::Comm>(&record); comm != nullptr && comm->exec) {
    Thread& thread = threads_[comm->tid];
    leave(thread, thread.frames.size());
    thread = {};
  } else if (const auto* exit = std::get_if<profile::Exit>(&record)) {
    if (const auto ended = threads_.extract(exit->tid)) sums_.open += calls_in(ended.mapped().frames);
  }
}

void TracedCalls::take_branch(Thread& thread, std::int32_t tid, std::uint64_t from, std::uint64_t to) {
  const Step& step = steps_.take(thread.pid, thread.begin, from, to);
  if (thread.begin == 0) {
    begin(thread, tid, step);
  } else if (step.known == Known::Interrupted) {
    interrupt(thread, step);
  } else if (thread.function != step.from.function) {  // the code goes on behind the function's end
    take_place(thread, step.from);
  }
  ++sums_.branches;
  ++thread.node->branches;
  sums_.instructions += step.instructions;
  thread.node->instructions += step.instructions;
  thread.begin = to;
  thread.after_call_to_system = step.flow == Flow::Syscall;
  switch (step.flow) {
    case Flow::Call:
    case Flow::IndirectCall: return call(thread, step);
    case Flow::Return: return give_back(thread, step);
    default: break;
  }
  if (step.length == 0) return branch_unseen(thread, step);
  jump(thread, step);
}

/// The first branch of a thread, or of a child, whose calls are its parent's.
void TracedCalls::begin(Thread& thread, std::int32_t tid, const Step& step) {
  if (thread.node == nullptr) {
    thread.node = program(spaces_.comm(thread.pid, tid));
    enter(thread, step.from, Entry::Other);
  } else if (thread.function != step.from.function && !leave_to_function(thread, step.from)) {
    take_place(thread, step.from);
  }
}

void TracedCalls::interrupt(Thread& thread, const Step& step) {
  if (thread.after_call_to_system && !thread.frames.empty() && thread.frames.back().returned) {
    const Frame frame = thread.frames.back();
    thread.frames.pop_back();
    thread.node = frame.caller;
    thread.function = frame.in;
    if (thread.function != step.from.function && !leave_to_function(thread, step.from)) take_place(thread, step.from);
    return;
  }
  ++sums_.signals;
  push(thread, {.caller = thread.node, .in = thread.function, .signal = true});
  enter(thread, step.from, Entry::Other);
}

void TracedCalls::call(Thread& thread, const Step& step) {
  const std::uint64_t behind = step.from.address + step.length;
  if (step.to.address == behind) return;  // asks where it is
  ++sums_.calls;
  push(thread, {.caller = thread.node, .in = thread.function, .first = behind, .last = behind});
  enter(thread, step.to, Entry::Call);
}

void TracedCalls::give_back(Thread& thread, const Step& step) {
  if (leave_to_call(thread, step.to)) return;
  if (!thread.frames.empty() && thread.frames.back().signal) {
    thread.frames.back().returned = true;
    thread.function = step.to.function;
    return;
  }
  ++sums_.elsewhere;
  jump(thread, step);
}

void TracedCalls::jump(Thread& thread, const Step& step) {
  if (step.to.function == thread.function) return;
  if (thread.function->is_plt && !step.to.function->is_plt) return enter(thread, step.to, thread.through);
  if (!step.to.begins_function && leave_to_function(thread, step.to)) return;
  take_place(thread, step.to);
}

void TracedCalls::branch_unseen(Thread& thread, const Step& step) {
  ++sums_.unseen;
  if (leave_to_call(thread, step.to)) return;
  if (step.to.function == thread.function) return;
  if (!step.to.begins_function) return jump(thread, step);
  ++sums_.calls;
  constexpr std::uint64_t kLongest = 15;  // bytes of an instruction
  push(thread, {.caller = thread.node,
                .in = thread.function,
                .first = step.from.address + 1,
                .last = step.from.address + kLongest});
  enter(thread, step.to, Entry::Call);
}

void TracedCalls::enter(Thread& thread, const TracedPlace& place, Entry entry) {
  thread.function = place.function;
  if (place.function->is_plt) {
    thread.through = entry;
    return;
  }
  thread.node = child(thread.node, place.function);
  switch (entry) {
    case Entry::Call: ++thread.node->calls; break;
    case Entry::Jump:
      ++thread.node->jumps;
      ++sums_.jumps;
      break;
    case Entry::Other: ++thread.node->others; break;
  }
}

/// What stood here is left without a return, and this returns in its stead.
void TracedCalls::take_place(Thread& thread, const TracedPlace& place) {
  if (!thread.function->is_plt && thread.node->function != nullptr) thread.node = thread.node->parent;
  if (place.begins_function) return enter(thread, place, Entry::Jump);
  thread.function = place.function;
  thread.node = child(thread.node, place.function);
}

/// To behind the innermost call that returns there. returns false if there is none
bool TracedCalls::leave_to_call(Thread& thread, const TracedPlace& place) {
  const auto found = std::find_if(thread.frames.rbegin(), thread.frames.rend(),
                                  [&](const Frame& frame) { return frame.leads_to(place.address); });
  if (found == thread.frames.rend()) return false;
  ++sums_.returned;
  const auto index = static_cast<std::size_t>(thread.frames.rend() - found) - 1;
  leave(thread, thread.frames.size() - index - 1);
  const Frame frame = thread.frames.back();
  thread.frames.pop_back();
  thread.node = frame.caller;
  thread.function = place.function;
  return true;
}

/// To the innermost caller that is this function. returns false if none is
bool TracedCalls::leave_to_function(Thread& thread, const TracedPlace& place) {
  const auto found = std::find_if(thread.frames.rbegin(), thread.frames.rend(),
                                  [&](const Frame& frame) { return frame.in == place.function; });
  if (found == thread.frames.rend()) return false;
  CallNode* const caller = found->caller;
  leave(thread, static_cast<std::size_t>(found - thread.frames.rbegin()) + 1);
  thread.node = caller;
  thread.function = place.function;
  return true;
}

/// The innermost `frames` are over.
void TracedCalls::leave(Thread& thread, std::size_t frames) {
  for (; frames != 0; --frames) {
    if (!thread.frames.back().signal) ++sums_.left;
    thread.frames.pop_back();
  }
}

CallSums TracedCalls::sums() const {
  CallSums sums = sums_;
  for (const auto& [tid, thread] : threads_) sums.open += calls_in(thread.frames);
  return sums;
}

CallNode* TracedCalls::child(CallNode* node, const TracedFunction* function) {
  if (node->depth >= deepest_) node = node->parent;
  CallNode*& found = children_[{node, function}];
  if (found == nullptr) {
    found = &nodes_.emplace_back(CallNode{.function = function,
                                          .parent = node,
                                          .depth = node->depth + 1,
                                          .number = static_cast<std::uint32_t>(nodes_.size())});
    node->children.push_back(found);
  }
  return found;
}

CallNode* TracedCalls::program(const std::string& name) {
  CallNode*& found = programs_[name];
  if (found == nullptr)
    found = &nodes_.emplace_back(CallNode{.program = name, .number = static_cast<std::uint32_t>(nodes_.size())});
  return found;
}

}  // namespace zs::report

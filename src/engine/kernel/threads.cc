#include "engine/kernel/threads.h"

#include <linux/sched.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/room_for_descriptors.h"
#include "engine/kernel/threads/robust_list.h"
#include "engine/kernel/threads/syscall_window.h"
#include "engine/kernel/threads/thread_stacks.h"
#include "engine/loader/shown_process.h"
#include "engine/memory/guest_access.h"
#include "engine/raw_syscall.h"

namespace zs::engine {
namespace {

extern "C" {
/// Ends the thread without touching its stack.
[[noreturn]] void zs_exit_thread(int status);
}

asm(R"(
  .text
  .globl zs_exit_thread
  .type zs_exit_thread, @function
zs_exit_thread:
  mov $60, %eax
  syscall
  ud2
  .size zs_exit_thread, . - zs_exit_thread
)");

/// source: Linux, uapi/linux/sched.h, struct clone_args
struct CloneArgs {
  std::uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid, set_tid_size, cgroup;
};

/// Thread-local storage and handlers are the program's, and the engine's to set.
constexpr std::uint64_t kNotTheKernels = CLONE_SETTLS | CLONE_CLEAR_SIGHAND;

/// What the kernel is asked for; the child's stack ends at `stack`, or is its parent's.
CloneArgs kernel_arguments(const CloneRequest& request, std::uint64_t stack) {
  constexpr std::uint64_t kStackBytes = 64;  // the kernel asks only that there are some
  return {.flags = request.flags & ~(kNotTheKernels | CSIGNAL),
          .pidfd = request.pidfd != 0 ? request.pidfd : request.parent_tid,
          .child_tid = request.child_tid,
          .parent_tid = request.parent_tid,
          .exit_signal = request.flags & CSIGNAL,
          .stack = stack == 0 ? 0 : stack - kStackBytes,
          .stack_size = stack == 0 ? 0 : kStackBytes,
          .tls = 0,
          .set_tid = request.set_tid,
          .set_tid_size = request.set_tid_size,
          .cgroup = request.cgroup};
}

/// CLONE_CLEAR_SIGHAND: what is ignored stays so.
void forget_handlers(SignalActions& actions) {
  for (KernelSigaction& action : actions) action = {.handler = action.handler == 1 ? std::uint64_t{1} : 0};
}

}  // namespace

Threads* Threads::instance = nullptr;

void thread_entry(Thread* thread) { Threads::instance->begin(*thread); }

void Threads::begin(Thread& thread) {
  Run& run = parts_.run;
  // No TLS use before the lock is ours.
  parts_.turns.come_back(thread);
  run.set_fs_base(thread.fs_base);  // the kernel gave it its parent's
  thread.id.pid = static_cast<std::int32_t>(raw_syscall(SYS_getpid));
  thread.id.tid = static_cast<std::int32_t>(raw_syscall(SYS_gettid));
  const bool same_process = thread.id.pid == thread.id.parent_pid;
  if (!same_process) {
    thread.process->pid = thread.id.pid;
    thread.process->parent_pid = thread.id.parent_pid;
    run.ids.others().bind(thread.shown_pid, thread.id.pid);
    parts_.process_turns.begin(thread.process->seat, thread.id.pid);
  } else {
    run.ids.others().forget(thread.id.tid);
  }
  run.lock.holder_is(thread);
  run.observer().forked(run.ids.shown(thread.id), same_process);
  parts_.recorded.announce(thread);
  run_thread();
}

void Threads::run_thread() {
  Run& run = parts_.run;
  Thread& thread = *run.thread;
  use_signal_block(thread);
  parts_.gate.settle();
  run.context.host_rsp = thread.host_rsp;
  const std::uint64_t at = dispatcher_.resume(kNone);
  reinterpret_cast<void (*)(std::uint64_t)>(run.stubs.enter)(at);
  __builtin_unreachable();
}

long Threads::clone3(std::uint64_t args, std::uint64_t size) {
  constexpr std::uint64_t kFirstVersion = 64;
  if (size < kFirstVersion) return -EINVAL;
  if (size > kPageSize) return -E2BIG;
  CloneArgs c{};
  const std::uint64_t used = size < sizeof c ? size : sizeof c;
  if (read_guest(args, &c, used) != used) return -EFAULT;
  for (std::uint64_t at = used; at < size; ++at) {
    const auto byte = read_guest_value<std::uint8_t>(args + at);
    if (!byte) return -EFAULT;
    if (*byte != 0) return -E2BIG;
  }
  // source: Linux 6.18, kernel/fork.c: copy_clone_args_from_user(), clone3_args_valid()
  const bool both_handlers = (c.flags & CLONE_SIGHAND) != 0 && (c.flags & CLONE_CLEAR_SIGHAND) != 0;
  const bool tells_of_end = (c.flags & (CLONE_THREAD | CLONE_PARENT)) != 0 && c.exit_signal != 0;
  if ((c.flags & (CSIGNAL | CLONE_DETACHED)) != 0 || c.exit_signal > kSignals || both_handlers || tells_of_end ||
      (c.stack == 0) != (c.stack_size == 0) || (c.set_tid == 0) != (c.set_tid_size == 0))
    return -EINVAL;
  if (c.set_tid_size != 0 && parts_.run.ids.differ()) return -ENOSYS;  // these are numbers of the program's
  // The old call shares one word between the parent's tid and the pidfd.
  const bool pidfd = (c.flags & CLONE_PIDFD) != 0, both = pidfd && (c.flags & CLONE_PARENT_SETTID) != 0;
  return clone({.flags = c.flags | c.exit_signal,
                .stack = c.stack == 0 ? 0 : c.stack + c.stack_size,
                .parent_tid = pidfd && !both ? c.pidfd : c.parent_tid,
                .child_tid = c.child_tid,
                .tls = c.tls,
                .pidfd = both ? c.pidfd : 0,
                .set_tid = c.set_tid,
                .set_tid_size = c.set_tid_size,
                .cgroup = c.cgroup});
}

// A child in this address space, with a stack and what it shares with its parent.
// returns what it is shown as, if it is a process of its own
std::int32_t Threads::prepare_child(Thread& child, const CloneRequest& request) {
  Run& run = parts_.run;
  Thread& parent = *run.thread;
  const std::uint64_t flags = request.flags;
  const bool same_process = (flags & CLONE_THREAD) != 0;
  parts_.turns.save(parent);
  copy_registers(child, parent);
  child.xsave = parent.xsave;
  child.gpr[kRax] = 0;
  if (request.stack != 0) child.gpr[kRsp] = request.stack;
  if ((flags & CLONE_SETTLS) != 0) {
    child.fs_base = request.tls;
    child.fs_selector = 0;
  }
  child.pc = parent.pc;
  child.mask = parent.mask;
  child.filters = parent.filters;
  child.rdtsc_faults = parent.rdtsc_faults;
  child.id.parent_pid = parent.id.pid;
  child.id.parent_tid = parent.id.tid;
  child.alternate = (flags & CLONE_VFORK) != 0 ? parent.alternate : stack_t{nullptr, SS_DISABLE, 0};
  if (same_process) {
    child.process = parent.process;
    if ((flags & CLONE_CHILD_CLEARTID) != 0) child.clear_at = request.child_tid;
    return 0;
  }
  child.process = std::make_shared<Process>(*parent.process);
  if ((flags & CLONE_SIGHAND) == 0) child.process->actions = std::make_shared<SignalActions>(*parent.process->actions);
  if ((flags & CLONE_CLEAR_SIGHAND) != 0) forget_handlers(*child.process->actions);
  child.process->vfork_child = true;
  child.process->traced = false;
  if (!run.config.inherit) child.process->recorded = false;
  child.shown_pid = run.ids.others().next_child(run.ids.shown(parent.process->pid), parent.process->children);
  child.process->children = 0;
  return child.shown_pid;
}

long Threads::clone(const CloneRequest& request) {
  Run& run = parts_.run;
  run.lock.let_go(*run.thread);  // it would be inherited
  const std::uint64_t flags = request.flags;
  if ((flags & CLONE_SETTLS) != 0 && request.tls >= kTaskSize) return -EPERM;  // the kernel is not asked to set it
  if ((flags & CLONE_VM) == 0) return fork(request);
  Thread& parent = *run.thread;
  const bool same_process = (flags & CLONE_THREAD) != 0, waits = (flags & CLONE_VFORK) != 0;

  auto owned = std::make_unique<Thread>();
  Thread& child = *owned;
  const std::int32_t shown = prepare_child(child, request);
  const bool own_turns = !same_process && waits;
  // Who runs when follows from more than one process's calls then.
  if (!own_turns) parts_.process_turns.end(std::exchange(parent.process->seat, 0), 0);
  if (child.process != parent.process) child.process->seat = 0;
  if (!parts_.stacks.give_to(child)) return -EAGAIN;
  run.threads.push_back(std::move(owned));
  if (waits && !same_process) {
    // The gate stays open: a signal to the whole process group comes before the child is made, or to both of them, as
    // the kernel promises. Until the child has its own alternate stack it is on ours; we do not run.
    parent.vfork_child = &child;
  } else if (!parts_.gate.hold()) {  // none may find the child before its alternate stack is set
    parts_.stacks.take_from(child);
    run.threads.pop_back();
    return kInterruptedBeforeStart;
  }
  parts_.accountant.core.runs_after_this(child);
  run.lock.give_place(child);  // now, and not when the kernel gets it to run
  const long result = waits ? clone_and_wait(child, request) : clone_child(child, request, parent);
  if (is_error(result)) {
    if (!waits) run.lock.abandon(child);
    parts_.stacks.take_from(child);
    run.threads.pop_back();
  } else if (waits) {
    if (!same_process) ++parent.process->children;
    parts_.recorded.forget(child);
    parts_.stacks.take_from(child);
    drop(child);
  } else if (!same_process) {
    ++parent.process->children;
    run.ids.others().bind(shown, static_cast<std::int32_t>(result));
  }
  parts_.gate.settle();
  return result;
}

long Threads::clone_child(Thread& child, const CloneRequest& request, const Thread& parent) {
  if (!request.is_of_clone3()) {
    return zs_interruptible_clone(request.flags & ~kNotTheKernels, reinterpret_cast<void*>(child.host_rsp),
                                  request.parent_tid, request.child_tid, &thread_entry, &child, &parent.pending);
  }
  CloneArgs arguments = kernel_arguments(request, child.host_rsp);
  return zs_interruptible_clone3(&arguments, sizeof arguments, &thread_entry, &child, &parent.pending);
}

// The child needs the lock, and we sleep until it execs or exits.
long Threads::clone_and_wait(Thread& child, const CloneRequest& request) {
  Run& run = parts_.run;
  ProcessTurns& turns = parts_.process_turns;
  Thread& parent = *run.thread;
  const int seat = parent.process->seat;
  if (seat != 0) child.process->seat = turns.reserve();
  turns.leave_to(seat, child.process->seat);
  run.lock.release();
  const long result = clone_child(child, request, parent);
  if (is_error(result)) turns.end(child.process->seat, 0);
  turns.come_back(seat);
  parent.vfork_child = nullptr;
  // It is gone from this address space; if it was killed, perhaps in the middle of something.
  run.lock.abandon(child);
  parts_.turns.come_back(parent);
  parts_.entry.end();
  parts_.entry.untrip();
  return result;
}

void Threads::drop(const Thread& thread) {
  auto& threads = parts_.run.threads;
  const auto found = std::ranges::find(threads, &thread, [](const auto& owned) { return owned.get(); });
  if (found != threads.end()) threads.erase(found);
}

long Threads::fork(const CloneRequest& request) {
  Run& run = parts_.run;
  Thread& thread = *run.thread;
  run.observer().flush(run.shown());
  // The gate is open, so a signal to the whole process group comes before the fork or to both, as the kernel promises;
  // and the child, whose slot is a copy of an empty one, takes its own from its first instruction on.
  const std::uint64_t sent_to_parent = thread.sent.load();
  const CloneArgs of_clone3 = kernel_arguments(request, 0);
  const long arguments[6] = {static_cast<long>(request.flags & ~kNotTheKernels),
                             0,
                             static_cast<long>(request.parent_tid),
                             static_cast<long>(request.child_tid),
                             0,
                             0};
  const long arguments3[6] = {reinterpret_cast<long>(&of_clone3), sizeof of_clone3};
  const VirtualClock before = parts_.clock;
  const std::uint64_t childs_stream = parts_.clock.random();
  const std::int32_t shown = run.ids.others().next_child(run.ids.shown(thread.process->pid), thread.process->children);
  const int childs_seat = thread.process->seat != 0 ? parts_.process_turns.reserve() : 0;
  const long result = request.is_of_clone3() ? zs_interruptible_syscall(SYS_clone3, arguments3, &thread.pending)
                                             : zs_interruptible_syscall(SYS_clone, arguments, &thread.pending);
  if (is_error(result)) {
    parts_.process_turns.cancel(childs_seat);
    parts_.clock = before;  // called off by a signal perhaps, at any time
  } else if (result != 0) {
    note_forked(static_cast<std::int32_t>(result), shown, request);
  } else {
    parts_.clock.reseed(childs_stream);
    thread.sent.fetch_and(~sent_to_parent);
    begin_forked(shown, childs_seat, request);
  }
  return result;
}

void Threads::note_forked(std::int32_t pid, std::int32_t shown, const CloneRequest& request) {
  Run& run = parts_.run;
  ++run.thread->process->children;
  run.ids.others().bind(shown, pid);
  if ((request.flags & CLONE_PARENT_SETTID) != 0 && shown != 0) run.write(request.parent_tid, &shown, sizeof shown);
  ThreadIdentity child;
  child.pid = child.tid = pid;
  child.parent_pid = run.thread->id.pid;
  child.parent_tid = run.thread->id.tid;
  run.observer().forked(run.ids.shown(child), false);
}

// The child: this thread alone, in a copy of everything.
void Threads::begin_forked(std::int32_t shown, int seat, const CloneRequest& request) {
  Run& run = parts_.run;
  Thread& thread = *run.thread;
  run.lock.reset(thread);
  parts_.futexes.forget_waiters();
  thread.clear_at = (request.flags & CLONE_CHILD_CLEARTID) != 0 ? request.child_tid : 0;
  for (const auto& other : run.threads) {
    if (other.get() != &thread) parts_.stacks.take_from(*other);
  }
  // There until the recording forgets them: their cores still play then, and keep signals (Thread::signals_at_splits).
  std::vector<std::unique_ptr<Thread>> others;
  for (auto& other : run.threads) {
    if (other.get() != &thread) others.push_back(std::move(other));
  }
  std::erase(run.threads, nullptr);
  run.for_each_code_cache([](CodeCache& each) { each.trace().after_fork(); });
  run.map.in_forked_child();
  thread.id.parent_pid = thread.id.pid;
  thread.id.parent_tid = thread.id.tid;
  thread.id.pid = static_cast<std::int32_t>(raw_syscall(SYS_getpid));
  thread.id.tid = static_cast<std::int32_t>(raw_syscall(SYS_gettid));
  thread.process = std::make_shared<Process>(*thread.process);
  thread.process->parent_pid = thread.process->pid;
  thread.process->pid = thread.id.pid;
  thread.process->children = 0;
  thread.process->seat = seat;
  run.lock.holder_is(thread);
  run.ids.others().bind(shown, thread.id.pid);
  if ((request.flags & CLONE_CHILD_SETTID) != 0 && shown != 0) run.write(request.child_tid, &shown, sizeof shown);
  if ((request.flags & CLONE_CLEAR_SIGHAND) != 0) {
    forget_handlers(*thread.process->actions);
    parts_.signals.install_again();
  }
  thread.process->vfork_child = false;
  thread.process->traced = false;
  thread.process->exec_tid = 0;
  thread.step.active = false;
  thread.announced = false;
  thread.cpu = {};
  thread.core = nullptr;
  if (request.stack != 0) run.gpr(kRsp) = request.stack;
  if ((request.flags & CLONE_SETTLS) != 0) {
    run.set_fs_base(request.tls);
    run.context.fs_selector = 0;
  }
  run.observer().in_forked_child();
  parts_.accountant.exits.forget();
  others.clear();
  thread.signals_at_splits.clear();  // of windows that are the parent's
  thread.deferred = {};
  thread.dispatch = {};
  if (!run.config.inherit) be_unrecorded();
  parts_.accountant.core.forget_all_paths();
  parts_.cache.in_forked_child();
  run.visits = {};
  parts_.recorded.announce(thread);
  parts_.process_turns.begin(seat, thread.id.pid);
}

// The collector does not wait for this process.
void Threads::be_unrecorded() {
  Run& run = parts_.run;
  run.thread->process->recorded = false;
  run.untouched_entries.close();
  parts_.cache.stop();
  // The numbers stay ours: what the program does with one of them is refused.
  raw_syscall(SYS_close_range, run.config.first_private_fd, run.config.executable_fd() - 1, 0);
  const RoomForDescriptors room;
  occupy_descriptors(run.config.first_private_fd, run.config.executable_fd(), run.config.executable_fd());
}

void Threads::exit_thread(int status) {
  Run& run = parts_.run;
  Thread& thread = *run.thread;
  if (run.threads.size() == 1) keep_translations();
  run.lock.let_go(thread);  // until the kernel has ended it, others can still ask
  leave_robust_list(parts_.memory, parts_.thread_set, thread);
  parts_.recorded.forget(thread);
  if (run.threads.size() == 1 || thread.process->vfork_child)
    parts_.process_turns.end(thread.process->seat, thread.id.pid);
  if (run.threads.size() == 1) raw_syscall(SYS_exit, status);
  if (thread.process->vfork_child) {
    parts_.tracing.tracer_ends(thread.process->pid);
    // The parent cleans up; it holds the reference.
    run.lock.release();
    zs_exit_thread(status);
  }
  parts_.futexes.clear_word_of(thread);
  stack_t none{};
  none.ss_flags = SS_DISABLE;
  raw_syscall(SYS_sigaltstack, &none, nullptr);
  parts_.stacks.retire(thread);
  drop(thread);
  run.thread = nullptr;
  run.lock.release();
  zs_exit_thread(status);
}

// A vfork child's are its parent's.
void Threads::keep_translations() {
  if (parts_.run.thread->process->vfork_child) return;
  if (parts_.accountant.probes.met()) parts_.cache.stop();
  parts_.cache.end();
}

void Threads::exit_process(int status) {
  Run& run = parts_.run;
  const Process& process = *run.thread->process;
  keep_translations();
  parts_.recorded.end_all();
  parts_.process_turns.end(process.seat, process.pid);
  if (process.vfork_child) {
    parts_.tracing.tracer_ends(process.pid);
    run.lock.release();
  }
  raw_syscall(SYS_exit_group, status);
  __builtin_unreachable();
}

}  // namespace zs::engine

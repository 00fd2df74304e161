// Threads and processes of the program. A thread of the program is a kernel thread with the program's own clone flags, so thread
// ids, robust lists and the clearing of the tid at exit are the kernel's work. All threads use the main thread's host TLS
// block in turn: only the holder of the engine lock runs C++.

#include <linux/sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/start_up.h"
#include "engine/host_stack.h"
#include "engine/kernel/syscall_window.h"
#include "engine/memory/guest_access.h"
#include "engine/raw_syscall.h"
#include "engine/runtime.h"

namespace zs::engine {
namespace {

constexpr std::size_t kHostStackBytes = 256 << 10;

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

}  // namespace

void Runtime::save_context(Thread& thread) {
  std::memcpy(thread.gpr, run_.context.gpr, sizeof thread.gpr);
  thread.flags = run_.context.flags;
  thread.fs_base = run_.context.fs_base;
  thread.gs_base = run_.context.gs_base;
  thread.xsave.resize(xsave_bytes());
  std::memcpy(thread.xsave.data(), reinterpret_cast<const std::byte*>(&run_.context) + kXsaveOffset,
              thread.xsave.size());
}

void Runtime::load_context(Thread& thread) {
  std::memcpy(run_.context.gpr, thread.gpr, sizeof thread.gpr);
  run_.context.flags = thread.flags;
  run_.context.fs_base = thread.fs_base;
  run_.context.gs_base = thread.gs_base;
  run_.context.host_rsp = thread.host_rsp;
  std::memcpy(reinterpret_cast<std::byte*>(&run_.context) + kXsaveOffset, thread.xsave.data(), thread.xsave.size());
  run_.thread = &thread;
  if (run_.lock.owner_died()) forget_dead_processes();
}

// A process that shared this memory was killed in the middle of its program, or of the engine. What it was about is forgotten; the counts of its
// last stretch are lost with it.
void Runtime::forget_dead_processes() {
  entering_.store(false);
  if (tripped_.exchange(false)) run_.window.untrip();
  forget_stops();
  accountant_.logged.leave();
  if (const std::uint64_t lifted = std::exchange(private_page_, 0); lifted != 0)
    run_.invalidate(lifted, lifted + kPageSize);
  for (auto at = run_.threads.begin(); at != run_.threads.end();) {
    Thread& thread = **at;
    if (&thread == run_.thread || thread.process == run_.thread->process || !EngineLock::is_gone(thread.process->pid)) {
      ++at;
      continue;
    }
    forget_thread(thread);
    if (thread.stack_block != nullptr) spare_stacks_.push_back({thread.stack_block, thread.signal_block, 0});
    dead_.push_back(std::move(*at));
    at = run_.threads.erase(at);
  }
}

void Runtime::prepare_to_wait() {
  if (run_.counting.models) latest_core_time_ = std::max(latest_core_time_, CoreFeeder::time_of(*run_.thread));
  save_context(*run_.thread);
}

void Runtime::give_up_lock() {
  prepare_to_wait();
  run_.lock.let_go(*run_.thread);
  run_.lock.release();
}

void Runtime::give_up_lock_to_wait() {
  prepare_to_wait();
  run_.lock.release_and_wait(*run_.thread);
}

// The program asks what they may run on, or says so.
void Runtime::let_go_of_processors() {
  for (const auto& thread : run_.threads) run_.lock.let_go(*thread);
}

void Runtime::yield() {
  Thread& thread = *run_.thread;
  Thread* next = nullptr;
  if (thread.cpu.core != nullptr) {
    next = accountant_.core.next_by_time();
    if (next == nullptr) return;
  }
  save_context(thread);
  run_.lock.take_turns(thread, next);
  run_.lock.acquire(thread);
  load_context(thread);
}

namespace {}  // namespace

void Runtime::announce_thread(Thread& thread) {
  if (!thread.process->recorded) return;
  thread.cpu = run_.observer().thread_started(run_.ids.shown(thread.id));
  thread.core = thread.cpu.core;
  std::size_t lanes = 0;
  for (const pmu::Pmu* pmu : thread.cpu.pmus) lanes += pmu->lanes().size();
  thread.lanes_told.assign(lanes, 0);
  if (thread.core != nullptr) {
    thread.time_told = thread.core->signals();
    thread.core->wait_until(thread.core_time);
  }
  thread.announced = true;
  CoreFeeder::tell_wishes(thread.cpu);
  accountant_.phases.place(thread);
}

void Runtime::forget_thread(Thread& thread) {
  if (thread.announced) {
    thread.announced = false;
    accountant_.core.settle(thread);
    run_.recording.thread_exited(run_.ids.shown(thread.id));  // not always the running thread
    thread.cpu = {};
    thread.core = nullptr;
  }
}

// Of this process: a vfork child ends alone.
void Runtime::end_all_threads() {
  const Process* process = run_.thread->process.get();
  for (const auto& thread : run_.threads) {
    if (thread->process.get() != process) continue;
    leave_robust_list(*thread);
    forget_thread(*thread);
  }
}

void thread_entry(Thread* thread) {
  Runtime& runtime = *Runtime::instance;
  // No TLS use before the lock is ours.
  runtime.run_.lock.acquire(*thread);
  runtime.load_context(*thread);
  runtime.set_fs_base(thread->fs_base);  // the kernel gave it its parent's
  thread->id.pid = static_cast<std::int32_t>(raw_syscall(SYS_getpid));
  thread->id.tid = static_cast<std::int32_t>(raw_syscall(SYS_gettid));
  const bool same_process = thread->id.pid == thread->id.parent_pid;
  if (!same_process) {
    thread->process->pid = thread->id.pid;
    thread->process->parent_pid = thread->id.parent_pid;
    runtime.run_.ids.others().bind(thread->shown_pid, thread->id.pid);
    runtime.turns_.begin(thread->process->seat, thread->id.pid);
  } else {
    runtime.run_.ids.others().forget(thread->id.tid);
  }
  runtime.run_.observer().forked(runtime.run_.ids.shown(thread->id), same_process);
  runtime.announce_thread(*thread);
  runtime.run_thread();
}

void Runtime::run_thread() {
  Thread& thread = *run_.thread;
  stack_t alternate{};
  alternate.ss_sp = static_cast<std::byte*>(thread.signal_block) + 64;
  alternate.ss_size = (128 << 10) - 64;
  CHECK(raw_syscall(SYS_sigaltstack, &alternate, nullptr) == 0);
  settle_mask();
  run_.context.host_rsp = thread.host_rsp;
  const std::uint64_t at = resume(kNone);
  reinterpret_cast<void (*)(std::uint64_t)>(run_.stubs.enter)(at);
  __builtin_unreachable();
}

long Runtime::sys_clone3(std::uint64_t args, std::uint64_t size) {
  struct CloneArgs {
    std::uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid, set_tid_size,
        cgroup;
  };
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
  if (c.set_tid_size != 0 || c.cgroup != 0 || (c.flags & CLONE_INTO_CGROUP) != 0) return -ENOSYS;
  if ((c.flags >> 32) != 0) return -ENOSYS;
  if ((c.flags & 0xFF) != 0 || (c.stack == 0) != (c.stack_size == 0)) return -EINVAL;
  // The old call shares one word between the parent's tid and the pidfd; both at once are rare enough to leave out.
  if ((c.flags & CLONE_PIDFD) != 0 && (c.flags & CLONE_PARENT_SETTID) != 0) return -ENOSYS;
  const std::uint64_t parent = (c.flags & CLONE_PIDFD) != 0 ? c.pidfd : c.parent_tid;
  return sys_clone((c.flags & 0xFFFFFFFF) | c.exit_signal, c.stack == 0 ? 0 : c.stack + c.stack_size, parent,
                   c.child_tid, c.tls);
}

long Runtime::sys_clone(std::uint64_t flags, std::uint64_t stack, std::uint64_t parent_tid, std::uint64_t child_tid,
                        std::uint64_t tls) {
  run_.lock.let_go(*run_.thread);  // it would be inherited
  if ((flags & CLONE_VM) == 0) return fork_process(flags, stack, parent_tid, child_tid, tls);
  Thread& parent = *run_.thread;
  const bool same_process = (flags & CLONE_THREAD) != 0;
  std::int32_t shown = 0;

  auto owned = std::make_unique<Thread>();
  Thread& child = *owned;
  save_context(parent);
  std::memcpy(child.gpr, parent.gpr, sizeof child.gpr);
  child.flags = parent.flags;
  child.xsave = parent.xsave;
  child.gpr[kRax] = 0;
  if (stack != 0) child.gpr[kRsp] = stack;
  child.fs_base = (flags & CLONE_SETTLS) != 0 ? tls : parent.fs_base;
  child.gs_base = parent.gs_base;
  child.pc = parent.pc;
  child.mask = parent.mask;
  if (!same_process && (flags & CLONE_VFORK) != 0) child.alternate = parent.alternate;
  if (same_process) {
    child.process = parent.process;
    if ((flags & CLONE_CHILD_CLEARTID) != 0) child.clear_at = child_tid;
  } else {
    child.process = (flags & CLONE_SIGHAND) != 0 ? parent.process : std::make_shared<Process>(*parent.process);
    child.process->vfork_child = true;
    if (child.process != parent.process) child.process->traced = false;
    if (!run_.config.inherit) child.process->recorded = false;
    child.shown_pid = shown =
        run_.ids.others().next_child(run_.ids.shown(parent.process->pid), parent.process->children);
    if (child.process != parent.process) child.process->children = 0;
  }
  const bool own_turns = !same_process && (flags & CLONE_VFORK) != 0 && child.process != parent.process;
  // Who runs when follows from more than one process's calls then.
  if (!own_turns) turns_.end(std::exchange(parent.process->seat, 0), 0);
  if (child.process != parent.process) child.process->seat = 0;
  reclaim_stacks();
  if (spare_stacks_.empty()) {
    child.stack_block = map_host_stack(kHostStackBytes);
    if (child.stack_block == nullptr) return -EAGAIN;
  } else {
    child.stack_block = spare_stacks_.back().stack;
    child.signal_block = spare_stacks_.back().signals;
    spare_stacks_.pop_back();
    forget_frames(child.stack_block, kHostStackBytes);
  }
  map_signal_block(child);
  auto* top = static_cast<std::byte*>(child.stack_block) + kHostStackBytes;
  child.host_rsp = reinterpret_cast<std::uint64_t>(top) - 64;

  run_.threads.push_back(std::move(owned));
  const bool waits = (flags & CLONE_VFORK) != 0;
  if (waits && !same_process) {
    // The gate stays open: a signal to the whole process group comes before the child is made, or to both of them, as the kernel
    // promises. Until the child has its own alternate stack it is on ours; we do not run.
    parent.vfork_child = &child;
  } else if (!hold_signals()) {  // none may find the child before its alternate stack is set
    spare_stacks_.push_back({child.stack_block, child.signal_block, 0});
    run_.threads.pop_back();
    return kInterruptedBeforeStart;
  }
  accountant_.core.runs_after_this(child);
  run_.lock.give_place(child);  // now, and not when the kernel gets it to run
  const std::uint64_t kernel_flags = flags & ~std::uint64_t{CLONE_SETTLS};
  child.id.parent_pid = parent.id.pid;
  child.id.parent_tid = parent.id.tid;
  long result;
  if (waits) {
    const int seat = parent.process->seat;
    if (seat != 0) child.process->seat = turns_.reserve();
    turns_.leave_to(seat, child.process->seat);
    run_.lock.release();  // the child needs it, and we sleep until it execs or exits
    result =
        zs_interruptible_clone(kernel_flags, top - 64, parent_tid, child_tid, &thread_entry, &child, &parent.pending);
    if (is_error(result)) turns_.end(child.process->seat, 0);
    turns_.come_back(seat);
    parent.vfork_child = nullptr;
    // It is gone from this address space; if it was killed, perhaps in the middle of something.
    run_.lock.abandon(child);
    run_.lock.acquire(parent);
    load_context(parent);
    entering_.store(false);
    if (tripped_.exchange(false)) run_.window.untrip();
  } else {
    result =
        zs_interruptible_clone(kernel_flags, top - 64, parent_tid, child_tid, &thread_entry, &child, &parent.pending);
  }
  if (is_error(result)) {
    if (!waits) run_.lock.abandon(child);
    spare_stacks_.push_back({child.stack_block, child.signal_block, 0});
    run_.threads.pop_back();
  } else if (waits) {
    if (!same_process) ++parent.process->children;
    for (auto it = run_.threads.begin(); it != run_.threads.end(); ++it) {
      if (it->get() != &child) continue;
      forget_thread(child);
      spare_stacks_.push_back({child.stack_block, child.signal_block, 0});
      run_.threads.erase(it);
      break;
    }
  }
  if (!same_process && !waits && !is_error(result)) {
    ++parent.process->children;
    run_.ids.others().bind(shown, static_cast<std::int32_t>(result));
  }
  settle_mask();
  return result;
}

long Runtime::fork_process(std::uint64_t flags, std::uint64_t stack, std::uint64_t parent_tid, std::uint64_t child_tid,
                           std::uint64_t tls) {
  Thread& thread = *run_.thread;
  run_.observer().flush(run_.shown());
  // The gate is open, so a signal to the whole process group comes before the fork or to both, as the kernel promises; and the
  // child, whose slot is a copy of an empty one, takes its own from its first instruction on.
  const std::uint64_t sent_to_parent = thread.sent.load();
  const long arguments[6] = {static_cast<long>(flags & ~std::uint64_t{CLONE_SETTLS}),
                             0,
                             static_cast<long>(parent_tid),
                             static_cast<long>(child_tid),
                             0,
                             0};
  const VirtualClock before = clock_;
  const std::uint64_t childs_stream = clock_.random();
  const std::int32_t child_shown =
      run_.ids.others().next_child(run_.ids.shown(thread.process->pid), thread.process->children);
  const int childs_seat = thread.process->seat != 0 ? turns_.reserve() : 0;
  const long result = zs_interruptible_syscall(SYS_clone, arguments, &thread.pending);
  if (result != 0) {
    if (is_error(result)) {
      turns_.cancel(childs_seat);
      clock_ = before;  // called off by a signal perhaps, at any time
    } else {
      ++thread.process->children;
      run_.ids.others().bind(child_shown, static_cast<std::int32_t>(result));
      if ((flags & CLONE_PARENT_SETTID) != 0 && child_shown != 0)
        run_.write(parent_tid, &child_shown, sizeof child_shown);
      ThreadIdentity child;
      child.pid = child.tid = static_cast<std::int32_t>(result);
      child.parent_pid = thread.id.pid;
      child.parent_tid = thread.id.tid;
      run_.observer().forked(run_.ids.shown(child), false);
    }
    return result;
  }
  // The child: this thread alone, in a copy of everything.
  populate_code();
  clock_.reseed(childs_stream);
  run_.lock.reset(thread);
  waiters_.clear();
  thread.clear_at = 0;
  for (auto it = run_.threads.begin(); it != run_.threads.end();) {
    if (it->get() == &thread) {
      ++it;
    } else {
      if ((*it)->stack_block != nullptr) spare_stacks_.push_back({(*it)->stack_block, (*it)->signal_block, 0});
      it = run_.threads.erase(it);
    }
  }
  run_.window.after_fork();
  run_.map.in_forked_child();
  thread.id.parent_pid = thread.id.pid;
  thread.id.parent_tid = thread.id.tid;
  thread.id.pid = static_cast<std::int32_t>(raw_syscall(SYS_getpid));
  thread.id.tid = static_cast<std::int32_t>(raw_syscall(SYS_gettid));
  thread.process = std::make_shared<Process>(*thread.process);
  thread.process->parent_pid = thread.process->pid;
  thread.process->pid = thread.id.pid;
  thread.process->children = 0;
  thread.process->seat = childs_seat;
  run_.ids.others().bind(child_shown, thread.id.pid);
  if ((flags & CLONE_CHILD_SETTID) != 0 && child_shown != 0) run_.write(child_tid, &child_shown, sizeof child_shown);
  thread.process->vfork_child = false;
  thread.process->traced = false;
  thread.process->exec_tid = 0;
  thread.step.active = false;
  thread.sent.fetch_and(~sent_to_parent);
  thread.announced = false;
  thread.cpu = {};
  thread.core = nullptr;
  if (stack != 0) run_.gpr(kRsp) = stack;
  if ((flags & CLONE_SETTLS) != 0) set_fs_base(tls);
  run_.observer().in_forked_child();
  if (!run_.config.inherit) {
    thread.process->recorded = false;
    // The collector does not wait for it.
    run_.window.close_descriptors();
    cache_.stop();
    raw_syscall(SYS_close_range, run_.config.first_private_fd, run_.config.first_private_fd + kPrivateDescriptors - 1,
                0);
  }
  accountant_.core.forget_all_paths();
  cache_.in_forked_child();
  announce_thread(thread);
  turns_.begin(childs_seat, thread.id.pid);
  return 0;
}

// The stacks of threads that the kernel no longer knows can be used again.
void Runtime::reclaim_stacks() {
  const long pid = raw_syscall(SYS_getpid);
  for (std::size_t i = 0; i < retiring_.size();) {
    if (raw_syscall(SYS_tgkill, pid, retiring_[i].tid, 0) == -ESRCH) {
      spare_stacks_.push_back(retiring_[i]);
      retiring_[i] = retiring_.back();
      retiring_.pop_back();
    } else {
      ++i;
    }
  }
}

void Runtime::exit_thread(int status) {
  Thread& thread = *run_.thread;
  if (run_.threads.size() == 1) keep_translations();
  run_.lock.let_go(thread);  // until the kernel has ended it, others can still ask
  leave_robust_list(thread);
  forget_thread(thread);
  if (run_.threads.size() == 1 || thread.process->vfork_child) turns_.end(thread.process->seat, thread.id.pid);
  if (run_.threads.size() == 1) raw_syscall(SYS_exit, status);
  if (thread.process->vfork_child) {
    tracing_.tracer_ends(thread.process->pid);
    // The parent cleans up; it holds the reference.
    run_.lock.release();
    zs_exit_thread(status);
  }
  clear_thread_word(thread);
  stack_t none{};
  none.ss_flags = SS_DISABLE;
  raw_syscall(SYS_sigaltstack, &none, nullptr);
  if (thread.stack_block != nullptr) retiring_.push_back({thread.stack_block, thread.signal_block, thread.id.tid});
  for (auto it = run_.threads.begin(); it != run_.threads.end(); ++it) {
    if (it->get() != &thread) continue;
    run_.threads.erase(it);
    break;
  }
  run_.thread = nullptr;
  run_.lock.release();
  zs_exit_thread(status);
}

// A vfork child's are its parent's.
void Runtime::keep_translations() {
  if (!run_.thread->process->vfork_child && !accountant_.marks.met()) cache_.end();
}

void Runtime::exit_process(int status) {
  keep_translations();
  end_all_threads();
  turns_.end(run_.thread->process->seat, run_.thread->process->pid);
  if (!run_.thread->process->vfork_child) {
    raw_syscall(SYS_exit_group, status);
  } else {
    tracing_.tracer_ends(run_.thread->process->pid);
    run_.lock.release();
    raw_syscall(SYS_exit_group, status);
  }
  __builtin_unreachable();
}

}  // namespace zs::engine

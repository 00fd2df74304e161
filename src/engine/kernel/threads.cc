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
  std::memcpy(thread.gpr, context_.gpr, sizeof thread.gpr);
  thread.flags = context_.flags;
  thread.fs_base = context_.fs_base;
  thread.gs_base = context_.gs_base;
  thread.xsave.resize(xsave_bytes());
  std::memcpy(thread.xsave.data(), reinterpret_cast<const std::byte*>(&context_) + kXsaveOffset, thread.xsave.size());
}

void Runtime::load_context(Thread& thread) {
  std::memcpy(context_.gpr, thread.gpr, sizeof thread.gpr);
  context_.flags = thread.flags;
  context_.fs_base = thread.fs_base;
  context_.gs_base = thread.gs_base;
  context_.host_rsp = thread.host_rsp;
  std::memcpy(reinterpret_cast<std::byte*>(&context_) + kXsaveOffset, thread.xsave.data(), thread.xsave.size());
  thread_ = &thread;
}

void Runtime::prepare_to_wait() {
  if (models_) latest_core_time_ = std::max(latest_core_time_, core_time_of(*thread_));
  save_context(*thread_);
}

void Runtime::give_up_lock() {
  prepare_to_wait();
  lock_.let_go(*thread_);
  lock_.release();
}

void Runtime::give_up_lock_to_wait() {
  prepare_to_wait();
  lock_.release_and_wait(*thread_);
}

// The program asks what they may run on, or says so.
void Runtime::let_go_of_processors() {
  for (const auto& thread : threads_) lock_.let_go(*thread);
}

void Runtime::yield() {
  Thread& thread = *thread_;
  Thread* next = nullptr;
  if (thread.cpu.core != nullptr) {
    next = next_by_core_time();
    if (next == nullptr) return;
  }
  save_context(thread);
  lock_.take_turns(thread, next);
  lock_.acquire(thread);
  load_context(thread);
}

namespace {
/// For a process that is not recorded.
class Nobody final : public Observer {
 public:
  VirtualCpu thread_started(const ThreadIdentity&) override { return {}; }
  void thread_exited(const ThreadIdentity&) override {}
  void pmi(const ThreadIdentity&, const arch::RegisterFile&) override {}
  void forked(const ThreadIdentity&, bool) override {}
  void in_forked_child() override {}
  void renamed(const ThreadIdentity&, const std::string&, bool) override {}
  void mapped(const ThreadIdentity&, const Mapping&) override {}
  void flush(const ThreadIdentity&) override {}
  void notice(const std::string&) override {}
};
}  // namespace

Observer& Runtime::observer() const {
  static Nobody nobody;
  return thread_->process->recorded ? observer_ : nobody;
}

void Runtime::announce_thread(Thread& thread) {
  if (!thread.process->recorded) return;
  thread.cpu = observer().thread_started(shown(thread.id));
  std::size_t lanes = 0;
  for (const pmu::Pmu* pmu : thread.cpu.pmus) lanes += pmu->lanes().size();
  thread.lanes_told.assign(lanes, 0);
  if (thread.cpu.core != nullptr) {
    thread.time_told = thread.cpu.core->signals();
    thread.cpu.core->wait_until(thread.core_time);
  }
  thread.announced = true;
  tell_wishes(thread.cpu);
}

void Runtime::forget_thread(Thread& thread) {
  if (thread.announced) {
    thread.announced = false;
    settle_core(thread);
    observer_.thread_exited(shown(thread.id));  // not always the running thread
    thread.cpu = {};
  }
}

// Of this process: a vfork child ends alone.
void Runtime::end_all_threads() {
  const Process* process = thread_->process.get();
  for (const auto& thread : threads_) {
    if (thread->process.get() != process) continue;
    leave_robust_list(*thread);
    forget_thread(*thread);
  }
}

void thread_entry(Thread* thread) {
  Runtime& runtime = *Runtime::instance;
  // No TLS use before the lock is ours.
  runtime.lock_.acquire(*thread);
  runtime.load_context(*thread);
  runtime.set_fs_base(thread->fs_base);  // the kernel gave it its parent's
  thread->id.pid = static_cast<std::int32_t>(raw_syscall(SYS_getpid));
  thread->id.tid = static_cast<std::int32_t>(raw_syscall(SYS_gettid));
  const bool same_process = thread->id.pid == thread->id.parent_pid;
  if (!same_process) {
    thread->process->pid = thread->id.pid;
    thread->process->parent_pid = thread->id.parent_pid;
    runtime.process_ids_.bind(thread->shown_pid, thread->id.pid);
    runtime.turns_.begin(thread->process->seat, thread->id.pid);
  } else {
    runtime.process_ids_.forget(thread->id.tid);
  }
  runtime.observer().forked(runtime.shown(thread->id), same_process);
  runtime.announce_thread(*thread);
  runtime.run_thread();
}

void Runtime::run_thread() {
  Thread& thread = *thread_;
  stack_t alternate{};
  alternate.ss_sp = static_cast<std::byte*>(thread.signal_block) + 64;
  alternate.ss_size = (128 << 10) - 64;
  CHECK(raw_syscall(SYS_sigaltstack, &alternate, nullptr) == 0);
  settle_mask();
  context_.host_rsp = thread.host_rsp;
  const std::uint64_t at = resume(kNone);
  reinterpret_cast<void (*)(std::uint64_t)>(stubs_.enter)(at);
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
  lock_.let_go(*thread_);  // it would be inherited
  if ((flags & CLONE_VM) == 0) return fork_process(flags, stack, parent_tid, child_tid, tls);
  Thread& parent = *thread_;
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
    if (!config_.inherit) child.process->recorded = false;
    child.shown_pid = shown = process_ids_.next_child(shown_id(parent.process->pid), parent.process->children);
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

  threads_.push_back(std::move(owned));
  const bool waits = (flags & CLONE_VFORK) != 0;
  if (waits && !same_process) {
    // The gate stays open: a signal to the whole process group comes before the child is made, or to both of them, as the kernel
    // promises. Until the child has its own alternate stack it is on ours; we do not run.
    parent.vfork_child = &child;
  } else if (!hold_signals()) {  // none may find the child before its alternate stack is set
    spare_stacks_.push_back({child.stack_block, child.signal_block, 0});
    threads_.pop_back();
    return kInterruptedBeforeStart;
  }
  runs_after_this(child);
  lock_.give_place(child);  // now, and not when the kernel gets it to run
  const std::uint64_t kernel_flags = flags & ~std::uint64_t{CLONE_SETTLS};
  child.id.parent_pid = parent.id.pid;
  child.id.parent_tid = parent.id.tid;
  long result;
  if (waits) {
    const int seat = parent.process->seat;
    if (seat != 0) child.process->seat = turns_.reserve();
    turns_.leave_to(seat, child.process->seat);
    lock_.release();  // the child needs it, and we sleep until it execs or exits
    result =
        zs_interruptible_clone(kernel_flags, top - 64, parent_tid, child_tid, &thread_entry, &child, &parent.pending);
    if (is_error(result)) turns_.end(child.process->seat, 0);
    turns_.come_back(seat);
    parent.vfork_child = nullptr;
    // It is gone from this address space; if it was killed, perhaps in the middle of something.
    lock_.abandon(child);
    lock_.acquire(parent);
    load_context(parent);
    entering_.store(false);
    if (tripped_.exchange(false)) window_.untrip();
  } else {
    result =
        zs_interruptible_clone(kernel_flags, top - 64, parent_tid, child_tid, &thread_entry, &child, &parent.pending);
  }
  if (is_error(result)) {
    if (!waits) lock_.abandon(child);
    spare_stacks_.push_back({child.stack_block, child.signal_block, 0});
    threads_.pop_back();
  } else if (waits) {
    if (!same_process) ++parent.process->children;
    for (auto it = threads_.begin(); it != threads_.end(); ++it) {
      if (it->get() != &child) continue;
      forget_thread(child);
      spare_stacks_.push_back({child.stack_block, child.signal_block, 0});
      threads_.erase(it);
      break;
    }
  }
  if (!same_process && !waits && !is_error(result)) {
    ++parent.process->children;
    process_ids_.bind(shown, static_cast<std::int32_t>(result));
  }
  settle_mask();
  return result;
}

long Runtime::fork_process(std::uint64_t flags, std::uint64_t stack, std::uint64_t parent_tid, std::uint64_t child_tid,
                           std::uint64_t tls) {
  Thread& thread = *thread_;
  observer().flush(shown(thread_->id));
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
  const std::int32_t child_shown = process_ids_.next_child(shown_id(thread.process->pid), thread.process->children);
  const int childs_seat = thread.process->seat != 0 ? turns_.reserve() : 0;
  const long result = zs_interruptible_syscall(SYS_clone, arguments, &thread.pending);
  if (result != 0) {
    if (is_error(result)) {
      turns_.cancel(childs_seat);
      clock_ = before;  // called off by a signal perhaps, at any time
    } else {
      ++thread.process->children;
      process_ids_.bind(child_shown, static_cast<std::int32_t>(result));
      if ((flags & CLONE_PARENT_SETTID) != 0 && child_shown != 0)
        write_guest(parent_tid, &child_shown, sizeof child_shown);
      ThreadIdentity child;
      child.pid = child.tid = static_cast<std::int32_t>(result);
      child.parent_pid = thread.id.pid;
      child.parent_tid = thread.id.tid;
      observer().forked(shown(child), false);
    }
    return result;
  }
  // The child: this thread alone, in a copy of everything.
  clock_.reseed(childs_stream);
  lock_.reset(thread);
  waiters_.clear();
  thread.clear_at = 0;
  for (auto it = threads_.begin(); it != threads_.end();) {
    if (it->get() == &thread) {
      ++it;
    } else {
      if ((*it)->stack_block != nullptr) spare_stacks_.push_back({(*it)->stack_block, (*it)->signal_block, 0});
      it = threads_.erase(it);
    }
  }
  window_.after_fork();
  map_.in_forked_child();
  thread.id.parent_pid = thread.id.pid;
  thread.id.parent_tid = thread.id.tid;
  thread.id.pid = static_cast<std::int32_t>(raw_syscall(SYS_getpid));
  thread.id.tid = static_cast<std::int32_t>(raw_syscall(SYS_gettid));
  thread.process = std::make_shared<Process>(*thread.process);
  thread.process->parent_pid = thread.process->pid;
  thread.process->pid = thread.id.pid;
  thread.process->children = 0;
  thread.process->seat = childs_seat;
  process_ids_.bind(child_shown, thread.id.pid);
  if ((flags & CLONE_CHILD_SETTID) != 0 && child_shown != 0) write_guest(child_tid, &child_shown, sizeof child_shown);
  thread.process->vfork_child = false;
  thread.process->traced = false;
  thread.process->exec_tid = 0;
  thread.step.active = false;
  thread.sent.fetch_and(~sent_to_parent);
  thread.announced = false;
  thread.cpu = {};
  if (stack != 0) gpr(kRsp) = stack;
  if ((flags & CLONE_SETTLS) != 0) set_fs_base(tls);
  observer().in_forked_child();
  if (!config_.inherit) {
    thread.process->recorded = false;
    // The collector does not wait for it.
    window_.close_descriptors();
    raw_syscall(SYS_close_range, config_.first_private_fd, config_.first_private_fd + kPrivateDescriptors - 1, 0);
  }
  core_paths_.forget_all();
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
  Thread& thread = *thread_;
  lock_.let_go(thread);  // until the kernel has ended it, others can still ask
  leave_robust_list(thread);
  forget_thread(thread);
  if (threads_.size() == 1 || thread.process->vfork_child) turns_.end(thread.process->seat, thread.id.pid);
  if (threads_.size() == 1) raw_syscall(SYS_exit, status);
  if (thread.process->vfork_child) {
    // The parent cleans up; it holds the reference.
    lock_.release();
    zs_exit_thread(status);
  }
  clear_thread_word(thread);
  stack_t none{};
  none.ss_flags = SS_DISABLE;
  raw_syscall(SYS_sigaltstack, &none, nullptr);
  if (thread.stack_block != nullptr) retiring_.push_back({thread.stack_block, thread.signal_block, thread.id.tid});
  for (auto it = threads_.begin(); it != threads_.end(); ++it) {
    if (it->get() != &thread) continue;
    threads_.erase(it);
    break;
  }
  thread_ = nullptr;
  lock_.release();
  zs_exit_thread(status);
}

void Runtime::exit_process(int status) {
  end_all_threads();
  turns_.end(thread_->process->seat, thread_->process->pid);
  if (!thread_->process->vfork_child) {
    raw_syscall(SYS_exit_group, status);
  } else {
    lock_.release();
    raw_syscall(SYS_exit_group, status);
  }
  __builtin_unreachable();
}

}  // namespace zs::engine

#include "engine/kernel/engine_lock.h"

#include <linux/futex.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include <cerrno>

#include "engine/raw_syscall.h"

namespace zs::engine {

void EngineLock::spin(Thread* thread) {
  Thread* nobody = nullptr;
  while (!spinning_.compare_exchange_weak(nobody, thread, std::memory_order_acquire)) {
    nobody = nullptr;
    raw_syscall(SYS_sched_yield);
  }
}

void EngineLock::unspin() { spinning_.store(nullptr, std::memory_order_release); }

void EngineLock::append(Thread& thread) {
  thread.has_place = true;
  thread.next_waiting = nullptr;
  thread.may_run.store(0, std::memory_order_relaxed);
  if (head_.load(std::memory_order_relaxed) == nullptr) {
    head_.store(&thread, std::memory_order_relaxed);
  } else {
    tail_->next_waiting = &thread;
  }
  tail_ = &thread;
}

void EngineLock::remove(Thread& thread) {
  Thread* before = nullptr;
  for (Thread* at = head_.load(std::memory_order_relaxed); at != nullptr; before = at, at = at->next_waiting) {
    if (at != &thread) continue;
    if (before == nullptr)
      head_.store(at->next_waiting, std::memory_order_relaxed);
    else
      before->next_waiting = at->next_waiting;
    if (tail_ == at) tail_ = before;
    return;
  }
}

void EngineLock::await(Thread& thread) {
  constexpr timespec kLookAgain{.tv_sec = 0, .tv_nsec = 200'000'000};
  while (thread.may_run.load(std::memory_order_acquire) == 0) {
    const long result = raw_syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&thread.may_run), FUTEX_WAIT_PRIVATE, 0,
                                    &kLookAgain, nullptr, 0);
    if (result != -ETIMEDOUT) continue;
    recover_from_dead_owner();
    recover_from_dead_tracer(thread);
  }
}

bool EngineLock::is_gone(std::int32_t pid) {
  if (pid == raw_syscall(SYS_getpid)) return false;
  siginfo_t info{};
  constexpr int kAllChildren = __WALL;
  if (raw_syscall(SYS_waitid, P_PID, pid, &info, WEXITED | WNOHANG | WNOWAIT | kAllChildren, nullptr) == 0)
    return info.si_pid == pid;
  return raw_syscall(SYS_kill, pid, 0) == -ESRCH;
}

void EngineLock::recover_from_dead_owner() {
  Thread* const holder = owner();
  if (holder == nullptr || !is_gone(holder->process->pid)) return;
  owner_died_.store(true);
  abandon(*holder);
}

// Who stopped it was killed, and nobody else may be there to let it run.
void EngineLock::recover_from_dead_tracer(Thread& thread) {
  if (!thread.traced.stopped.load() || !is_gone(thread.traced.by)) return;
  spin(&thread);
  thread.traced.stopped.store(false);
  thread.traced.by = 0;
  if (owner_.load(std::memory_order_relaxed) == nullptr) {
    remove(thread);
    owner_.store(&thread, std::memory_order_relaxed);
    thread.may_run.store(1, std::memory_order_release);
  }
  unspin();
}

Thread* EngineLock::first_that_may_run() const {
  Thread* at = head_.load(std::memory_order_relaxed);
  while (at != nullptr && at->traced.stopped.load(std::memory_order_relaxed)) at = at->next_waiting;
  return at;
}

void EngineLock::acquire(Thread& thread) {
  spin(&thread);
  if (!thread.has_place) {
    if (owner_.load(std::memory_order_relaxed) == nullptr && !thread.traced.stopped.load()) {
      owner_.store(&thread, std::memory_order_relaxed);
      unspin();
      return;
    }
    append(thread);
  }
  unspin();
  await(thread);
  thread.has_place = false;
}

void EngineLock::give_place(Thread& thread) {
  spin(owner());
  if (!thread.has_place) append(thread);
  unspin();
}

void EngineLock::release() {
  spin(owner());
  hand_over(nullptr);
}

void EngineLock::release_and_wait(Thread& self) {
  spin(&self);
  hand_over(&self);
}

void EngineLock::take_turns(Thread& self, Thread* next) {
  spin(&self);
  append(self);
  if (next != nullptr && head_.load(std::memory_order_relaxed) != next) {
    remove(*next);
    next->next_waiting = head_.load(std::memory_order_relaxed);
    head_.store(next, std::memory_order_relaxed);
  }
  hand_over(&self);
}

// Ends the spinning, too. waits_now: who gives the lock away and needs no processor from now on; null if it does.
void EngineLock::hand_over(const Thread* waits_now) {
  Thread* const next = first_that_may_run();
  owner_.store(next, std::memory_order_relaxed);
  if (next != nullptr) remove(*next);
  unspin();
  if (next != nullptr) {
    // It does not run yet, so what it is held to is still ours.
    if (waits_now != nullptr)
      processor_.follow(*waits_now, *next);
    else
      processor_.let_go(*next);
    next->may_run.store(1, std::memory_order_release);
    raw_syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&next->may_run), FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr,
                0);
  }
}

void EngineLock::abandon(Thread& gone) {
  Thread* held = &gone;
  spinning_.compare_exchange_strong(held, nullptr);
  spin(&gone);
  if (owner() == &gone) return hand_over(nullptr);
  remove(gone);
  unspin();
}

void EngineLock::reset(Thread& thread) {
  spinning_.store(nullptr);
  owner_.store(&thread);
  head_.store(nullptr);
  tail_ = nullptr;
}

}  // namespace zs::engine

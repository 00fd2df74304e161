#include "engine/run/engine_lock.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include <array>
#include <cerrno>
#include <string_view>

#include "engine/raw_syscall.h"

namespace zs::engine {
namespace {

constexpr int kAboutMemory = 0x7A73;  // siginfo_t::si_errno, which sigqueue() leaves 0

std::uint64_t ids_of(const Thread& thread) {
  return static_cast<std::uint64_t>(thread.process->pid) << 32 | static_cast<std::uint32_t>(thread.id.tid);
}
std::int32_t pid_of(std::uint64_t ids) { return static_cast<std::int32_t>(ids >> 32); }
std::int32_t tid_of(std::uint64_t ids) { return static_cast<std::int32_t>(ids & UINT32_MAX); }

using ShortText = std::array<char, 128>;

/// What /proc/PID/task/TID/NAME says, as much as fits; nothing where it cannot be read.
ShortText proc_text(std::int32_t pid, std::int32_t tid, const char* name) {
  char path[64];
  char* at = path;
  const auto put = [&at](const char* text) {
    while (*text != 0) *at++ = *text++;
  };
  const auto put_number = [&](std::int32_t number) {
    char digits[12] = "";
    int first = 11;
    for (; number != 0 && first > 0; number /= 10) digits[--first] = static_cast<char>('0' + number % 10);
    put(digits + first);
  };
  put("/proc/");
  put_number(pid);
  put("/task/");
  put_number(tid);
  put("/");
  put(name);
  *at = 0;
  ShortText text{};
  const long fd = raw_syscall(SYS_open, path, O_RDONLY | O_CLOEXEC);
  if (is_error(fd)) return text;
  raw_syscall(SYS_read, fd, text.data(), text.size() - 1);
  raw_syscall(SYS_close, fd);
  return text;
}

/// Where a thread sleeps for memory that the program is to put there. 0: it does not.
/// source: Linux, Documentation/filesystems/proc.rst: /proc/PID/syscall is "-1 SP PC" of who sleeps in a page fault,
/// and /proc/PID/wchan names the kernel's function, or is 0 where it may not be known. A page fault that waits for a
/// disk, the lock of the address space or the hypervisor is over soon, and not the program's business.
std::uint64_t where_it_waits_for_memory(std::int32_t pid, std::int32_t tid) {
  const ShortText text = proc_text(pid, tid, "syscall");
  if (text[0] != '-' || text[1] != '1') return 0;
  const ShortText waits_in = proc_text(pid, tid, "wchan");
  const bool known = waits_in[0] != 0 && waits_in[0] != '0';
  if (known && std::string_view(waits_in.data()) != "handle_userfault") return 0;
  const char* last = text.data();
  for (const char* each = text.data(); *each != 0; ++each) last = *each == 'x' ? each + 1 : last;
  std::uint64_t pc = 0;
  for (; (*last >= '0' && *last <= '9') || (*last >= 'a' && *last <= 'f'); ++last)
    pc = pc << 4 | static_cast<unsigned>(*last <= '9' ? *last - '0' : *last - 'a' + 10);
  return pc;
}

}  // namespace

// Of all signals these are never blocked, and their handler is always the engine's.
void EngineLock::warn_holder_that_waits() const {
  const std::uint64_t ids = owner_ids_.load();
  const std::int32_t pid = pid_of(ids), tid = tid_of(ids);
  if (tid == 0) return;
  const std::uint64_t pc = where_it_waits_for_memory(pid, tid);
  if (pc == 0) return;
  siginfo_t info{};
  info.si_signo = SIGTRAP;
  info.si_code = SI_QUEUE;
  info.si_errno = kAboutMemory;
  info.si_value.sival_ptr = reinterpret_cast<void*>(pc);
  raw_syscall(SYS_rt_tgsigqueueinfo, pid, tid, SIGTRAP, &info);
}

std::uint64_t EngineLock::where_it_waited_for_memory(const siginfo_t& info) {
  if (info.si_signo != SIGTRAP || info.si_code != SI_QUEUE || info.si_errno != kAboutMemory) return 0;
  return reinterpret_cast<std::uint64_t>(info.si_value.sival_ptr);
}

void EngineLock::spin(Thread* thread) {
  Thread* nobody = nullptr;
  while (!spinning_.compare_exchange_weak(nobody, thread, std::memory_order_acquire)) {
    nobody = nullptr;
    raw_syscall(SYS_sched_yield);
  }
}

void EngineLock::unspin() { spinning_.store(nullptr, std::memory_order_release); }

void EngineLock::give_to(Thread* thread) {
  owner_.store(thread, std::memory_order_relaxed);
  owner_ids_.store(thread == nullptr ? 0 : ids_of(*thread));
}

void EngineLock::holder_is(const Thread& thread) { owner_ids_.store(ids_of(thread)); }

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
  while (thread.may_run.load(std::memory_order_acquire) == 0) {
    const bool often = holder_may_wait_for_memory_.load();
    const timespec look_again{.tv_sec = 0, .tv_nsec = often ? 500'000 : 200'000'000};
    const long result = raw_syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&thread.may_run), FUTEX_WAIT_PRIVATE, 0,
                                    &look_again, nullptr, 0);
    if (result != -ETIMEDOUT) continue;
    if (often) warn_holder_that_waits();
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
  const std::uint64_t ids = owner_ids_.load();
  if (holder == nullptr || !is_gone(pid_of(ids))) return;
  if (owner() != holder || owner_ids_.load() != ids) return;  // it gave the lock away before it ended
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
    give_to(&thread);
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
      give_to(&thread);
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
  give_to(next);
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
  give_to(&thread);
  head_.store(nullptr);
  tail_ = nullptr;
}

}  // namespace zs::engine

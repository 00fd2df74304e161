// Under --virtual-time: process ids in system calls are those that the program is shown (process_ids.h), and the first process and its
// parent have numbers of their own (engine.h). Ids of threads are the kernel's but for a process's first: the kernel compares them with
// what lies in futexes. So mutexes with priority inheritance do not work between processes' first threads, and a robust mutex of one that
// somebody else kills stays locked.
// Not translated: ids that come with messages (SCM_CREDENTIALS, signalfd), SysV IPC's notes of who did what, F_SETOWN_EX, CPU clocks
// of other processes, what files and folders below /proc contain.

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <string>

#include "engine/memory/guest_access.h"
#include "engine/raw_syscall.h"
#include "engine/runtime.h"

namespace zs::engine {
namespace {

constexpr long kPidfdOpen = 434;  // not in every libc's headers

// Whom a number means does not depend on how far the kernel has counted.
static_assert(ProcessIds::kKernelsEnd <= kVirtualParent && kVirtualParent < kVirtualPid &&
              kVirtualPid < ProcessIds::kFirstShown);

/// Where a system call has ids.
struct IdCall {
  static constexpr unsigned kNo = 0, kFirst = 1, kSecond = 2, kThird = 4, kResult = 8;
  long number;
  unsigned ids;
};
// clang-format off
constexpr unsigned kNo = IdCall::kNo, kFirst = IdCall::kFirst, kSecond = IdCall::kSecond, kThird = IdCall::kThird, kResult = IdCall::kResult;
constexpr IdCall kIdCalls[] = {
    {SYS_getpid,             kResult},
    {SYS_gettid,             kResult},
    {SYS_getppid,            kResult},
    {SYS_getpgrp,            kResult},
    {SYS_set_tid_address,    kResult},
    {SYS_fork,               kResult},
    {SYS_vfork,              kResult},
    {SYS_clone,              kResult},
    {SYS_clone3,             kResult},
    {SYS_getpgid,            kFirst | kResult},
    {SYS_getsid,             kFirst | kResult},
    {SYS_setsid,             kResult},
    {SYS_setpgid,            kFirst | kSecond},
    {SYS_wait4,              kFirst | kResult},
    {SYS_kill,               kFirst},
    {SYS_tkill,              kFirst},
    {SYS_tgkill,             kFirst | kSecond},
    {SYS_rt_sigqueueinfo,    kFirst},
    {SYS_rt_tgsigqueueinfo,  kFirst | kSecond},
    {kPidfdOpen,             kFirst},
    {SYS_sched_getaffinity,  kFirst},
    {SYS_sched_setaffinity,  kFirst},
    {SYS_sched_getparam,     kFirst},
    {SYS_sched_setparam,     kFirst},
    {SYS_sched_getscheduler, kFirst},
    {SYS_sched_setscheduler, kFirst},
    {SYS_sched_getattr,      kFirst},
    {SYS_sched_setattr,      kFirst},
    {SYS_get_robust_list,    kFirst},
    {SYS_prlimit64,          kFirst},
    {SYS_process_vm_readv,   kFirst},
    {SYS_process_vm_writev,  kFirst},
    {SYS_getpriority,        kSecond},
    {SYS_setpriority,        kSecond},
    {SYS_ioprio_get,         kSecond},
    {SYS_ioprio_set,         kSecond},
    {SYS_ptrace,             kSecond},
};
// clang-format on

unsigned ids_of(long number, const long (&a)[6]) {
  if (number == SYS_waitid) return a[0] == P_PID || a[0] == P_PGID ? kSecond : kNo;
  if (number == SYS_fcntl) return a[1] == F_SETOWN ? kThird : a[1] == F_GETOWN ? kResult : kNo;
  const auto* const found = std::ranges::find(kIdCalls, number, &IdCall::number);
  return found == std::end(kIdCalls) ? kNo : found->ids;
}

/// Where the answer has an id; 0: nowhere.
std::uint64_t id_in_answer(long number, const long (&a)[6]) {
  const auto within = [](long place, std::size_t offset) {
    return place == 0 ? 0 : static_cast<std::uint64_t>(place) + offset;
  };
  switch (number) {
    case SYS_waitid: return within(a[2], offsetof(siginfo_t, si_pid));
    case SYS_rt_sigtimedwait: return within(a[1], offsetof(siginfo_t, si_pid));
    case SYS_fcntl: return a[1] == F_GETLK || a[1] == F_OFD_GETLK ? within(a[2], offsetof(struct flock, l_pid)) : 0;
    case SYS_ioctl: return a[1] == TIOCGPGRP || a[1] == TIOCGSID ? static_cast<std::uint64_t>(a[2]) : 0;
    case SYS_getsockopt: return a[1] == SOL_SOCKET && a[2] == SO_PEERCRED ? within(a[3], offsetof(ucred, pid)) : 0;
    default: return 0;
  }
}

}  // namespace

Runtime::Outcome Runtime::in_shown_ids(long number, const long (&a)[6]) {
  if (!run_.ids.differ()) return answer(number, a);
  const unsigned ids = ids_of(number, a);
  long changed[6] = {a[0], a[1], a[2], a[3], a[4], a[5]};
  for (int i = 0; i < 3; ++i) {
    if ((ids & (kFirst << i)) != 0) changed[i] = run_.ids.real(static_cast<std::int32_t>(a[i]));
  }
  const bool kills = number == SYS_kill || number == SYS_tkill || number == SYS_tgkill;
  if (kills && a[number == SYS_tgkill ? 2 : 1] == SIGKILL && changed[0] == run_.thread->process->pid)
    leave_robust_list(*run_.thread);  // if somebody else kills it, nobody does
  std::int32_t group = 0;
  if (number == SYS_ioctl && a[1] == TIOCSPGRP) {
    const auto given = read_guest_value<std::int32_t>(static_cast<std::uint64_t>(a[2]));
    if (!given) return {-EFAULT};
    group = run_.ids.real(*given);
    changed[2] = reinterpret_cast<long>(&group);
  }
  Outcome outcome = answer(number, changed);
  if (!outcome.set_result || is_error(outcome.result)) return outcome;
  if ((ids & kResult) != 0) outcome.result = run_.ids.shown(static_cast<std::int32_t>(outcome.result));
  if (const std::uint64_t place = id_in_answer(number, a); place != 0) {
    const auto told = read_guest_value<std::int32_t>(place);
    const std::int32_t shown = told ? run_.ids.shown(*told) : 0;
    if (told && shown != *told) write_guest(place, &shown, sizeof shown);
  }
  return outcome;
}

}  // namespace zs::engine

// System calls of the program. Nearly all pass to the kernel as they are; a table names those that the engine must
// answer or change: memory (guest_map.h), signals, threads and processes, its own view of /proc, its descriptors, and what would
// break the engine (seccomp).

#include <asm/prctl.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "engine/kernel/call_table.h"
#include "engine/kernel/syscall_window.h"
#include "engine/loader/exec_check.h"
#include "engine/loader/held_environment.h"
#include "engine/loader/proc_view.h"
#include "engine/memory/guest_access.h"
#include "engine/memory/real_maps.h"
#include "engine/raw_syscall.h"
#include "engine/runtime.h"

namespace zs::engine {
namespace {

// Linux, uapi/linux/seccomp.h, uapi/linux/prctl.h, uapi/asm/prctl.h, and the system call table of x86-64: not in every libc's headers.
constexpr int kSeccompGetActionAvail = 2, kSeccompGetNotifSizes = 3;
constexpr int kSetSyscallUserDispatch = 59, kArchSetCpuid = 0x1012;
constexpr long kFutexWaitv = 449, kFutexWake = 454, kFutexWait = 455, kFutexRequeue = 456;

/// Whether the engine lock stays with the caller (kQuick).
bool is_quick(const Call& call, const long (&a)[6]) {
  if (call.number == SYS_fcntl) return a[1] != F_SETLKW && a[1] != F_OFD_SETLKW;
  if (call.number != SYS_futex) return call.has(kQuick);
  const long operation = a[1] & FUTEX_CMD_MASK;
  return operation == FUTEX_WAKE || operation == FUTEX_WAKE_OP || operation == FUTEX_REQUEUE ||
         operation == FUTEX_CMP_REQUEUE || operation == FUTEX_UNLOCK_PI || operation == FUTEX_WAKE_BITSET;
}

/// Whether it is over at once: of a regular file and of a memory device (/dev/null and its kin) always; a few bytes also go into a pipe or a
/// socket that has room. What can be read there now may be gone to another process by then.
bool is_over_at_once(int fd, bool writes_few_bytes) {
  constexpr unsigned kMemoryDevices = 1;  // source: Linux, admin-guide/devices.txt
  struct stat about {};
  if (raw_syscall(SYS_fstat, fd, &about) != 0) return true;
  if (S_ISREG(about.st_mode) || S_ISDIR(about.st_mode)) return true;
  if (S_ISCHR(about.st_mode) && major(about.st_rdev) == kMemoryDevices) return true;
  pollfd room{.fd = fd, .events = POLLOUT, .revents = 0};
  return writes_few_bytes && raw_syscall(SYS_poll, &room, 1, 0) == 1;
}

/// Whether another program traces this process, which it may have asked for itself (PTRACE_TRACEME) or not (PTRACE_SEIZE).
bool is_traced() {
  const long fd = raw_syscall(SYS_open, "/proc/self/status", O_RDONLY | O_CLOEXEC);
  if (is_error(fd)) return false;
  char text[1024] = "";
  raw_syscall(SYS_read, fd, text, sizeof text - 1);
  raw_syscall(SYS_close, fd);
  const char* tracer = std::strstr(text, "TracerPid:");
  return tracer != nullptr && std::strtol(tracer + 10, nullptr, 10) != 0;
}

bool has_vsyscalls() {
  static const bool has = [] {
    const auto maps = read_real_maps();
    return std::ranges::any_of(maps, [](const RealMapping& mapping) { return mapping.path == "[vsyscall]"; });
  }();
  return has;
}

/// Whether a thread may stay in it for long, and be killed.
bool may_wait(const Call& call, const long (&a)[6]) {
  return call.has(kMayWait) || (call.number == SYS_futex && !is_quick(call, a));
}

}  // namespace

void Runtime::handle_syscall(const Exit& exit) {
  Thread& thread = *run_.thread;
  const auto number = static_cast<long>(run_.gpr(kRax));
  const bool holds = call_of(number).has(kEndsImage);
  const bool called_off = holds ? !hold_signals() : thread.pending.load(std::memory_order_acquire) != 0;
  if (called_off) {  // a signal's handler runs first, then the call
    thread.pc = exit.pc;
    thread.step.active = thread.step_traps = false;
    return;
  }
  const long arguments[6] = {static_cast<long>(run_.gpr(kRdi)), static_cast<long>(run_.gpr(kRsi)),
                             static_cast<long>(run_.gpr(kRdx)), static_cast<long>(run_.gpr(kR10)),
                             static_cast<long>(run_.gpr(kR8)),  static_cast<long>(run_.gpr(kR9))};
  thread.pc = exit.target;
  run_.gpr(kRcx) = exit.target;
  run_.gpr(kR11) = run_.context.flags;
  accountant_.core.take_time_pmi();
  // Before the call: another thread may run during it, and it may take memory away.
  if (thread.step.active && thread.cpu.core != nullptr) accountant_.core.run_step(true, exit.target);
  if (holds) accountant_.steps.retire(true);  // it may not come back
  thread.step_traps = false;  // SYSRET gives the trap flag back, and the instruction behind it is the next to trap
  const bool retires_later = thread.step.active;
  wait_for_arguments(number, arguments);
  if (retires_later) run_.observer().in_call(run_.ids.shown(thread.id), true);
  const Outcome outcome = do_syscall(number, arguments);
  if (retires_later) run_.observer().in_call(run_.ids.shown(thread.id), false);
  if (holds) settle_mask();
  if (outcome.set_result && outcome.result == kInterruptedBeforeStart) {
    thread.pc = exit.pc;
    thread.step.active = thread.step_traps = false;
    return;
  }
  if (outcome.set_result) run_.gpr(kRax) = static_cast<std::uint64_t>(outcome.result);
  accountant_.steps.retire(true);
}

// Whether other threads wait while the kernel does this. Only a call that may have to wait for one of them gives its turn away: then
// the kernel decides who is next, and two runs may differ.
bool Runtime::keeps_turn(long number, const long (&a)[6]) const {
  const Call& call = call_of(number);
  if (is_quick(call, a)) return true;
  if (number == SYS_open || number == SYS_openat) {
    struct stat about {};
    const long found =
        number == SYS_open ? raw_syscall(SYS_stat, a[0], &about) : raw_syscall(SYS_newfstatat, a[0], a[1], &about, 0);
    return is_error(found) || S_ISREG(about.st_mode) || S_ISDIR(about.st_mode);
  }
  const bool few_bytes = (number == SYS_write || number == SYS_sendto) && a[2] >= 0 && a[2] <= PIPE_BUF;
  return (call.traits & (kReadsFile | kWritesFile)) != 0 &&
         is_over_at_once(static_cast<int>(a[0]), call.has(kWritesFile) && few_bytes);
}

long Runtime::pass_on(long number, const long (&a)[6]) {
  Thread& thread = *run_.thread;
  const bool stays = run_.threads.size() == 1 || (awaited_.empty() && keeps_turn(number, a));
  // The kernel would stop at a page that is write-protected only because it has translations.
  if (run_.map.protected_code_pages() != 0) {
    for (const AddressRange& written : written_by(call_of(number), a)) run_.map.open_code_pages(written);
  }
  if (may_wait(call_of(number), a)) run_.observer().flush(run_.shown());
  if (!stays) give_up_lock();
  const long result = call_in_turn(thread, number, a);
  if (!stays) {
    // This thread's own variables only, until the lock is back.
    run_.lock.acquire(thread);
    load_context(thread);
    if (thread.cpu.core != nullptr) thread.cpu.core->wait_until(latest_core_time_);
  }
  note_awaited_memory(number, a, result);
  note_write_to_own_memory(number, a, result);
  note_shorter_file(number, a, result);
  return result;
}

void Runtime::report_mapping(std::uint64_t address, std::uint64_t length) {
  const std::uint64_t end = address + length;
  while (address < end) {
    const GuestMapping* found = run_.map.find(address);
    if (found == nullptr) {
      address = run_.map.next_boundary(address);
      continue;
    }
    if ((found->prot & PROT_EXEC) != 0) {
      run_.window.expect_code(found->range());
      cache_.mapped(found->range());
    }
    Mapping mapping;
    mapping.start = found->start;
    mapping.length = found->end - found->start;
    mapping.file_offset = found->offset;
    mapping.protection = found->prot;
    mapping.flags = found->flags;
    mapping.path = found->name();
    if (mapping.path.empty()) mapping.path = "//anon";
    if (found->file) {
      mapping.device_major = found->file->device_major;
      mapping.device_minor = found->file->device_minor;
      mapping.inode = found->file->inode;
    }
    run_.observer().mapped(run_.shown(), mapping);
    accountant_.marks.adopt();
    address = found->end;
  }
}

Runtime::Outcome Runtime::do_syscall(long number, const long (&a)[6]) {
  return run_.config.virtual_time ? in_virtual_time(number, a) : answer(number, a);
}

Runtime::Outcome Runtime::answer(long number, const long (&a)[6]) {
  const auto u = [&](int i) { return static_cast<std::uint64_t>(a[i]); };
  const auto i32 = [&](int i) { return static_cast<int>(a[i]); };
  run_.map.limit(&run_.thread->process->limits);
  switch (number) {
    // --- memory
    case SYS_mmap: {
      const long result = run_.map.mmap(u(0), u(1), i32(2), i32(3), i32(4), u(5));
      fetch_range_ = {};
      if (!is_error(result) && (i32(3) & MAP_FIXED) != 0) accountant_.core.unmapped(u(0), u(1));
      if (!is_error(result) && (i32(3) & MAP_HUGETLB) != 0)
        accountant_.core.large_pages(static_cast<std::uint64_t>(result), u(1), true);
      if (!is_error(result)) report_mapping(static_cast<std::uint64_t>(result), u(1));
      return {result};
    }
    case SYS_munmap: {
      fetch_range_ = {};
      const long result = run_.map.munmap(u(0), u(1));
      if (result == 0) accountant_.core.unmapped(u(0), u(1));
      return {result};
    }
    case SYS_mremap: {
      const long result = run_.map.mremap(u(0), u(1), u(2), i32(3), u(4));
      fetch_range_ = {};
      if (!is_error(result)) {
        const auto moved_to = static_cast<std::uint64_t>(result);
        if (moved_to != u(0))
          accountant_.core.unmapped(u(0), u(1));
        else if (u(2) < u(1))
          accountant_.core.unmapped(u(0) + u(2), u(1) - u(2));
        if ((i32(3) & MREMAP_FIXED) != 0) accountant_.core.unmapped(moved_to, u(2));
        report_mapping(moved_to, u(2));
      }
      return {result};
    }
    case SYS_mprotect:
    case SYS_pkey_mprotect: {
      const long result = number == SYS_mprotect ? run_.map.mprotect(u(0), u(1), i32(2))
                                                 : run_.map.pkey_mprotect(u(0), u(1), i32(2), i32(3));
      fetch_range_ = {};
      if (result == 0 && (i32(2) & PROT_EXEC) != 0) report_mapping(u(0), u(1));
      return {result};
    }
    case SYS_madvise: {
      const long result = run_.map.madvise(u(0), u(1), i32(2));
      const bool large = i32(2) == MADV_HUGEPAGE;
      if (result == 0 && (large || i32(2) == MADV_NOHUGEPAGE)) accountant_.core.large_pages(u(0), u(1), large);
      return {result};
    }
    case SYS_msync: return {run_.map.msync(u(0), u(1), i32(2))};
    case SYS_brk: {
      const std::uint64_t before = run_.map.brk_end();
      const long result = run_.map.brk(u(0));
      if (run_.map.brk_end() < before) accountant_.core.unmapped(run_.map.brk_end(), before - run_.map.brk_end());
      const std::uint64_t grown = page_up(before);  // the kernel tells perf of new pages, too
      if (run_.map.brk_end() > grown) report_mapping(grown, run_.map.brk_end() - grown);
      return {result};
    }
    case SYS_shmat: return {run_.map.shmat(i32(0), u(1), i32(2))};
    case SYS_shmdt: {
      const GuestMapping* const attached = run_.map.find(u(0));
      const AddressRange range = attached == nullptr ? AddressRange{} : attached->range();
      const long result = run_.map.shmdt(u(0));
      if (result == 0) accountant_.core.unmapped(range.start, range.size());
      return {result};
    }
    case SYS_remap_file_pages: return {run_.map.remap_file_pages(u(0), u(1), i32(2), u(3), i32(4))};

    // --- signals
    case SYS_rt_sigaction: return {sys_rt_sigaction(i32(0), u(1), u(2), u(3))};
    case SYS_rt_sigprocmask: {
      const long result = sys_rt_sigprocmask(i32(0), u(1), u(2), u(3));
      if (result == kInterruptedBeforeStart) return {result};
      run_.gpr(kRax) = static_cast<std::uint64_t>(result);
      deliver_sent();
      return {result, false};
    }
    case SYS_sigaltstack: return {sys_sigaltstack(u(0), u(1))};
    case SYS_rt_sigreturn: sys_rt_sigreturn(); return {0, false};
    case SYS_rt_sigsuspend:
    case SYS_ppoll:
    case SYS_pselect6:
    case SYS_epoll_pwait:
    case SYS_epoll_pwait2: {
      // The kernel swaps the mask for the time of the call; a handler's mask builds on the swapped one.
      std::uint64_t mask_at = 0;
      if (number == SYS_rt_sigsuspend)
        mask_at = u(0);
      else if (number == SYS_ppoll)
        mask_at = u(3);
      else if (number == SYS_pselect6)
        mask_at = u(5) == 0 ? 0 : read_guest_value<std::uint64_t>(u(5)).value_or(0);
      else
        mask_at = u(4);
      const auto mask = mask_at == 0 ? std::nullopt : read_guest_value<std::uint64_t>(mask_at);
      Thread& thread = *run_.thread;
      const long result = pass_on(number, a);
      if (mask && result != kInterruptedBeforeStart && thread.pending.load(std::memory_order_acquire) != 0) {
        thread.has_temporary_mask = true;
        thread.temporary_mask = *mask;
      }
      return {result};
    }

    // --- threads and processes
    case SYS_clone: return {sys_clone(u(0), u(1), u(2), u(3), u(4))};
    case SYS_clone3: return {sys_clone3(u(0), u(1))};
    case SYS_fork: return {sys_clone(SIGCHLD, 0, 0, 0, 0)};
    case SYS_vfork: return {sys_clone(CLONE_VM | CLONE_VFORK | SIGCHLD, 0, 0, 0, 0)};
    case SYS_execve: return {sys_execve(AT_FDCWD, u(0), u(1), u(2), 0)};
    case SYS_execveat: return {sys_execve(i32(0), u(1), u(2), u(3), i32(4))};
    case SYS_exit: exit_thread(i32(0));
    case SYS_exit_group: exit_process(i32(0));
    case SYS_rseq: return {-ENOSYS};
    case SYS_futex:
      if (const auto answer = sys_futex(a)) return {*answer};
      return {pass_on(number, a)};
    case kFutexWaitv:  // would wait where the engine's wakes do not come
    case kFutexWake:
    case kFutexWait:
    case kFutexRequeue: return {-ENOSYS};
    case SYS_sched_getaffinity:
    case SYS_sched_setaffinity: let_go_of_processors(); return {pass_on(number, a)};
    case SYS_sched_yield:
      if (run_.lock.contended()) yield();
      return {0};
    case SYS_arch_prctl: return {sys_arch_prctl(a)};
    case SYS_prctl: return {sys_prctl(a)};
    case SYS_ptrace: {
      if (const auto answer = tracing_.ptrace(a)) return {*answer};
      const long result = pass_on(number, a);
      if (a[0] == PTRACE_TRACEME && result == 0) run_.thread->process->traced = true;
      return {result};
    }
    case SYS_wait4:
    case SYS_waitid:
      if (const auto answer = tracing_.wait(number, a)) return {*answer};
      return {pass_on(number, a)};
    case SYS_seccomp:
      if (i32(0) != kSeccompGetActionAvail && i32(0) != kSeccompGetNotifSizes) {
        run_.observer().notice(
            "seccomp filters are not supported under translation: the program's request was answered EINVAL");
        return {-EINVAL};
      }
      return {pass_on(number, a)};
    case SYS_getdents64: return {sys_getdents64(a)};
    case SYS_perf_event_open: return {sys_perf_event_open(a)};
    case SYS_mlockall: return {run_.map.mlockall(i32(0))};
    case SYS_munlockall: return {run_.map.munlockall()};
    case SYS_getrlimit:
    case SYS_setrlimit:
    case SYS_prlimit64: return {sys_limits(number, a)};
    case SYS_getrandom:
      // Callers that accept weaker bytes (hash seeds, heap keys) get repeatable ones; keys are the kernel's business.
      if (run_.config.virtual_time || (u(2) & (GRND_NONBLOCK | GRND_INSECURE)) != 0)
        return {write_random(u(0), std::min<std::uint64_t>(u(1), 256))};
      return {pass_on(number, a)};
    default: break;
  }
  if (const auto answer = proc_syscall(number, a)) return {*answer};
  if (const auto answer = descriptor_syscall(number, a)) return {*answer};
  if (run_.config.virtual_time) {
    if (const auto answer = virtual_syscall(number, a)) return {*answer};
  }
  return {pass_on(number, a)};
}

// Of the limits on memory the program has its own (MemoryLimits). That of its stack is the kernel's, too.
long Runtime::sys_limits(long number, const long (&a)[6]) {
  const bool by_id = number == SYS_prlimit64;
  const bool own = !by_id || a[0] == 0 || a[0] == run_.thread->process->pid;
  const int resource = static_cast<int>(by_id ? a[1] : a[0]);
  const auto given = static_cast<std::uint64_t>(by_id ? a[2] : number == SYS_setrlimit ? a[1] : 0);
  const auto old = static_cast<std::uint64_t>(by_id ? a[3] : number == SYS_getrlimit ? a[1] : 0);
  if (!own || !MemoryLimits::covers(resource)) {
    const long result = pass_on(number, a);
    if (result == 0 && own && resource == RLIMIT_STACK && given != 0) {
      if (const auto limit = read_guest_value<std::uint64_t>(given)) run_.map.set_stack_limit(*limit);
    }
    return result;
  }
  MemoryLimits& limits = run_.thread->process->limits;
  const rlimit before = limits.of(resource);
  if (given != 0) {
    const auto wanted = read_guest_value<rlimit>(given);
    if (!wanted) return -EFAULT;
    if (const long result = limits.set(resource, *wanted); result != 0) return result;
  }
  return old == 0 || run_.write(old, &before, sizeof before) == sizeof before ? 0 : -EFAULT;
}

long Runtime::sys_arch_prctl(const long (&a)[6]) {
  const auto address = static_cast<std::uint64_t>(a[1]);
  switch (static_cast<int>(a[0])) {
    case ARCH_SET_FS:
      if (address >= kTaskSize) return -EPERM;
      set_fs_base(address);
      return 0;
    case ARCH_SET_GS:
      if (address >= kTaskSize) return -EPERM;
      run_.context.gs_base = address;
      return 0;
    // As where the processor cannot do it: the engine itself asks what the processor is.
    case kArchSetCpuid:
      if (address != 0) return pass_on(SYS_arch_prctl, a);
      run_.observer().notice(
          "CPUID that faults is not supported under translation: the program's arch_prctl(ARCH_SET_CPUID) was answered "
          "ENODEV");
      return -ENODEV;
    case ARCH_GET_FS: return run_.write(address, &run_.context.fs_base, 8) == 8 ? 0 : -EFAULT;
    case ARCH_GET_GS: return run_.write(address, &run_.context.gs_base, 8) == 8 ? 0 : -EFAULT;
    default: return pass_on(SYS_arch_prctl, a);
  }
}

// Programs linked before 2011 call three addresses that the kernel keeps for them and answers itself, without an instruction of the
// program's. Not where the kernel has none.
// source: Linux, arch/x86/entry/vsyscall/vsyscall_64.c
bool Runtime::call_vsyscall(std::uint64_t pc) {
  constexpr std::uint64_t kPage = 0xFFFF'FFFF'FF60'0000;
  constexpr struct {
    std::uint64_t at;
    long number;
  } kCalls[] = {{kPage, SYS_gettimeofday}, {kPage + 0x400, SYS_time}, {kPage + 0x800, SYS_getcpu}};
  const auto* const found = std::ranges::find(kCalls, pc, [](const auto& call) { return call.at; });
  if (found == std::end(kCalls) || !has_vsyscalls()) return false;
  const auto back = read_guest_value<std::uint64_t>(run_.gpr(kRsp));
  if (!back) return false;
  const long arguments[6] = {static_cast<long>(run_.gpr(kRdi)), static_cast<long>(run_.gpr(kRsi)),
                             found->number == SYS_getcpu ? 0 : static_cast<long>(run_.gpr(kRdx))};
  const Outcome outcome = do_syscall(found->number, arguments);
  if (outcome.result == kInterruptedBeforeStart) return true;  // a signal's handler runs first, then the call
  if (outcome.result == -EFAULT) return false;
  run_.gpr(kRax) = static_cast<std::uint64_t>(outcome.result);
  run_.gpr(kRsp) += sizeof *back;
  run_.thread->pc = *back;
  return true;
}

// The program measures itself. Events of hardware would count the engine's instructions too, so they are not there, as in a virtual machine
// without a PMU; what the kernel counts is the program's.
long Runtime::sys_perf_event_open(const long (&a)[6]) {
  const auto type = read_guest_value<std::uint32_t>(static_cast<std::uint64_t>(a[0]));
  const bool by_kernel = type && (*type == PERF_TYPE_SOFTWARE || *type == PERF_TYPE_TRACEPOINT);
  if (!type || by_kernel) return pass_on(SYS_perf_event_open, a);
  if (*type == PERF_TYPE_BREAKPOINT) {
    // Code is not where the program has it.
    perf_event_attr attr{};
    if (read_guest(static_cast<std::uint64_t>(a[0]), &attr, PERF_ATTR_SIZE_VER1) != PERF_ATTR_SIZE_VER1) return -EFAULT;
    if ((attr.bp_type & HW_BREAKPOINT_X) == 0) return pass_on(SYS_perf_event_open, a);
  }
  if (!std::exchange(told_of_perf_events_, true)) {
    run_.observer().notice(
        "the program asked the kernel for hardware events (perf_event_open) and was answered ENOENT, as in a virtual "
        "machine without a PMU");
  }
  return -ENOENT;
}

long Runtime::sys_prctl(const long (&a)[6]) {
  switch (static_cast<int>(a[0])) {
    case PR_SET_NAME: {
      const long result = pass_on(SYS_prctl, a);
      char name[17] = "";
      read_guest(static_cast<std::uint64_t>(a[1]), name, 16);
      name[15] = 0;
      if (result == 0) run_.observer().renamed(run_.shown(), name, false);
      return result;
    }
    case PR_SET_SECCOMP:
      run_.observer().notice(
          "seccomp is not supported under translation: the program's prctl(PR_SET_SECCOMP) was answered EINVAL");
      return -EINVAL;
    // The engine itself asks the processor for the time.
    case PR_SET_TSC:
      if (static_cast<int>(a[1]) != PR_TSC_SIGSEGV) return pass_on(SYS_prctl, a);
      run_.observer().notice(
          "RDTSC that faults is not supported under translation: the program's prctl(PR_SET_TSC) was answered EINVAL");
      return -EINVAL;
    case PR_SET_MM: return -EPERM;
    case kSetSyscallUserDispatch: return -EINVAL;
    default: return pass_on(SYS_prctl, a);
  }
}

// What a program that is not followed must not inherit.
void Runtime::close_own_descriptors_on_exec(bool close) const {
  for (int fd = run_.config.first_private_fd; fd < run_.config.first_private_fd + kPrivateDescriptors; ++fd)
    raw_syscall(SYS_fcntl, fd, F_SETFD, close ? FD_CLOEXEC : 0);
}

long Runtime::sys_execve(int dirfd, std::uint64_t path, std::uint64_t argv, std::uint64_t envp, int flags) {
  Thread& thread = *run_.thread;
  ExecRequest request;
  request.dirfd = dirfd;
  request.path = path;
  request.argv = argv;
  request.envp = envp;
  request.flags = flags;
  request.pid = run_.ids.shown(thread.process->pid);
  request.own_exe = run_.program.exe_path;
  const ExecDecision decision = check_exec(request);
  if (decision.kind == ExecDecision::Kind::Fail) return decision.error;
  run_.lock.let_go(thread);  // it would be inherited
  const bool traced = is_traced();
  const bool follow = decision.kind == ExecDecision::Kind::Follow && !traced && thread.process->recorded &&
                      !run_.config.exec_prefix.empty();
  if (!follow) {
    run_.observer().notice("not followed: " + decision.resolved_path + ": " +
                           (traced ? "it is traced by another program" : decision.reason));
  }
  std::vector<std::string> words;
  if (follow) {
    words = run_.config.exec_prefix;
    char mask[24];
    std::snprintf(mask, sizeof mask, "%llx", static_cast<unsigned long long>(thread.mask));
    words.push_back("--signal-mask");
    words.push_back(mask);
    words.push_back("--random-seed");
    words.push_back(std::to_string(clock_.random()));
    if (decision.exec_name != decision.load_path) {
      words.push_back("--exec-name");
      words.push_back(decision.exec_name);
    }
    words.push_back(decision.load_path);
  }
  words.insert(words.end(), decision.argv.begin(), decision.argv.end());
  std::vector<std::string> variables = decision.envp;
  if (follow) std::transform(variables.begin(), variables.end(), variables.begin(), held);
  std::vector<const char*> arguments, environment;
  for (const auto& word : words) arguments.push_back(word.c_str());
  arguments.push_back(nullptr);
  for (const auto& variable : variables) environment.push_back(variable.c_str());
  environment.push_back(nullptr);

  keep_translations();
  end_all_threads();
  queue_signals_for_next_image();
  // The new image inherits what the program ignores. Signals are held: they wait in the kernel for the followed image, which
  // opens the gate itself. A native one needs the program's mask now; nobody is here to take a signal any more, so it does
  // what it would do to the new image.
  for (int signal = 1; signal <= kSignals; ++signal) {
    if (signal == SIGKILL || signal == SIGSTOP) continue;
    KernelSigaction inherited;
    inherited.handler = thread.process->actions[signal].handler == 1 ? 1 : 0;
    if (inherited.handler == 1 || !follow) raw_syscall(SYS_rt_sigaction, signal, &inherited, nullptr, 8);
  }
  if (!follow) {
    turns_.end(std::exchange(thread.process->seat, 0), 0);
    raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, &thread.mask, nullptr, 8);
    close_own_descriptors_on_exec(true);
  }
  thread.process->limits.put_back();
  // A vfork child takes the lock with it into the new image unless it gives it up.
  const bool borrowed = thread.process->vfork_child;
  if (borrowed) give_up_lock();
  // A program that is not followed gets what the caller gave; a tracer sees the call that was made.
  const auto* program_path = reinterpret_cast<const char*>(path);
  const long result = follow ? raw_syscall(SYS_execve, words[0].c_str(), arguments.data(), environment.data())
                      : dirfd == AT_FDCWD && flags == 0
                          ? raw_syscall(SYS_execve, program_path, argv, envp)
                          : raw_syscall(SYS_execveat, dirfd, program_path, argv, envp, flags);
  // Still here: as if nothing had happened.
  thread.process->limits.lift();
  const std::uint64_t everything = ~std::uint64_t{0};
  if (!follow) {
    close_own_descriptors_on_exec(false);
    raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, &everything, nullptr, 8);
  }
  if (borrowed) {
    run_.lock.acquire(thread);
    load_context(thread);
  }
  for (int signal = 1; signal <= kSignals; ++signal) {
    if (signal != SIGKILL && signal != SIGSTOP) install(signal, thread.process->actions[signal]);
  }
  let_others_take_signals();
  announce_thread(thread);
  return result;
}

}  // namespace zs::engine

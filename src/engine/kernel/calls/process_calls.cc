#include <fcntl.h>
#include <linux/sched.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <time.h>

#include <optional>

#include "engine/kernel/calls/call_handlers.h"
#include "engine/kernel/guest_kernel.h"
#include "engine/kernel/threads/restartable_sequences.h"

namespace zs::engine::calls {
namespace {

/// none: the kernel's business
Outcome or_kernel(GuestKernel& kernel, const CallArguments& made, std::optional<long> answer) {
  return {answer ? *answer : kernel.host.call(made)};
}

}  // namespace

Outcome clone(GuestKernel& kernel, const CallArguments& made) {
  return {kernel.threads.clone({.flags = made.u(0) & UINT32_MAX,
                                .stack = made.u(1),
                                .parent_tid = made.u(2),
                                .child_tid = made.u(3),
                                .tls = made.u(4)})};
}

Outcome clone3(GuestKernel& kernel, const CallArguments& made) { return {kernel.threads.clone3(made.u(0), made.u(1))}; }

Outcome fork(GuestKernel& kernel, const CallArguments&) { return {kernel.threads.clone({.flags = SIGCHLD})}; }

Outcome vfork(GuestKernel& kernel, const CallArguments&) {
  return {kernel.threads.clone({.flags = CLONE_VM | CLONE_VFORK | SIGCHLD})};
}

Outcome execve(GuestKernel& kernel, const CallArguments& made) {
  return {kernel.exec.call({.dirfd = AT_FDCWD, .path = made.u(0), .argv = made.u(1), .envp = made.u(2)})};
}

Outcome execveat(GuestKernel& kernel, const CallArguments& made) {
  return {kernel.exec.call(
      {.dirfd = made.i32(0), .path = made.u(1), .argv = made.u(2), .envp = made.u(3), .flags = made.i32(4)})};
}

Outcome exit(GuestKernel& kernel, const CallArguments& made) { kernel.threads.exit_thread(made.i32(0)); }

Outcome exit_group(GuestKernel& kernel, const CallArguments& made) { kernel.threads.exit_process(made.i32(0)); }

Outcome set_tid_address(GuestKernel& kernel, const CallArguments& made) {
  Thread& thread = *kernel.run.thread;
  if (!thread.process->vfork_child) thread.clear_at = made.u(0);  // of the others the kernel does it
  return {kernel.host.call(made)};
}

Outcome futex(GuestKernel& kernel, const CallArguments& made) {
  Futexes& futexes = kernel.futexes;
  return or_kernel(kernel, made,
                   made.number == SYS_futex         ? futexes.call(made.a)
                   : made.number == SYS_futex_waitv ? futexes.wait_for_any(made.a)
                                                    : futexes.later_call(made));
}

Outcome nanosleep(GuestKernel& kernel, const CallArguments& made) {
  const bool by_clock = made.number == SYS_clock_nanosleep;
  const bool known = !by_clock || made.a[0] == CLOCK_REALTIME || made.a[0] == CLOCK_MONOTONIC ||
                     made.a[0] == CLOCK_BOOTTIME || made.a[0] == CLOCK_TAI;
  const bool absolute = by_clock && (made.a[1] & TIMER_ABSTIME) != 0;
  return or_kernel(kernel, made, known ? kernel.futexes.sleep(absolute ? 0 : made.u(by_clock ? 3 : 1)) : std::nullopt);
}

Outcome sched_affinity(GuestKernel& kernel, const CallArguments& made) {
  if (kernel.run.config.cpu_level != arch::CpuLevel::Host) return fixed_affinity(kernel, made);
  kernel.turns.let_go_of_processors();
  const long result = kernel.host.call(made);
  kernel.run.thread->interrupted = true;  // it may be on another one
  return {result};
}

Outcome sched_yield(GuestKernel& kernel, const CallArguments&) {
  if (kernel.run.lock.contended()) kernel.turns.yield();
  return {0};
}

Outcome rseq(GuestKernel& kernel, const CallArguments& made) {
  return {register_sequences(kernel.run, made.u(0), static_cast<std::uint32_t>(made.u(1)), made.i32(2),
                             static_cast<std::uint32_t>(made.u(3)))};
}

Outcome ptrace(GuestKernel& kernel, const CallArguments& made) {
  if (const auto answer = kernel.tracing.ptrace(made.a)) return {*answer};
  if ((made.a[0] == PTRACE_ATTACH || made.a[0] == PTRACE_SEIZE) && !kernel.native_rest.ask(made.i32(1)))
    return {-EPERM};
  const long result = kernel.host.call(made);
  if (made.a[0] == PTRACE_TRACEME && result == 0) {
    kernel.run.thread->process->traced = true;
    kernel.native_rest.want();
  }
  return {result};
}

Outcome wait(GuestKernel& kernel, const CallArguments& made) {
  return or_kernel(kernel, made, kernel.tracing.wait(made.number, made.a));
}

}  // namespace zs::engine::calls

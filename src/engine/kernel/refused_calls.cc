// Calls that would show the engine or break it. What is refused is told, where a program could wonder.

#include <asm/prctl.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/syscall.h>

#include <algorithm>
#include <utility>

#include "engine/kernel/call_handlers.h"
#include "engine/kernel/guest_kernel.h"
#include "engine/memory/guest_access.h"

namespace zs::engine::calls {
namespace {

// Linux, uapi/linux/seccomp.h, uapi/linux/prctl.h, uapi/asm/prctl.h: not in every libc's headers.
constexpr int kSeccompGetActionAvail = 2, kSeccompGetNotifSizes = 3;
constexpr int kSetSyscallUserDispatch = 59, kSyscallDispatchOff = 0, kArchSetCpuid = 0x1012;

}  // namespace

Outcome no_such_call(GuestKernel&, const CallArguments&) { return {-ENOSYS}; }

Outcome arch_prctl(GuestKernel& kernel, const CallArguments& made) {
  Run& run = kernel.run;
  const std::uint64_t address = made.u(1);
  switch (made.i32(0)) {
    case ARCH_SET_FS:
      if (address >= kTaskSize) return {-EPERM};
      run.set_fs_base(address);
      run.context.fs_selector = 0;
      return {0};
    case ARCH_SET_GS:
      if (address >= kTaskSize) return {-EPERM};
      run.context.gs_base = address;
      run.context.gs_selector = 0;
      return {0};
    // As where the processor cannot do it: the engine itself asks what the processor is.
    case kArchSetCpuid:
      if (address != 0) return {kernel.host.call(made)};
      run.observer().notice(
          "CPUID that faults is not supported under translation: the program's arch_prctl(ARCH_SET_CPUID) was answered "
          "ENODEV");
      return {-ENODEV};
    case ARCH_GET_FS: return {run.write(address, &run.context.fs_base, 8) == 8 ? 0 : -EFAULT};
    case ARCH_GET_GS: return {run.write(address, &run.context.gs_base, 8) == 8 ? 0 : -EFAULT};
    default: return {kernel.host.call(made)};
  }
}

Outcome prctl(GuestKernel& kernel, const CallArguments& made) {
  switch (made.i32(0)) {
    case PR_SET_NAME: {
      const long result = kernel.host.call(made);
      char name[17] = "";
      read_guest(made.u(1), name, 16);
      name[15] = 0;
      if (result == 0) kernel.run.observer().renamed(kernel.run.shown(), name, false);
      return {result};
    }
    case PR_SET_SECCOMP:
      kernel.run.observer().notice(
          "seccomp is not supported under translation: the program's prctl(PR_SET_SECCOMP) was answered EINVAL");
      return {-EINVAL};
    // The engine itself asks the processor for the time.
    case PR_SET_TSC:
      if (made.i32(1) != PR_TSC_SIGSEGV) return {kernel.host.call(made)};
      kernel.run.observer().notice(
          "RDTSC that faults is not supported under translation: the program's prctl(PR_SET_TSC) was answered EINVAL");
      return {-EINVAL};
    case PR_SET_MM: return {-EPERM};
    // The kernel would turn away the engine's calls with the program's.
    case kSetSyscallUserDispatch:
      if (made.u(1) == kSyscallDispatchOff) return {kernel.host.call(made)};
      kernel.run.observer().notice(
          "syscall user dispatch is not supported under translation: the program's "
          "prctl(PR_SET_SYSCALL_USER_DISPATCH) was answered EINVAL");
      return {-EINVAL};
    default: return {kernel.host.call(made)};
  }
}

Outcome seccomp(GuestKernel& kernel, const CallArguments& made) {
  if (made.i32(0) == kSeccompGetActionAvail || made.i32(0) == kSeccompGetNotifSizes) return {kernel.host.call(made)};
  kernel.run.observer().notice(
      "seccomp filters are not supported under translation: the program's request was answered EINVAL");
  return {-EINVAL};
}

// The program measures itself. Events of hardware would count the engine's instructions too, so they are not there, as
// in a virtual machine without a PMU; what the kernel counts is the program's.
Outcome perf_event_open(GuestKernel& kernel, const CallArguments& made) {
  const auto type = read_guest_value<std::uint32_t>(made.u(0));
  const bool by_kernel = type && (*type == PERF_TYPE_SOFTWARE || *type == PERF_TYPE_TRACEPOINT);
  if (!type || by_kernel) return {kernel.host.call(made)};
  if (*type == PERF_TYPE_BREAKPOINT) {
    // Code is not where the program has it.
    perf_event_attr attr{};
    if (read_guest(made.u(0), &attr, PERF_ATTR_SIZE_VER1) != PERF_ATTR_SIZE_VER1) return {-EFAULT};
    if ((attr.bp_type & HW_BREAKPOINT_X) == 0) return {kernel.host.call(made)};
  }
  if (!std::exchange(kernel.told_of_perf_events, true)) {
    kernel.run.observer().notice(
        "the program asked the kernel for hardware events (perf_event_open) and was answered ENOENT, as in a virtual "
        "machine without a PMU");
  }
  return {-ENOENT};
}

Outcome getdents64(GuestKernel& kernel, const CallArguments& made) { return {kernel.proc.list_folder(made.a)}; }

// Callers that accept weaker bytes (hash seeds, heap keys) get repeatable ones; keys are the kernel's business.
Outcome getrandom(GuestKernel& kernel, const CallArguments& made) {
  constexpr std::uint64_t kMost = 0x7FFF'F000;  // that one call transfers (MAX_RW_COUNT)
  const std::uint32_t flags = static_cast<std::uint32_t>(made.u(2));
  const bool wrong = (flags & ~(GRND_NONBLOCK | GRND_RANDOM | GRND_INSECURE)) != 0 ||
                     (flags & (GRND_RANDOM | GRND_INSECURE)) == (GRND_RANDOM | GRND_INSECURE);
  const bool weak = (flags & (GRND_NONBLOCK | GRND_INSECURE)) != 0;
  if (wrong || (!weak && !kernel.run.config.virtual_time)) return {kernel.host.call(made)};
  return {kernel.virtual_answers.write_random(made.u(0), std::min(made.u(1), kMost))};
}

}  // namespace zs::engine::calls

// Calls that would show the engine or break it. What is refused is told, where a program could wonder.

#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <sys/random.h>
#include <sys/syscall.h>

#include <algorithm>
#include <utility>

#include "engine/kernel/call_handlers.h"
#include "engine/kernel/guest_kernel.h"
#include "engine/memory/guest_access.h"

namespace zs::engine::calls {

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

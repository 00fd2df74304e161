#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>

#include <utility>

#include "engine/kernel/calls/call_handlers.h"
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

}  // namespace zs::engine::calls

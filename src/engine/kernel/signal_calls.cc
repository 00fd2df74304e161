#include <sys/syscall.h>

#include <optional>

#include "engine/kernel/call_handlers.h"
#include "engine/kernel/guest_kernel.h"
#include "engine/kernel/syscall_window.h"
#include "engine/memory/guest_access.h"

namespace zs::engine::calls {
namespace {

// The kernel swaps the mask for the time of the call; a handler's mask builds on the swapped one, which lies at
// `mask_at`; 0: none.
Outcome wait_with_mask(GuestKernel& kernel, const CallArguments& made, std::uint64_t mask_at) {
  const auto mask = mask_at == 0 ? std::nullopt : read_guest_value<std::uint64_t>(mask_at);
  Thread& thread = *kernel.run.thread;
  const long result = kernel.host.call(made);
  if (mask && result != kInterruptedBeforeStart && thread.pending.load(std::memory_order_acquire) != 0) {
    thread.has_temporary_mask = true;
    thread.temporary_mask = *mask;
  }
  return {result};
}

}  // namespace

Outcome rt_sigaction(GuestKernel& kernel, const CallArguments& made) {
  return {kernel.signals.set_action(made.i32(0), made.u(1), made.u(2), made.u(3))};
}

Outcome rt_sigprocmask(GuestKernel& kernel, const CallArguments& made) {
  const long result = kernel.signals.set_mask(made.i32(0), made.u(1), made.u(2), made.u(3));
  if (result == kInterruptedBeforeStart) return {result};
  kernel.run.gpr(kRax) = static_cast<std::uint64_t>(result);
  kernel.signals.deliver_sent();
  return {result, false};
}

Outcome rt_sigreturn(GuestKernel& kernel, const CallArguments&) {
  kernel.signals.return_from_handler();
  return {0, false};
}

Outcome sigaltstack(GuestKernel& kernel, const CallArguments& made) {
  return {kernel.frames.set_alternate(made.u(0), made.u(1))};
}

Outcome rt_sigsuspend(GuestKernel& kernel, const CallArguments& made) {
  return wait_with_mask(kernel, made, made.u(0));
}

Outcome ppoll(GuestKernel& kernel, const CallArguments& made) { return wait_with_mask(kernel, made, made.u(3)); }

Outcome pselect6(GuestKernel& kernel, const CallArguments& made) {
  return wait_with_mask(kernel, made, made.u(5) == 0 ? 0 : read_guest_value<std::uint64_t>(made.u(5)).value_or(0));
}

Outcome epoll_pwait(GuestKernel& kernel, const CallArguments& made) { return wait_with_mask(kernel, made, made.u(4)); }

}  // namespace zs::engine::calls

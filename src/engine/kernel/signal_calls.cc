#include <linux/io_uring.h>
#include <sys/syscall.h>

#include <optional>

#include "engine/kernel/call_handlers.h"
#include "engine/kernel/call_table.h"
#include "engine/kernel/guest_kernel.h"
#include "engine/kernel/syscall_window.h"
#include "engine/memory/guest_access.h"

namespace zs::engine::calls {
namespace {

/// The mask that the kernel sets while `made` waits. None: it sets none, or answers that it cannot.
std::optional<std::uint64_t> mask_given(const CallArguments& made) {
  const MaskInCall& given = call_of(made.number).mask;
  struct PointerAndSize {
    std::uint64_t at = 0, size = 0;
  } mask{.at = made.u(given.argument)};
  const auto pair = [&] { return read_guest_value<PointerAndSize>(mask.at).value_or(PointerAndSize{}); };
  switch (given.form) {
    case MaskInCall::Form::None: return std::nullopt;
    case MaskInCall::Form::Direct: mask.size = made.u(given.argument + 1); break;
    case MaskInCall::Form::Pair: mask = pair(); break;
    case MaskInCall::Form::Ring: {
      const std::uint64_t flags = made.u(given.argument - 1);
      if ((flags & IORING_ENTER_GETEVENTS) == 0) return std::nullopt;
      mask.size = made.u(given.argument + 1);
      if ((flags & IORING_ENTER_EXT_ARG) != 0) mask = pair();  // io_uring_getevents_arg begins so
      mask.size = static_cast<std::uint32_t>(mask.size);
      break;
    }
  }
  std::uint64_t value;
  if (mask.at == 0 || mask.size != sizeof value || read_guest(mask.at, &value, sizeof value) != sizeof value)
    return std::nullopt;
  return value;
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

Outcome rt_sigpending(GuestKernel& kernel, const CallArguments& made) {
  const long result = kernel.host.call(made);
  std::uint64_t waiting = 0;
  if (result != 0 || kernel.run.read(made.u(0), &waiting, made.u(1)) != made.u(1)) return {result};
  waiting |= kernel.run.thread->sent.load();
  kernel.run.write(made.u(0), &waiting, made.u(1));
  return {result};
}

Outcome sigaltstack(GuestKernel& kernel, const CallArguments& made) {
  return {kernel.frames.set_alternate(made.u(0), made.u(1))};
}

Outcome masked_wait(GuestKernel& kernel, const CallArguments& made) {
  const auto mask = mask_given(made);
  if (!mask) return {kernel.host.call(made)};
  const bool with_any_result = call_of(made.number).mask.with_any_result;
  return {kernel.signals.wait_with_mask(*mask, with_any_result, [&] { return kernel.host.call(made); })};
}

}  // namespace zs::engine::calls

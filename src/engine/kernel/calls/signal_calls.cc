#include <linux/io_uring.h>
#include <sys/syscall.h>

#include <optional>

#include "engine/kernel/calls/call_handlers.h"
#include "engine/kernel/calls/call_table.h"
#include "engine/kernel/guest_kernel.h"
#include "engine/kernel/threads/syscall_window.h"
#include "engine/memory/guest_access.h"
#include "engine/raw_syscall.h"

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

Outcome rt_sigtimedwait(GuestKernel& kernel, const CallArguments& made) {
  const auto set = made.u(3) == sizeof(std::uint64_t) ? read_guest_value<std::uint64_t>(made.u(0)) : std::nullopt;
  if (!set) return {kernel.host.call(made)};
  return {kernel.signals.take_one_of(*set, [&](const std::uint64_t& taken) {
    const long changed[6] = {reinterpret_cast<long>(&taken), made.a[1], made.a[2], made.a[3], made.a[4], made.a[5]};
    return kernel.host.call({made.number, changed});
  })};
}

Outcome send_signal(GuestKernel& kernel, const CallArguments& made) {
  const long result = kernel.host.call(made);
  if (result != 0) return {result};
  const bool to_thread = made.number != SYS_kill && made.number != SYS_rt_sigqueueinfo;
  const bool names_both = made.number == SYS_tgkill || made.number == SYS_rt_tgsigqueueinfo;
  const std::int32_t to = made.i32(names_both ? 1 : 0), own = kernel.run.thread->process->pid;
  const bool to_own_group = !to_thread && to <= 0 && to != -1 && (to == 0 || -to == raw_syscall(SYS_getpgid, 0));
  const int signal = made.i32(names_both ? 2 : 1);
  kernel.signals.end_by(signal, to_own_group ? own : to, to_thread);
  // It was stopped, which is when debuggers come.
  if (signal == SIGSTOP && is_traced()) kernel.native_rest.want();
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

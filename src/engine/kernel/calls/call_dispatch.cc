#include "engine/kernel/calls/call_dispatch.h"

#include <sys/syscall.h>

#include <cerrno>

#include "engine/kernel/calls/call_handlers.h"
#include "engine/kernel/calls/seccomp.h"
#include "engine/kernel/guest_kernel.h"
#include "engine/memory/guest_access.h"
#include "engine/raw_syscall.h"

namespace zs::engine {
namespace {

constexpr char kAllow = 0, kBlock = 1;             // of the byte
constexpr std::uint64_t kOff = 0, kInclusive = 2;  // inclusive: from Linux 6.18 on, the calls in the range

}  // namespace

std::optional<Outcome> dispatched(GuestKernel& kernel, const seccomp_data& call, const std::function<void()>& retire) {
  const CallDispatch& dispatch = kernel.run.thread->dispatch;
  if (call.instruction_pointer - dispatch.from < dispatch.size) return std::nullopt;
  if (dispatch.selector != 0) {
    const auto byte = read_guest_value<char>(dispatch.selector);
    if (byte && *byte == kAllow) return std::nullopt;
    if (!byte || *byte != kBlock) {
      siginfo_t info{};
      info.si_signo = byte ? SIGSYS : SIGSEGV;
      retire();
      kernel.signals.die_of(info.si_signo, info);
    }
  }
  constexpr int kByDispatch = 2;
  kernel.signals.force(SIGSYS, told_of_call(call, kByDispatch));
  return Outcome{0, false};
}

namespace calls {

Outcome set_dispatch(GuestKernel& kernel, const CallArguments& made) {
  const std::uint64_t mode = made.u(1), from = made.u(2), size = made.u(3), selector = made.u(4);
  // The kernel checks it, with a byte that lets the engine's calls pass.
  static constexpr char passes = kAllow;
  const bool given = selector != 0 || mode != kOff;
  const long result = raw_syscall(SYS_prctl, made.u(0), mode, from, size, given ? &passes : nullptr);
  if (result != 0) return {result};
  raw_syscall(SYS_prctl, made.u(0), kOff, 0, 0, 0);
  if (selector >= kTaskSize) return {-EFAULT};
  const bool inclusive = mode == kInclusive;
  kernel.run.thread->dispatch = {mode != kOff, inclusive ? from + size : from, inclusive ? 0 - size : size, selector};
  return {0};
}

}  // namespace calls
}  // namespace zs::engine

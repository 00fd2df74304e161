// Calls that read a clock, and what else tells of where and when the program runs. Under --virtual-time they are
// answered from what the program did.
//
// A system call costs a microsecond or more, reading a clock in the kernel's vdso a twentieth. The program is not given
// the vdso itself (but with --vdso): how many instructions it executes there depends on the kernel, and on the time. So
// its library makes system calls, which are always the same instructions, and the engine reads the clock for it.

#include <sys/time.h>
#include <sys/times.h>
#include <time.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "engine/kernel/calls/call_handlers.h"
#include "engine/kernel/guest_kernel.h"

namespace zs::engine::calls {
namespace {

bool is_in_vdso(long clock) {
  constexpr unsigned kClocks = 1u << CLOCK_REALTIME | 1u << CLOCK_MONOTONIC | 1u << CLOCK_MONOTONIC_RAW |
                               1u << CLOCK_REALTIME_COARSE | 1u << CLOCK_MONOTONIC_COARSE | 1u << CLOCK_BOOTTIME |
                               1u << CLOCK_TAI;
  return clock >= 0 && clock <= CLOCK_TAI && (kClocks >> clock & 1u) != 0;
}

template <typename T>
long put(GuestKernel& kernel, std::uint64_t address, const T& value) {
  return kernel.run.write(address, &value, sizeof value) == sizeof value ? 0 : -EFAULT;
}

template <typename T>
long put_if_wanted(GuestKernel& kernel, std::uint64_t address, const T& value) {
  return address == 0 ? 0 : put(kernel, address, value);
}

}  // namespace

// glibc's functions read the vdso, where there is one.
Outcome clock_gettime(GuestKernel& kernel, const CallArguments& made) {
  const long clock = made.a[0];
  const auto id = static_cast<clockid_t>(clock);
  const bool is_virtual = kernel.run.config.virtual_time;
  if (is_virtual && clock >= 0 && clock <= CLOCK_TAI)
    return {put(kernel, made.u(1), timespec_of(shown_by(id, kernel.clock.look())))};
  timespec now{};
  if (!is_virtual && is_in_vdso(clock) && ::clock_gettime(id, &now) == 0) return {put(kernel, made.u(1), now)};
  const long result = kernel.host.call(made);
  constexpr long kKind = 7, kDevice = 3;  // source: Linux, posix-timers.h, CPUCLOCK_CLOCK_MASK, CLOCKFD
  if (is_virtual && result == 0 && clock < 0 && (clock & kKind) != kDevice)
    put(kernel, made.u(1), timespec_of(static_cast<std::int64_t>(kernel.clock.look())));
  return {result};
}

Outcome gettimeofday(GuestKernel& kernel, const CallArguments& made) {
  if (kernel.run.config.virtual_time) {
    const TwoWords now = timespec_of(shown_by(CLOCK_REALTIME, kernel.clock.look()));
    return {put_if_wanted(kernel, made.u(0), TwoWords{now[0], now[1] / 1000})};
  }
  timeval now{};
  // Who wants the time zone asks the kernel.
  if (made.a[1] != 0 || ::gettimeofday(&now, nullptr) != 0) return {kernel.host.call(made)};
  return {put_if_wanted(kernel, made.u(0), now)};
}

Outcome time(GuestKernel& kernel, const CallArguments& made) {
  const bool is_virtual = kernel.run.config.virtual_time;
  const std::int64_t now = is_virtual ? shown_by(CLOCK_REALTIME, kernel.clock.look()) / kBillion : ::time(nullptr);
  return {put_if_wanted(kernel, made.u(0), now) == 0 ? now : -EFAULT};
}

Outcome times(GuestKernel& kernel, const CallArguments& made) {
  if (!kernel.run.config.virtual_time) return {kernel.host.call(made)};
  constexpr std::array<std::byte, sizeof(tms)> kNothing{};
  if (put_if_wanted(kernel, made.u(0), kNothing) != 0) return {-EFAULT};
  return {static_cast<long>(kernel.clock.look() / 10'000'000)};
}

Outcome getcpu(GuestKernel& kernel, const CallArguments& made) {
  if (!kernel.run.config.virtual_time) return {kernel.host.call(made)};
  constexpr std::uint32_t kFirst = 0;
  for (const int argument : {0, 1}) put_if_wanted(kernel, made.u(argument), kFirst);
  return {0};
}

}  // namespace zs::engine::calls

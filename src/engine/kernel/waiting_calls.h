// System calls that wait no longer than the program says, and how it says that.
#pragma once

#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <iterator>

namespace zs::engine {

/// timespec, or timeval.
using TwoWords = std::array<std::int64_t, 2>;

/// How a call says how long it may wait.
struct WaitingCall {
  enum class Unit : std::uint8_t { Milliseconds, Timeval, Timespec };
  long number;
  int limit;       // which argument
  Unit unit;       // of it, or of what it points at
  bool told;       // the kernel writes there how much was left
  long when_over;  // result of a call that waited for all of it
};

// clang-format off
inline constexpr WaitingCall kWaitingCalls[] = {
  // number              limit  unit                             told   when_over
    {SYS_poll,            2, WaitingCall::Unit::Milliseconds,    false, 0},
    {SYS_ppoll,           2, WaitingCall::Unit::Timespec,        true,  0},
    {SYS_select,          4, WaitingCall::Unit::Timeval,         true,  0},
    {SYS_pselect6,        4, WaitingCall::Unit::Timespec,        true,  0},
    {SYS_epoll_wait,      3, WaitingCall::Unit::Milliseconds,    false, 0},
    {SYS_epoll_pwait,     3, WaitingCall::Unit::Milliseconds,    false, 0},
    {SYS_epoll_pwait2,    3, WaitingCall::Unit::Timespec,        false, 0},
    {SYS_nanosleep,       0, WaitingCall::Unit::Timespec,        false, 0},
    {SYS_clock_nanosleep, 2, WaitingCall::Unit::Timespec,        false, 0},
    {SYS_futex,           3, WaitingCall::Unit::Timespec,        false, -ETIMEDOUT},
    {SYS_rt_sigtimedwait, 2, WaitingCall::Unit::Timespec,        false, -EAGAIN},
    {SYS_semtimedop,      3, WaitingCall::Unit::Timespec,        false, -EAGAIN},
};
// clang-format on

/// null: it is none of these.
inline const WaitingCall* waiting_call(long number) {
  const auto* const found = std::ranges::find(kWaitingCalls, number, &WaitingCall::number);
  return found == std::end(kWaitingCalls) ? nullptr : found;
}

}  // namespace zs::engine

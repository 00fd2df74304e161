#include "engine/kernel/clock_calls.h"

#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>

#include <cerrno>

namespace zs::engine {
namespace {

/// The others, of CPU time and of devices, the vdso asks of the kernel; where one is wrong, so does the kernel.
bool is_in_vdso(long clock) {
  constexpr unsigned kClocks = 1u << CLOCK_REALTIME | 1u << CLOCK_MONOTONIC | 1u << CLOCK_MONOTONIC_RAW |
                               1u << CLOCK_REALTIME_COARSE | 1u << CLOCK_MONOTONIC_COARSE | 1u << CLOCK_BOOTTIME |
                               1u << CLOCK_TAI;
  return clock >= 0 && clock <= CLOCK_TAI && (kClocks >> clock & 1u) != 0;
}

}  // namespace

// glibc's functions read the vdso, where there is one.
std::optional<long> answer_from_vdso(GuestMemory& memory, long number, const long (&a)[6]) {
  const auto out = [&](long address, const auto& value) {
    return memory.write(static_cast<std::uint64_t>(address), &value, sizeof value) == sizeof value ? 0L : long{-EFAULT};
  };
  switch (number) {
    case SYS_clock_gettime: {
      timespec now{};
      if (!is_in_vdso(a[0]) || ::clock_gettime(static_cast<clockid_t>(a[0]), &now) != 0) return std::nullopt;
      return out(a[1], now);
    }
    case SYS_gettimeofday: {
      timeval now{};
      if (a[1] != 0 || ::gettimeofday(&now, nullptr) != 0)
        return std::nullopt;  // who wants the time zone asks the kernel
      return a[0] == 0 ? 0 : out(a[0], now);
    }
    case SYS_time: {
      const time_t now = ::time(nullptr);
      if (a[0] != 0 && out(a[0], now) != 0) return -EFAULT;
      return now;
    }
    default: return std::nullopt;
  }
}

}  // namespace zs::engine

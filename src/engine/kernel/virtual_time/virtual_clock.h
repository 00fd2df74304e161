// --virtual-time: time as a function of what the program did, so that a run repeats exactly. Every look at a clock
// moves it on a little; sleeping moves it by the time slept. Not modelled: time spent computing between two looks
// beyond a fixed amount per look.
#pragma once

#include <sys/syscall.h>
#include <time.h>

#include <array>
#include <cstdint>

#include "base/splitmix.h"
#include "engine/raw_syscall.h"

namespace zs::engine {

/// timespec, or timeval.
using TwoWords = std::array<std::int64_t, 2>;

inline constexpr std::int64_t kBillion = 1'000'000'000;
constexpr TwoWords timespec_of(std::int64_t nanoseconds) { return {nanoseconds / kBillion, nanoseconds % kBillion}; }
constexpr bool is_timespec(const TwoWords& time) { return time[0] >= 0 && time[1] >= 0 && time[1] < kBillion; }

class VirtualClock {
 public:
  explicit VirtualClock(std::uint64_t seed) : random_(seed * 0x9E3779B97F4A7C15u + 1) {}
  /// Another stream of random numbers: of a child, so that it does not draw what its parent draws.
  void reseed(std::uint64_t seed) { random_ = seed; }

  /// Nanoseconds since the program's start, one look later.
  std::uint64_t look() { return now_ += kLookNanoseconds; }
  /// A wait is over: nobody sees an earlier time any more.
  void reach(std::uint64_t nanoseconds) { now_ = nanoseconds > now_ ? nanoseconds : now_; }
  std::uint64_t now() const { return now_; }
  /// A 2 GHz time-stamp counter.
  std::uint64_t tsc() { return look() * 2; }
  std::uint64_t random() { return splitmix64(random_); }

 private:
  static constexpr std::uint64_t kLookNanoseconds = 100;
  std::uint64_t now_ = 0;
  std::uint64_t random_;
};

inline std::int64_t host_time(clockid_t clock) {
  TwoWords now{};
  raw_syscall(SYS_clock_gettime, clock, now.data());
  return now[0] * kBillion + now[1];
}
/// What a clock of the run shows, in nanoseconds, when it has run for so long.
constexpr std::int64_t shown_by(clockid_t clock, std::uint64_t now) {
  constexpr std::int64_t kEpochSeconds = 1577836800;  // 2020-01-01 00:00:00 UTC
  const bool shows_date = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI;
  return static_cast<std::int64_t>(now) + (shows_date ? kEpochSeconds * kBillion : 0);
}

}  // namespace zs::engine

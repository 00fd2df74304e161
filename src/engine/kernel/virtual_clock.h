// --virtual-time: time as a function of what the program did, so that a run repeats exactly. Every look at a clock
// moves it on a little; sleeping moves it by the time slept. Not modelled: time spent computing between two looks
// beyond a fixed amount per look.
#pragma once

#include <cstdint>

#include "base/splitmix.h"

namespace zs::engine {

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
  /// What CLOCK_REALTIME shows at the program's start: 2020-01-01 00:00:00 UTC.
  static constexpr std::uint64_t kEpochSeconds = 1577836800;

 private:
  static constexpr std::uint64_t kLookNanoseconds = 100;
  std::uint64_t now_ = 0;
  std::uint64_t random_;
};

}  // namespace zs::engine

// The overshoot of a performance-monitoring interrupt: instructions that retire between the overflow and the handler
// that reads the counters. There is none here; a recording can ask for one, to see what a real machine's windows look
// like.
#pragma once

#include <array>
#include <cstdint>

#include "base/splitmix.h"

namespace zs::session {

class SkidSource {
 public:
  /// stream  so that threads of one seed differ
  SkidSource(std::uint64_t seed, std::uint64_t stream) : state_(seed * 0x9E37'79B9'7F4A'7C15 + stream) {}

  /// Instructions of the next overshoot.
  std::uint64_t next() {
    const std::uint64_t drawn = splitmix64(state_) >> 32;  // of 2^32
    const std::uint64_t piece = drawn >> 29;               // eighths of the distribution
    const std::uint64_t within = drawn & ((std::uint64_t{1} << 29) - 1);
    const std::uint64_t from = kEighths[piece];
    return from + (((kEighths[piece + 1] - from) * within + (std::uint64_t{1} << 28)) >> 29);
  }

  /// Least, each eighth, most. Between two of them every value is as likely.
  /// source: one published trace of windows of 50,000 instructions under Windows 7: 5 to 205 instructions, quartiles
  ///         43, 78 and 111, mean 85.
  /// chosen: the odd eighths; the last so that the mean is 85.
  static constexpr std::array<std::uint64_t, 9> kEighths = {5, 24, 43, 60, 78, 94, 111, 164, 205};

 private:
  std::uint64_t state_;
};

}  // namespace zs::session

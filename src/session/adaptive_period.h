// -F: a period that follows the program, so that samples come at a wanted rate whatever the event's own rate is.
//
// The rate is virtual: "per second" means per kNominalInstructionsPerSecond retired instructions of the thread. Real time
// would make samples depend on the host's speed and load; progress does not. 4000 per second is thus one sample per
// 250,000 instructions, of every event.
#pragma once

#include <algorithm>
#include <cstdint>

namespace zs::session {

inline constexpr std::uint64_t kNominalInstructionsPerSecond = 1'000'000'000;

__extension__ using Wide = unsigned __int128;

class AdaptivePeriod {
 public:
  /// frequency  samples per nominal second, not 0
  explicit AdaptivePeriod(std::uint32_t frequency)
      : interval_(std::max<std::uint64_t>(kNominalInstructionsPerSecond / frequency, 1)),
        period_(std::max<std::uint64_t>(interval_ / kFirstShare, 1)) {}

  std::uint64_t period() const { return period_; }

  /// A sample came when the thread had retired `instructions` in all; returns the period from here on.
  /// The first few samples follow the event at once, later ones halve the distance: a burst does not swing it.
  std::uint64_t sampled_at(std::uint64_t instructions) {
    const std::uint64_t elapsed = std::max<std::uint64_t>(instructions - last_, 1);
    last_ = instructions;
    const auto scaled = static_cast<Wide>(period_) * interval_ / elapsed;
    const auto ideal = static_cast<std::uint64_t>(std::clamp<Wide>(scaled, 1, static_cast<Wide>(kLongest)));
    period_ = samples_ < kLearning ? ideal : std::max<std::uint64_t>(period_ / 2 + ideal / 2, 1);
    ++samples_;
    return period_;
  }

 private:
  static constexpr std::uint64_t kFirstShare = 16;  // of the interval: an event at 1/16 per instruction starts right
  static constexpr unsigned kLearning = 4;
  static constexpr std::uint64_t kLongest = std::uint64_t{1} << 46;

  std::uint64_t interval_;  // instructions between samples
  std::uint64_t period_;
  std::uint64_t last_ = 0;
  unsigned samples_ = 0;
};

}  // namespace zs::session

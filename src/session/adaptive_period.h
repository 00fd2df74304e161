// -F: a period that follows the program, so that samples come at a wanted rate whatever the event's own rate is.
//
// The rate is virtual: "per second" means per kNominalInstructionsPerSecond retired instructions of the thread. Real
// time would make samples depend on the host's speed and load; progress does not. 4000 per second is thus one sample
// per 250,000 instructions, of every event.
#pragma once

#include <algorithm>
#include <cstdint>

namespace zs::session {

inline constexpr std::uint64_t kNominalInstructionsPerSecond = 1'000'000'000;

__extension__ using Wide = unsigned __int128;

/// It begins at 1, because nobody knows how rare the event is, and a period that is too long is never heard of again:
/// so it grows slowly and shrinks fast. Up to the right period that takes a few samples more, which weigh little.
class AdaptivePeriod {
 public:
  /// frequency  samples per nominal second, not 0
  explicit AdaptivePeriod(std::uint32_t frequency)
      : interval_(std::max<std::uint64_t>(kNominalInstructionsPerSecond / frequency, 1)) {}

  std::uint64_t period() const { return period_; }

  /// A sample came when the thread had retired `instructions` in all; returns the period from here on.
  std::uint64_t sampled_at(std::uint64_t instructions) {
    const std::uint64_t elapsed = std::max<std::uint64_t>(instructions - last_, 1);
    last_ = instructions;
    const auto scaled = static_cast<Wide>(period_) * interval_ / elapsed;
    const auto ideal = static_cast<std::uint64_t>(std::clamp<Wide>(scaled, 1, static_cast<Wide>(kLongest)));
    // Halfway, so that a burst does not swing it; at once where the event has become rare.
    const std::uint64_t halfway = (period_ + ideal + 1) / 2;
    period_ = ideal < period_ / kRarer ? ideal : std::min(halfway, period_ * 2);
    return period_;
  }

 private:
  static constexpr std::uint64_t kRarer = 4;
  static constexpr std::uint64_t kLongest = std::uint64_t{1} << 46;

  std::uint64_t interval_;  // instructions between samples
  std::uint64_t period_ = 1;
  std::uint64_t last_ = 0;
};

}  // namespace zs::session

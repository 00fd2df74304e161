// -F: a period that follows the program, so that samples come at a wanted rate whatever the event's own rate is.
//
// The rate is virtual: "per second" means per kNominalInstructionsPerSecond retired instructions of the thread. Real
// time would make samples depend on the host's speed and load; progress does not. 4000 per second is thus one sample
// per 250,000 instructions, of every event.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/splitmix.h"

namespace zs::session {

inline constexpr std::uint64_t kNominalInstructionsPerSecond = 1'000'000'000;

__extension__ using Wide = unsigned __int128;

/// It begins at 1 where nobody knows how rare the event is, because a period that is too long is never heard of again:
/// so it grows slowly and shrinks fast. It grows by an eighth a sample: were it doubled, as often a program begins with
/// a burst of an event that is rare later, one sample would stand for half of the burst, and be a quarter of a report.
/// Up to the right period that takes some hundred samples more, which weigh little in sums of periods. Who counts
/// samples (most tools that make flame graphs) sees too much of the start: an event that every few instructions have
/// begins near its right period.
///
/// Each period is drawn between three and five quarters of what is wanted (always the same ones: a thread's seed is
/// fixed). A steady program would settle at one period, and where that is a multiple of a loop's, all of its samples
/// would be at one of the loop's instructions. Hardware and kernels have noise that prevents it.
class AdaptivePeriod {
 public:
  /// `settles` beside a core model. chosen: at the usual frequency a hundred samples for each factor of e that the run
  /// becomes longer
  static constexpr std::uint64_t kDenseBesideModel = 25'000'000;

  /// What an event that every few instructions have begins with. chosen: of a run of 60 million instructions, the
  /// dynamic loader has less than a tenth of the samples; a run of a tenth of a million has a dozen
  /// distance  instructions from one to the next, about
  static constexpr std::uint64_t first_of_frequent(std::uint64_t frequency, std::uint64_t distance) {
    return std::max<std::uint64_t>(kNominalInstructionsPerSecond / frequency / 64 / distance, 1);
  }

  /// frequency  samples per nominal second, not 0
  /// first  the period that it begins with; samples are not taken closer than so many instructions
  /// settles  samples are taken the more densely the further it is to that instruction: as many up to a tenth of the
  ///          way, from a hundredth on, as from there to its end. For what is modelled: a sample costs little beside
  ///          the model, and of a short run there would be few.
  explicit AdaptivePeriod(std::uint32_t frequency, std::uint64_t first = 1, std::uint64_t settles = 0)
      : interval_(std::max<std::uint64_t>(kNominalInstructionsPerSecond / frequency, 1)),
        first_(first),
        settles_(settles),
        parts_(first * kParts),
        period_(first) {}

  std::uint64_t period() const { return period_; }

  /// A sample came when the thread had retired `instructions` in all; returns the period from here on.
  std::uint64_t sampled_at(std::uint64_t instructions) {
    const std::uint64_t elapsed = std::max<std::uint64_t>(instructions - last_, 1);
    last_ = instructions;
    const auto scaled = static_cast<Wide>(period_) * interval_at(instructions) / elapsed;
    const std::uint64_t ideal = kParts * static_cast<std::uint64_t>(std::clamp<Wide>(scaled, 1, kLongest));
    // Halfway, so that a burst does not swing it; at once where the event has become rare.
    parts_ = ideal < parts_ / kRarer ? ideal : std::min((parts_ + ideal + 1) / 2, parts_ + parts_ / kParts);
    period_ = drawn();
    return period_;
  }

 private:
  /// Of rare events each is taken; elsewhere what is between two periods is drawn too, so that small ones differ.
  std::uint64_t drawn() {
    if (parts_ < 2 * kParts) return parts_ / kParts;
    const std::uint64_t least = parts_ - parts_ / 4;
    return (least + splitmix64(random_) % (parts_ / 2 + 1)) / kParts;
  }

  std::uint64_t interval_at(std::uint64_t instructions) const {
    if (instructions >= settles_) return interval_;
    return std::max(static_cast<std::uint64_t>(static_cast<Wide>(interval_) * instructions / settles_), first_);
  }

  static constexpr std::uint64_t kRarer = 4;
  static constexpr Wide kLongest = std::uint64_t{1} << 46;
  static constexpr std::uint64_t kParts = 8;

  std::uint64_t interval_;  // instructions between samples
  std::uint64_t first_, settles_;
  std::uint64_t parts_;  // of an event, kParts of them
  std::uint64_t period_;
  std::uint64_t last_ = 0;
  std::uint64_t random_ = 1;
};

}  // namespace zs::session

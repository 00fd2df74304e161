// The overshoot of a performance-monitoring interrupt: instructions that retire between the overflow and the handler
// that reads the counters. There is none here; a recording can ask for one, to see what a real machine's windows and
// samples look like.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "base/splitmix.h"
#include "session/driver/event_counters.h"
#include "session/settings/config.h"

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

/// The interrupt of one thread, late by RecordingConfig::skid. One serves all overflows up to it.
class LateInterrupt {
 public:
  /// stream  the thread's, for SkidSource. Both references must outlive this.
  LateInterrupt(const RecordingConfig& config, const EventCounters& counters, std::uint64_t stream)
      : config_(config), counters_(counters), source_(config.seed, stream) {
    idle();
  }

  /// RecordingConfig::skid_event has completed its period.
  void skid_is_over() { due_ = on_its_way_; }

  /// All PMUs have been served, and something waits for the handler. returns whether it runs now; if not, it is asked
  /// again.
  bool comes_now() {
    if (due_ || config_.skid == Skid::None) return true;
    if (std::exchange(on_its_way_, true)) return false;
    const std::uint64_t later = config_.skid == Skid::Fixed ? config_.skid_instructions : source_.next();
    if (later != 0) counters_.restart(config_.skid_event, later);
    return later == 0;
  }

  /// It has run.
  void served() {
    due_ = on_its_way_ = false;
    idle();
  }

 private:
  /// Instructions that no program runs, and yet so few that whoever runs it looks out for the overflow at all times: it
  /// is not asked anew when the skid begins.
  static constexpr std::uint64_t kNever = std::uint64_t{1} << 45;

  void idle() {
    if (config_.skid_event != kNoEvent) counters_.restart(config_.skid_event, kNever);
  }

  const RecordingConfig& config_;
  const EventCounters& counters_;
  SkidSource source_;
  bool on_its_way_ = false;
  bool due_ = false;
};

}  // namespace zs::session

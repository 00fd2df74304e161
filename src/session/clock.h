// The time of a recording: what the modelled TSC reads, and how its ticks become nanoseconds.
#pragma once

#include <cstdint>
#include <ctime>

#include "pmu/interfaces.h"

namespace zs::session {

class RecordingClock : public pmu::Clock {
 public:
  /// Nanoseconds at which the TSC read `ticks`, on one time scale for all processes of the recording.
  virtual std::uint64_t ns_at(std::uint64_t ticks) const = 0;

  std::uint64_t now_ns() { return ns_at(tsc()); }
};

/// Real time: the kernel's monotonic clock, as perf's samples have it. The modelled TSC ticks once a nanosecond.
class SteadyClock final : public RecordingClock {
 public:
  std::uint64_t tsc() override {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
  }
  std::uint64_t ns_at(std::uint64_t ticks) const override { return ticks; }
};

/// What has retired in this process, in all its threads.
class Progress {
 public:
  virtual ~Progress() = default;
  virtual std::uint64_t instructions() = 0;
};

/// --virtual-time: one nanosecond per instruction the process has retired, so that two runs give the same times. A forked
/// child goes on from its parent's time; a new program image starts at 0 again and the collector sets it right.
class ProgressClock final : public RecordingClock {
 public:
  void follow(Progress& progress) { progress_ = &progress; }
  std::uint64_t tsc() override { return progress_ == nullptr ? 0 : progress_->instructions(); }
  std::uint64_t ns_at(std::uint64_t ticks) const override { return ticks; }

 private:
  Progress* progress_ = nullptr;
};

}  // namespace zs::session

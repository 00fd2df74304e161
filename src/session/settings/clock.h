// The time of a recording: what the modelled TSC reads, and how its ticks become nanoseconds.
#pragma once

#include <x86intrin.h>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <utility>

#include "pmu/interfaces.h"

namespace zs::session {

class RecordingClock : public pmu::Clock {
 public:
  /// Nanoseconds at which the TSC read `ticks`, on one time scale for all processes of the recording.
  virtual std::uint64_t ns_at(std::uint64_t ticks) const = 0;

  std::uint64_t now_ns() { return ns_at(tsc()); }

  /// From here on it is the moment at which the host's time-stamp counter read `host_ticks`, which is past; 0: now, as
  /// is the rule.
  virtual void set_back([[maybe_unused]] std::uint64_t host_ticks) {}
};

/// Real time: the kernel's monotonic clock, as perf's samples have it. The modelled TSC ticks once a nanosecond.
class SteadyClock final : public RecordingClock {
 public:
  /// Both clocks at one moment: the host's time-stamp counter, and the kernel's in nanoseconds.
  struct Look {
    std::uint64_t ticks, ns;
  };
  /// look  how they are read; neither runs back
  explicit SteadyClock(Look (*look)() = look_at_host) : look_(look) {}

  std::uint64_t tsc() override { return set_back_ ? then_ : latest_ = std::max(latest_, look_().ns); }
  std::uint64_t ns_at(std::uint64_t ticks) const override { return ticks; }

  /// Between two looks at both clocks the host's time-stamp counter is taken to run evenly. Never before what was read
  /// last.
  void set_back(std::uint64_t host_ticks) override {
    if (host_ticks == 0) {
      set_back_ = false;
      return;
    }
    if (!set_back_) {
      before_ = std::exchange(now_, look_());
      set_back_ = true;
    }
    const std::uint64_t ticks = now_.ticks - before_.ticks, ns = now_.ns - before_.ns;
    const std::uint64_t passed = std::clamp(host_ticks, before_.ticks, now_.ticks) - before_.ticks;
    const auto part = ticks == 0 ? 1.0 : static_cast<double>(passed) / static_cast<double>(ticks);
    then_ = latest_ = std::max(latest_, before_.ns + static_cast<std::uint64_t>(static_cast<double>(ns) * part));
  }

 private:
  static Look look_at_host() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    const std::uint64_t ticks = __rdtsc();
    return {ticks, static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec)};
  }

  Look (*look_)();
  Look before_{}, now_ = look_();
  bool set_back_ = false;
  std::uint64_t then_ = 0, latest_ = 0;
};

/// What has retired in this process, in all its threads.
class Progress {
 public:
  virtual ~Progress() = default;
  virtual std::uint64_t instructions() = 0;
};

/// --virtual-time: one nanosecond per instruction the process has retired, so that two runs give the same times. A
/// forked child goes on from its parent's time; a new program image starts at 0 again and the collector sets it right.
class ProgressClock final : public RecordingClock {
 public:
  void follow(Progress& progress) { progress_ = &progress; }
  std::uint64_t tsc() override { return progress_ == nullptr ? 0 : progress_->instructions(); }
  std::uint64_t ns_at(std::uint64_t ticks) const override { return ticks; }

 private:
  Progress* progress_ = nullptr;
};

}  // namespace zs::session

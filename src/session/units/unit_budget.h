// What a run of units may cost against native: told of the CPU time of its phases, it says whether units may lie more
// densely.
#pragma once

#include <cstdint>

#include "session/units/unit_schedule.h"

namespace zs::session {

class UnitBudget {
 public:
  /// hundredths  of native, of all phases together
  explicit UnitBudget(std::uint64_t hundredths) : times_native_(static_cast<double>(hundredths) / 100) {}

  /// A phase is over. counting: nothing was modelled in it
  void add(bool counting, std::uint64_t instructions, std::uint64_t cpu_ns) {
    instructions_ += static_cast<double>(instructions);
    ns_ += static_cast<double>(cpu_ns);
    if (!counting) return;
    counted_ += static_cast<double>(instructions);
    counting_ns_ += static_cast<double>(cpu_ns);
  }

  /// So far. What is native follows from what counting takes. 0 while nothing was counted alone
  double times_native() const {
    // Geometric mean, docs/benchmarks.md, with what it takes to begin and end phases.
    constexpr double kCounting = 1.4;
    if (counting_ns_ == 0) return 0;
    return ns_ / (counting_ns_ / kCounting / counted_ * instructions_);
  }
  Trend trend() const {
    constexpr double kWellBelow = 0.8;  // chosen: so that it does not swing
    const double now = times_native();
    if (now == 0) return Trend::Same;
    return now > times_native_ ? Trend::Longer : now < kWellBelow * times_native_ ? Trend::Shorter : Trend::Same;
  }

 private:
  double times_native_;
  double instructions_ = 0, ns_ = 0;  // of all
  double counted_ = 0, counting_ns_ = 0;
};

}  // namespace zs::session

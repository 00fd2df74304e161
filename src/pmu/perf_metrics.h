// MSR_PERF_METRICS: what became of the issue slots that FIXED_CTR3 counts, as shares of 255. A core model tells of
// slots (Pmu::advance, Pmu::issue); without one nothing is ever added, and the register keeps what software wrote.
//
// Software sets FIXED_CTR3 and this register to 0 together, or to a pair that it has read together: a write therefore
// stands for that share of the slots that FIXED_CTR3 holds at that moment. source: SDM vol. 3B, Ice Lake's "Performance
// Metrics". chosen: shares are rounded to the nearest; the hidden sums are as wide as the fixed counters, and bit 48 of
// IA32_PERF_GLOBAL_STATUS is set when one wraps.
#pragma once

#include <array>
#include <cstdint>

#include "pmu/pmu.h"

namespace zs::pmu {

class PerfMetrics {
 public:
  PerfMetrics(unsigned width, unsigned fields) : limit_(std::uint64_t{1} << width), fields_(fields) {}

  /// slots  what FIXED_CTR3 holds
  std::uint64_t value(std::uint64_t slots) const;
  void set_value(std::uint64_t value, std::uint64_t slots);
  /// returns whether a sum wrapped
  bool add(const IssuedSlots& issued);

 private:
  static constexpr std::uint64_t kWhole = 0xFF;
  std::uint64_t limit_;
  unsigned fields_;
  std::uint64_t written_ = 0;
  bool added_ = false;  // since the last write
  IssuedSlots sums_{};
};

}  // namespace zs::pmu

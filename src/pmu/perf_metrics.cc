#include "pmu/perf_metrics.h"

#include <algorithm>

#include "arch/core_signals.h"

namespace zs::pmu {

std::uint64_t PerfMetrics::value(std::uint64_t slots) const {
  if (!added_ || slots == 0) return written_;
  std::uint64_t value = 0;
  for (std::size_t n = 0; n < fields_; ++n) {
    // 48 bits times 8 fit.
    const std::uint64_t share = std::min((sums_[n] * kWhole + slots / 2) / slots, kWhole);
    value |= share << 8 * n;
  }
  return value;
}

void PerfMetrics::set_value(std::uint64_t value, std::uint64_t slots) {
  written_ = value;
  added_ = false;
  for (std::size_t n = 0; n < sums_.size(); ++n) sums_[n] = ((value >> 8 * n & kWhole) * slots + kWhole / 2) / kWhole;
}

bool PerfMetrics::add(const IssuedSlots& issued) {
  bool wrapped = false;
  for (std::size_t n = 0; n < fields_; ++n) {
    const std::uint64_t sum = sums_[n] + issued[n];
    wrapped = wrapped || sum < issued[n] || sum >= limit_;
    sums_[n] = sum & (limit_ - 1);
  }
  added_ = true;
  return wrapped;
}

IssuedSlots issued_slots(const arch::CoreSignals& now, const arch::CoreSignals& before) {
  using enum arch::CoreSignal;
  const auto since = [&](auto... signals) { return ((now[signals] - before[signals]) + ...); };
  const std::uint64_t fetch_latency =
      since(SlotsInstructionCache, SlotsInstructionTlb, SlotsResteer, SlotsMicrocodeSwitch);
  const std::uint64_t memory = since(SlotsL1, SlotsL2, SlotsL3, SlotsDram, SlotsStoreBuffer);
  return {since(SlotsRetired, SlotsMicrocode),
          since(SlotsMispredict, SlotsMachineClear),
          fetch_latency + since(SlotsDecode, SlotsUopCache),
          memory + since(SlotsLatency, SlotsPorts, SlotsDivider, SlotsSerialising),
          since(SlotsMicrocode),
          since(SlotsMispredict),
          fetch_latency,
          memory};
}

}  // namespace zs::pmu

// Instruction-based sampling of one thread for one event, as Linux's ibs_op and ibs_fetch drive it: programs the
// control register, reads the others at the interrupt, and lets counting go on.
// source: Linux 6.1, arch/x86/events/amd/ibs.c: the period is IbsOpMaxCnt or IbsFetchMaxCnt, whose lowest four bits are
// 0; with ops counted, the seven random bits that the counter begins at are written back, so a period is that many ops
// shorter, and a sample says the whole of it nevertheless. A fetch's period is up to 15 shorter with rand_en.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "arch/cpu_model.h"
#include "arch/ibs.h"
#include "base/result.h"
#include "pmu/interfaces.h"
#include "pmu/pmu.h"
#include "session/driver/adaptive_period.h"
#include "session/sample.h"
#include "session/settings/config.h"

namespace zs::session {

/// Periods that the hardware can be given.
struct IbsPeriods {
  std::uint64_t shortest, longest;
  std::string_view holds;  // the field
};
/// source: IbsOpMaxCnt below 9 is reserved; Linux from 6.15 on refuses it, too.
inline constexpr IbsPeriods kIbsOpPeriods{0x90, 0x7FF'FFF0, "IbsOpMaxCnt"};
inline constexpr IbsPeriods kIbsFetchPeriods{0x10, 0xF'FFF0, "IbsFetchMaxCnt"};
constexpr const IbsPeriods& ibs_periods(EventKind kind) {
  return kind == EventKind::IbsFetch ? kIbsFetchPeriods : kIbsOpPeriods;
}

/// kind     one of which is_ibs()
/// returns  why the hardware cannot be given this period
Result<void> check_ibs_period(const std::string& event, EventKind kind, std::uint64_t period);

/// What one interrupt found.
struct IbsSample {
  EventKind kind = EventKind::IbsOp;
  arch::IbsOpCtl control;  // of an op, and what it was
  arch::IbsOp op;
  arch::IbsFetch fetch;  // of a fetch; its control is the whole register
  std::uint64_t period = 0;
};

/// What Linux makes of the registers: the instruction; of an op its data, where that was and how long it took.
void tell(const IbsSample& found, Sample& sample);

/// What a kernel puts into PERF_SAMPLE_RAW: the capabilities, then the unit's registers in the order of their
/// addresses.
std::vector<std::byte> raw_data(const IbsSample& sample, const arch::CpuModel& model);

class IbsSampler final : private pmu::PmiSink, private pmu::LinearMemory {
 public:
  /// event          that is_ibs(), the recording's number `index`
  /// adaptive       the period, where it follows the program; else it is the event's
  /// pmi_requested  becomes true when the interrupt comes
  IbsSampler(const arch::CpuModel& model, const EventSpec& event, std::uint32_t index,
             const std::optional<AdaptivePeriod>& adaptive, pmu::Clock& clock, bool& pmi_requested);

  pmu::Pmu& pmu() { return pmu_; }
  std::uint32_t event() const { return event_; }

  /// The sample, if an interrupt has come since. Nothing is counted until go_on().
  std::optional<IbsSample> take_interrupt();
  /// Whether the period follows the program, which go_on() then needs to know.
  bool adapts() const { return adaptive_.has_value(); }
  /// instructions  that the thread has retired; without an adaptive period any number
  void go_on(std::uint64_t instructions);

  /// Cycles, ops or fetches counted since the start.
  std::uint64_t total() const;
  std::uint64_t interrupts() const { return interrupts_; }

 private:
  void request_pmi() override { mine_ = any_ = true; }
  // No record of it lies in memory.
  bool read(std::uint64_t, std::span<std::byte>) override { return false; }
  bool write(std::uint64_t, std::span<const std::byte>) override { return false; }

  void start(std::uint64_t from);
  std::uint64_t rdmsr(std::uint32_t msr) const;
  std::uint64_t nearest_period(std::uint64_t wanted) const;
  IbsSample read_sample() const;
  /// What the unit has counted, and whether a sample waits.
  struct Progress {
    bool valid;
    std::uint64_t current;
  };
  Progress progress() const;

  const std::uint32_t event_;
  const EventKind kind_;
  const std::uint64_t wanted_;  // of the control register beside the period
  bool& any_;
  bool mine_ = false;
  std::uint64_t period_;
  std::optional<AdaptivePeriod> adaptive_;
  std::uint64_t random_ = 0;      // that the counter begins at, after a sample
  std::uint64_t started_at_ = 0;  // IbsOpCurCnt when it began
  std::uint64_t counted_ = 0;     // before that
  std::uint64_t interrupts_ = 0;
  pmu::Pmu pmu_;
};

}  // namespace zs::session

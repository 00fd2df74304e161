// Op sampling of one thread for one event, as Linux's ibs_op drives it: programs IbsOpCtl, reads the registers at the
// interrupt, and lets counting go on.
// source: Linux 6.1, arch/x86/events/amd/ibs.c: the period is IbsOpMaxCnt, whose lowest four bits are 0; with ops
// counted, the seven random bits that the counter begins at are written back, so a period is that many ops shorter, and
// a sample says the whole of it nevertheless.
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
#include "session/adaptive_period.h"
#include "session/config.h"
#include "session/sample.h"

namespace zs::session {

/// The shortest period. source: IbsOpMaxCnt below 9 is reserved; Linux from 6.15 on refuses it, too.
inline constexpr std::uint64_t kShortestIbsPeriod = 0x90;
inline constexpr std::uint64_t kLongestIbsPeriod = 0x7FF'FFF0;

/// returns why the hardware cannot be given this period
Result<void> check_ibs_period(const std::string& event, std::uint64_t period);

/// What one interrupt found.
struct IbsSample {
  arch::IbsOpCtl control;
  arch::IbsOp op;
  std::uint64_t period = 0;
};

/// What Linux makes of the registers: the instruction, its data, where that was and how long it took.
void tell_op(const arch::IbsOp& op, Sample& sample);

/// What a kernel puts into PERF_SAMPLE_RAW: the capabilities, then the registers in the order of their addresses.
std::vector<std::byte> raw_data(const IbsSample& sample, const arch::CpuModel& model);

class IbsSampler final : private pmu::PmiSink, private pmu::LinearMemory {
 public:
  /// event          of EventKind::IbsOp, the recording's number `index`
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

  /// Cycles or ops counted since the start.
  std::uint64_t total() const;
  std::uint64_t interrupts() const { return interrupts_; }

 private:
  void request_pmi() override { mine_ = any_ = true; }
  // No record of it lies in memory.
  bool read(std::uint64_t, std::span<std::byte>) override { return false; }
  bool write(std::uint64_t, std::span<const std::byte>) override { return false; }

  void start(std::uint64_t from);
  std::uint64_t rdmsr(std::uint32_t msr) const;

  const std::uint32_t event_;
  const arch::IbsOpCtl wanted_;  // beside the period
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

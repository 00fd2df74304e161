// The Branch Trace Store of one thread, as Linux's intel_bts drives it: a PMU that counts nothing and stores every
// taken branch of user code in the BTS buffer of its Debug Store area. When the buffer has reached its threshold the
// interrupt comes, and the records are handed on.
// source: SDM vol. 3B, "Branch Trace Store (BTS)", "Setting Up the BTS Buffer", "Writing the DS Interrupt Service
// Routine".
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "arch/cpu_model.h"
#include "pmu/interfaces.h"
#include "pmu/pmu.h"
#include "session/driver/ds_area.h"

namespace zs::session {

/// What one interrupt hands on at most. chosen: a message of the recording holds as many.
inline constexpr std::uint32_t kBranchesPerInterrupt = 2048;

class BranchTrace final : private pmu::PmiSink {
 public:
  /// records  BTS records, packed, oldest first (arch/records/bts.h); they hold until the function returns. It is
  ///          called where the interrupt is requested: no register of the program is in a record, so it need not wait
  ///          for the end of an instruction.
  using Receive = std::function<void(std::span<const std::byte> records)>;

  BranchTrace(const arch::CpuModel& model, pmu::Clock& clock, Receive receive);

  pmu::Pmu& pmu() { return pmu_; }

  /// Hands on what is in the buffer, without an interrupt.
  void drain();

 private:
  void request_pmi() override { drain(); }
  void wrmsr(std::uint32_t msr, std::uint64_t value);

  DsArea ds_;
  Receive receive_;
  pmu::Pmu pmu_;
};

/// Whether the processor has a Branch Trace Store.
bool has_branch_trace(const arch::CpuModel& model);

}  // namespace zs::session

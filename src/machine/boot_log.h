// What `boot --ds-log` and `boot --trace` write: the Debug Store as it lies in memory each time the PMU asks for an
// interrupt and at the end; and one line per retired instruction and per control transfer.
//
//   #12 pmi at 9141 status 0000000000000001        then the Debug Store as arch/records/ds_text.h prints it
//   I 123 0 9133 l400100/8 s400108/8             instruction: number, CPL, linear address, loads and stores
//   T 0 9133 0 9135 relative-jump                  transfer: CPL and address before, CPL and address after, kind or
//   cause
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "arch/quirks.h"
#include "machine/pc.h"

namespace zs::machine {

class BootLog {
 public:
  using Write = std::function<void(std::string_view)>;
  /// Both before Pc::make(config).
  void log_debug_store(PcConfig& config, Write write);
  void log_trace(PcConfig& config, const Write& write);
  void set_pc(Pc& pc, const arch::CpuModel& model, arch::QuirkSet quirks);
  /// The Debug Store as the run leaves it.
  void finish();

 private:
  void debug_store(std::string_view why);

  Pc* pc_ = nullptr;
  const arch::CpuModel* model_ = nullptr;
  arch::QuirkSet quirks_;
  Write ds_;
  std::uint64_t interrupts_ = 0, instructions_ = 0;
};

}  // namespace zs::machine

#pragma once

#include <span>

#include "arch/cpus/nehalem.h"
#include "arch/events/event.h"

namespace zs::arch {

std::span<const Event> westmere_events();  // events/intel.cc

/// Westmere client (06_25H), hyper-threading on. Nehalem with the branch-mispredict event and a second off-core
/// register. source: CPUID dump of a Core i5-650 (signature, leaf 0AH; its reference-cycle event is absent); SDM vol.
///         3B, "Performance Monitoring for Processors Based on Intel Microarchitecture Code Name Nehalem" and
///         "Westmere" (format 1, 16 LBR entries in format 3, no full-width writes).
inline constexpr CpuModel kWestmere1 = [] {
  CpuModel model = kNehalem1;
  model.name = "westmere@1";
  model.description = "Intel Core, Westmere client (06_25H), hyper-threading on";
  model.signature = 0x0002'0652;
  model.absent_architectural_events = 0x4;
  model.data_source = DataSourceFormat::Westmere;
  model.offcore_registers = 2;
  model.events = westmere_events;
  return model;
}();
static_assert(is_consistent(kWestmere1));

}  // namespace zs::arch

#pragma once

#include <span>

#include "arch/cpus/icelake_server.h"
#include "arch/events/event.h"

namespace zs::arch {

std::span<const Event> sapphire_rapids_events();  // events/intel.cc

/// Sapphire Rapids (06_8FH). Ice Lake with architectural LBRs, exact counters and four more metrics.
/// source: CPUID dump of a Xeon w7-2475X (signature, leaves 0AH and 1CH: LBR depths 8, 16, 32); SDM vol. 3B,
///         "Architectural Last Branch Records", Golden Cove: PMC0 and FIXED_CTR0 record the overflowing instruction of
///         any precise event.
/// chosen: PEBS format 4, as kernel logs of this generation print it; quirk pebs-format-5 gives the other reading. No
///         transactions.
inline constexpr CpuModel kSapphireRapids1 = [] {
  CpuModel model = kIcelakeServer1;
  model.name = "sapphire-rapids@1";
  model.description = "Intel Xeon, Sapphire Rapids (06_8FH)";
  model.signature = 0x0008'06F8;
  model.capabilities = model.capabilities.with(PerfCapabilities::lbr_format, 0x3F);
  model.data_source = DataSourceFormat::SapphireRapids;
  model.store_latency = true;
  model.exact_counters = only(0) | fixed(0);
  model.lbr_kind = LbrKind::Architectural;
  model.lbr_depths = 0x0B;
  model.frontend_bits = 0x7F'FF1F;
  model.offcore_bits = 0x3F'FFFF'FFFF;
  model.metrics_fields = 8;
  model.events = sapphire_rapids_events;
  return model;
}();
static_assert(is_consistent(kSapphireRapids1) && kSapphireRapids1.capabilities.raw() == 0xF4FF);

}  // namespace zs::arch

#pragma once

#include <span>

#include "arch/cpus/skylake_client.h"
#include "arch/events/event.h"

namespace zs::arch {

std::span<const Event> skylake_server_events();  // events/intel.cc

/// Skylake server (06_55H stepping 4), hyper-threading off: the default. Skylake client with more counters.
/// source: CPUID dump of a Xeon Platinum 8160 (signature, leaf 0AH but for the number of counters); SDM vol. 3B,
///         "6th Generation Intel Core Processor Performance Monitoring Facility" (format 3, 32 LBR entries in format 5,
///         streamlined freeze), "PEBS Data Format"; PERF_CAPABILITIES reads 33C5H on such parts.
/// chosen: hyper-threading off, for eight counters instead of four; no transactions, as microcode updates left these
///         parts; a record serves its applicable counters only, as the manual says of Goldmont, which has format 3 too.
inline constexpr CpuModel kSkylakeServer1 = [] {
  CpuModel model = kSkylakeClient1;
  model.name = "skylake-server@1";
  model.description = "Intel Xeon, Skylake server (06_55H), hyper-threading off";
  model.signature = 0x0005'0654;
  model.data_source = DataSourceFormat::SkylakeServer;
  model.general_counters = 8;
  model.reset_slots = 8;
  model.events = skylake_server_events;
  return model;
}();
static_assert(is_consistent(kSkylakeServer1) && kSkylakeServer1.capabilities.raw() == 0x33C5);

}  // namespace zs::arch

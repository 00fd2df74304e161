#pragma once

#include <span>

#include "arch/cpu_model.h"
#include "arch/events/event.h"

namespace zs::arch {

std::span<const Event> icelake_server_events();  // events/intel.cc

/// Ice Lake server (06_6AH).
/// source: CPUID dump of a Xeon Gold 6336Y (signature, leaf 0AH); SDM vol. 3B, Ice Lake: "Extended PEBS", "Adaptive
///         PEBS", "Performance Metrics"; fixed counters' reset values from slot 8 on, as drivers have it.
/// chosen: no transactions; no PEBS output to Processor Trace.
inline constexpr CpuModel kIcelakeServer1{
    .name = "icelake-server@1",
    .description = "Intel Xeon, Ice Lake server (06_6AH)",
    .signature = 0x0006'06A6,
    .perfmon_version = 5,
    .general_counters = 8,
    .general_width = 48,
    .fixed_counters = 4,
    .fixed_width = 48,
    .capabilities = kUsualCapabilities.with(PerfCapabilities::lbr_format, 5)
                        .with(PerfCapabilities::pebs_format, 4)
                        .with(PerfCapabilities::pebs_baseline, 1)
                        .with(PerfCapabilities::metrics, 1),
    .pebs_counters = any_of(8) | all_fixed(4),
    .distribution_counters = fixed(0),
    .pebs_serves = PebsServes::Applicable,
    .pebs_of_any_event = true,
    .load_latency = true,
    .data_source = DataSourceFormat::SkylakeServer,
    .reset_slots = 8,
    .lbr_entries = 32,
    .lbr_call_stack = true,
    .counter_freeze = FreezeKind::Streamlined,
    .lbr_freeze = FreezeKind::Streamlined,
    .transactions = false,
    .frontend_bits = 0x7F'FF17,
    .offcore_registers = 2,
    .offcore_bits = 0x3F'FFFF'BFFF,
    .metrics_fields = 4,
    .retired_accesses = {.instructions = true, .prefetches = true, .locked_as_l1 = true},
    .events = icelake_server_events,
};
static_assert(is_consistent(kIcelakeServer1) && kIcelakeServer1.capabilities.raw() == 0xF4C5);

}  // namespace zs::arch

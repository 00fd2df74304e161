#pragma once

#include "arch/cpu_model.h"
#include "arch/events/tables.h"

namespace zs::arch {

/// Westmere client (06_25H), hyper-threading on.
/// source: CPUID dump of a Core i5-650 (signature, leaf 0AH; its reference-cycle event is absent); SDM vol. 3B,
///         "Performance Monitoring for Processors Based on Intel Microarchitecture Code Name Nehalem" and "Westmere"
///         (format 1, 16 LBR entries in format 3, no full-width writes).
inline constexpr CpuModel kWestmere1{
    .name = "westmere@1",
    .description = "Intel Core, Westmere client (06_25H), hyper-threading on",
    .signature = 0x0002'0652,
    .perfmon_version = 3,
    .general_counters = 4,
    .general_width = 48,
    .fixed_counters = 3,
    .fixed_width = 48,
    .absent_architectural_events = 0x4,
    .capabilities = PerfCapabilities{}
                        .with(PerfCapabilities::lbr_format, 3)
                        .with(PerfCapabilities::pebs_trap, 1)
                        .with(PerfCapabilities::pebs_regs, 1)
                        .with(PerfCapabilities::pebs_format, 1)
                        .with(PerfCapabilities::smm_freeze, 1),
    .pebs_counters = any_of(4),
    .distribution_counters = {},
    .pebs_serves = PebsServes::Overflowed,
    .load_latency = true,
    .reset_slots = 4,
    .lbr_entries = 16,
    .lbr_call_stack = false,
    .counter_freeze = FreezeKind::Legacy,
    .lbr_freeze = FreezeKind::Legacy,
    .transactions = false,
    .uncore_pmi = true,
    .offcore_registers = 2,
    .offcore_bits = 0xFFFF,
    .events = westmere_events,
};
static_assert(is_consistent(kWestmere1));

}  // namespace zs::arch

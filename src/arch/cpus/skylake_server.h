#pragma once

#include "arch/cpu_model.h"
#include "arch/events/tables.h"

namespace zs::arch {

/// Skylake server (06_55H stepping 4), hyper-threading off: the default.
/// source: CPUID dump of a Xeon Platinum 8160 (signature, leaf 0AH but for the number of counters); SDM vol. 3B,
///         "6th Generation Intel Core Processor Performance Monitoring Facility" (format 3, 32 LBR entries in format 5,
///         streamlined freeze), "PEBS Data Format"; PERF_CAPABILITIES reads 33C5H on such parts.
/// chosen: hyper-threading off, for eight counters instead of four; no transactions, as microcode updates left these
///         parts; a record serves its applicable counters only, as the manual says of Goldmont, which has format 3 too.
inline constexpr CpuModel kSkylakeServer1{
    .name = "skylake-server@1",
    .description = "Intel Xeon, Skylake server (06_55H), hyper-threading off",
    .signature = 0x0005'0654,
    .perfmon_version = 4,
    .general_counters = 8,
    .general_width = 48,
    .fixed_counters = 3,
    .fixed_width = 48,
    .capabilities = PerfCapabilities{}
                        .with(PerfCapabilities::lbr_format, 5)
                        .with(PerfCapabilities::pebs_trap, 1)
                        .with(PerfCapabilities::pebs_regs, 1)
                        .with(PerfCapabilities::pebs_format, 3)
                        .with(PerfCapabilities::smm_freeze, 1)
                        .with(PerfCapabilities::full_width, 1),
    .pebs_counters = any_of(4),
    .distribution_counters = only(1),
    .pebs_serves = PebsServes::Applicable,
    .load_latency = true,
    .reset_slots = 8,
    .lbr_entries = 32,
    .lbr_call_stack = true,
    .counter_freeze = FreezeKind::Streamlined,
    .lbr_freeze = FreezeKind::Streamlined,
    .transactions = false,
    .frontend_bits = 0x7F'FF17,
    .offcore_registers = 2,
    .offcore_bits = 0x3F'FFFF'8FFF,
    .events = skylake_server_events,
};
static_assert(is_consistent(kSkylakeServer1) && kSkylakeServer1.capabilities.raw() == 0x33C5);

}  // namespace zs::arch

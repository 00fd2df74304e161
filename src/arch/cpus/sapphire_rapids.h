#pragma once

#include "arch/cpu_model.h"
#include "arch/events/tables.h"

namespace zs::arch {

/// Sapphire Rapids (06_8FH).
/// source: CPUID dump of a Xeon w7-2475X (signature, leaves 0AH and 1CH: LBR depths 8, 16, 32); SDM vol. 3B, "Architectural
///         Last Branch Records", Golden Cove: PMC0 and FIXED_CTR0 record the overflowing instruction of any precise event.
/// chosen: PEBS format 4, as kernel logs of this generation print it; quirk pebs-format-5 gives the other reading. No
///         transactions.
inline constexpr CpuModel kSapphireRapids1{
    .name = "sapphire-rapids@1",
    .description = "Intel Xeon, Sapphire Rapids (06_8FH)",
    .signature = 0x0008'06F8,
    .perfmon_version = 5,
    .general_counters = 8,
    .general_width = 48,
    .fixed_counters = 4,
    .fixed_width = 48,
    .capabilities = PerfCapabilities{}
                        .with(PerfCapabilities::lbr_format, 0x3F)
                        .with(PerfCapabilities::pebs_trap, 1)
                        .with(PerfCapabilities::pebs_regs, 1)
                        .with(PerfCapabilities::pebs_format, 4)
                        .with(PerfCapabilities::smm_freeze, 1)
                        .with(PerfCapabilities::full_width, 1)
                        .with(PerfCapabilities::pebs_baseline, 1)
                        .with(PerfCapabilities::metrics, 1),
    .pebs_counters = any_of(8) | all_fixed(4),
    .distribution_counters = fixed(0),
    .exact_counters = only(0) | fixed(0),
    .pebs_serves = PebsServes::Applicable,
    .pebs_of_any_event = true,
    .load_latency = true,
    .reset_slots = 8,
    .lbr_entries = 32,
    .lbr_kind = LbrKind::Architectural,
    .lbr_depths = 0x0B,
    .lbr_call_stack = true,
    .counter_freeze = FreezeKind::Streamlined,
    .lbr_freeze = FreezeKind::Streamlined,
    .transactions = false,
    .frontend_bits = 0x7F'FF1F,
    .offcore_registers = 2,
    .offcore_bits = 0x3F'FFFF'FFFF,
    .events = sapphire_rapids_events,
};
static_assert(is_consistent(kSapphireRapids1) && kSapphireRapids1.capabilities.raw() == 0xF4FF);

}  // namespace zs::arch

#pragma once

#include <span>

#include "arch/cpu_model.h"
#include "arch/events/event.h"

namespace zs::arch {

std::span<const Event> core2_events();  // events/intel.cc

/// Core 2 Duo (06_0FH stepping 6): the smallest PMU here, for perfmon 2, PEBS format 0 and four last-branch records.
/// source: SDM vol. 3B, "Performance Monitoring (Processors Based on Intel Core Microarchitecture)": PEBS on PMC0 only,
///         one reset value; LBR MSRs 40H and 60H; widths of 40 bits.
/// chosen: a model without the early steppings' zero in CPUID.0AH:EDX; linear addresses in the LBRs (LBR_FMT 1).
inline constexpr CpuModel kCore2V1{
    .name = "core2@1",
    .description = "Intel Core 2 Duo (06_0FH)",
    .signature = 0x0000'06F6,
    .perfmon_version = 2,
    .general_counters = 2,
    .general_width = 40,
    .fixed_counters = 3,
    .fixed_width = 40,
    .capabilities = PerfCapabilities{}
                        .with(PerfCapabilities::lbr_format, 1)
                        .with(PerfCapabilities::pebs_trap, 1)
                        .with(PerfCapabilities::pebs_regs, 1)
                        .with(PerfCapabilities::pebs_format, 0),
    .pebs_counters = only(0),
    .distribution_counters = {},
    .pebs_serves = PebsServes::Overflowed,
    .reset_slots = 1,
    .lbr_entries = 4,
    .lbr_kind = LbrKind::Small,
    .lbr_call_stack = false,
    .counter_freeze = FreezeKind::Legacy,
    .lbr_freeze = FreezeKind::Legacy,
    .transactions = false,
    .x2apic = false,
    .tsc_deadline = false,
    .retired_accesses = {.instructions = true, .prefetches = true},
    .quirks = {Quirk::BtsFlagsAreZero},
    .events = core2_events,
};
static_assert(is_consistent(kCore2V1));

}  // namespace zs::arch

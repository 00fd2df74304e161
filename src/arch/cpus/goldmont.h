#pragma once

#include <span>

#include "arch/cpu_model.h"
#include "arch/events/event.h"

namespace zs::arch {

std::span<const Event> goldmont_events();  // events/intel.cc

/// Goldmont (06_5CH).
/// source: SDM vol. 3B, "Performance Monitoring for Goldmont Microarchitecture": PEBS on PMC0 only and of any event,
///         format 3, 32 LBR entries in format 6, counters freeze streamlined and LBRs do not, eight reset values.
inline constexpr CpuModel kGoldmont1{
    .name = "goldmont@1",
    .description = "Intel Atom, Goldmont (06_5CH)",
    .signature = 0x0005'06C9,
    .perfmon_version = 4,
    .general_counters = 4,
    .general_width = 48,
    .fixed_counters = 3,
    .fixed_width = 48,
    .capabilities = kUsualCapabilities.with(PerfCapabilities::lbr_format, 6).with(PerfCapabilities::pebs_format, 3),
    .pebs_counters = only(0),
    .distribution_counters = {},
    .exact_counters = only(0),
    .pebs_serves = PebsServes::Applicable,
    .pebs_of_any_event = true,
    .reset_slots = 8,
    .lbr_entries = 32,
    .lbr_call_stack = true,
    .counter_freeze = FreezeKind::Streamlined,
    .lbr_freeze = FreezeKind::Legacy,
    .transactions = false,
    .offcore_registers = 2,
    .offcore_bits = 0x36'0005'FFBF,
    .quirks = {Quirk::OutOfBoundsSetsOvfBuf},
    .events = goldmont_events,
};
static_assert(is_consistent(kGoldmont1));

}  // namespace zs::arch

#pragma once

#include <span>

#include "arch/cpu_model.h"
#include "arch/events/event.h"

namespace zs::arch {

std::span<const Event> zen4_events();  // events/amd.cc

/// Zen 4 (19_61H), one thread per core. Six counters, no fixed ones; neither PEBS nor a Debug Store.
/// source: CPUID dump of a Ryzen 9 7950X (signature, leaf 8000'0022H: PerfMonV2, six core counters, 16 last-branch
///         records, which no PMI freezes: EAX is 3; servers of this generation and Zen 5 have 7); APM vol. 2,
///         "Performance Monitoring Counters"; PPR of family 19H model 61H; counters of 48 bits.
///         Its instruction-based sampling is a row of arch/ibs.cc.
inline constexpr CpuModel kZen41{
    .name = "zen4@1",
    .description = "AMD Ryzen 7000, Zen 4 (19_61H)",
    .signature = 0x00A6'0F12,
    .vendor = Vendor::Amd,
    .perfmon_version = 2,
    .general_counters = 6,
    .general_width = 48,
    .fixed_counters = 0,
    .fixed_width = 0,
    .capabilities = PerfCapabilities{},
    .pebs_counters = {},
    .distribution_counters = {},
    .pebs_serves = PebsServes::Applicable,
    .reset_slots = 0,
    .lbr_entries = 16,
    .lbr_kind = LbrKind::Amd,
    .lbr_call_stack = false,
    .counter_freeze = FreezeKind::None,
    .lbr_freeze = FreezeKind::None,
    .transactions = false,
    .tsc_deadline = false,
    .events = zen4_events,
};
static_assert(is_consistent(kZen41));

}  // namespace zs::arch

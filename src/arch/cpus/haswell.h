#pragma once

#include <span>

#include "arch/cpu_model.h"
#include "arch/events/event.h"

namespace zs::arch {

std::span<const Event> haswell_events();  // events/intel.cc

/// Haswell client (06_3CH), hyper-threading on.
/// source: CPUID dump of a Core i7-4770 (signature, leaf 0AH); SDM vol. 3B, "4th Generation Intel Core Processor
///         Performance Monitoring Facility" (format 2, 16 LBR entries in format 4, call-stack mode); PERF_CAPABILITIES
///         reads 32C4H on such parts.
/// chosen: no transactions, as microcode updates left these parts.
inline constexpr CpuModel kHaswell1{
    .name = "haswell@1",
    .description = "Intel Core, Haswell client (06_3CH), hyper-threading on",
    .signature = 0x0003'06C3,
    .perfmon_version = 3,
    .general_counters = 4,
    .general_width = 48,
    .fixed_counters = 3,
    .fixed_width = 48,
    .capabilities = kUsualCapabilities.with(PerfCapabilities::lbr_format, 4).with(PerfCapabilities::pebs_format, 2),
    .pebs_counters = any_of(4),
    .distribution_counters = only(1),
    .pebs_serves = PebsServes::Overflowed,
    .load_latency = true,
    .data_source = DataSourceFormat::SandyBridge,
    .reset_slots = 4,
    .lbr_entries = 16,
    .lbr_call_stack = true,
    .counter_freeze = FreezeKind::Legacy,
    .lbr_freeze = FreezeKind::Legacy,
    .transactions = false,
    .offcore_registers = 2,
    .offcore_bits = 0x3F'FFFF'8FFF,
    .retired_accesses = {.prefetches = true},
    .events = haswell_events,
};
static_assert(is_consistent(kHaswell1) && kHaswell1.capabilities.raw() == 0x32C4);

}  // namespace zs::arch

#pragma once

#include <span>

#include "arch/cpu_model.h"
#include "arch/events/event.h"

namespace zs::arch {

std::span<const Event> nehalem_events();  // events/intel.cc

/// Nehalem (06_1AH), hyper-threading on.
/// source: CPUID dumps of a Core i7-920 (signature, leaf 0AH: reference-cycle and branch-mispredict events are absent);
///         SDM vol. 3B, "Performance Monitoring for Processors Based on Intel Microarchitecture Code Name Nehalem"
///         (format 1, 16 LBR entries in format 3, load latency, no full-width writes); bits of MSR_OFFCORE_RSP_0 as a
///         driver checks them.
inline constexpr CpuModel kNehalem1{
    .name = "nehalem@1",
    .description = "Intel Core, Nehalem (06_1AH), hyper-threading on",
    .signature = 0x0001'06A5,
    .perfmon_version = 3,
    .general_counters = 4,
    .general_width = 48,
    .fixed_counters = 3,
    .fixed_width = 48,
    .absent_architectural_events = 0x44,
    .capabilities = kUsualCapabilities.with(PerfCapabilities::lbr_format, 3)
                        .with(PerfCapabilities::pebs_format, 1)
                        .with(PerfCapabilities::full_width, 0),
    .pebs_counters = any_of(4),
    .distribution_counters = {},
    .pebs_serves = PebsServes::Overflowed,
    .load_latency = true,
    .data_source = DataSourceFormat::Nehalem,
    .reset_slots = 4,
    .lbr_entries = 16,
    .lbr_call_stack = false,
    .counter_freeze = FreezeKind::Legacy,
    .lbr_freeze = FreezeKind::Legacy,
    .transactions = false,
    .uncore_pmi = true,
    .offcore_registers = 1,
    .offcore_bits = 0xFFFF,
    .tsc_deadline = false,
    .retired_accesses = {.instructions = true, .prefetches = true},
    .events = nehalem_events,
};
static_assert(is_consistent(kNehalem1));

}  // namespace zs::arch

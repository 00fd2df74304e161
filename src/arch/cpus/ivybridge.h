#pragma once

#include <span>

#include "arch/cpu_model.h"
#include "arch/events/event.h"

namespace zs::arch {

std::span<const Event> ivybridge_events();  // events/intel.cc

/// Ivy Bridge client (06_3AH), hyper-threading on: the only model here with the precise-store facility.
/// source: CPUID dump of a Core i7-3770 (signature, leaf 0AH); SDM vol. 3B, "Performance Monitoring for Processors
///         Based on Intel Microarchitecture Code Name Sandy Bridge" and its Ivy Bridge part (format 1, precise store,
///         full-width writes, precise distribution on PMC1), "Last Branch Recording Facility" (16 entries in format 3);
///         bits of MSR_OFFCORE_RSP as a driver checks them.
inline constexpr CpuModel kIvybridge1{
    .name = "ivybridge@1",
    .description = "Intel Core, Ivy Bridge client (06_3AH), hyper-threading on",
    .signature = 0x0003'06A9,
    .perfmon_version = 3,
    .general_counters = 4,
    .general_width = 48,
    .fixed_counters = 3,
    .fixed_width = 48,
    .capabilities = kUsualCapabilities.with(PerfCapabilities::lbr_format, 3).with(PerfCapabilities::pebs_format, 1),
    .pebs_counters = any_of(4),
    .distribution_counters = only(1),
    .pebs_serves = PebsServes::Overflowed,
    .load_latency = true,
    .precise_store = true,
    .data_source = DataSourceFormat::SandyBridge,
    .reset_slots = 4,
    .lbr_entries = 16,
    .lbr_call_stack = false,
    .counter_freeze = FreezeKind::Legacy,
    .lbr_freeze = FreezeKind::Legacy,
    .transactions = false,
    .offcore_registers = 2,
    .offcore_bits = 0x3F'807F'8FFF,
    .retired_accesses = {.prefetches = true},
    .events = ivybridge_events,
};
static_assert(is_consistent(kIvybridge1) && kIvybridge1.capabilities.raw() == 0x31C3);

}  // namespace zs::arch

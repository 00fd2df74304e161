#pragma once

#include <span>

#include "arch/cpu_model.h"
#include "arch/events/event.h"

namespace zs::arch {

std::span<const Event> skylake_client_events();  // events/intel.cc

/// Skylake client (06_5EH), hyper-threading on.
/// source: CPUID dumps of a Core i7-6700K (signature, leaf 0AH); SDM vol. 3B, "6th Generation Intel Core Processor
///         Performance Monitoring Facility"; bits of MSR_PEBS_FRONTEND and MSR_OFFCORE_RSP as a driver checks them.
/// chosen: no transactions, as microcode updates left these parts.
inline constexpr CpuModel kSkylakeClient1{
    .name = "skylake-client@1",
    .description = "Intel Core, Skylake client (06_5EH), hyper-threading on",
    .signature = 0x0005'06E3,
    .perfmon_version = 4,
    .general_counters = 4,
    .general_width = 48,
    .fixed_counters = 3,
    .fixed_width = 48,
    .capabilities = kUsualCapabilities.with(PerfCapabilities::lbr_format, 5).with(PerfCapabilities::pebs_format, 3),
    .pebs_counters = any_of(4),
    .distribution_counters = only(1),
    .pebs_serves = PebsServes::Applicable,
    .load_latency = true,
    .data_source = DataSourceFormat::Skylake,
    .reset_slots = 4,
    .lbr_entries = 32,
    .lbr_call_stack = true,
    .counter_freeze = FreezeKind::Streamlined,
    .lbr_freeze = FreezeKind::Streamlined,
    .transactions = false,
    .frontend_bits = 0x7F'FF17,
    .offcore_registers = 2,
    .offcore_bits = 0x3F'FFFF'8FFF,
    .retired_accesses = {.instructions = true, .prefetches = true, .locked_as_l1 = true},
    .events = skylake_client_events,
};
static_assert(is_consistent(kSkylakeClient1) && kSkylakeClient1.capabilities.raw() == 0x33C5);

}  // namespace zs::arch

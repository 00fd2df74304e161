// perf's own event names: which event of the CPU model's table each is, or what it would need.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "arch/cpu_model.h"
#include "session/settings/config.h"

namespace zs::session {

struct PerfName {
  std::string_view name;
  std::string_view aliases;  // separated by one space
  std::string_view
      row;  // name in the CPU model's table, or names separated by one space, the first of which it has; "" if none
  EventKind kind = EventKind::Hardware;
  std::string_view needs;  // not modelled: the part of the core model that is missing, or "kernel"
  std::string_view description;
  std::uint16_t latency_threshold = 0;  // of mem-loads, core cycles
};

/// intel_bts//, a PMU of its own in the kernel.
inline constexpr PerfName kBranchTrace{
    "intel_bts//", "", "", EventKind::BranchTrace, "", "every taken branch, through the Branch Trace Store"};

/// ibs_op//, likewise.
inline constexpr PerfName kIbsOp{"ibs_op//",       "", "",
                                 EventKind::IbsOp, "", "ops, or with cnt_ctl=0 cycles, by instruction-based sampling"};

/// ibs_fetch//, likewise.
inline constexpr PerfName kIbsFetch{"ibs_fetch//",       "", "",
                                    EventKind::IbsFetch, "", "fetches of instructions, by instruction-based sampling"};

/// The row of this CPU model that it means; null if the model has none.
const arch::Event* row_of(const PerfName& name, const arch::CpuModel& cpu);

/// In the order in which people expect them listed.
std::span<const PerfName> perf_names();

/// By name or alias, case-blind; null if perf has no such name.
const PerfName* find_perf_name(std::string_view name);

}  // namespace zs::session

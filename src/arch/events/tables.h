// The event table of each CPU model, and how to look something up in one.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "arch/events/event.h"

namespace zs::arch {

struct CpuModel;

/// Rows ascend by name.
std::span<const Event> events(const CpuModel& model);

/// The event of that name or alias, upper or lower case; null if the model has none.
const Event* find_event(const CpuModel& model, std::string_view name);

/// The row that names an encoding, for people: the first one with this EVENT and UMASK and without CMASK, INV or E;
/// null if there is none. The counter itself asks meaning_of().
const Event* find_event(const CpuModel& model, std::uint8_t event, std::uint8_t umask);

/// What a general-purpose counter with this EVENT and UMASK counts. Null: nothing (not modelled, or no such event).
/// UMASK bits of FP_ARITH_INST_RETIRED may be combined; no others.
const EventMeaning* meaning_of(const CpuModel& model, std::uint8_t event, std::uint8_t umask);

/// What fixed counter `index` counts. Null: nothing (not modelled).
const EventMeaning* fixed_meaning(const CpuModel& model, unsigned index);

// One table per file beside this one.
std::span<const Event> haswell_events();
std::span<const Event> skylake_server_events();
std::span<const Event> westmere_events();

}  // namespace zs::arch

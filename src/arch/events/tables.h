// The event table of each CPU model, and how to look something up in one.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "arch/events/event.h"
#include "arch/msrs.h"

namespace zs::arch {

struct CpuModel;

/// Rows ascend by name.
std::span<const Event> events(const CpuModel& model);

/// The event of that name or alias, upper or lower case; null if the model has none.
const Event* find_event(const CpuModel& model, std::string_view name);

/// The row that names an encoding, for people: the first one with this EVENT and UMASK and without CMASK, INV or E;
/// null if there is none. The counter itself asks meaning_of().
const Event* find_event(const CpuModel& model, std::uint16_t event, std::uint8_t umask);
/// That of a select register's EVENT and UMASK.
const Event* find_event(const CpuModel& model, PerfEvtSel select);

/// The row whose encoding holds all of this select's CMASK, INV and E: there they are no condition upon the event. Null
/// if there is none, and for a select without any.
const Event* find_whole_event(const CpuModel& model, PerfEvtSel select);

/// What a general-purpose counter with this EVENT and UMASK counts. Null: nothing (not modelled, no such event, or
/// time).
/// UMASK bits of FP_ARITH_INST_RETIRED may be combined; no others.
const EventMeaning* meaning_of(const CpuModel& model, std::uint16_t event, std::uint8_t umask);
const EventMeaning* meaning_of(const CpuModel& model, PerfEvtSel select);

/// EVENT of a select register, with the upper bits that AMD's has elsewhere.
std::uint16_t event_code(const CpuModel& model, PerfEvtSel select);

/// The row that describes fixed counter `index` best: that of precise distribution, if it has one. All rows of one
/// fixed counter count the same. Null: no such counter.
const Event* fixed_event(const CpuModel& model, unsigned index);

/// Whether the event is that of the precise-store facility: it counts stores, and with MSR_PEBS_ENABLE[63] its records
/// on PMC3 have the store's address.
bool is_precise_store(const CpuModel& model, std::uint16_t event, std::uint8_t umask);
bool is_precise_store(const CpuModel& model, PerfEvtSel select);

/// Whether the event is that of the load-latency facility.
bool is_load_latency(const CpuModel& model, std::uint16_t event, std::uint8_t umask);
bool is_load_latency(const CpuModel& model, PerfEvtSel select);

/// Whether the event is that of sampled stores with latency and place.
bool is_store_latency(const CpuModel& model, std::uint16_t event, std::uint8_t umask);

}  // namespace zs::arch

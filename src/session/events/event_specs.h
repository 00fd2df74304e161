// From what the user asked for to what a recording is told.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "session/config.h"
#include "session/events/event_parser.h"

namespace zs::session {

/// What -c or -F say for the events that do not say it themselves (period=N, freq=N).
struct Sampling {
  std::uint64_t period = 0;
  std::uint32_t frequency = 0;  // used where `period` is 0
};

/// The events of all groups in their order, each with the index of its group's first event.
/// sampling  null: only count; periods and precision, which say how to sample, are then left out.
///           The kernel's events are only counted in any case.
std::vector<EventSpec> event_specs(std::span<const EventGroup> groups, const Sampling* sampling);

}  // namespace zs::session

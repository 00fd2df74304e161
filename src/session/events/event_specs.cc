#include "session/events/event_specs.h"

namespace zs::session {
namespace {

void sample(const ParsedEvent& event, const Sampling& sampling, EventSpec& spec) {
  if (event.period) {
    spec.period = *event.period;
  } else if (event.frequency) {
    spec.frequency = static_cast<std::uint32_t>(*event.frequency);
  } else if (sampling.period != 0) {
    spec.period = sampling.period;
  } else {
    spec.frequency = sampling.frequency;
  }
  spec.precise = static_cast<std::uint8_t>(event.precise);
  spec.precise_distribution = event.precise_distribution;
}

}  // namespace

std::vector<EventSpec> event_specs(std::span<const EventGroup> groups, const Sampling* sampling) {
  std::vector<EventSpec> specs;
  for (const EventGroup& group : groups) {
    const auto leader = static_cast<std::uint32_t>(specs.size());
    for (const ParsedEvent& event : group.events) {
      EventSpec& spec = specs.emplace_back();
      spec.name = event.name;
      spec.kind = event.kind;
      spec.leader = leader;
      if (event.kind != EventKind::Hardware) continue;
      spec.select = event.select.raw();
      spec.counters = event.counters;
      spec.precise_counters = event.precise_counters;
      spec.has_address = event.has_address;
      if (sampling != nullptr) sample(event, *sampling, spec);
    }
  }
  return specs;
}

}  // namespace zs::session

// The event list comes from a command line, where scripts put anything.
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "session/events/event_parser.h"
#include "session/events/event_specs.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto groups = zs::session::parse_events(text, zs::arch::default_cpu_model());
  if (!groups) {
    CHECK(!groups.error().message.empty());
    CHECK(groups.error().message.size() < 1000);
    return 0;
  }
  CHECK(!groups->empty());
  const zs::session::Sampling sampling{.period = 1};
  for (const zs::session::EventSpec& spec : zs::session::event_specs(*groups, &sampling)) {
    CHECK((spec.kind == zs::session::EventKind::Hardware) == !spec.counters.empty());
    CHECK(spec.precise <= 3);
    CHECK(spec.precise == 0 || !spec.precise_counters.empty());
  }
  return 0;
}

// The event list comes from a command line, where scripts put anything.
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "events/event_parser.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto groups = zs::session::parse_events(text, zs::arch::default_cpu_model());
  if (!groups) {
    CHECK(!groups.error().message.empty());
    CHECK(groups.error().message.size() < 1000);
    return 0;
  }
  CHECK(!groups->empty());
  for (const zs::session::EventGroup& group : *groups) {
    CHECK(!group.events.empty());
    for (const zs::session::ParsedEvent& event : group.events) {
      const bool hardware = event.kind == zs::session::EventKind::Hardware;
      CHECK(hardware == !event.counters.empty());
      CHECK(hardware == (event.meaning != nullptr || event.tick != zs::arch::Tick::None));
      CHECK(event.precise >= 0 && event.precise <= 3);
      CHECK(event.precise == 0 || !event.precise_counters.empty());
      CHECK(!event.spelling.empty() && !event.name.empty());
    }
  }
  return 0;
}

// The reader of others' tables on anything: what it accepts has windows in order and a value for each event.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "profile/windows/foreign_tables.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace zs::profile;
  const auto table = parse_table({reinterpret_cast<const char*>(data), size}, "input");
  if (!table) {
    CHECK(!table.error().message.empty());
    return 0;
  }
  for (const Window& window : table->windows) {
    CHECK(window.start <= window.end, window.start, window.end);
    CHECK(window.values.size() == table->events.size(), window.values.size());
  }
  return 0;
}

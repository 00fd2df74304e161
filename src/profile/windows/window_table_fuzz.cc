// The reader of window tables on anything: what it accepts, the writer writes so that it reads back the same.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "profile/windows/whole_csv.h"
#include "profile/windows/window_table.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace zs::profile;
  const auto table = parse_window_csv({reinterpret_cast<const char*>(data), size}, "input");
  if (!table) {
    CHECK(!table.error().message.empty());
    return 0;
  }
  const std::string text = window_csv(*table);
  const auto again = parse_window_csv(text, "again");
  CHECK(again.has_value());
  CHECK(*again == *table);
  CHECK(window_csv(*again) == text);
  return 0;
}

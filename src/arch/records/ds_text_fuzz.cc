// Any memory as a Debug Store of any layout and format, or as an excerpt of one: the text ends, and no read leaves the
// memory.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "arch/records/ds_excerpt.h"
#include "arch/records/ds_text.h"
#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace zs::arch;
  if (size < 2) return 0;
  const DsShape shape{.layout = data[0] % 2 == 0 ? DsLayout::Words32 : DsLayout::Words64,
                      .format = kPebsFormats[data[1] % std::size(kPebsFormats)].format,
                      .fixed_slots = static_cast<std::uint8_t>(data[1] / 8 % 5)};
  const auto read = [data, size](std::uint64_t at, std::span<std::byte> into) {
    if (at > size || into.size() > size - at) return false;
    std::memcpy(into.data(), data + at, into.size());
    return true;
  };
  CHECK(!ds_text(shape, read, 2).empty());
  if (const auto excerpt = read_excerpt(std::as_bytes(std::span(data, size)))) CHECK(!excerpt_text(*excerpt).empty());
  return 0;
}

// Any memory as a Debug Store of any layout and format: the text ends, and no read leaves the memory.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/check.h"
#include "machine/ds_view.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace zs::machine;
  if (size < 2) return 0;
  const DsView view{.read =
                        [data, size](std::uint64_t at, std::span<std::byte> into) {
                          if (at > size || into.size() > size - at) return false;
                          std::memcpy(into.data(), data + at, into.size());
                          return true;
                        },
                    .layout = data[0] % 2 == 0 ? DsLayout::Bits32 : DsLayout::Bits64,
                    .pebs_format = data[1] % 8u,
                    .reset_slots = 8};
  CHECK(!ds_text(view, 2).empty());
  return 0;
}

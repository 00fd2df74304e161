// Unwind tables, expressions and code of a program are what it likes: none of it may crash, hang or read elsewhere.
// The first byte says where the common part ends and the function's begins.
#include <algorithm>
#include <cstring>

#include "session/stacks/call_frame_info.h"
#include "session/stacks/code_rule.h"
#include "session/stacks/expression.h"

namespace {

struct NoMemory final : zs::session::WordSource {
  std::optional<std::uint64_t> word(std::uint64_t address) override { return address; }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace zs::session;
  if (size == 0) return 0;
  const zs::Bytes all = std::as_bytes(std::span(data + 1, size - 1));
  const std::size_t cut = std::min<std::size_t>(data[0], all.size());
  Expressions expressions;
  if (const auto common = read_common(zs::ByteReader(all.first(cut)))) {
    if (const auto function = read_function(zs::ByteReader(all.subspan(cut), {}, 0x1000), *common)) {
      for (const std::uint64_t distance : {0, 1, 20})
        static_cast<void>(rule_at(*common, *function, function->start + distance, expressions));
    }
  }
  NoMemory memory;
  static_cast<void>(evaluate(all, {}, memory, 1));
  const FetchCode fetch = [&](std::uint64_t address, std::span<std::byte> into) {
    if (address >= all.size()) return std::size_t{0};
    const std::size_t count = std::min(into.size(), all.size() - static_cast<std::size_t>(address));
    std::memcpy(into.data(), all.data() + address, count);
    return count;
  };
  static_cast<void>(rule_of_code(0, fetch, 256));
  return 0;
}

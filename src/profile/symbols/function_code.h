// The instructions of a function, as its file has them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "isa/decode.h"
#include "profile/symbols/elf_image.h"
#include "profile/symbols/symbol_table.h"

namespace zs::profile {

/// visit(insn) for each, in their order, up to bytes that begin none.
template <typename Visit>
void for_each_insn(const ElfImage& image, const Symbol& function, Visit visit) {
  const Bytes code = image.code(function.start, function.size());
  const std::span<const std::uint8_t> bytes{reinterpret_cast<const std::uint8_t*>(code.data()), code.size()};
  for (std::size_t at = 0; at < bytes.size();) {
    const auto insn = isa::decode(value(function.start) + at, bytes.subspan(at));
    if (!insn) return;
    visit(*insn);
    at += insn->length;
  }
}

}  // namespace zs::profile

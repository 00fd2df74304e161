// Machine code for tests and benchmarks: blocks of the C library of this very process, as a compiler wrote them.
#pragma once

#include <link.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "uarch/timing/block_timing.h"
#include "uarch/timing/shape.h"

namespace zs::uarch {

/// The executable segment of the C library.
inline std::span<const std::uint8_t> libc_code() {
  std::span<const std::uint8_t> found;
  const auto look = [](dl_phdr_info* object, std::size_t, void* out) {
    if (std::string_view(object->dlpi_name).find("/libc.so") == std::string_view::npos) return 0;
    for (unsigned i = 0; i < object->dlpi_phnum; ++i) {
      const ElfW(Phdr)& header = object->dlpi_phdr[i];
      if (header.p_type != PT_LOAD || (header.p_flags & PF_X) == 0) continue;
      const auto* const start = reinterpret_cast<const std::uint8_t*>(object->dlpi_addr + header.p_vaddr);
      *static_cast<std::span<const std::uint8_t>*>(out) = {start, header.p_filesz};
    }
    return 0;
  };
  dl_iterate_phdr(look, &found);
  return found;
}

using Block = std::vector<PlacedInstruction>;

/// Every instruction of `code` up to and with the first branch, at most `most` of them.
inline Block block_at(std::span<const std::uint8_t> code, std::uint64_t pc, std::size_t most) {
  Block block;
  while (block.size() < most) {
    const auto shape = shape_of(code.first(std::min<std::size_t>(code.size(), 15)));
    if (!shape) break;
    block.push_back({pc, *shape});
    if (shape->branch != arch::BranchKind::None) break;
    pc += shape->length;
    code = code.subspan(shape->length);
  }
  return block;
}

/// Up to `count` blocks of the C library, in its order: each begins where the one before ended.
/// from  offset of the first
inline std::vector<Block> libc_blocks(std::size_t count, std::size_t most = 24, std::size_t from = 0) {
  std::vector<Block> blocks;
  const auto code = libc_code();
  for (std::size_t at = from; at + 512 < code.size() && blocks.size() < count;) {
    Block block = block_at(code.subspan(at), 0x40'0000 + at, most);
    if (block.empty()) {
      ++at;
      continue;
    }
    at = block.back().pc + block.back().shape.length - 0x40'0000;
    blocks.push_back(std::move(block));
  }
  return blocks;
}

}  // namespace zs::uarch

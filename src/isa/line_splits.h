// Accesses that lie in two cache lines.
#pragma once

#include <cstdint>

namespace zs::isa {

inline constexpr std::uint64_t kLineBytes = 64;

/// State areas (XSAVE, FXSAVE and kin) are wider than a line: many aligned accesses, none of them split.
constexpr bool crosses_line(std::uint64_t address, std::uint32_t bytes) {
  return bytes != 0 && bytes <= kLineBytes && address / kLineBytes != (address + bytes - 1) / kLineBytes;
}

/// How many of a REP string's accesses are split: elements of 1, 2, 4 or 8 bytes, side by side, the first at `address`
/// and the others above it, or below it (`down`). If the first is aligned, all are, and none is split; if not, no
/// element ends where a line does, so every such place inside the string splits one.
constexpr std::uint64_t split_elements(std::uint64_t address, std::uint32_t bytes, std::uint64_t elements, bool down) {
  if (elements == 0 || bytes == 0 || address % bytes == 0) return 0;
  const std::uint64_t first = down ? address - (elements - 1) * bytes : address;
  return (first + elements * bytes - 1) / kLineBytes - first / kLineBytes;
}

}  // namespace zs::isa

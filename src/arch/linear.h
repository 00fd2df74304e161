// Canonical form of linear addresses (48 bits, four-level paging).
#pragma once

#include <cstdint>

namespace zs::arch {

/// Bits 63..47 are all equal. WRMSR raises #GP for registers that hold an address which is not.
constexpr bool is_canonical(std::uint64_t address) {
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(address << 16) >> 16) == address;
}

}  // namespace zs::arch

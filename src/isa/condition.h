// Whether a conditional branch is taken, for one that is told of before it runs.
// source: SDM vol. 1, appendix "EFLAGS Condition Codes".
#pragma once

#include <cstdint>

namespace zs::isa {

/// condition  low nibble of Jcc's opcode
constexpr bool holds(std::uint8_t condition, std::uint64_t flags) {
  const bool cf = (flags & 1) != 0, pf = (flags >> 2 & 1) != 0, zf = (flags >> 6 & 1) != 0;
  const bool sf = (flags >> 7 & 1) != 0, of = (flags >> 11 & 1) != 0;
  const bool conditions[8] = {of, cf, zf, cf || zf, sf, pf, sf != of, zf || sf != of};
  return conditions[condition >> 1 & 7u] != ((condition & 1u) != 0);
}

}  // namespace zs::isa

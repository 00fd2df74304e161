// Thirty-two ages of two bits in a word, and the questions that QLRU and SRRIP ask of them.
#pragma once

#include <bit>

#include "uarch/replacement/replacement_policy.h"

namespace zs::uarch::ages {

inline constexpr PolicyState kLow = 0x5555'5555'5555'5555;  // the low bit of each age

/// The low bits of the ages of the first `ways` ways.
constexpr PolicyState lanes(unsigned ways) { return ways == 32 ? kLow : kLow & ((PolicyState{1} << 2 * ways) - 1); }
constexpr PolicyState lane(unsigned way) { return PolicyState{1} << 2 * way; }

constexpr unsigned get(PolicyState state, unsigned way) { return static_cast<unsigned>(state >> 2 * way & 3); }
constexpr void set(PolicyState& state, unsigned way, unsigned age) {
  state = (state & ~(PolicyState{3} << 2 * way)) | PolicyState{age} << 2 * way;
}

/// Those of `among` whose age is 3, as low bits.
constexpr PolicyState threes(PolicyState state, PolicyState among) { return state & state >> 1 & among; }

/// Adds to all of `among` what the greatest of them lacks to 3; no age overflows. Nobody can predict how much that is,
/// so that no branch depends on it.
constexpr void raise_to_three(PolicyState& state, PolicyState among) {
  const PolicyState high = state >> 1 & among, low = state & among;
  const PolicyState lacks = PolicyState{(high & low) == 0} + PolicyState{high == 0} + PolicyState{(high | low) == 0};
  state += among * lacks;
}

constexpr unsigned lowest(PolicyState low_bits) { return static_cast<unsigned>(std::countr_zero(low_bits)) / 2; }

}  // namespace zs::uarch::ages

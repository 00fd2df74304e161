// Exact least recently used: a permutation of the ways in sixteen nibbles, the most recent in the lowest.
#pragma once

#include <bit>

#include "uarch/replacement/replacement_policy.h"

namespace zs::uarch {

class LruPolicy {
 public:
  explicit constexpr LruPolicy(unsigned ways) : ways_(ways) {}

  constexpr unsigned ways() const { return ways_; }
  constexpr PolicyState initial() const { return 0xFEDC'BA98'7654'3210; }

  constexpr unsigned victim(PolicyState state, WayMask filled) const {
    if (filled != all_ways(ways_)) return lowest_empty(filled);
    return static_cast<unsigned>(state >> 4 * (ways_ - 1) & 0xF);
  }
  constexpr void inserted(PolicyState& state, unsigned way) const { hit(state, way); }

  /// Takes the way's nibble out and puts it in front.
  constexpr void hit(PolicyState& state, unsigned way) const {
    constexpr PolicyState kOnes = 0x1111'1111'1111'1111;
    const PolicyState difference = state ^ kOnes * way;
    // The lowest nibble that is zero; borrows can only mark nibbles above it.
    const PolicyState zeros = (difference - kOnes) & ~difference & kOnes << 3;
    const int at = std::countr_zero(zeros) & ~3;
    const PolicyState newer = (PolicyState{1} << at) - 1;
    const PolicyState older = ~newer << 4;
    state = (state & older) | (state & newer) << 4 | way;
  }

 private:
  unsigned ways_;
};
static_assert(ReplacementPolicy<LruPolicy>);

}  // namespace zs::uarch

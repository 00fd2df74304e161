// One bit per way ("MRU"): set while the way has not been used since the bits were renewed. The lowest way with its bit
// set is evicted; when a touch clears the last bit, all others are set again.
// source: nanoBench papers, last-level cache of Nehalem and Westmere.
#pragma once

#include <bit>

#include "uarch/replacement/replacement_policy.h"

namespace zs::uarch {

class BitPlruPolicy {
 public:
  explicit constexpr BitPlruPolicy(unsigned ways) : ways_(ways) {}

  constexpr unsigned ways() const { return ways_; }
  constexpr PolicyState initial() const { return all_ways(ways_); }

  constexpr unsigned victim(PolicyState state, WayMask filled) const {
    if (filled != all_ways(ways_)) return lowest_empty(filled);
    return static_cast<unsigned>(std::countr_zero(state));
  }
  constexpr void inserted(PolicyState& state, unsigned way) const { hit(state, way); }
  constexpr void hit(PolicyState& state, unsigned way) const {
    const PolicyState bit = PolicyState{1} << way;
    state &= ~bit;
    if (state == 0) state = all_ways(ways_) & ~bit;
  }

 private:
  unsigned ways_;
};
static_assert(ReplacementPolicy<BitPlruPolicy>);

}  // namespace zs::uarch

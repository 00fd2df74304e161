// Static re-reference interval prediction with two bits: a new line is expected late (2), a line that hits soon (0),
// and the lowest way that is expected last is evicted; if none has age 3, all grow older until one has.
// chosen: the nearest published rule to what AMD says of its L3, which is little.
#pragma once

#include "uarch/replacement/ages.h"
#include "uarch/replacement/replacement_policy.h"

namespace zs::uarch {

class SrripPolicy {
 public:
  explicit constexpr SrripPolicy(unsigned ways) : ways_(ways), lanes_(ages::lanes(ways)) {}

  constexpr unsigned ways() const { return ways_; }
  constexpr PolicyState initial() const { return lanes_ * 3; }

  constexpr unsigned victim(PolicyState state, WayMask filled) const {
    if (filled != all_ways(ways_)) return lowest_empty(filled);
    ages::raise_to_three(state, lanes_);
    return ages::lowest(ages::threes(state, lanes_));
  }
  /// The growing older that found the victim happens here, where the state may change.
  constexpr void inserted(PolicyState& state, unsigned way) const {
    ages::raise_to_three(state, lanes_);
    ages::set(state, way, 2);
  }
  constexpr void hit(PolicyState& state, unsigned way) const { ages::set(state, way, 0); }

 private:
  unsigned ways_;
  PolicyState lanes_;
};
static_assert(ReplacementPolicy<SrripPolicy>);

}  // namespace zs::uarch

// Tree pseudo-LRU: one bit per inner node of a binary tree over the ways, which points at the half to evict. A touch
// makes the nodes on its way point elsewhere.
// Empty ways are not preferred: the tree alone decides (nanoBench's measured behaviour; its vector does not come out
// otherwise).
// Not modelled: ways shared unequally between hyper-threads.
#pragma once

#include <array>
#include <bit>

#include "uarch/replacement/replacement_policy.h"

namespace zs::uarch {

class TreePlruPolicy {
 public:
  /// ways  a power of two, 2 to 32
  explicit constexpr TreePlruPolicy(unsigned ways) : ways_(ways) {
    for (unsigned way = 0; way < ways; ++way) {
      for (unsigned node = ways + way; node > 1; node /= 2) {
        path_[way] |= PolicyState{1} << node / 2;
        if (node % 2 == 0) away_[way] |= PolicyState{1} << node / 2;
      }
    }
    if (ways <= kMostInTable) {
      for (PolicyState state = 0; state < victims_.size(); ++state)
        victims_[state] = static_cast<std::uint8_t>(led_to(2 * state));
    }
  }

  constexpr unsigned ways() const { return ways_; }
  constexpr PolicyState initial() const { return 0; }

  /// Bit n of the state is node n; node 1 is the root, the children of n are 2n and 2n + 1, and leaf `ways` + w is way
  /// w.
  constexpr unsigned victim(PolicyState state, WayMask /*filled*/) const {
    return ways_ <= kMostInTable ? victims_[state / 2] : led_to(state);
  }
  constexpr void inserted(PolicyState& state, unsigned way) const { hit(state, way); }
  constexpr void hit(PolicyState& state, unsigned way) const { state = (state & ~path_[way]) | away_[way]; }
  /// ways() is at most TouchMasks::kMostWays.
  constexpr TouchMasks touch_masks() const {
    TouchMasks masks;
    for (unsigned way = 0; way < ways_; ++way) {
      masks.keep[way] = ~path_[way];
      masks.set[way] = away_[way];
    }
    return masks;
  }

 private:
  static constexpr unsigned kMostInTable = 8;
  constexpr unsigned led_to(PolicyState state) const {
    unsigned node = 1;
    while (node < ways_) node = 2 * node + static_cast<unsigned>(state >> node & 1);
    return node - ways_;
  }

  unsigned ways_;
  std::array<PolicyState, 32> path_{};                            // the nodes between the root and a way
  std::array<PolicyState, 32> away_{};                            // those of them that must point to the upper half
  std::array<std::uint8_t, 1U << (kMostInTable - 1)> victims_{};  // by the nodes, of kMostInTable ways at most
};
static_assert(ReplacementPolicy<TreePlruPolicy>);

}  // namespace zs::uarch

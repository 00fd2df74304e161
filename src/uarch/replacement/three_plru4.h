// Twelve ways as three trees of four, the trees themselves in LRU order: the L1D of Ice Lake and after.
// source: nanoBench papers, measured on the client part.
#pragma once

#include <array>

#include "uarch/replacement/replacement_policy.h"

namespace zs::uarch {

class ThreePlru4Policy {
 public:
  static constexpr unsigned kWays = 12;

  constexpr ThreePlru4Policy() = default;
  explicit constexpr ThreePlru4Policy(unsigned /*ways*/) {}

  constexpr unsigned ways() const { return kWays; }
  /// Bits 2..0, 5..3, 8..6: root, lower and upper node of each tree. Bits 9, 10, 11: the first tree was used after the
  /// second, the first after the third, the second after the third.
  constexpr PolicyState initial() const { return kFirstAfterSecond | kFirstAfterThird | kSecondAfterThird; }

  constexpr unsigned victim(PolicyState state, WayMask filled) const {
    if (filled != all_ways(kWays)) return lowest_empty(filled);
    const bool first = (state & (kFirstAfterSecond | kFirstAfterThird)) == 0;
    const bool second = (state & (kFirstAfterSecond | kSecondAfterThird)) == kFirstAfterSecond;
    const unsigned tree = first ? 0 : second ? 1 : 2;
    const PolicyState nodes = state >> 3 * tree & 7;
    const auto half = static_cast<unsigned>(nodes & 1);
    return 4 * tree + 2 * half + static_cast<unsigned>(nodes >> (1 + half) & 1);
  }
  constexpr void inserted(PolicyState& state, unsigned way) const { hit(state, way); }
  constexpr void hit(PolicyState& state, unsigned way) const { state = (state & kTouch.keep[way]) | kTouch.set[way]; }
  constexpr TouchMasks touch_masks() const { return kTouch; }

 private:
  static constexpr PolicyState kFirstAfterSecond = 1U << 9, kFirstAfterThird = 1U << 10, kSecondAfterThird = 1U << 11;
  static constexpr TouchMasks kTouch = [] {
    // By way within its tree: which of (root, lower, upper) it passes, and which of those must then point upwards.
    constexpr std::array<PolicyState, 4> path{0b011, 0b011, 0b101, 0b101};
    constexpr std::array<PolicyState, 4> away{0b011, 0b001, 0b100, 0b000};
    // By tree: which of the order it changes, and which of those become true.
    constexpr std::array<PolicyState, 3> order{kFirstAfterSecond | kFirstAfterThird,
                                               kFirstAfterSecond | kSecondAfterThird,
                                               kFirstAfterThird | kSecondAfterThird};
    constexpr std::array<PolicyState, 3> newest{kFirstAfterSecond | kFirstAfterThird, kSecondAfterThird, 0};
    TouchMasks masks;
    for (unsigned way = 0; way < kWays; ++way) {
      const unsigned tree = way / 4;
      masks.keep[way] = ~(path[way % 4] << 3 * tree | order[tree]);
      masks.set[way] = away[way % 4] << 3 * tree | newest[tree];
    }
    return masks;
  }();
};
static_assert(ReplacementPolicy<ThreePlru4Policy>);

}  // namespace zs::uarch

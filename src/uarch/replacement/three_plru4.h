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
  /// Bits 2..0, 5..3, 8..6: root, lower and upper node of each tree. Bits 9 to 14: the trees, most recent first, two bits each.
  constexpr PolicyState initial() const { return PolicyState{0b10'01'00} << kOrderAt; }

  constexpr unsigned victim(PolicyState state, WayMask filled) const {
    if (filled != all_ways(kWays)) return lowest_empty(filled);
    const auto tree = static_cast<unsigned>(state >> (kOrderAt + 4) & 3);
    const PolicyState nodes = state >> 3 * tree & 7;
    const auto half = static_cast<unsigned>(nodes & 1);
    return 4 * tree + 2 * half + static_cast<unsigned>(nodes >> (1 + half) & 1);
  }
  constexpr void inserted(PolicyState& state, unsigned way) const { hit(state, way); }

  constexpr void hit(PolicyState& state, unsigned way) const {
    const unsigned tree = way / 4;
    state = (state & ~(kPath[way % 4] << 3 * tree)) | kAway[way % 4] << 3 * tree;
    const auto order = static_cast<unsigned>(state >> kOrderAt & 0x3F);
    unsigned next = tree;
    unsigned at = 2;
    for (unsigned i = 0; i < 3; ++i) {
      const unsigned other = order >> 2 * i & 3;
      if (other == tree) continue;
      next |= other << at;
      at += 2;
    }
    state = (state & ~(PolicyState{0x3F} << kOrderAt)) | PolicyState{next} << kOrderAt;
  }

 private:
  static constexpr unsigned kOrderAt = 9;
  // By way within its tree: which of (root, lower, upper) it passes, and which of those must then point upwards.
  static constexpr std::array<PolicyState, 4> kPath{0b011, 0b011, 0b101, 0b101};
  static constexpr std::array<PolicyState, 4> kAway{0b011, 0b001, 0b100, 0b000};
};
static_assert(ReplacementPolicy<ThreePlru4Policy>);

}  // namespace zs::uarch

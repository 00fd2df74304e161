// What a replacement policy is: a small value that knows a rule and keeps nothing. What it must remember of a set is a
// word that the cache stores beside the set's tags, so any policy fits any cache and one set is one load.
//   victim()    where a new line goes, among all ways; `filled` says which hold a line now
//   inserted()  a new line came into `way`
//   hit()       the line in `way` was used
// Invalidated lines need no call: but for the tree (tree_plru.h), every policy here takes a way that is not filled
// first, whatever its bits say.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstdint>

namespace zs::uarch {

using PolicyState = std::uint64_t;
using WayMask = std::uint32_t;  // bit w: way w

constexpr WayMask all_ways(unsigned ways) { return ways == 32 ? ~WayMask{0} : (WayMask{1} << ways) - 1; }

/// The lowest way that `filled` leaves free; there is one.
constexpr unsigned lowest_empty(WayMask filled) { return static_cast<unsigned>(std::countr_one(filled)); }

/// A hit as two masks: state = (state & keep[way]) | set[way]. Policies of trees have it, touch_masks().
struct TouchMasks {
  static constexpr unsigned kMostWays = 16;
  std::array<PolicyState, kMostWays> keep{}, set{};
};

// clang-format off
template <typename P>
concept ReplacementPolicy = requires(const P& policy, PolicyState& state, unsigned way, WayMask filled) {
  { policy.ways() } -> std::same_as<unsigned>;
  { policy.initial() } -> std::same_as<PolicyState>;
  { policy.victim(PolicyState{}, filled) } -> std::same_as<unsigned>;
  policy.inserted(state, way);
  policy.hit(state, way);
};
// clang-format on

}  // namespace zs::uarch

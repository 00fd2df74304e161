// The family QLRU_Hxy_Mz_Rr_Uu: two bits of age per way, and four choices (policy_spec.h) of what happens to them.
// A way that holds no line has age 3. source: nanoBench papers; the vectors of qlru_test hold which reading is meant.
// Not modelled: insertion ages that are drawn by chance (MRxp).
#pragma once

#include <bit>

#include "uarch/replacement/ages.h"
#include "uarch/replacement/policy_spec.h"
#include "uarch/replacement/replacement_policy.h"

namespace zs::uarch {

class QlruPolicy {
 public:
  constexpr QlruPolicy(unsigned ways, QlruRule rule)
      : ways_(ways), rule_(rule), age_after_hit_{0, 0, rule.hit_age_2, rule.hit_age_3}, lanes_(ages::lanes(ways)) {}

  constexpr unsigned ways() const { return ways_; }
  constexpr PolicyState initial() const { return lanes_ * 3; }

  constexpr unsigned victim(PolicyState state, WayMask filled) const {
    if (const WayMask empty = all_ways(ways_) & ~filled; empty != 0) {
      return static_cast<unsigned>(rule_.replacement == 2 ? std::bit_width(empty) - 1 : std::countr_zero(empty));
    }
    const PolicyState oldest = ages::threes(state, lanes_);
    return oldest == 0 ? 0 : ages::lowest(oldest);  // none: R1 only, and its rule is way 0
  }
  constexpr void inserted(PolicyState& state, unsigned way) const {
    ages::set(state, way, rule_.insert_age);
    update(state, way);
  }
  constexpr void hit(PolicyState& state, unsigned way) const {
    ages::set(state, way, age_after_hit_[ages::get(state, way)]);
    update(state, way);
  }

 private:
  constexpr void update(PolicyState& state, unsigned way) const {
    const bool spares_accessed = (rule_.update & 1) != 0;  // U1 and U3
    const PolicyState aging = spares_accessed ? lanes_ & ~ages::lane(way) : lanes_;
    if (rule_.update <= 1) {
      ages::raise_to_three(state, aging);
    } else if (ages::threes(state, aging) == 0) {
      state += aging;
    }
  }

  unsigned ways_;
  QlruRule rule_;
  unsigned age_after_hit_[4];
  PolicyState lanes_;
};
static_assert(ReplacementPolicy<QlruPolicy>);

}  // namespace zs::uarch

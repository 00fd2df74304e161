// A policy that is chosen at run time: for caches behind L1D, where a branch that is always predicted costs nothing
// beside the miss that led there, and for L1D policies that only a what-if asks for.
#pragma once

#include <optional>

#include "base/check.h"
#include "uarch/replacement/bit_plru.h"
#include "uarch/replacement/lru.h"
#include "uarch/replacement/policy_spec.h"
#include "uarch/replacement/qlru.h"
#include "uarch/replacement/srrip.h"
#include "uarch/replacement/three_plru4.h"
#include "uarch/replacement/tree_plru.h"

namespace zs::uarch {

class AnyPolicy {
  // First, because what it returns is deduced.
  template <typename Use>
  decltype(auto) with(Use use) const {
    switch (kind_) {
      case PolicyKind::Lru: return use(lru_);
      case PolicyKind::TreePlru: return use(tree_);
      case PolicyKind::ThreePlru4: return use(trees_);
      case PolicyKind::BitPlru: return use(bit_);
      case PolicyKind::Srrip: return use(srrip_);
      case PolicyKind::Qlru: break;
    }
    return use(qlru_);
  }

 public:
  AnyPolicy(const PolicySpec& spec, unsigned ways)
      : kind_(spec.kind),
        lru_(ways),
        tree_(spec.kind == PolicyKind::TreePlru ? ways : 2),
        bit_(ways),
        srrip_(ways),
        qlru_(ways, spec.rule) {
    CHECK(serves(spec, ways), spec.kind, ways);
  }

  unsigned ways() const { return lru_.ways(); }
  PolicyState initial() const {
    return with([](const auto& policy) { return policy.initial(); });
  }
  unsigned victim(PolicyState state, WayMask filled) const {
    return with([=](const auto& policy) { return policy.victim(state, filled); });
  }
  void inserted(PolicyState& state, unsigned way) const {
    with([&state, way](const auto& policy) { policy.inserted(state, way); });
  }
  void hit(PolicyState& state, unsigned way) const {
    with([&state, way](const auto& policy) { policy.hit(state, way); });
  }
  /// Nothing where a hit is more than two masks.
  std::optional<TouchMasks> touch_masks() const {
    return with([](const auto& policy) -> std::optional<TouchMasks> {
      if constexpr (requires { policy.touch_masks(); }) {
        if (policy.ways() <= TouchMasks::kMostWays) return policy.touch_masks();
      }
      return std::nullopt;
    });
  }

 private:
  PolicyKind kind_;
  LruPolicy lru_;
  TreePlruPolicy tree_;
  ThreePlru4Policy trees_;
  BitPlruPolicy bit_;
  SrripPolicy srrip_;
  QlruPolicy qlru_;
};
static_assert(ReplacementPolicy<AnyPolicy>);

}  // namespace zs::uarch

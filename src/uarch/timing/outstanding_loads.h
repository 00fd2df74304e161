// When loads that L1D did not answer at once are outstanding, by level: what a wait of the core belongs to. A load that
// is told now may begin later, when its address is known, so these are stretches of time and not only their ends.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "uarch/timing/slot_cause.h"

namespace zs::uarch {

class OutstandingLoads {
 public:
  /// level  L1 to Dram
  /// now    nobody asks about an earlier time any more
  void add(SlotCause level, std::uint64_t from, std::uint64_t until, std::uint64_t now) {
    auto& stretches = stretches_[static_cast<std::size_t>(level)];
    const auto over = std::ranges::find_if(stretches, [now](const Stretch& stretch) { return stretch.until > now; });
    stretches.erase(stretches.begin(), over);
    auto at = stretches.end();
    while (at != stretches.begin() && (at - 1)->until >= from) --at;  // the first that may touch it
    auto behind = at;
    for (; behind != stretches.end() && behind->from <= until; ++behind) {
      from = std::min(from, behind->from);
      until = std::max(until, behind->until);
    }
    if (at == behind) {
      stretches.insert(at, {from, until});
    } else {
      *at = {from, until};
      stretches.erase(at + 1, behind);
    }
  }

  /// Divides a wait: charge(units, cause) for each piece in its order, with the deepest level of the loads outstanding
  /// in it, or `rest` where there is none.
  template <typename Charge>
  void share_out(std::uint64_t from, std::uint64_t until, SlotCause rest, const Charge& charge) const {
    while (from < until) {
      std::uint64_t end = until;
      SlotCause cause = rest;
      for (std::size_t level = stretches_.size(); level-- > static_cast<std::size_t>(SlotCause::L1);) {
        const auto next = std::ranges::find_if(stretches_[level], [from](const Stretch& s) { return s.until > from; });
        if (next == stretches_[level].end()) continue;
        end = std::min(end, next->from > from ? next->from : next->until);
        if (next->from > from) continue;
        cause = static_cast<SlotCause>(level);
        break;
      }
      charge(end - from, cause);
      from = end;
    }
  }

 private:
  struct Stretch {
    std::uint64_t from, until;
  };
  /// By SlotCause, in order and apart from each other.
  std::array<std::vector<Stretch>, static_cast<std::size_t>(SlotCause::Dram) + 1> stretches_;
};

}  // namespace zs::uarch

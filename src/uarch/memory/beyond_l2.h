// Which instructions ask beyond L2. Only what they access can change what lies in the last level, so between the units
// of a run that is sampled nobody needs to report others (arch::CoreFeed::beyond_l2).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "uarch/flat_map.h"

namespace zs::uarch {

/// Of all cores.
class BeyondL2 {
 public:
  /// An access of the instruction at `pc`, or a prefetch that it set off, was not in L2.
  void note(std::uint64_t pc) {
    if (stretch_ == 0) return;  // whatever runs for the first time asks for what nobody has
    std::uint32_t& last = last_[pc];
    if (last == kReported) return;
    if (last == 0 || last == stretch_) {
      last = stretch_;
    } else {
      last = kReported;
      reported_.push_back(pc);
    }
  }
  /// Whether it was noted at two times.
  bool reported(std::uint64_t pc) const {
    const std::uint32_t* const last = last_.find(pc);
    return last != nullptr && *last == kReported;
  }
  /// Something was skipped, and what is noted from here on was seen at another time.
  void skipped() { ++stretch_; }
  /// Those that have been noted at two times, and were not named here yet.
  std::vector<std::uint64_t> take() { return std::exchange(reported_, {}); }

 private:
  static constexpr std::uint32_t kReported = UINT32_MAX;

  std::uint32_t stretch_ = 0;
  FlatMap<std::uint32_t> last_;  // by instruction: in which stretch it was noted
  std::vector<std::uint64_t> reported_;
};

}  // namespace zs::uarch

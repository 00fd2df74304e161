// The last branches of a trace that is bounded: its pieces wait here, and the oldest are dropped.
#pragma once

#include <cstdint>
#include <deque>

#include "session/wire.h"

namespace zs::cli {

class LastBranches {
 public:
  /// most  branches of all threads together
  explicit LastBranches(std::uint64_t most) : most_(most) {}

  void add(session::Branches piece);
  /// What is left, exactly `most` of them where more came, in the order in which they came. None are then.
  std::deque<session::Branches> take();
  std::uint64_t dropped() const { return dropped_; }

 private:
  std::uint64_t most_;
  std::uint64_t kept_ = 0, dropped_ = 0;  // branches
  std::deque<session::Branches> pieces_;
};

}  // namespace zs::cli

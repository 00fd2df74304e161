// The way between two levels, which one line takes at a time. Requests are told in program order, and one that has
// waited for its address may come far behind one that is told after it: so this keeps what is queued, not when the way
// is free, and a request that is earlier than the last finds the queue that the last found.
#pragma once

#include <cstdint>

namespace zs::uarch {

class Way {
 public:
  /// When a request made at `now` has the way. It then keeps it for `cycles`.
  std::uint64_t take(std::uint64_t now, std::uint32_t cycles) {
    const std::uint64_t start = now + queue(now);
    queued_ += cycles;
    return start;
  }
  /// Something takes the way when it is free.
  void add(std::uint32_t cycles) { queued_ += cycles; }
  /// Cycles that a request made at `now` would wait.
  std::uint64_t queue(std::uint64_t now) {
    if (now > at_) {
      queued_ = queued_ > now - at_ ? queued_ - (now - at_) : 0;
      at_ = now;
    }
    return queued_;
  }

 private:
  std::uint64_t at_ = 0;      // the latest request
  std::uint64_t queued_ = 0;  // cycles, then
};

}  // namespace zs::uarch

// The return stack: a ring of return addresses. A call beyond its size overwrites the oldest, and a return beyond what was
// pushed finds what was left there: deep recursion, longjmp and switched stacks mispredict as on hardware.
// Left out: recovery of entries that wrong-path calls overwrote; the indirect predictor that some cores ask when it is empty.
#pragma once

#include <array>
#include <cstdint>

namespace zs::uarch {

class ReturnStack {
 public:
  explicit ReturnStack(std::uint8_t entries) : entries_(entries) {}

  void push(std::uint64_t address) {
    top_ = top_ + 1 == entries_ ? 0 : top_ + 1;
    addresses_[top_] = address;
  }

  std::uint64_t pop() {
    const std::uint64_t address = addresses_[top_];
    top_ = top_ == 0 ? entries_ - 1 : top_ - 1;
    return address;
  }

 private:
  std::array<std::uint64_t, 32> addresses_{};
  unsigned entries_;
  unsigned top_ = 0;
};

}  // namespace zs::uarch

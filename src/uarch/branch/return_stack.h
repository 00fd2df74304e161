// The return stack: a ring of return addresses. A call beyond its size overwrites the oldest, and a return beyond what
// was pushed finds what was left there: deep recursion, longjmp and switched stacks mispredict as on hardware.
// Left out: recovery of entries that wrong-path calls overwrote; the indirect predictor that some cores ask when it is
// empty.
#pragma once

#include <array>
#include <cstdint>

namespace zs::uarch {

class ReturnStack {
 public:
  /// What code that does the same inline works on.
  struct Inline {
    std::array<std::uint64_t, 32> addresses{};
    std::uint32_t entries = 0;
    std::uint32_t top = 0;
  };

  explicit ReturnStack(std::uint8_t entries) { own_.entries = entries; }

  void push(std::uint64_t address) {
    own_.top = own_.top + 1 == own_.entries ? 0 : own_.top + 1;
    own_.addresses[own_.top] = address;
  }

  std::uint64_t pop() {
    const std::uint64_t address = own_.addresses[own_.top];
    own_.top = own_.top == 0 ? own_.entries - 1 : own_.top - 1;
    return address;
  }
  Inline& inline_part() { return own_; }

 private:
  Inline own_;
};

}  // namespace zs::uarch

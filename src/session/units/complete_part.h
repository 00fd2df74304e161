// What is modelled whole in front of units, piece by piece: whether it shows a program whose units would say little, or
// threads that have to be modelled whole.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace zs::session {

/// Instructions of the loader's, about, which are unlike what follows. chosen
inline constexpr std::uint64_t kStartOfComplete = 2'000'000;

class CompletePart {
 public:
  /// Core cycles of a piece, and about how many of them threads waited for lines that other cores had written.
  struct Waits {
    std::uint64_t cycles = 0, for_others = 0;
    Waits& operator+=(const Waits& more) {
      cycles += more.cycles;
      for_others += more.for_others;
      return *this;
    }
  };

  /// One of `instructions` is over.
  void add(std::uint64_t instructions, const Waits& waits) {
    waits_ += waits;
    instructions_ += instructions;
    if (instructions == 0 || instructions_ <= kStartOfComplete) return;
    const double rate = static_cast<double>(waits.cycles) / static_cast<double>(instructions);
    ++pieces_;
    sum_ += rate;
    squares_ += rate * rate;
  }
  std::uint64_t instructions() const { return instructions_; }

  /// Since it was last asked, threads spent so much time on each other's lines that the order in which they take them
  /// matters. Between units they run one after the other, and meet them elsewhere than they would.
  bool contended() {
    constexpr std::uint64_t kOneIn = 20;  // chosen
    const bool contended = waits_.for_others * kOneIn > waits_.cycles;
    waits_ = {};
    return contended;
  }

  /// Pieces are so unlike that as many units as are modelled at first would not give cycles to a fifth.
  /// units  so many
  bool unsteady(std::uint64_t units) const {
    constexpr double kWanted = 0.2, kStandardErrors = 2;
    if (pieces_ == 0) return false;
    const double count = static_cast<double>(pieces_), mean = sum_ / count;
    const double deviation = std::sqrt(std::max(squares_ / count - mean * mean, 0.0));
    return kStandardErrors * deviation > kWanted * mean * std::sqrt(static_cast<double>(units));
  }

 private:
  Waits waits_;
  std::uint64_t instructions_ = 0, pieces_ = 0;
  double sum_ = 0, squares_ = 0;  // of cycles per instruction
};

}  // namespace zs::session

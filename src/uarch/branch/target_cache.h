// Targets of indirect jumps and calls by where they are and the last few targets before: for the depth `fast` where
// nobody is told of mispredictions, so that they move nothing but time. An interpreter's dispatch is mostly right with
// it, and it takes a twentieth of what IndirectPredictor does, which needs the path of all taken branches.
// Left out: tags, so two branches may meet in one entry; the upper halves of targets; what was right before it was
// wrong once.
#pragma once

#include <array>
#include <cstdint>

namespace zs::uarch {

class TargetCache {
 public:
  static constexpr std::uint32_t kEntries = 4096;  // chosen
  /// Twelve bits of a target enter the history, which moves by three with each, so that the last four count. chosen:
  /// fewer or more are wrong more often in perl, python3, sqlite3 and cc1 together.
  static constexpr std::uint32_t kFactor = 0x9E3779B1;
  static constexpr unsigned kHashShift = 20, kHistoryBits = 3;
  /// What code that does the same inline works on.
  struct Inline {
    std::uint32_t history = 0;
    std::array<std::uint32_t, kEntries> targets{};
  };

  /// Predicts the target of a branch and learns it.
  /// address  address_hash() of where it is
  /// returns whether the prediction was wrong
  bool predict_and_update(std::uint32_t address, std::uint64_t target) {
    const auto low = static_cast<std::uint32_t>(target);
    std::uint32_t& entry = own_.targets[(address ^ own_.history) & (kEntries - 1)];
    own_.history = own_.history << kHistoryBits ^ low * kFactor >> kHashShift;
    const bool wrong = entry != low;
    entry = low;
    return wrong;
  }
  Inline& inline_part() { return own_; }

 private:
  Inline own_;
};

}  // namespace zs::uarch

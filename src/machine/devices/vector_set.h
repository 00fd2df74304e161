// One bit for each interrupt vector: what IRR, ISR and TMR of a local APIC are.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace zs::machine {

class VectorSet {
 public:
  /// -1 if it is empty.
  int highest() const {
    for (int word = 7; word >= 0; --word) {
      if (const std::uint32_t bits = words_[static_cast<unsigned>(word)]; bits != 0) {
        return word * 32 + 31 - std::countl_zero(bits);
      }
    }
    return -1;
  }
  void set(unsigned vector) { words_[vector / 32] |= 1u << vector % 32; }
  void clear(unsigned vector) { words_[vector / 32] &= ~(1u << vector % 32); }
  bool has(unsigned vector) const { return (words_[vector / 32] >> vector % 32 & 1) != 0; }
  /// As software reads it, 32 vectors at a time.
  std::uint32_t word(unsigned number) const { return words_[number]; }

 private:
  std::array<std::uint32_t, 8> words_{};
};

}  // namespace zs::machine

// Counters that stop at their ends, as every predictor is made of.
#pragma once

#include <cstdint>

namespace zs::uarch {

/// `value` one towards `most` or towards 0. Without branches: what `up` is, nobody can predict.
constexpr unsigned stepped(unsigned value, bool up, unsigned most) {
  const unsigned more = static_cast<unsigned>(up) & static_cast<unsigned>(value < most);
  const unsigned less = static_cast<unsigned>(!up) & static_cast<unsigned>(value > 0);
  return value + more - less;
}

/// A 2-bit counter predicts taken from 2 on.
constexpr bool predicts_taken(std::uint8_t two_bits) { return two_bits >= 2; }

}  // namespace zs::uarch

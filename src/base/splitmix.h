// Random numbers that are the same everywhere: a stream for each seed.
#pragma once

#include <cstdint>

namespace zs {

/// The next number of the stream at `state`, which it moves on.
/// source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators" (OOPSLA 2014), SplitMix64
constexpr std::uint64_t splitmix64(std::uint64_t& state) {
  std::uint64_t z = state += 0x9E37'79B9'7F4A'7C15;
  z = (z ^ z >> 30) * 0xBF58'476D'1CE4'E5B9;
  z = (z ^ z >> 27) * 0x94D0'49BB'1331'11EB;
  return z ^ z >> 31;
}

}  // namespace zs

// Which set of a cache a line goes to. A plain index is the lowest bits. A hashed one folds higher bits into them;
// where the sets are no power of two (a server's LLC: so many slices of 2^k sets) a hash of the higher bits chooses the
// slice. chosen: the fold and the hash; the processors' own functions differ and are not published for these parts.
#pragma once

#include <bit>
#include <cstdint>

#include "uarch/cache/line.h"

namespace zs::uarch {

class SetIndex {
 public:
  explicit constexpr SetIndex(const CacheParameters& cache)
      : bits_(static_cast<unsigned>(std::countr_zero(cache.sets()))),
        mask_((1U << bits_) - 1),
        slices_(static_cast<std::uint32_t>(cache.sets() >> bits_)),
        hashed_(cache.hashed) {}

  constexpr std::uint32_t operator()(Line line) const {
    if (!hashed_) return line & mask_;
    const std::uint32_t folded = (line ^ line >> bits_ ^ (line >> bits_ >> bits_)) & mask_;
    if (slices_ == 1) return folded;
    const std::uint32_t mixed = (line >> bits_) * 0x9E37'79B1U;  // odd, 2^32 / golden ratio
    const auto slice = static_cast<std::uint32_t>(std::uint64_t{mixed ^ mixed >> 15} * slices_ >> 32);
    return slice << bits_ | folded;
  }
  /// Whether it is the lowest bits of the line.
  constexpr bool is_plain() const { return !hashed_; }
  constexpr std::uint32_t sets() const { return slices_ << bits_; }

 private:
  unsigned bits_;
  std::uint32_t mask_;
  std::uint32_t slices_;
  bool hashed_;
};

}  // namespace zs::uarch

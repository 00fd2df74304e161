// The two prefetchers of L1D. Both look only at loads that miss L1D or use a prefetched line for the first time (and
// next line at the first access after such a one), never at hits that a filter may skip: so the filter stays exact.
//   next line   an ascending second access to the line that missed last
//   IP stride   two equal strides of one load instruction, at most 2 KiB, within the page
// source: optimisation manual, "Data Prefetching"; that a stream of one access per line does not trigger the first
// agrees with published matrices, where a dependent walk in L2 takes the whole L2 latency per line.
#pragma once

#include <array>
#include <cstdint>

#include "uarch/cache/line.h"

namespace zs::uarch {

class NextLinePrefetcher {
 public:
  /// A load missed, or used a prefetched line first.
  void missed(std::uint64_t linear) {
    address_ = linear;
    armed_ = true;
  }
  /// Whether hit() of this address would change something.
  bool awaits(std::uint64_t linear) const { return armed_ && linear >> kLineBits == address_ >> kLineBits; }
  /// A load or store that did not. Returns whether the line after it is wanted.
  bool hit(std::uint64_t linear) {
    if (!armed_ || linear >> kLineBits != address_ >> kLineBits) return false;
    armed_ = false;
    return linear > address_;
  }

 private:
  std::uint64_t address_ = 0;
  bool armed_ = false;
};

class StridePrefetcher {
 public:
  /// A load that missed. Returns the linear address to prefetch, or 0.
  std::uint64_t missed(std::uint32_t instruction, std::uint64_t linear) {
    constexpr std::int64_t kFarthest = 2048;
    Entry& entry = entries_[instruction % entries_.size()];
    if (entry.instruction != instruction) {
      entry = {instruction, linear, 0};
      return 0;
    }
    const auto stride = static_cast<std::int64_t>(linear - entry.address);
    const bool again = stride == entry.stride;
    entry.address = linear;
    entry.stride = stride;
    if (!again || stride == 0 || stride > kFarthest || stride < -kFarthest) return 0;
    const std::uint64_t next = linear + static_cast<std::uint64_t>(stride);
    return next >> kPageBits == linear >> kPageBits ? next : 0;
  }

 private:
  struct Entry {
    std::uint32_t instruction = ~std::uint32_t{0};
    std::uint64_t address = 0;
    std::int64_t stride = 0;
  };
  std::array<Entry, 256> entries_{};
};

}  // namespace zs::uarch

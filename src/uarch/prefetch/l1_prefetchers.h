// The two prefetchers of L1D. Both look only at loads that miss L1D or use a prefetched line for the first time (and
// next line at the first access after such a one), never at hits that a filter may skip: so the filter stays exact.
//   next line   an ascending second access to the line that missed last
//   IP stride   two equal strides of one load instruction, at most 2 KiB, within the page
// source: optimisation manual, "Data Prefetching"; that a stream of one access per line does not trigger the first
// agrees with published matrices, where a dependent walk in L2 takes the whole L2 latency per line.
// chosen: the second asks for its line when the load that showed the stride has its data, so that it hides what a loop
// does between its loads. The manual does not say when; asked for together with that load, it would halve the latency
// of a walk of dependent loads, of which those matrices show nothing (docs/models/prefetch.md).
#pragma once

#include <array>
#include <cstdint>
#include <utility>

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
  /// A line that a stride leads to, and when the load that showed it had its data.
  struct Expected {
    Line line = kNoLine;
    std::uint64_t since = 0;
  };

  /// A load that missed. Returns the linear address to prefetch, or 0.
  std::uint64_t missed(std::uint32_t instruction, std::uint64_t linear) {
    constexpr std::int64_t kFarthest = 2048;
    Entry& entry = entry_of(instruction);
    if (entry.instruction != instruction) {
      entry = {instruction, linear, 0, 0, {}};
      return 0;
    }
    const auto stride = static_cast<std::int64_t>(linear - entry.address);
    const bool again = stride == entry.stride;
    if (!again) entry.head = linear;
    entry.address = linear;
    entry.stride = stride;
    if (!again || stride == 0 || stride > kFarthest || stride < -kFarthest) return 0;
    const std::uint64_t next = linear + static_cast<std::uint64_t>(stride);
    return next >> kPageBits == linear >> kPageBits ? next : 0;
  }
  /// Likewise, of one that runs ahead: calls fetch(target) for each linear address in the page that is at most `ahead`
  /// strides on and was not fetched yet, nearest first, until one returns false: there is no room for it, and it will
  /// be tried again.
  template <typename Fetch>
  void run_ahead(std::uint32_t instruction, std::uint64_t linear, unsigned ahead, Fetch fetch) {
    if (missed(instruction, linear) == 0) return;
    Entry& entry = entry_of(instruction);
    const std::int64_t stride = entry.stride;
    const std::int64_t fetched = static_cast<std::int64_t>(entry.head - linear) / stride;  // so many strides on
    std::int64_t next = fetched >= 1 && fetched <= ahead ? fetched + 1 : 1;
    for (; next <= ahead; ++next) {
      const std::uint64_t target = linear + static_cast<std::uint64_t>(next * stride);
      if (target >> kPageBits != linear >> kPageBits || !fetch(target)) return;
      entry.head = target;
    }
  }
  /// What missed() returned is in this line.
  void expect(std::uint32_t instruction, Expected expected) { entry_of(instruction).expected = expected; }
  /// What is expected of the instruction, once, if that was asked for before `now`; else it comes too late.
  Expected take(std::uint32_t instruction, std::uint64_t now) {
    Entry& entry = entry_of(instruction);
    if (entry.instruction != instruction || entry.expected.line == kNoLine) return {};
    const Expected expected = std::exchange(entry.expected, {});
    return expected.since < now ? expected : Expected{};
  }

 private:
  struct Entry {
    std::uint32_t instruction = ~std::uint32_t{0};
    std::uint64_t address = 0;
    std::int64_t stride = 0;
    std::uint64_t head = 0;  // the farthest that run_ahead() has fetched by this stride
    Expected expected{};
  };
  Entry& entry_of(std::uint32_t instruction) { return entries_[instruction % entries_.size()]; }
  std::array<Entry, 256> entries_{};
};

}  // namespace zs::uarch

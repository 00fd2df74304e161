// Lines on their way: L1D's fill buffers, or the superqueue in front of LLC. A line is in the tags from the moment it is
// asked for; until it is complete, this says when.
//
// Requests are told in program order, and one that has waited for its translation may take a buffer later than one that is told
// after it: so this keeps everything that is not complete yet, and at no time more than `entries` of it overlap.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/check.h"
#include "uarch/cache/line.h"

namespace zs::uarch {

class PendingFills {
 public:
  explicit PendingFills(std::uint32_t entries) : entries_(entries) {
    CHECK(entries >= 1);
    fills_.reserve(std::size_t{4} * entries);
  }

  /// When the line is complete; 0 if it is not under way at `now`.
  std::uint64_t complete(Line line, std::uint64_t now) const {
    if (now >= latest_) return 0;
    for (const Fill& fill : fills_) {
      if (fill.line == line && fill.completes > now) return fill.completes;
    }
    return 0;
  }

  std::size_t outstanding(std::uint64_t now) const {
    if (now >= latest_) return 0;
    return static_cast<std::size_t>(
        std::count_if(fills_.begin(), fills_.end(), [now](const Fill& fill) { return fill.completes > now; }));
  }
  bool full(std::uint64_t now) const { return outstanding(now) >= entries_; }

  /// When an entry is free for a request made at `now`, at the earliest.
  std::uint64_t free_at(std::uint64_t now) const {
    if (!full(now)) return now;
    // As soon as all but entries_ - 1 are complete.
    std::vector<std::uint64_t> times;
    times.reserve(fills_.size());
    for (const Fill& fill : fills_) times.push_back(fill.completes);
    const auto last = times.begin() + (entries_ - 1);
    std::nth_element(times.begin(), last, times.end(), std::greater<>());
    return *last;
  }

  /// dispatched  no question from now on is about an earlier time
  void add(Line line, std::uint64_t completes, std::uint64_t dispatched) {
    std::erase_if(fills_, [dispatched](const Fill& fill) { return fill.completes <= dispatched; });
    fills_.push_back({completes, line});
    latest_ = std::max(latest_, completes);
  }

  /// The line was taken away before it came; its entry stays taken.
  void forget(Line line) {
    for (Fill& fill : fills_) {
      if (fill.line == line) fill.line = kNoLine;
    }
  }

 private:
  struct Fill {
    std::uint64_t completes = 0;
    Line line = kNoLine;
  };

  std::uint32_t entries_;
  std::uint64_t latest_ = 0;  // nothing is under way from then on
  std::vector<Fill> fills_;
};

}  // namespace zs::uarch

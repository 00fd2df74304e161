// Lines on their way: L1D's fill buffers, or the superqueue in front of LLC. A line is in the tags from the moment it is
// asked for; until it is complete, this says when.
//
// Requests are told in program order, and one that has waited for its translation may take a buffer later than one that is told
// after it: so this keeps everything that is not complete yet, and at no time more than `entries` of it overlap.
// Invariant: what is under way stands in the order of its completion, so that when an entry is free is one look. Which lines may be among
// it says a small table of counts, because nearly always the answer is no.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
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
    if (now >= latest_ || lines_[bucket(line)] == 0) return 0;
    return search(line, now);
  }

  bool full(std::uint64_t now) const { return count() >= entries_ && fills_[fills_.size() - entries_].completes > now; }

  /// When an entry is free for a request made at `now`, at the earliest: as soon as all but entries_ - 1 are complete.
  std::uint64_t free_at(std::uint64_t now) const {
    return count() < entries_ ? now : std::max(now, fills_[fills_.size() - entries_].completes);
  }

  /// dispatched  no question from now on is about an earlier time
  void add(Line line, std::uint64_t completes, std::uint64_t dispatched) {
    while (first_ != fills_.size() && fills_[first_].completes <= dispatched) leave(fills_[first_++].line);
    if (first_ > fills_.size() / 2) {
      fills_.erase(fills_.begin(), fills_.begin() + static_cast<std::ptrdiff_t>(first_));
      first_ = 0;
    }
    std::size_t at = fills_.size();
    fills_.emplace_back();
    for (; at != first_ && fills_[at - 1].completes > completes; --at) fills_[at] = fills_[at - 1];
    fills_[at] = {completes, line, told_++};
    ++lines_[bucket(line)];
    latest_ = std::max(latest_, completes);
  }

  /// The line was taken away before it came; its entry stays taken.
  void forget(Line line) {
    if (lines_[bucket(line)] == 0) return;
    for (std::size_t i = first_; i != fills_.size(); ++i) {
      if (fills_[i].line != line) continue;
      leave(line);
      fills_[i].line = kNoLine;
    }
  }

 private:
  struct Fill {
    std::uint64_t completes = 0;
    Line line = kNoLine;
    std::uint32_t told = 0;  // which of all
  };

  /// Not the lowest bits: what a line throws out of its set shares them with it.
  static std::size_t bucket(Line line) { return line * 0x9E37'79B1U >> (32 - kBucketBits); }  // 2^32 / golden ratio
  std::size_t count() const { return fills_.size() - first_; }
  void leave(Line line) {
    if (line != kNoLine) --lines_[bucket(line)];
  }
  /// Of several requests for the line, that which was told first.
  [[gnu::noinline]] std::uint64_t search(Line line, std::uint64_t now) const {
    const Fill* found = nullptr;
    for (std::size_t i = fills_.size(); i-- != first_ && fills_[i].completes > now;) {
      const Fill& fill = fills_[i];
      if (fill.line != line) continue;
      if (found == nullptr || static_cast<std::int32_t>(fill.told - found->told) < 0) found = &fill;
      if (lines_[bucket(line)] == 1) break;
    }
    return found != nullptr ? found->completes : 0;
  }

  static constexpr unsigned kBucketBits = 11;
  std::uint32_t entries_;
  std::uint32_t told_ = 0;
  std::uint64_t latest_ = 0;  // nothing is under way from then on
  std::size_t first_ = 0;     // what is before it in fills_ is complete
  std::vector<Fill> fills_;
  std::array<std::uint16_t, 1U << kBucketBits> lines_{};  // of those in fills_, by bucket()
};

}  // namespace zs::uarch

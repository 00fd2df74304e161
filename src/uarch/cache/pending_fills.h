// Lines on their way: L1D's fill buffers, or the superqueue in front of LLC. A line is in the tags from the moment it
// is asked for; until it is complete, this says when.
//
// Requests are told in program order, and one that has waited for its translation may take a buffer later than one that
// is told after it: so this keeps everything that is not complete yet, and at no time more than `entries` of it
// overlap.
// What is complete stays until there is no room for another.
// Invariant: what is there stands in the order of its completion, so that when an entry is free is one look. Until when
// a line may be among it says a small table of times, because nearly always the answer is no.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/check.h"
#include "uarch/cache/line.h"

namespace zs::uarch {

class PendingFills {
 public:
  explicit PendingFills(std::uint32_t entries) : entries_(entries), fills_(std::bit_ceil(std::size_t{4} * entries)) {
    CHECK(entries >= 1);
  }

  /// When the line is complete; 0 if it is not under way at `now`.
  std::uint64_t complete(Line line, std::uint64_t now) const {
    if (now >= until_[bucket(line)]) return 0;
    return search(line, now);
  }

  bool full(std::uint64_t now) const { return count() >= entries_ && at(end_ - entries_).completes > now; }

  /// When an entry is free for a request made at `now`, at the earliest: as soon as all but entries_ - 1 are complete.
  std::uint64_t free_at(std::uint64_t now) const {
    return count() < entries_ ? now : std::max(now, at(end_ - entries_).completes);
  }

  /// dispatched  no question from now on is about an earlier time
  void add(Line line, std::uint64_t completes, std::uint64_t dispatched) {
    if (count() == fills_.size()) [[unlikely]]
      make_room(dispatched);
    Fill* const fills = fills_.data();
    const std::size_t mask = fills_.size() - 1;
    std::size_t place = end_++;
    for (; place != first_ && fills[(place - 1) & mask].completes > completes; --place)
      fills[place & mask] = fills[(place - 1) & mask];
    fills[place & mask] = {completes, line, reported_++};
    std::uint64_t& until = until_[bucket(line)];
    until = std::max(until, completes);
  }

  /// The line was taken away before it came; its entry stays taken. dispatched: as add() has it
  void forget(Line line, std::uint64_t dispatched) {
    if (until_[bucket(line)] > dispatched) search_and_forget(line, dispatched);
  }

 private:
  [[gnu::noinline]] void search_and_forget(Line line, std::uint64_t dispatched) {
    for (std::size_t i = end_; i != first_ && at(i - 1).completes > dispatched; --i) {
      if (at(i - 1).line == line) at(i - 1).line = kNoLine;
    }
  }

  struct Fill {
    std::uint64_t completes = 0;
    Line line = kNoLine;
    std::uint32_t told = 0;  // which of all
  };

  /// Not the lowest bits: what a line throws out of its set shares them with it.
  static std::size_t bucket(Line line) { return line * 0x9E37'79B1U >> (32 - kBucketBits); }  // 2^32 / golden ratio
  std::size_t count() const { return end_ - first_; }
  Fill& at(std::size_t i) { return fills_[i & (fills_.size() - 1)]; }
  const Fill& at(std::size_t i) const { return fills_[i & (fills_.size() - 1)]; }
  /// Forgets what is complete, of which nobody hears any more; where that is nothing, there will be more of them.
  [[gnu::noinline]] void make_room(std::uint64_t dispatched) {
    while (first_ != end_ && at(first_).completes <= dispatched) ++first_;
    if (count() != fills_.size()) return;
    std::vector<Fill> larger(2 * fills_.size());
    for (std::size_t i = first_; i != end_; ++i) larger[i & (larger.size() - 1)] = at(i);
    fills_ = std::move(larger);
  }
  /// Of several requests for the line, that which was told first.
  [[gnu::noinline]] std::uint64_t search(Line line, std::uint64_t now) const {
    const Fill* found = nullptr;
    for (std::size_t i = end_; i != first_ && at(i - 1).completes > now; --i) {
      const Fill& fill = at(i - 1);
      if (fill.line != line) continue;
      if (found == nullptr || static_cast<std::int32_t>(fill.told - found->told) < 0) found = &fill;
    }
    return found != nullptr ? found->completes : 0;
  }

  static constexpr unsigned kBucketBits =
      12;  // measured (a chase beyond L2): with 10, one in ten searches in vain, which costs a tenth of the time
  std::uint32_t entries_;
  std::uint32_t reported_ = 0;
  // What is there is fills_[first_] up to fills_[end_], of a ring of a power of two.
  std::size_t first_ = 0, end_ = 0;
  std::vector<Fill> fills_;
  std::array<std::uint64_t, 1U << kBucketBits> until_{};  // no line of the bucket() is under way from then on
};

}  // namespace zs::uarch

// The L2 streamer: follows accesses within a page in one direction, and from a few on keeps running ahead of them.
// It sees what L1D and L1I ask of L2, hits too: without those nothing measured comes out (fitted, docs/models/prefetch.md).
// Not modelled: prefetch into LLC only, which the manual describes for times of many L2 misses; a forward and a backward stream in one page at the same time; the newest turn of direction wins.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "uarch/cache/line.h"

namespace zs::uarch {

class Streamer {
 public:
  explicit Streamer(const PrefetchParameters& parameters) : parameters_(parameters) {}

  /// An access of L2. Calls fetch(line) for each line to be prefetched now, nearest first, until one returns false: there is no
  /// room for it, and it will be tried again.
  template <typename Fetch>
  void access(Line line, Fetch fetch) {
    if (parameters_.streamer_lines == 0) return;
    const auto at = static_cast<int>(line_in_page(line));
    Tracker& tracker = tracker_of(frame_of(line));
    const int step = at - tracker.last;
    if (step == 0) return;
    const int direction = step > 0 ? 1 : -1;
    tracker.last = at;
    if (tracker.seen == 0 || direction != tracker.direction) {
      // A page's first access has no direction yet; the guess is forward, as most streams go.
      tracker.direction = tracker.seen == 0 ? 1 : direction;
      tracker.seen = tracker.seen == 0 ? 1 : 2;
      tracker.head = at;
    } else {
      ++tracker.seen;
    }
    if (tracker.seen < parameters_.streamer_training) return;
    const bool behind = tracker.direction > 0 ? tracker.head < at : tracker.head > at;
    if (behind) tracker.head = at;
    const Line page = line - static_cast<Line>(at);
    for (std::uint32_t i = 0; i < parameters_.streamer_lines; ++i) {
      const int next = tracker.head + tracker.direction;
      const auto ahead = static_cast<std::uint32_t>((next - at) * tracker.direction);
      if (next < 0 || next >= static_cast<int>(kLinesPerPage) || ahead > parameters_.streamer_distance) break;
      if (!fetch(page + static_cast<Line>(next))) break;
      tracker.head = next;
    }
  }

 private:
  struct Tracker {
    Frame page = ~Frame{0};
    int last = -1;
    int head = 0;  // the last line that was prefetched, or the access where none was
    int direction = 1;
    std::uint32_t seen = 0;  // accesses in this direction
    std::uint64_t stamp = 0;
  };

  /// That of the page, or the least recently used one, made new.
  Tracker& tracker_of(Frame page) {
    Tracker* oldest = &trackers_[recent_];
    if (oldest->page == page) {
      oldest->stamp = ++stamp_;
      return *oldest;
    }
    for (Tracker& tracker : trackers_) {
      if (tracker.page == page) {
        oldest = &tracker;
        break;
      }
      if (tracker.stamp < oldest->stamp) oldest = &tracker;
    }
    if (oldest->page != page) *oldest = {.page = page};
    oldest->stamp = ++stamp_;
    recent_ = static_cast<std::size_t>(oldest - trackers_.data());
    return *oldest;
  }

  PrefetchParameters parameters_;
  std::array<Tracker, 32> trackers_{};  // source: optimisation manual, one per 4 KiB page
  std::size_t recent_ = 0;
  std::uint64_t stamp_ = 0;
};

}  // namespace zs::uarch

// The L2 streamer: follows accesses within a page in one direction, and from a few on keeps running ahead of them.
// It sees what L1D and L1I ask of L2, hits too: without those nothing measured comes out (fitted,
// docs/models/prefetch.md).
// Not modelled: prefetch into LLC only, which the manual describes for times of many L2 misses; a forward and a
// backward stream in one page at the same time; the newest turn of direction wins.
#pragma once

#include <emmintrin.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "uarch/cache/line.h"

namespace zs::uarch {

class Streamer {
 public:
  explicit Streamer(const PrefetchParameters& parameters) : parameters_(parameters) {}

  /// An access of L2. Calls fetch(line) for each line to be prefetched now, nearest first, until one returns false:
  /// there is no room for it, and it will be tried again.
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
    int last = -1;
    int head = 0;  // the last line that was prefetched, or the access where none was
    int direction = 1;
    std::uint32_t seen = 0;  // accesses in this direction
  };

  /// That of the page, or the least recently used one, made new.
  Tracker& tracker_of(Frame page) {
    const std::size_t newest = newer_[kOrder];
    if (pages_[newest] == page) return trackers_[newest];
    return tracker_of_another(page);
  }
  [[gnu::noinline]] Tracker& tracker_of_another(Frame page) {
    std::uint8_t& hint = hints_[page % hints_.size()];
    if (pages_[hint] != page) {
      const std::size_t found = search(page);
      hint = found != kTrackers ? static_cast<std::uint8_t>(found) : older_[kOrder];
      if (found == kTrackers) {
        trackers_[hint] = {};
        pages_[hint] = page;
      }
    }
    const std::size_t which = hint;
    // It becomes the newest.
    newer_[older_[which]] = newer_[which];
    older_[newer_[which]] = older_[which];
    newer_[which] = newer_[kOrder];
    older_[which] = kOrder;
    older_[newer_[kOrder]] = static_cast<std::uint8_t>(which);
    newer_[kOrder] = static_cast<std::uint8_t>(which);
    return trackers_[which];
  }

  /// kTrackers: it has none.
  std::size_t search(Frame page) const {
    const __m128i wanted = _mm_set1_epi32(static_cast<int>(page));
    const auto* const pages = reinterpret_cast<const __m128i*>(pages_.data());
    std::uint32_t found = 0;
    for (unsigned i = 0; i < kTrackers / 4; ++i) {
      const __m128i equal = _mm_cmpeq_epi32(_mm_load_si128(pages + i), wanted);
      found |= static_cast<std::uint32_t>(_mm_movemask_ps(_mm_castsi128_ps(equal))) << 4 * i;
    }
    return static_cast<std::size_t>(std::countr_zero(found));
  }

  PrefetchParameters parameters_;
  static constexpr std::size_t kTrackers = 32;  // source: optimisation manual, one per 4 KiB page
  std::array<Tracker, kTrackers> trackers_{};
  alignas(16) std::array<Frame, kTrackers> pages_ = [] {
    std::array<Frame, kTrackers> none{};
    none.fill(~Frame{0});
    return none;
  }();
  std::array<std::uint8_t, 256> hints_{};  // by the lowest bits of a page: which tracker such a page had last
  // A ring in the order of their last use: behind kOrder the newest, before it the oldest.
  static constexpr std::uint8_t kOrder = kTrackers;
  static constexpr auto kRing = [] {
    std::array<std::array<std::uint8_t, kTrackers + 1>, 2> ring{};
    for (std::size_t i = 0; i <= kTrackers; ++i) {
      ring[0][i] = static_cast<std::uint8_t>((i + 1) % (kTrackers + 1));
      ring[1][i] = static_cast<std::uint8_t>((i + kTrackers) % (kTrackers + 1));
    }
    return ring;
  }();
  std::array<std::uint8_t, kTrackers + 1> newer_ = kRing[0];  // the next in that order,
  std::array<std::uint8_t, kTrackers + 1> older_ = kRing[1];  // and the one before
};

}  // namespace zs::uarch

// Stores that have executed and not yet reached L1D. They commit in order, one a cycle, one of two lines in two, each
// when it has retired and its line is owned; until then loads look at them.
//   forwarded   the youngest older store with the load's bits 11..0 covers the load, which has that store's data when
//               that is ready
//   blocked     it overlaps the load and does not cover it: the load waits until it could have committed; and stores
//               behind that load commit behind it, so that blocked loads wait for each other
//   alias       it only has the same bits 11..0: the load is tried again
// Not modelled: forwarding of parts.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/check.h"

namespace zs::uarch {

enum class Forwarding : std::uint8_t { None, Forwarded, Blocked, Alias };

/// How one older store meets a load; `None`: their bits 11..0 do not overlap.
constexpr Forwarding meeting(std::uint64_t store, std::uint32_t store_bytes, std::uint64_t load,
                             std::uint32_t load_bytes) {
  constexpr std::uint64_t kAliasMask = 0xFFF;
  if (((load - store) & kAliasMask) >= store_bytes && ((store - load) & kAliasMask) >= load_bytes) {
    return Forwarding::None;
  }
  if (load >= store + store_bytes || store >= load + load_bytes) return Forwarding::Alias;
  const bool covers = store <= load && load + load_bytes <= store + store_bytes;
  return covers ? Forwarding::Forwarded : Forwarding::Blocked;
}

struct BufferedStore {
  std::uint64_t linear = 0;
  std::uint64_t ready = 0;  // cycle in which its data is known
  std::uint32_t bytes = 0;
  std::uint16_t place = 0;  // InstructionShape::place
};

/// What a load meets.
struct Met {
  Forwarding how = Forwarding::None;
  std::uint64_t ready =
      0;  // Forwarded: cycle in which the store's data is; Blocked: in which it could commit at the earliest
  bool same_bytes = false;  // Forwarded: of general registers; and
  bool alike = false;       // both write their address alike

  bool operator==(const Met&) const = default;
};

class StoreBuffer {
 public:
  static constexpr unsigned kGranuleBits = 3;
  static constexpr std::uint64_t kGranules = 4096 >> kGranuleBits;  // bits 11..3

  /// What code that does may_ever_meet() inline reads.
  struct Inline {
    std::uint64_t oldest = 0;                       // the stores up to that number are not in it
    std::array<std::uint64_t, kGranules> newest{};  // number, from 1, of the last store there; 0: none
  };

  StoreBuffer(std::uint32_t entries, std::uint32_t retire_cycles) : entries_(entries), retire_cycles_(retire_cycles) {
    CHECK(entries >= 1 && entries <= kMost, entries);
  }

  /// Until when a store that executes at `now` has to wait for an entry.
  std::uint64_t free_at(std::uint64_t now) const {
    return count_ - emptied_ < entries_ ? now : std::max(now, at(count_ - entries_).commits);
  }

  /// A store that executes at `now`, with its line owned at `owned`. Returns when it commits.
  std::uint64_t push(const BufferedStore& store, std::uint64_t now, std::uint64_t owned) {
    const std::uint64_t earliest = std::max({owned, store.ready, held_});
    const std::uint64_t more = crosses_line(store) ? 1 : 0;
    last_commit_ = std::max({last_commit_ + 1, now + retire_cycles_, earliest}) + more;
    drained_ = std::max(drained_ + 1, earliest) + more;
    ++count_;
    at(count_ - 1) = {store, last_commit_, drained_};
    own_.oldest = count_ - emptied_ > entries_ ? count_ - entries_ : emptied_;
    std::uint64_t granule = store.linear >> kGranuleBits;
    own_.newest[granule % kGranules] = count_;
    if ((store.linear & (kGranuleBytes - 1)) + store.bytes > kGranuleBytes) {
      while (++granule <= (store.linear + store.bytes - 1) >> kGranuleBits) own_.newest[granule % kGranules] = count_;
    }
    return last_commit_;
  }

  /// A blocked load has its data in that cycle; it retires before stores behind it, which commit later.
  void hold(std::uint64_t cycle) { held_ = std::max(held_, cycle); }

  const Inline& inline_part() const { return own_; }

  /// A locked instruction waits from `now` on until nothing is in it. Returns until when. Its stores do not wait for
  /// `retire_cycles` then: they are dispatched here behind the locked instruction before, but on hardware long before
  /// that is over.
  std::uint64_t drain(std::uint64_t now) {
    const std::uint64_t empty = std::max(now, drained_);
    last_commit_ = std::min(last_commit_, empty);
    own_.oldest = emptied_ = count_;
    return empty;
  }

  /// Whether a load at `now` may meet a store; false is certain. For the path that every load takes.
  bool may_meet(std::uint64_t linear, std::uint32_t bytes, std::uint64_t now) const {
    return now < last_commit_ && may_ever_meet(linear, bytes);
  }
  /// The same, whenever the load is.
  bool may_ever_meet(std::uint64_t linear, std::uint32_t bytes) const {
    if (newest_at(linear) > own_.oldest) return true;
    const bool within_one = (linear & (kGranuleBytes - 1)) + bytes <= kGranuleBytes;
    return !within_one && (bytes > kGranuleBytes || newest_at(linear + bytes - 1) > own_.oldest);
  }

  /// The same of a load at `now` or later, of at most kGranuleBytes * 8; false is certain again.
  bool may_meet_from(std::uint64_t linear, std::uint32_t bytes, std::uint64_t now) const {
    if (now >= last_commit_) return false;
    for (std::uint64_t granule = linear >> kGranuleBits; granule <= (linear + bytes - 1) >> kGranuleBits; ++granule) {
      const std::uint64_t newest = own_.newest[granule % kGranules];
      if (newest > own_.oldest && at(newest - 1).commits > now)
        return true;  // in order: those before it have committed too
    }
    return false;
  }

  Met meet(std::uint64_t linear, std::uint32_t bytes, std::uint64_t now, std::uint16_t place) const {
    // No store younger than the newest one of the load's granules can meet it.
    std::uint64_t newest = 0;
    for (std::uint64_t granule = linear >> kGranuleBits; granule <= (linear + bytes - 1) >> kGranuleBits; ++granule) {
      newest = std::max(newest, own_.newest[granule % kGranules]);
    }
    for (std::uint64_t i = newest; i > own_.oldest; --i) {
      const Entry& store = at(i - 1);
      if (store.commits <= now) break;  // in order: all before it have committed too
      const Forwarding found = meeting(store.linear, store.bytes, linear, bytes);
      if (found == Forwarding::None) continue;
      const bool same = place != 0 && store.place != 0 && store.linear == linear && store.bytes == bytes;
      const std::uint64_t ready = found == Forwarding::Forwarded ? store.ready
                                  : found == Forwarding::Blocked ? store.earliest
                                                                 : 0;
      return {found, ready, same, same && store.place == place};
    }
    return {};
  }

 private:
  static constexpr std::uint64_t kLine = 64;
  /// It is written line by line. source: Intel's top-down formulas give each split store one cycle of its own
  /// (Split_Stores).
  static constexpr bool crosses_line(const BufferedStore& store) {
    return (store.linear & (kLine - 1)) + store.bytes > kLine;
  }

  static constexpr std::uint32_t kMost = 128;
  static constexpr std::uint64_t kGranuleBytes = 1U << kGranuleBits;
  struct Entry : BufferedStore {
    std::uint64_t commits = 0;
    std::uint64_t earliest = 0;  // it could have committed, with nothing but its data, its line and its order
  };

  Entry& at(std::uint64_t i) { return ring_[i % kMost]; }
  const Entry& at(std::uint64_t i) const { return ring_[i % kMost]; }
  std::uint64_t newest_at(std::uint64_t linear) const { return own_.newest[(linear >> kGranuleBits) % kGranules]; }

  std::uint32_t entries_;
  std::uint32_t retire_cycles_;
  std::uint64_t count_ = 0;  // stores so far; the i-th, from 0, is ring_[i % kMost]
  std::uint64_t last_commit_ = 0;
  std::uint64_t drained_ = 0;  // when the last could have been committed at the earliest
  std::uint64_t held_ = 0;     // the last blocked load has its data
  std::uint64_t emptied_ = 0;  // the stores up to that number were gone when it was drained
  std::array<Entry, kMost> ring_{};
  Inline own_;
};

}  // namespace zs::uarch

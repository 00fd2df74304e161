// Who holds a line, as the last-level cache's directory or snoop filter knows it, and which lines cores fight over.
//
// Invariants: a core that holds a line is among its sharers. One that is among them may have dropped a clean line
// silently: a snoop then finds nothing (XSNP_MISS). `exclusive` means one sharer, in E or M; which of them only its
// caches know.
// Not modelled: a snoop filter's own capacity (12 ways of 2048 sets per core on servers); sockets.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "uarch/cache/line.h"
#include "uarch/flat_map.h"

namespace zs::uarch {

using CoreMask = std::uint64_t;
constexpr CoreMask core_bit(unsigned core) { return CoreMask{1} << core; }

struct Holders {
  CoreMask sharers = 0;
  bool exclusive = false;

  CoreMask others(unsigned core) const { return sharers & ~core_bit(core); }
};

class Directory {
 public:
  Holders holders(Line line) const {
    const Holders* found = lines_.find(line);
    return found == nullptr ? Holders{} : *found;
  }
  void set(Line line, const Holders& holders) {
    if (holders.sharers == 0) {
      lines_.erase(line);
    } else {
      lines_[line] = holders;
    }
  }
  /// `core` no longer holds the line.
  void left(Line line, unsigned core) {
    const Holders now = holders(line);
    if (now.sharers != 0) set(line, {now.others(core), false});
  }
  void forget(Line line) { lines_.erase(line); }

 private:
  FlatMap<Holders> lines_;
};

/// A line that moved between cores because of a write. The cores that held it go on using it until the transfer reaches
/// them (half of its latency after the request), and nobody gets it before the transfer is over: without both, false
/// sharing counts several times too high.
struct Contention {
  std::uint64_t last_transfer = 0;
  std::uint64_t busy_until = 0;   // the last transfer is complete
  std::uint64_t grace_until = 0;  // until then those that held the line before still do
  CoreMask grace_readers = 0;
  CoreMask grace_writer = 0;  // the one among them that owned it
  std::uint64_t transfers = 0;
};

class ContendedLines {
 public:
  /// Whether any line is contended.
  bool any(std::uint64_t now) const { return !lines_.empty() && now < last_transfer_ + kForgottenAfter; }

  /// Null if the line is not contended, or has been forgotten.
  Contention* find(Line line, std::uint64_t now) {
    if (!any(now)) return nullptr;
    Contention* found = lines_.find(line);
    if (found == nullptr || now < found->last_transfer + kForgottenAfter) return found;
    lines_.erase(line);
    return nullptr;
  }

  /// How often a write has moved the line since it was forgotten.
  std::uint64_t transfers(Line line) const {
    const Contention* const found = lines_.find(line);
    return found == nullptr ? 0 : found->transfers;
  }

  /// When a request at `now` gets its turn. longest_queue: cycles that the requests of all cores take together; a
  /// transfer that is over later is one that a core made whose clock is ahead, and this request was before it.
  std::uint64_t free_at(Line line, std::uint64_t now, std::uint64_t longest_queue) {
    const Contention* const contention = find(line, now);
    if (contention == nullptr || contention->busy_until > now + longest_queue) return now;
    return std::max(now, contention->busy_until);
  }

  /// A write moves the line at `start`, when it is free, taking `latency`. Returns when it arrives.
  std::uint64_t transfer(Line line, std::uint64_t start, std::uint32_t latency, const Holders& before) {
    Contention& contention = lines_[line];
    contention.last_transfer = last_transfer_ = start;
    contention.busy_until = start + latency;
    contention.grace_until = start + latency / 2;
    contention.grace_readers = before.sharers;
    contention.grace_writer = before.exclusive ? before.sharers : 0;
    ++contention.transfers;
    return contention.busy_until;
  }

 private:
  // chosen: long beside any quantum, short beside a program's phases.
  static constexpr std::uint64_t kForgottenAfter = 1'000'000;
  FlatMap<Contention> lines_;
  std::uint64_t last_transfer_ = 0;  // of any of them
};

}  // namespace zs::uarch

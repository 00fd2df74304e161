// The lines of a small cache that were hit of late, by their linear address: a hit that is found here is one comparison
// and the touches that replacement in the cache and in the TLB want, without a look at either's tags. Direct-mapped and
// of no meaning of its own: an entry says no more than that the cache has the line, that it is quick, and where the TLB
// has its page; and whoever changes those drops it (Cache::set_quick, drop_page).
//
// Linear, because it stands before the translation. Translated code reads the entries (replay/replay_routines.cc).
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/check.h"
#include "uarch/cache/line.h"
#include "uarch/replacement/replacement_policy.h"

namespace zs::uarch {

struct alignas(32) WayHint {
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};

  std::array<std::uint64_t, 2> line{kNone, kNone};  // linear address / 64: for loads; for stores
  PolicyState* state = nullptr;                     // of its set
  // A touch of the lowest 16 bits of that, all that policies with masks have: state = (state & keep) | set.
  std::uint16_t keep = 0, set = 0;
  std::array<std::uint16_t, 2> page{};  // the slot of its page in the TLB: of loads; of stores

  void touch() const {
    std::uint16_t bits;
    std::memcpy(&bits, state, sizeof bits);
    bits = static_cast<std::uint16_t>((bits & keep) | set);
    std::memcpy(state, &bits, sizeof bits);
  }
  /// Whether 16 bits are enough for touches of that policy.
  static bool can_touch(const TouchMasks& masks) {
    constexpr PolicyState kBits = 0xFFFF;
    for (unsigned way = 0; way < TouchMasks::kMostWays; ++way) {
      const PolicyState keep = masks.keep[way], set = masks.set[way];
      const bool is_way = keep != 0;
      if (is_way && ((set & ~kBits) != 0 || (keep | kBits) != ~PolicyState{0})) return false;
    }
    return true;
  }
};
static_assert(sizeof(WayHint) == 32 && std::endian::native == std::endian::little);

class WayHints {
 public:
  // measured: with 1024, perl and sqlite3 take 5 % more of the host's time, most in lines of instructions, and gzip 1
  // %.
  static constexpr std::size_t kEntries = 2048;
  using Slot = std::uint32_t;  // in the cache

  /// slots  of the cache; 0: nothing is ever hot
  explicit WayHints(std::size_t slots) : entries_(kEntries), slot_of_(kEntries, kNoSlot), entry_of_(slots, 0) {}

  const WayHint* entries() const { return entries_.data(); }
  /// Entries of no cache: nothing is hot.
  static const WayHint* none() {
    static const std::array<WayHint, kEntries> entries{};
    return entries.data();
  }

  /// page  the slot that its page has in the TLB
  void add(std::uint64_t line, Slot slot, unsigned store, PolicyState& state, std::uint64_t keep, std::uint64_t set,
           std::uint32_t page) {
    const std::size_t at = line % kEntries;
    WayHint& entry = entries_[at];
    if (slot_of_[at] != slot || entry.line[1 - store] != line) entry.line[1 - store] = WayHint::kNone;
    entry.line[store] = line;
    entry.state = &state;
    entry.keep = static_cast<std::uint16_t>(keep);
    entry.set = static_cast<std::uint16_t>(set);
    entry.page[store] = static_cast<std::uint16_t>(page);
    in_page_[at / kLinesPerPage] |= std::uint64_t{1} << at % kLinesPerPage;
    // A line has one linear address, but not for ever.
    if (entry_of_[slot] != at) drop(slot, false, false);
    slot_of_[at] = slot;
    entry_of_[slot] = static_cast<std::uint16_t>(at);
  }

  /// The line in `slot` is hot at most for those from now on.
  void drop(Slot slot, bool loads, bool stores) {
    const std::size_t at = entry_of_[slot];
    if (slot_of_[at] != slot) return;
    if (!loads) entries_[at].line[0] = WayHint::kNone;
    if (!stores) entries_[at].line[1] = WayHint::kNone;
  }
  /// The same of all lines of a page: it has left the TLB of the others.
  void drop_page(std::uint64_t page, bool loads, bool stores) {
    const std::size_t first = page * kLinesPerPage % kEntries;
    std::uint64_t& hot = in_page_[first / kLinesPerPage];
    for (std::uint64_t left = hot; left != 0; left &= left - 1) {
      const auto number = static_cast<unsigned>(std::countr_zero(left));
      WayHint& entry = entries_[first + number];
      if (!loads && entry.line[0] / kLinesPerPage == page) entry.line[0] = WayHint::kNone;
      if (!stores && entry.line[1] / kLinesPerPage == page) entry.line[1] = WayHint::kNone;
      if ((entry.line[0] & entry.line[1]) == WayHint::kNone) hot &= ~(std::uint64_t{1} << number);
    }
  }
  void drop_all() {
    for (WayHint& entry : entries_) entry.line = {WayHint::kNone, WayHint::kNone};
    in_page_.fill(0);
  }

 private:
  static constexpr Slot kNoSlot = ~Slot{0};

  std::vector<WayHint> entries_;  // by the lowest bits of a line
  std::array<std::uint64_t, kEntries / kLinesPerPage>
      in_page_{};                        // by the lowest bits of a page: which of its lines may be hot
  std::vector<Slot> slot_of_;            // by entry: what it tells of, or told of
  std::vector<std::uint16_t> entry_of_;  // by slot: the last entry that did
};

}  // namespace zs::uarch

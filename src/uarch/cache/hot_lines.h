// The lines of a small cache that were hit of late, by their linear address: a hit that is found here is one comparison and the
// touch that its replacement policy wants, without a look at the tags. Direct-mapped and of no meaning of its own: an entry says no
// more than the cache's tags and quick bits say, and whoever changes those drops it (Cache::set_quick).
//
// Linear, because it stands before the translation; whether the page is in the TLB is not told here, and has to be asked. Translated
// code reads the entries (machine/path_code.cc).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "uarch/replacement/replacement_policy.h"

namespace zs::uarch {

struct alignas(32) HotLine {
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};

  std::array<std::uint64_t, 2> line{kNone, kNone};  // linear address / 64: for loads; for stores
  PolicyState* state = nullptr;  // of its set. A touch: state = (state & keep) | set, its lowest 32 bits
  std::uint32_t keep = 0, set = 0;
};

class HotLines {
 public:
  static constexpr std::size_t kEntries = 1024;  // measured (gzip): 512 leave 15 % more to the tags, 2048 3 % less
  using Slot = std::uint32_t;                    // in the cache

  /// slots  of the cache; 0: nothing is ever hot
  explicit HotLines(std::size_t slots) : entries_(kEntries), slot_of_(kEntries, kNoSlot), entry_of_(slots, 0) {}

  const HotLine* entries() const { return entries_.data(); }
  /// Entries of no cache: nothing is hot.
  static const HotLine* none() {
    static const std::array<HotLine, kEntries> entries{};
    return entries.data();
  }

  void add(std::uint64_t line, Slot slot, unsigned store, PolicyState& state, std::uint64_t keep, std::uint64_t set) {
    const std::size_t at = line % kEntries;
    HotLine& entry = entries_[at];
    if (slot_of_[at] != slot || entry.line[1 - store] != line) entry.line[1 - store] = HotLine::kNone;
    entry.line[store] = line;
    entry.state = &state;
    entry.keep = static_cast<std::uint32_t>(keep);
    entry.set = static_cast<std::uint32_t>(set);
    // A line has one linear address, but not for ever.
    if (entry_of_[slot] != at) drop(slot, false, false);
    slot_of_[at] = slot;
    entry_of_[slot] = static_cast<std::uint16_t>(at);
  }

  /// The line in `slot` is hot at most for those from now on.
  void drop(Slot slot, bool loads, bool stores) {
    const std::size_t at = entry_of_[slot];
    if (slot_of_[at] != slot) return;
    if (!loads) entries_[at].line[0] = HotLine::kNone;
    if (!stores) entries_[at].line[1] = HotLine::kNone;
  }
  void drop_all() {
    for (HotLine& entry : entries_) entry.line = {HotLine::kNone, HotLine::kNone};
  }

 private:
  static constexpr Slot kNoSlot = ~Slot{0};

  std::vector<HotLine> entries_;         // by the lowest bits of a line
  std::vector<Slot> slot_of_;            // by entry: what it tells of, or told of
  std::vector<std::uint16_t> entry_of_;  // by slot: the last entry that did
};

}  // namespace zs::uarch

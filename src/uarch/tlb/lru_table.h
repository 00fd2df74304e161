// A set-associative table of translations in LRU order, by stamps: a hit is one store, and only a miss looks for the oldest.
// For TLBs (up to 96 ways fully associative) and for the caches of paging structures.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/units.h"
#include "uarch/cache/line.h"

namespace zs::uarch {

class LruTable {
 public:
  /// entries  a multiple of `ways`; 0: a table that holds nothing
  LruTable(std::uint32_t entries, std::uint32_t ways)
      : ways_(entries == 0 ? 0 : ways),
        sets_(entries == 0 ? 1 : entries / ways),
        sets_are_power_(is_power_of_two(sets_)),
        slots_(entries) {}

  /// The frame of `key`, which is now the most recent of its set; null if there is none.
  const Frame* find(std::uint64_t key) {
    Slot* const slot = find_slot(key);
    if (slot == nullptr) return nullptr;
    slot->stamp = ++stamp_;
    return &slot->frame;
  }

  /// Puts in a key that is not there, for the oldest of its set; empty ways are older than all others.
  void insert(std::uint64_t key, Frame frame) {
    if (ways_ == 0) return;
    Slot* const set = set_of(key);
    Slot* oldest = set;
    for (std::uint32_t way = 1; way < ways_; ++way) {
      if (set[way].stamp < oldest->stamp) oldest = &set[way];
    }
    *oldest = {key, ++stamp_, frame};
  }

  void clear() { slots_.assign(slots_.size(), Slot{}); }

 private:
  static constexpr std::uint32_t kHinted = 16;  // ways up to which a plain search is as fast
  struct Slot {
    std::uint64_t key = ~std::uint64_t{0};
    std::uint64_t stamp = 0;
    Frame frame = 0;
  };

  Slot* find_slot(std::uint64_t key) {
    if (ways_ > kHinted) {
      // Nearly always the way that was right the last time for a key like this.
      Slot* hinted = &slots_[hints_[key % hints_.size()]];
      if (hinted->key == key) return hinted;
    }
    Slot* const set = set_of(key);
    for (std::uint32_t way = 0; way < ways_; ++way) {
      if (set[way].key != key) continue;
      if (ways_ > kHinted) hints_[key % hints_.size()] = static_cast<std::uint8_t>(way);
      return &set[way];
    }
    return nullptr;
  }
  Slot* set_of(std::uint64_t key) {
    const std::uint64_t set = sets_are_power_ ? key & (sets_ - 1) : key % sets_;
    return slots_.data() + set * ways_;
  }

  std::uint32_t ways_;
  std::uint32_t sets_;
  bool sets_are_power_;
  std::uint64_t stamp_ = 0;
  std::vector<Slot> slots_;
  std::array<std::uint8_t, 256> hints_{};  // fully associative tables only: at most 256 ways
};

}  // namespace zs::uarch

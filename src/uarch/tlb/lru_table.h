// A set-associative table of translations in LRU order, by stamps: a hit is one store, and only a miss looks for the
// oldest.
// Which slot it was the last time for a key like this is remembered, so nearly every hit is one comparison.
// For TLBs (up to 96 ways fully associative) and for the caches of paging structures.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/units.h"
#include "uarch/cache/line.h"

namespace zs::uarch {

class LruTable {
 public:
  /// Where a key was found the last time. Not of a key that has left.
  struct Hint {
    std::uint64_t key = kNoKey;
    std::uint32_t slot = 0;
    Frame frame = 0;
  };

  /// entries  a multiple of `ways`; 0: a table that holds nothing
  LruTable(std::uint32_t entries, std::uint32_t ways)
      : ways_(entries == 0 ? 0 : ways),
        sets_(entries == 0 ? 1 : entries / ways),
        sets_are_power_(is_power_of_two(sets_)),
        keys_(entries, kNoKey),
        stamps_(entries, 0),
        frames_(entries, 0),
        hints_(std::clamp<std::size_t>(std::bit_ceil(std::size_t{2} * entries), kHints, 4096)),
        hint_mask_(hints_.size() - 1) {}

  LruTable(const LruTable&) = delete;
  LruTable& operator=(const LruTable&) = delete;

  /// From now on it takes its stamps from there, as other tables may. stamp: no less than any that was given
  void share_stamps(std::uint64_t& stamp) { stamp_ = &stamp; }

  /// The frame of `key`, which is now the most recent of its set; null if there is none.
  [[gnu::always_inline]] const Frame* find(std::uint64_t key) {
    const Hint& hint = hints_[key & hint_mask_];
    if (hint.key != key) return key == absent_ ? nullptr : search(key);
    stamps_[hint.slot] = ++*stamp_;
    return &hint.frame;
  }

  /// Puts in a key that is not there, for the oldest of its set; empty ways are older than all others. Returns the key
  /// that left, or kNoKey.
  std::uint64_t insert(std::uint64_t key, Frame frame) {
    absent_ = kNoKey;
    if (ways_ == 0) return kNoKey;
    const std::uint32_t set = set_of(key);
    const std::uint64_t* const stamps = &stamps_[set];
    std::uint32_t oldest = 0;
    std::uint64_t its = stamps[0];
    for (std::uint32_t way = 1; way < ways_;
         ++way) {  // nobody can predict which it is, so that no branch depends on it
      const bool older = stamps[way] < its;
      its = older ? stamps[way] : its;
      oldest = older ? way : oldest;
    }
    oldest += set;
    const std::uint64_t left = keys_[oldest];
    Hint& gone = hints_[left & hint_mask_];
    if (gone.key == left) gone = {};
    keys_[oldest] = key;
    stamps_[oldest] = ++*stamp_;
    frames_[oldest] = frame;
    hints_[key & hint_mask_] = {key, oldest, frame};
    return left;
  }

  void clear() {
    std::ranges::fill(keys_, kNoKey);
    std::ranges::fill(stamps_, 0);
    std::ranges::fill(hints_, Hint{});
  }

  static constexpr std::uint64_t kNoKey = ~std::uint64_t{0};

 private:
  friend class QuickPages;
  static constexpr std::size_t kHints = 256;  // at least so many

  [[gnu::noinline]] const Frame* search(std::uint64_t key) {
    const std::uint32_t set = set_of(key);
    for (std::uint32_t slot = set; slot < set + ways_; ++slot) {
      if (keys_[slot] != key) continue;
      hints_[key & hint_mask_] = {key, slot, frames_[slot]};
      stamps_[slot] = ++*stamp_;
      return &frames_[slot];
    }
    absent_ = key;
    return nullptr;
  }
  std::uint32_t set_of(std::uint64_t key) const {
    return static_cast<std::uint32_t>(sets_are_power_ ? key & (sets_ - 1) : key % sets_) * ways_;
  }

  std::uint32_t ways_;
  std::uint32_t sets_;
  bool sets_are_power_;
  std::uint64_t own_stamp_ = 0;
  std::uint64_t* stamp_ = &own_stamp_;  // the newest
  std::uint64_t absent_ = kNoKey;       // the key that was searched for last in vain, until another one comes
  // By slot: set after set.
  std::vector<std::uint64_t> keys_, stamps_;
  std::vector<Frame> frames_;
  std::vector<Hint> hints_;  // by the lowest bits of a key
  std::uint64_t hint_mask_;
};

/// What an inline path needs of a table, beside each other: hits that a hint knows.
class QuickPages {
 public:
  /// What code that does the same inline works on.
  struct Inline {
    const LruTable::Hint* hints;
    std::uint64_t* stamps;
    std::uint64_t* newest;
    std::uint64_t mask;
  };

  QuickPages() = default;
  /// table  lives longer
  explicit QuickPages(LruTable& table)
      : own_{table.hints_.data(), table.stamps_.data(), table.stamp_, table.hint_mask_} {}

  /// What is in that slot becomes the most recent of its set.
  void touch_slot(std::uint32_t slot) const { own_.stamps[slot] = ++*own_.newest; }
  /// As LruTable::find(), but null also for a key that no hint knows.
  const LruTable::Hint* touch(std::uint64_t key) const {
    const LruTable::Hint* const hint = &own_.hints[key & own_.mask];
    if (hint->key != key) return nullptr;
    own_.stamps[hint->slot] = ++*own_.newest;
    return hint;
  }
  const Inline& inline_part() const { return own_; }

 private:
  Inline own_{};
};

}  // namespace zs::uarch

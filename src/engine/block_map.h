// From a guest pc and a variant to the block that translates it: open addressing in one array, because it is asked for every
// branch target that is translated and at every visit of the dispatcher.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/block.h"

namespace zs::engine {

class BlockMap {
 public:
  BlockMap() : entries_(kSmallest) {}

  /// kNone if there is none.
  std::uint32_t find(std::uint64_t pc, Variant variant) const { return entries_[place(key(pc, variant))].block; }

  void set(std::uint64_t pc, Variant variant, std::uint32_t block) {
    if (2 * (used_ + 1) > entries_.size()) grow();
    Entry& entry = entries_[place(key(pc, variant))];
    if (entry.key == kFree) ++used_;
    entry = {key(pc, variant), block};
  }
  /// The place stays taken, so that others behind it are still found.
  void forget(std::uint64_t pc, Variant variant) { entries_[place(key(pc, variant))].block = kNone; }

  void clear() {
    entries_.assign(kSmallest, Entry{});
    used_ = 0;
  }

 private:
  static constexpr std::size_t kSmallest = std::size_t{1} << 12;
  static constexpr std::uint64_t kFree = ~std::uint64_t{0};
  struct Entry {
    std::uint64_t key = kFree;
    std::uint32_t block = kNone;
  };

  /// Addresses have 57 bits at most, so nothing is lost, and no key is kFree.
  static std::uint64_t key(std::uint64_t pc, Variant variant) { return pc << 4 | static_cast<unsigned>(variant); }

  /// Where `wanted` is, or would be put.
  std::size_t place(std::uint64_t wanted) const {
    const std::size_t mask = entries_.size() - 1;
    std::size_t at = (wanted * 0x9E3779B97F4A7C15u) >> 32 & mask;
    while (entries_[at].key != wanted && entries_[at].key != kFree) at = (at + 1) & mask;
    return at;
  }

  void grow() {
    std::vector<Entry> old(entries_.size() * 2);
    old.swap(entries_);
    used_ = 0;
    for (const Entry& entry : old) {
      if (entry.key == kFree || entry.block == kNone) continue;
      entries_[place(entry.key)] = entry;
      ++used_;
    }
  }

  std::vector<Entry> entries_;
  std::size_t used_ = 0;
};

}  // namespace zs::engine

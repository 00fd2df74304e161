// From a guest pc and a variant to the block that translates it: open addressing, because it is asked for every branch
// target that is translated and at every visit of the dispatcher. Blocks of the same 64 bytes of code stand side by
// side: what one translation asks for lies close together, and in a large program each line of this map comes from
// memory.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "engine/translate/block.h"
#include "engine/translate/growing_array.h"
#include "engine/translate/snapshot.h"

namespace zs::engine {

class BlockMap {
 public:
  BlockMap() { clear(); }

  /// kNone if there is none.
  std::uint32_t find(std::uint64_t pc, Variant variant) const {
    const std::size_t at = place(pc, key(pc, variant));
    return keys_[at] == kFree ? kNone : blocks_[at];
  }

  void set(std::uint64_t pc, Variant variant, std::uint32_t block) {
    if (2 * (used_ + 1) > keys_.size()) grow();
    put(pc, key(pc, variant), block);
  }
  /// The place stays taken, so that others behind it are still found.
  void forget(std::uint64_t pc, Variant variant) {
    if (const std::size_t at = place(pc, key(pc, variant)); keys_[at] != kFree) blocks_[at] = kNone;
  }

  void clear() {
    keys_.assign(kSmallest, kFree);
    blocks_.assign(kSmallest, kNone);
    used_ = 0;
  }

  void save(SnapshotWriter& out) const {
    out.add(Part::MapKeys, keys_);
    out.add(Part::MapBlocks, blocks_);
  }
  /// blocks  that there are
  /// returns whether they are there, and every key leads to one of these or to none
  bool restore(const Snapshot& from, std::size_t blocks) {
    if (!from.put(Part::MapKeys, keys_) || !from.put(Part::MapBlocks, blocks_)) return false;
    if (keys_.size() != blocks_.size() || keys_.size() < kSmallest || !std::has_single_bit(keys_.size())) return false;
    used_ = 0;
    for (std::size_t at = 0; at < keys_.size(); ++at) {
      if (keys_[at] == kFree) continue;
      ++used_;
      if (blocks_[at] != kNone && blocks_[at] >= blocks) return false;
    }
    return 2 * used_ <= keys_.size();
  }

 private:
  static constexpr std::size_t kSmallest = std::size_t{1} << 10;
  static constexpr std::uint64_t kFree = ~std::uint64_t{0};
  static constexpr unsigned kVariantBits = 4;
  /// Keys in a line of the cache; and code whose blocks are looked for from the same line on.
  static constexpr std::size_t kLine = 8;
  static constexpr unsigned kCodeBits = 6;

  /// Addresses have 57 bits at most, so nothing is lost, and no key is kFree.
  static std::uint64_t key(std::uint64_t pc, Variant variant) {
    return pc << kVariantBits | static_cast<unsigned>(variant);
  }

  std::size_t first_place(std::uint64_t pc) const {
    return ((pc >> kCodeBits) * 0x9E3779B97F4A7C15u) >> 32 & (keys_.size() - 1) & ~(kLine - 1);
  }

  /// Where `wanted` is, or would be put.
  std::size_t place(std::uint64_t pc, std::uint64_t wanted) const {
    const std::size_t mask = keys_.size() - 1;
    std::size_t at = first_place(pc);
    while (keys_[at] != wanted && keys_[at] != kFree) at = (at + 1) & mask;
    return at;
  }

  void put(std::uint64_t pc, std::uint64_t key, std::uint32_t block) {
    const std::size_t at = place(pc, key);
    if (keys_[at] == kFree) ++used_;
    keys_[at] = key;
    blocks_[at] = block;
  }

  void grow() {
    GrowingArray<std::uint64_t> keys;
    GrowingArray<std::uint32_t> blocks;
    keys.assign(keys_.size() * 2, kFree);
    blocks.assign(keys.size(), kNone);
    keys.swap(keys_);
    blocks.swap(blocks_);
    used_ = 0;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (keys[i] != kFree && blocks[i] != kNone) put(keys[i] >> kVariantBits, keys[i], blocks[i]);
    }
  }

  GrowingArray<std::uint64_t> keys_;  // apart from the blocks: most of what is asked for is not there
  GrowingArray<std::uint32_t> blocks_;
  std::size_t used_ = 0;
};

}  // namespace zs::engine

// The path register: which taken branches led here. Each one shifts it by two bits and adds a footprint of its address
// and target, so a branch fades over as many taken branches as the register has bit pairs. Branches not taken leave it
// alone, as on Intel's processors (source: the Half&Half and Pathfinder papers); the footprint's exact bits are chosen.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "uarch/branch/branch_parameters.h"
#include "uarch/branch/crc32c.h"

namespace zs::uarch {

/// 16 bits of a taken branch. All of the address's low bits and the target's, so that branches to one place from two,
/// and from one place to two, differ.
constexpr std::uint16_t path_footprint(std::uint64_t pc, std::uint64_t target) {
  return static_cast<std::uint16_t>(pc ^ pc >> 16 ^ target << 3 ^ target >> 13);
}

class PathHistory {
 public:
  static constexpr std::size_t kWords = kMaxPathBranches * 2 / 64;

  /// `longest`: taken branches that any table sees.
  explicit PathHistory(unsigned longest) : words_((2 * longest + 63) / 64) {}

  void taken(std::uint16_t footprint) {
    // Unrolled: a loop over so few words is mostly loop.
    if (words_ > kShort) {
      for (std::size_t i = words_; i-- > kShort;) bits_[i] = bits_[i] << 2 | bits_[i - 1] >> 62;
    }
    bits_[2] = bits_[2] << 2 | bits_[1] >> 62;
    bits_[1] = bits_[1] << 2 | bits_[0] >> 62;
    bits_[0] = bits_[0] << 2 ^ footprint;
  }

  std::uint64_t word(std::size_t i) const { return bits_[i]; }

 private:
  static constexpr std::size_t kShort = 3;
  std::size_t words_;
  std::array<std::uint64_t, kWords> bits_{};
};

/// The footprints of taken branches that the register has not seen yet: where only indirect branches ask for the path,
/// most never reach it.
class WaitingFootprints {
 public:
  void add(std::uint16_t footprint) { ring_[count_++ % ring_.size()] = footprint; }
  bool empty() const { return count_ == 0; }
  /// Those that still count reach the register, oldest first. A footprint is longer than the pair of bits by which it
  /// moves, so some that have left the path's end are in its bits yet.
  void flush(PathHistory& path) {
    const std::size_t size = ring_.size();
    for (std::uint64_t i = count_ > size ? count_ - size : 0; i != count_; ++i) path.taken(ring_[i % size]);
    count_ = 0;
  }

 private:
  std::uint64_t count_ = 0;
  std::array<std::uint16_t, 256> ring_{};
  static_assert(256 >= kMaxPathBranches + 8);
};

/// CRC-32C of the path's last n taken branches, for each n that any table sees. It changes with taken branches only, so
/// it is computed behind one, and once for all tables of one length.
class PathHashes {
 public:
  using Ladder = std::array<std::uint16_t, kMaxTaggedTables>;

  explicit PathHashes(const Ladder& first, const Ladder& second) {
    for (const Ladder* ladder : {&first, &second}) {
      for (const std::uint16_t history : *ladder) {
        if (history != 0) histories_[count_++] = history;
      }
    }
    std::sort(histories_.begin(), histories_.begin() + count_);
    count_ =
        static_cast<std::size_t>(std::unique(histories_.begin(), histories_.begin() + count_) - histories_.begin());
    for (std::size_t i = 0; i < count_; ++i) {
      const unsigned bits = 2U * histories_[i];
      last_words_[i] = (bits - 1) / 64;
      masks_[i] = ~std::uint64_t{0} >> (63 - (bits - 1) % 64);
      words_before_ = std::max(words_before_, last_words_[i]);
    }
  }

  /// Where of() has the hash of this many branches.
  std::uint8_t position(std::uint16_t history) const {
    return static_cast<std::uint8_t>(std::find(histories_.begin(), histories_.begin() + count_, history) -
                                     histories_.begin());
  }
  std::uint32_t of(std::size_t position) const { return hashes_[position]; }

  /// A branch was taken.
  void update(const PathHistory& path) {
    if (detail::kHasCrcInstruction) {
      compute<crc32c_by_instruction>(path);
    } else {
      compute<crc32c_by_table>(path);
    }
  }

 private:
  template <std::uint32_t (*crc)(std::uint32_t, std::uint64_t)>
  [[gnu::always_inline]] void compute(const PathHistory& path) {
    std::array<std::uint32_t, PathHistory::kWords> before{};  // of the words before each
    for (std::size_t word = 0; word < words_before_; ++word) before[word + 1] = crc(before[word], path.word(word));
    for (std::size_t i = 0; i < count_; ++i)
      hashes_[i] = crc(before[last_words_[i]], path.word(last_words_[i]) & masks_[i]);
  }

  static constexpr std::size_t kMost = 2 * kMaxTaggedTables;
  std::size_t count_ = 0;
  std::size_t words_before_ = 0;  // the longest history's last word
  std::array<std::uint16_t, kMost> histories_{};
  std::array<std::size_t, kMost> last_words_{};
  std::array<std::uint64_t, kMost> masks_{};  // of the last word
  std::array<std::uint32_t, kMost> hashes_{};
};

/// The hash of a branch's address that all tables share; a table's own is this XOR its path's.
inline std::uint32_t address_hash(std::uint64_t pc) { return crc32c(0, pc); }

}  // namespace zs::uarch

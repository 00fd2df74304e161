// Pieces of memory that do not overlap, found by any address in them. There may be millions, so each takes two words:
// they lie in sorted lists, one for each 64 KiB in which some begin.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace zs::session {

class BlockTable {
 public:
  struct Block {
    std::uint64_t start = 0, size = 0;
    std::uint64_t number = 0;  // below 2^kNumberBits
    std::uint32_t site = 0;    // below 2^kSiteBits
    bool operator==(const Block&) const = default;
  };
  static constexpr unsigned kNumberBits = 42, kSiteBits = 22, kSizeBits = 48;

  /// Takes the place of those that it overlaps, and of one that begins where it does.
  void add(const Block& block);
  /// The one that begins at `start`.
  std::optional<Block> at(std::uint64_t start);
  void remove(std::uint64_t start);
  /// The one that holds `address`.
  std::optional<Block> find(std::uint64_t address);

 private:
  static constexpr unsigned kStretchBits = 16;
  struct Entry {
    std::uint64_t place = 0;  // offset in the stretch, then size
    std::uint64_t owner = 0;  // number, then site
    std::uint64_t offset() const { return place >> kSizeBits; }
  };
  static_assert(kStretchBits + kSizeBits == 64 && kNumberBits + kSiteBits == 64);
  using Stretch = std::vector<Entry>;                  // by offset; never empty
  using Stretches = std::map<std::uint64_t, Stretch>;  // by start >> kStretchBits
  struct Place {
    Stretches::iterator stretch;
    std::size_t index = 0;
  };

  /// The last one that begins at `address` or before it.
  std::optional<Place> last_up_to(std::uint64_t address);
  static Block block_at(const Place& place);
  void erase(const Place& place);

  Stretches stretches_;
};

}  // namespace zs::session

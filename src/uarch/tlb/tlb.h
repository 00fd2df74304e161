// One translation buffer: 4 KiB and 2 MiB pages in arrays of their own, or both in one.
#pragma once

#include <cstdint>

#include "uarch/memory_parameters.h"
#include "uarch/tlb/lru_table.h"

namespace zs::uarch {

inline constexpr unsigned kLargePageShift = 9;  // 2 MiB are 512 pages of 4 KiB
inline constexpr std::uint64_t kSmallPagesPerLarge = 1U << kLargePageShift;

/// Table  LruTable, or in tests a plain one
template <typename Table>
class BasicTlb {
 public:
  explicit BasicTlb(const TlbParameters& parameters)
      : small_(parameters.entries_4k, parameters.ways_4k),
        large_(parameters.entries_2m, parameters.ways_2m),
        shared_(parameters.shared_2m) {}

  /// page  linear address / 4096
  /// returns the page's own frame, or where `large` that of the 2 MiB page it lies in; null on a miss
  const Frame* find(std::uint64_t page, bool large) {
    if (!large) return small_.find(page);
    return (shared_ ? small_ : large_).find(large_key(page));
  }
  /// Returns what the table's insert() returns: the small page that left, or what is none.
  auto insert(std::uint64_t page, bool large, Frame frame) {
    if (!large) return small_.insert(page, frame);
    return (shared_ ? small_ : large_).insert(large_key(page), frame);
  }
  /// That of 4 KiB pages.
  Table& small_pages() { return small_; }
  void clear() {
    small_.clear();
    large_.clear();
  }

 private:
  /// Apart from all small pages, with the set in the lowest bits.
  static std::uint64_t large_key(std::uint64_t page) { return page >> kLargePageShift | std::uint64_t{1} << 62; }

  Table small_;
  Table large_;
  bool shared_;
};

using Tlb = BasicTlb<LruTable>;

}  // namespace zs::uarch

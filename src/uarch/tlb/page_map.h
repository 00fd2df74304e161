// Where the modelled kernel put each page. Frames are a seeded pseudo-random order of first touches, so that conflicts
// in physically indexed caches look like a real system's, and repeat exactly. The page tables have frames too: a page
// walk reads lines that compete for the caches like any others.
// Not modelled: several address spaces; 1 GiB pages; a kernel that colours pages.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "uarch/cache/line.h"
#include "uarch/flat_map.h"
#include "uarch/tlb/tlb.h"

namespace zs::uarch {

struct Translation {
  Frame frame = 0;  // of the 4 KiB page, also where it is part of a larger one
  bool large = false;
};

/// Levels of a page table by what one entry of it maps.
enum class TableLevel : std::uint8_t { Pte, Pde, Pdpte, Pml4e };  // 4 KiB, 2 MiB, 1 GiB, 512 GiB

class PageMap {
 public:
  explicit PageMap(std::uint64_t seed) : seed_(seed) {}

  /// The first use of a page gives it a frame.
  Translation translate(std::uint64_t page);

  /// Whether the page has a frame already.
  bool known(std::uint64_t page) const;

  /// The line of the paging entry that maps `page` at this level.
  Line entry_line(std::uint64_t page, TableLevel level);

  /// Pages [first, last) that get their frames from now on lie in 2 MiB pages.
  void use_large_pages(std::uint64_t first, std::uint64_t last);
  /// Not any more.
  void use_small_pages(std::uint64_t first, std::uint64_t last);

  /// Pages [first, last) lose their frames: unmapped. A 2 MiB page goes when its first page does.
  void unmap(std::uint64_t first, std::uint64_t last);

 private:
  // Physical memory is 2^26 frames: the lower half for small pages and tables, the upper half for large pages.
  static constexpr unsigned kSmallBits = 25;
  static constexpr unsigned kLargeBits = kSmallBits - kLargePageShift;

  Frame next_small_frame();
  Frame next_large_frame();
  bool wants_large(std::uint64_t page) const;

  std::uint64_t seed_;
  std::uint32_t small_frames_ = 0;  // handed out so far
  std::uint32_t large_frames_ = 0;
  FlatMap<Frame> frames_;                                       // by page, by 2 MiB page, by table
  std::vector<std::pair<std::uint64_t, std::uint64_t>> large_;  // ranges of pages; none touches another
};

}  // namespace zs::uarch

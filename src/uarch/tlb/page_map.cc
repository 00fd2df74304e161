#include "uarch/tlb/page_map.h"

#include <algorithm>

#include "base/check.h"

namespace zs::uarch {

namespace {

// Keys of one map: page numbers are below 2^52.
constexpr std::uint64_t large_page_key(std::uint64_t page) { return page >> kLargePageShift | std::uint64_t{1} << 60; }
constexpr std::uint64_t table_key(std::uint64_t table, TableLevel level) {
  return table | (std::uint64_t{static_cast<std::uint8_t>(level)} + 2) << 60;
}

/// The n-th element of a pseudo-random order of all numbers of `bits` bits: each step can be undone, so none comes
/// twice.
constexpr std::uint32_t shuffled(std::uint32_t n, unsigned bits, std::uint64_t seed) {
  const std::uint32_t mask = (1U << bits) - 1;
  std::uint32_t x = n & mask;
  for (unsigned round = 0; round < 3; ++round) {
    x = (x * 0x2C1B'3C6DU + static_cast<std::uint32_t>(seed >> 20 * round)) & mask;  // odd, well mixed bits
    x ^= x >> (bits / 2);
  }
  return x;
}

}  // namespace

Frame PageMap::next_small_frame() {
  CHECK(small_frames_ < 1U << kSmallBits);
  return shuffled(small_frames_++, kSmallBits, seed_);
}

Frame PageMap::next_large_frame() {
  CHECK(large_frames_ < 1U << kLargeBits);
  return 1U << kSmallBits | shuffled(large_frames_++, kLargeBits, seed_) << kLargePageShift;
}

bool PageMap::wants_large(std::uint64_t page) const {
  const std::uint64_t first = page & ~(kSmallPagesPerLarge - 1);
  return std::ranges::any_of(large_, [first](const auto& range) {
    return range.first <= first && first + kSmallPagesPerLarge <= range.second;
  });
}

Translation PageMap::translate(std::uint64_t page) {
  if (!large_.empty()) {
    const auto within = static_cast<Frame>(page & (kSmallPagesPerLarge - 1));
    if (const Frame* frame = frames_.find(large_page_key(page))) return {*frame | within, true};
    if (frames_.find(page) == nullptr && wants_large(page)) {
      const Frame frame = next_large_frame();
      frames_[large_page_key(page)] = frame;
      return {frame | within, true};
    }
  }
  if (const Frame* frame = frames_.find(page)) return {*frame, false};
  const Frame frame = next_small_frame();
  frames_[page] = frame;
  return {frame, false};
}

bool PageMap::known(std::uint64_t page) const {
  return frames_.find(page) != nullptr || frames_.find(large_page_key(page)) != nullptr;
}

Line PageMap::entry_line(std::uint64_t page, TableLevel level) {
  const std::uint64_t entry = page >> kLargePageShift * static_cast<unsigned>(level);
  const std::uint64_t key = table_key(entry >> kLargePageShift, level);
  const Frame* known = frames_.find(key);
  Frame frame = 0;
  if (known != nullptr) {
    frame = *known;
  } else {
    frame = next_small_frame();
    frames_[key] = frame;
  }
  const auto byte = static_cast<unsigned>(entry % (1U << kLargePageShift)) * 8;
  return frame << (kPageBits - kLineBits) | byte >> kLineBits;
}

void PageMap::use_large_pages(std::uint64_t first, std::uint64_t last) {
  if (first >= last) return;
  std::erase_if(large_, [&](const auto& range) {
    if (range.second < first || last < range.first) return false;
    first = std::min(first, range.first);
    last = std::max(last, range.second);
    return true;
  });
  large_.emplace_back(first, last);
}

void PageMap::use_small_pages(std::uint64_t first, std::uint64_t last) {
  const std::size_t before = large_.size();
  for (std::size_t i = 0; i < before; ++i) {
    if (last < large_[i].second && large_[i].first < last)
      large_.emplace_back(std::max(last, large_[i].first), large_[i].second);
    if (first < large_[i].second && large_[i].first < last) large_[i].second = std::max(first, large_[i].first);
  }
  std::erase_if(large_, [](const auto& range) { return range.first >= range.second; });
}

void PageMap::unmap(std::uint64_t first, std::uint64_t last) {
  if (last - first > frames_.size()) {  // reservations of terabytes come and go, hardly touched
    frames_.erase_if([=](std::uint64_t key) {
      const bool large = key >> 60 == 1;
      const std::uint64_t page = large ? (key ^ large_page_key(0)) << kLargePageShift : key;
      return (large || key >> 60 == 0) && first <= page && page < last;
    });
  } else {
    for (std::uint64_t page = first; page < last; ++page) {
      frames_.erase(page);
      if (page % kSmallPagesPerLarge == 0) frames_.erase(large_page_key(page));
    }
  }
  use_small_pages(first, last);
}

}  // namespace zs::uarch

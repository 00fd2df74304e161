// Which blocks were made of the code of a page: lists, one behind the other in one array, because each new block is put
// into one and hardly any is ever read.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "engine/translate/block.h"

namespace zs::engine {

class PageBlocks {
 public:
  PageBlocks() { clear(); }

  /// returns whether the page (address / 4096) has a list only now
  bool add_page(std::uint64_t page) {
    if (std::exchange(newest_page_, page) == page) return false;
    return add_slot(page);
  }

  /// Behind the others of a page that has a list; not again if it came last.
  void add(std::uint64_t page, std::uint32_t block) {
    std::uint32_t& newest = slots_[place(page)].newest;
    if (newest != kEnd && entries_[newest].block == block) return;
    entries_.push_back({block, newest});
    newest = static_cast<std::uint32_t>(entries_.size() - 1);
  }

  /// visit(page, block) for each block in each list.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (const Slot& slot : slots_) {
      if (slot.page >= kGone) continue;
      for (std::uint32_t at = slot.newest; at != kEnd; at = entries_[at].older) visit(slot.page, entries_[at].block);
    }
  }

  /// visit(block) for each block in the list of the page.
  template <typename Visit>
  void for_each_on(std::uint64_t page, Visit visit) const {
    const Slot& slot = slots_[place(page)];
    if (slot.page != page) return;
    for (std::uint32_t at = slot.newest; at != kEnd; at = entries_[at].older) visit(entries_[at].block);
  }

  /// Ends the lists of the pages from `first` to `last` and calls drop(block) for each block in them.
  template <typename Drop>
  void take(std::uint64_t first, std::uint64_t last, Drop drop) {
    newest_page_ = kFree;
    const auto take_slot = [&](Slot& slot) {
      for (std::uint32_t at = slot.newest; at != kEnd; at = entries_[at].older) drop(entries_[at].block);
      slot = {kGone, kEnd};
    };
    if (last - first < used_) {
      for (std::uint64_t page = first; page <= last; ++page) {
        if (Slot& slot = slots_[place(page)]; slot.page == page) take_slot(slot);
      }
    } else {
      for (Slot& slot : slots_) {
        if (slot.page >= first && slot.page <= last && slot.page < kGone) take_slot(slot);
      }
    }
  }

  void clear() {
    slots_.assign(kSmallest, Slot{});
    entries_.clear();
    used_ = 0;
    newest_page_ = kFree;
  }

 private:
  static constexpr std::size_t kSmallest = std::size_t{1} << 10;
  static constexpr std::uint32_t kEnd = UINT32_MAX;
  /// No page: addresses have fewer bits.
  static constexpr std::uint64_t kFree = ~std::uint64_t{0}, kGone = kFree - 1;
  struct Slot {
    std::uint64_t page = kFree;
    std::uint32_t newest = kEnd;
  };
  struct Entry {
    std::uint32_t block, older;
  };

  /// Where `page` is, or would be put. What is gone keeps its place, so that others behind it are still found.
  std::size_t place(std::uint64_t page) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = (page * 0x9E3779B97F4A7C15u) >> 32 & mask;
    while (slots_[at].page != page && slots_[at].page != kFree) at = (at + 1) & mask;
    return at;
  }

  bool add_slot(std::uint64_t page) {
    Slot& slot = slots_[place(page)];
    if (slot.page == page) return false;
    if (2 * (used_ + 1) > slots_.size()) {
      grow();
      return add_slot(page);
    }
    slot = {page, kEnd};
    ++used_;
    return true;
  }

  void grow() {
    const auto live =
        static_cast<std::size_t>(std::ranges::count_if(slots_, [](const Slot& slot) { return slot.page < kGone; }));
    std::vector<Slot> slots(4 * live < slots_.size() ? slots_.size() : 2 * slots_.size());
    slots.swap(slots_);
    used_ = 0;
    for (const Slot& slot : slots) {
      if (slot.page >= kGone) continue;
      slots_[place(slot.page)] = slot;
      ++used_;
    }
  }

  std::vector<Slot> slots_;
  std::vector<Entry> entries_;
  std::size_t used_ = 0;               // slots, with those that are gone
  std::uint64_t newest_page_ = kFree;  // the page that add_page() was told last
};

}  // namespace zs::engine

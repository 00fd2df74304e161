// Which of the program's code the blocks of a snapshot were made of. Modules of it sleep: their blocks are there and
// linked among themselves, but nobody finds one until its module has been proven to be the program's code as it is now.
// No link leads from one module into another.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/memory/layout.h"
#include "engine/translate/block.h"
#include "engine/translate/growing_array.h"
#include "engine/translate/snapshot.h"

namespace zs::engine {

/// Code that is mapped as a whole: what blocks were made of in one mapping of a file. Pages are numbers, address /
/// 4096.
struct StoredModule {
  std::uint64_t first_page = 0, end_page = 0;
  std::uint64_t version = 0;           // CodePages::version()
  std::uint32_t first = 0, count = 0;  // its pages with code, among StoredPage
};

struct StoredPage {
  std::uint64_t page = 0;
  std::uint64_t hash = 0;              // of its bytes (code_hash.h)
  std::uint32_t first = 0, count = 0;  // the blocks made of it, among Part::PageBlocks
};

class StoredCode {
 public:
  /// Numbered from 1, as Block::module is.
  std::size_t modules() const { return modules_.size(); }
  const StoredModule& module(std::size_t number) const { return modules_[number - 1]; }
  std::span<const StoredPage> pages_of(std::size_t number) const {
    const StoredModule& it = module(number);
    return std::span(pages_).subspan(it.first, it.count);
  }
  std::span<const std::uint32_t> blocks_of(const StoredPage& page) const {
    return std::span<const std::uint32_t>(page_blocks_.begin(), page_blocks_.size()).subspan(page.first, page.count);
  }
  /// Indices of blocks to which indirect branches have led, by guest pc.
  std::span<const std::uint32_t> targets() const { return {targets_.begin(), targets_.size()}; }

  bool any_sleeps() const { return sleeping_ != 0; }
  /// 0, which is no module: false
  bool sleeps(std::size_t number) const { return number != 0 && asleep_[number - 1]; }
  void wake(std::size_t number) {
    if (sleeps(number)) --sleeping_;
    asleep_[number - 1] = false;
  }

  /// Calls drop(block) for each block made of the pages from `first` to `last`, of modules that do not sleep.
  template <typename Drop>
  void take_pages(std::uint64_t first, std::uint64_t last, Drop drop) const {
    for (std::size_t number = 1; number <= modules(); ++number) {
      const StoredModule& it = module(number);
      if (it.first_page > last || it.end_page <= first || sleeps(number)) continue;
      const auto pages = pages_of(number);
      auto page = std::ranges::lower_bound(pages, first, {}, &StoredPage::page);
      for (; page != pages.end() && page->page <= last; ++page) {
        for (const std::uint32_t block : blocks_of(*page)) drop(block);
      }
    }
  }

  void clear() {
    modules_.clear();
    pages_.clear();
    asleep_.clear();
    page_blocks_.clear();
    targets_.clear();
    sleeping_ = 0;
  }
  /// All modules sleep then.
  /// returns whether it is there, and speaks of no block but those of `blocks`
  bool restore(const Snapshot& from, const GrowingArray<Block>& blocks) {
    if (!from.read(Part::Modules, modules_) || !from.read(Part::Pages, pages_) ||
        !from.put(Part::PageBlocks, page_blocks_) || !from.put(Part::Targets, targets_))
      return false;
    asleep_.assign(modules_.size(), true);
    sleeping_ = modules_.size();
    return is_consistent(blocks);
  }

 private:
  bool is_consistent(const GrowingArray<Block>& blocks) const {
    const auto lies_in = [](std::uint64_t first, std::uint64_t count, std::size_t size) {
      return first <= size && count <= size - first;
    };
    for (const StoredModule& it : modules_) {
      if (it.first_page >= it.end_page || !lies_in(it.first, it.count, pages_.size())) return false;
      for (const StoredPage& page : std::span(pages_).subspan(it.first, it.count)) {
        if (page.page < it.first_page || page.page >= it.end_page) return false;
      }
    }
    for (const StoredPage& page : pages_) {
      if (!lies_in(page.first, page.count, page_blocks_.size())) return false;
    }
    const auto is_block = [&](std::uint32_t block) { return block != 0 && block < blocks.size(); };
    const auto is_of_module = [&](const Block& block) { return block.module <= modules_.size(); };
    return std::ranges::is_sorted(pages_, {}, &StoredPage::page) && std::ranges::all_of(page_blocks_, is_block) &&
           std::ranges::all_of(targets_, is_block) && std::ranges::all_of(blocks, is_of_module);
  }

  std::vector<StoredModule> modules_;
  std::vector<StoredPage> pages_;
  std::vector<bool> asleep_;  // by module
  std::size_t sleeping_ = 0;
  GrowingArray<std::uint32_t> page_blocks_, targets_;
};

}  // namespace zs::engine

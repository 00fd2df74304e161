#include "engine/translate/snapshot_maker.h"

#include <algorithm>

namespace zs::engine {

std::size_t SnapshotMaker::may_be_fresh(std::size_t inherited) const {
  const std::span<const Block> all = store_.blocks(), own = all.subspan(std::min(inherited, all.size()));
  return static_cast<std::size_t>(std::ranges::count_if(own, [this](const Block& block) {
    return can_be_stored(block) && !pages_.mapping_of(block.pc / kPageSize).empty();
  }));
}

void SnapshotMaker::look(std::size_t inherited) {
  collect_uses();
  module_of_.assign(store_.size(), kNoModule);
  for (std::size_t i = 0; i < uses_.size();) {
    const std::uint64_t page = uses_[i].page;
    const std::uint16_t number = source_of(page).number;
    const bool mapped = !pages_.mapping_of(page).empty();
    for (; i < uses_.size() && uses_[i].page == page; ++i) {
      std::uint16_t& of_block = module_of_[uses_[i].block];
      // Where a file is mapped now, what sleeps was made of another; elsewhere, what does not sleep was made of none.
      const bool fits = store_.stored().sleeps(store_.block(uses_[i].block).module) != mapped;
      of_block = fits && (of_block == kNoModule || of_block == number) ? number : kNotStored;
    }
  }
  fresh_ = kept_ = 0;
  for (std::uint32_t index = 1; index < store_.size(); ++index) {
    const Block& block = store_.block(index);
    if (module_of_[index] == kNoModule || !can_be_stored(block)) module_of_[index] = kNotStored;
    if (module_of_[index] == kNotStored) continue;
    ++kept_;
    if (index >= inherited) ++fresh_;
  }
}

// Which blocks were made of which pages: of this process, and of the snapshot that it has begun with.
void SnapshotMaker::collect_uses() {
  const auto use = [this](std::uint64_t page, std::uint32_t block) {
    if (!store_.block(block).dead) uses_.push_back({page, block});
  };
  uses_.clear();
  store_.pages().for_each(use);
  const StoredCode& stored = store_.stored();
  for (std::size_t number = 1; number <= stored.modules(); ++number) {
    for (const StoredPage& page : stored.pages_of(number)) {
      for (const std::uint32_t block : stored.blocks_of(page)) use(page.page, block);
    }
  }
  std::ranges::sort(uses_);
  uses_.erase(std::unique(uses_.begin(), uses_.end()), uses_.end());
}

// What still sleeps stays as it was stored, unless something else lies there now.
SnapshotMaker::Source SnapshotMaker::source_of(std::uint64_t page) {
  Source source;
  if (const AddressRange mapping = pages_.mapping_of(page); !mapping.empty()) {
    const auto hash = pages_.is_settled(page) ? pages_.hash(page) : std::nullopt;
    if (!hash) return source;
    source.number = number_of(mapping, nullptr);
    hashes_[page] = *hash;
    return source;
  }
  const StoredCode& stored = store_.stored();
  for (std::size_t number = 1; number <= stored.modules(); ++number) {
    if (!stored.sleeps(number)) continue;
    const auto pages = stored.pages_of(number);
    const auto found = std::ranges::lower_bound(pages, page, {}, &StoredPage::page);
    if (found == pages.end() || found->page != page) continue;
    const StoredModule& module = stored.module(number);
    source.number = number_of({module.first_page, module.end_page}, &module);
    hashes_[page] = found->hash;
    return source;
  }
  return source;
}

std::uint16_t SnapshotMaker::number_of(AddressRange pages, const StoredModule* stored) {
  const auto [at, is_new] =
      numbers_.try_emplace({pages.start, pages.end}, static_cast<std::uint16_t>(modules_.size() + 1));
  if (is_new) {
    if (modules_.size() + 1 >= kNotStored) return kNotStored;
    const std::uint64_t version = stored != nullptr ? stored->version : pages_.version(pages);
    modules_.push_back({.first_page = pages.start, .end_page = pages.end, .version = version});
  }
  return at->second;
}

// A block is a function of the bytes on its path alone, unless it says what lies behind them.
bool SnapshotMaker::can_be_stored(const Block& block) const {
  if (block.dead || block.unseen_changes || block.probe != ProbeTime::None || block.instructions == 0) return false;
  for (std::uint32_t id = block.first_exit; id < block.first_exit + block.exits; ++id) {
    switch (store_.exit(id).kind) {
      case ExitKind::Refused:
      case ExitKind::Undecodable:
      case ExitKind::Unfetchable:
      case ExitKind::Stale: return false;
      default: break;
    }
  }
  return true;
}

// ---- making it ------------------------------------------------------------------------------------------------

void SnapshotMaker::make(SnapshotWriter& out) {
  drop_the_rest();
  unlink_modules();
  SnapshotFacts facts;
  store_.save(out, facts);
  linker_.save(facts);
  space_.save(out);
  add_blocks(out);
  add_code(out);
  add_targets(out);
  out.add_copy(Part::Facts, std::span<const SnapshotFacts>(&facts, 1));
}

void SnapshotMaker::drop_the_rest() {
  for (std::uint32_t index = 1; index < store_.size(); ++index) {
    if (module_of_[index] == kNotStored && !store_.block(index).dead) linker_.kill(index);
  }
}

void SnapshotMaker::unlink_modules() {
  for (std::uint32_t id = BlockStore::kFirstExit; id < store_.exits(); ++id) {
    const Exit& exit = store_.exit(id);
    if (exit.linked_to != kNone && module_of_[exit.block] != module_of_[exit.linked_to]) linker_.unlink(id);
  }
}

void SnapshotMaker::add_blocks(SnapshotWriter& out) {
  std::vector<Block> blocks(store_.blocks().begin(), store_.blocks().end());
  for (std::uint32_t index = 0; index < blocks.size(); ++index) {
    Block& block = blocks[index];
    block.hashed_entry = 0;
    block.probe = ProbeTime::None;
    block.unseen_changes = false;
    block.dead |= index == 0;
    block.module = block.dead ? kNoModule : module_of_[index];
  }
  out.add_copy(Part::Blocks, std::span<const Block>(blocks));
}

void SnapshotMaker::add_code(SnapshotWriter& out) {
  std::vector<StoredModule> modules = modules_;
  std::vector<StoredPage> pages;
  std::vector<std::uint32_t> blocks;
  for (std::size_t i = 0; i < uses_.size();) {
    const std::uint64_t page = uses_[i].page;
    StoredPage of_page{.page = page, .hash = 0, .first = static_cast<std::uint32_t>(blocks.size())};
    std::uint16_t number = kNotStored;
    for (; i < uses_.size() && uses_[i].page == page; ++i) {
      if (module_of_[uses_[i].block] == kNotStored) continue;
      number = module_of_[uses_[i].block];
      blocks.push_back(uses_[i].block);
    }
    if (number == kNotStored) continue;
    of_page.hash = hashes_[page];
    of_page.count = static_cast<std::uint32_t>(blocks.size()) - of_page.first;
    StoredModule& module = modules[number - 1u];
    if (module.count++ == 0) module.first = static_cast<std::uint32_t>(pages.size());
    pages.push_back(of_page);
  }
  out.add_copy(Part::Modules, std::span<const StoredModule>(modules));
  out.add_copy(Part::Pages, std::span<const StoredPage>(pages));
  out.add_copy(Part::PageBlocks, std::span<const std::uint32_t>(blocks));
}

// Those of this process, and those of the snapshot that it has not come to.
void SnapshotMaker::add_targets(SnapshotWriter& out) {
  std::vector<std::uint32_t> targets(store_.stored().targets().begin(), store_.stored().targets().end());
  for (std::uint32_t index = 1; index < store_.size(); ++index) {
    const Block& block = store_.block(index);
    if (block.variant == Variant::Full && !block.dead && block.direct_entry != 0 && direct_.covers(block.pc) &&
        direct_.leads_to(block.pc, block.direct_entry))
      targets.push_back(index);
  }
  std::erase_if(targets, [this](std::uint32_t index) { return store_.block(index).dead; });
  const auto pc_of = [this](std::uint32_t index) { return store_.block(index).pc; };
  std::ranges::sort(targets, {}, pc_of);
  const auto same_pc = [&](std::uint32_t a, std::uint32_t b) { return pc_of(a) == pc_of(b); };
  targets.erase(std::unique(targets.begin(), targets.end(), same_pc), targets.end());
  out.add_copy(Part::Targets, std::span<const std::uint32_t>(targets));
}

}  // namespace zs::engine

#include "engine/translate/block_store.h"

#include <algorithm>
#include <vector>

#include "base/check.h"

namespace zs::engine {

BlockStore::BlockStore(const AccumulatorSet& accumulators, std::span<const std::uint32_t> units, bool tallies,
                       std::uint64_t begin, std::uint64_t near_begin)
    : accumulators_(accumulators),
      tallies_(tallies),
      begin_(begin),
      near_begin_(near_begin),
      counts_(accumulators, units) {
  // Address space only, so that growing copies nothing; a program of usual size stays below these.
  blocks_.reserve(std::size_t{1} << 18);
  for (auto* blocks : {&common_blocks_, &near_blocks_}) blocks->reserve(std::size_t{1} << 18);
  exits_.reserve(std::size_t{1} << 20);
  exit_probes_.reserve(std::size_t{1} << 20);
  metas_.reserve(std::size_t{1} << 22);
  counts_.reserve(std::size_t{1} << 20);
  clear();
}

void BlockStore::clear() {
  Block none;
  none.entry = begin_;
  none.dead = true;
  blocks_.assign(1, none);
  common_blocks_.assign(1, 0);
  near_blocks_.clear();
  exits_.assign(kFirstExit, Exit{});
  exit_probes_.assign(kFirstExit, ProbeTime::None);
  metas_.clear();
  counts_.clear();
  const std::vector<std::uint32_t> nothing(tallies_ ? accumulators_.size() : 0, 0);
  for (std::size_t exit = 0; tallies_ && exit < kFirstExit; ++exit) counts_.add_exit(nothing, 1);
  by_pc_.clear();
  by_page_.clear();
  stored_.clear();
  dead_ = 0;
}

std::size_t BlockStore::bytes() const {
  const std::size_t exit = sizeof(Exit) + sizeof(ProbeTime) + (tallies_ ? counts_.bytes_of_exit() : 0);
  constexpr std::size_t kMapped = 32;  // by_pc_, measured: cc1
  return exits_.size() * exit + metas_.size() * sizeof(InsnMeta) + blocks_.size() * (sizeof(Block) + kMapped);
}

// ---- making a block -------------------------------------------------------------------------------------------

std::uint32_t BlockStore::begin(Block& block) {
  block.first_meta = static_cast<std::uint32_t>(metas_.size());
  block.first_exit = static_cast<std::uint32_t>(exits_.size());
  return static_cast<std::uint32_t>(blocks_.size());
}

std::uint32_t BlockStore::add_exit(Block& block, ProbeTime probe, std::span<const std::uint32_t> counts,
                                   unsigned least_words) {
  const std::uint32_t id = block.first_exit + block.exits++;
  exits_.emplace_back();
  exit_probes_.push_back(probe);
  if (tallies_) counts_.add_exit(counts, least_words);
  return id;
}

const Block& BlockStore::add(const Block& block) {
  const auto index = static_cast<std::uint32_t>(blocks_.size());
  blocks_.push_back(block);
  (block.variant == Variant::Near ? near_blocks_ : common_blocks_).push_back(index);
  by_pc_.set(block.pc, block.variant, index);
  return blocks_.back();
}

void BlockStore::begin_at(std::uint32_t first_meta, std::uint32_t first_exit) {
  metas_.place(first_meta);
  exits_.place(first_exit);
  exit_probes_.place(first_exit);
  if (tallies_) counts_.begin_at(first_exit);
}

std::uint32_t BlockStore::reserve_exits(std::uint32_t count) {
  const auto first = static_cast<std::uint32_t>(exits_.size());
  const std::vector<std::uint32_t> nothing(accumulators_.size(), 0);
  for (std::uint32_t i = 0; i < count; ++i) {
    exits_.emplace_back();
    exit_probes_.push_back(ProbeTime::None);
    counts_.add_exit(nothing);
  }
  return first;
}

void BlockStore::bury(std::uint32_t index) {
  Block& block = blocks_[index];
  block.dead = true;
  ++dead_;
  if (by_pc_.find(block.pc, block.variant) == index) by_pc_.forget(block.pc, block.variant);
}

// ---- by cache address -----------------------------------------------------------------------------------------

BlockStore::Place BlockStore::locate(std::uint64_t cache_pc) const {
  Place place;
  const auto& order = cache_pc < near_begin_ ? common_blocks_ : near_blocks_;
  const auto behind =
      std::upper_bound(order.begin(), order.end(), cache_pc,
                       [this](std::uint64_t pc, std::uint32_t index) { return pc < blocks_[index].entry; });
  if (behind == order.begin()) return place;
  const std::uint32_t index = *(behind - 1);
  const Block& block = blocks_[index];
  if (cache_pc >= block.entry + block.code_bytes) return place;
  const auto offset = cache_pc - block.entry;
  const std::uint32_t end = block.first_meta + block.instructions;
  // Breakpoints have a meta but do not count; the search stops at the block's last meta either way.
  std::uint32_t at = block.first_meta;
  const bool newest = index + 1 == blocks_.size();
  const std::uint32_t limit = newest ? static_cast<std::uint32_t>(metas_.size()) : blocks_[index + 1].first_meta;
  if (at >= limit) return place;
  while (at + 1 < limit && at + 1 < end + 1 && metas_[at + 1].code_offset <= offset) ++at;
  place.block = index;
  place.instruction = static_cast<std::uint16_t>(at - block.first_meta);
  place.meta = metas_[at];
  place.pc = block.pc_of(metas_[at]);
  return place;
}

// An indirect transfer first puts rcx into its slot, which is at its beginning; then come its own accesses.
bool BlockStore::is_in_front(const Place& place, std::uint64_t cache_pc) const {
  if (place.block == kNone) return false;
  const std::uint64_t code = blocks_[place.block].entry + place.meta.code_offset;
  if (place.meta.rcx_spilled == 0) return cache_pc == code;
  return cache_pc > code && cache_pc <= code + place.meta.last_access();
}

std::uint32_t BlockStore::locate_side_exit(std::uint64_t cache_pc) const {
  const auto behind = std::upper_bound(blocks_.begin() + 1, blocks_.end(), cache_pc,
                                       [](std::uint64_t pc, const Block& block) { return pc < block.cold_entry; });
  return behind == blocks_.begin() + 1 ? kNone : static_cast<std::uint32_t>(behind - blocks_.begin()) - 1;
}

// ---- over the life of the process -----------------------------------------------------------------------------

void BlockStore::save(SnapshotWriter& out, SnapshotFacts& facts) const {
  out.add(Part::Exits, exits_);
  out.add(Part::Metas, metas_);
  out.add(Part::Order, common_blocks_);
  out.add(Part::NearOrder, near_blocks_);
  counts_.save(out, facts);
  by_pc_.save(out);
  facts.dead = dead_;
}

bool BlockStore::restore(const Snapshot& from, const SnapshotFacts& facts, const FilledCode& code) {
  // Blocks are written all over when they wake. Of the exits few are: links within a module are there already.
  if (!from.put(Part::Blocks, blocks_, Populate::ForWriting) || !from.put(Part::Exits, exits_) ||
      !from.put(Part::Metas, metas_) || !from.put(Part::Order, common_blocks_) ||
      !from.put(Part::NearOrder, near_blocks_))
    return false;
  if (blocks_.empty() || exits_.size() < kFirstExit) return false;
  if (common_blocks_.size() + near_blocks_.size() != blocks_.size()) return false;
  exit_probes_.assign(exits_.size(), ProbeTime::None);
  dead_ = facts.dead;
  const bool counted = counts_.restore(from, facts, tallies_ ? exits_.size() : 0);
  if (!counted || !by_pc_.restore(from, blocks_.size()) || !stored_.restore(from, blocks_)) return false;
  const auto is_block = [this](std::uint32_t index) { return index < blocks_.size(); };
  const auto is_good = [&](const auto& described) { return is_consistent(described, code); };
  return std::ranges::all_of(common_blocks_, is_block) && std::ranges::all_of(near_blocks_, is_block) &&
         std::ranges::all_of(blocks().subspan(1), is_good) && std::ranges::all_of(exits_, is_good);
}

bool BlockStore::is_consistent(const Block& block, const FilledCode& code) const {
  const AddressRange& own = block.variant == Variant::Near ? code.near : code.hot;
  const auto lies_in = [](std::uint64_t first, std::uint64_t count, std::size_t size) {
    return first <= size && count <= size - first;
  };
  return block.variant <= kLastVariant && own.start <= block.entry && lies_in(block.entry, block.code_bytes, own.end) &&
         (block.direct_entry == 0 || own.contains(block.direct_entry)) && block.hashed_entry == 0 &&
         (block.cold_entry >= code.cold.start && block.cold_entry <= code.cold.end) &&
         lies_in(block.first_meta, block.instructions, metas_.size()) && block.first_exit >= kFirstExit &&
         lies_in(block.first_exit, block.exits, exits_.size()) && block.probe == ProbeTime::None &&
         !block.unseen_changes;
}

// What is patched, and what is jumped to, lies in the code cache. That the lists of exits end is not looked at here,
// since they lead through all of them: who goes through one stops in time.
bool BlockStore::is_consistent(const Exit& exit, const FilledCode& code) const {
  const auto is_one_of = [](std::uint32_t index, std::size_t size) { return index == kNone || index < size; };
  const auto is_code = [&](std::uint64_t address) {
    return address == 0 || address - code.hot.start <= code.near.end - code.hot.start;
  };
  return exit.kind <= ExitKind::Horizon && is_one_of(exit.block, blocks_.size()) &&
         is_one_of(exit.linked_to, blocks_.size()) && is_one_of(exit.next_incoming, exits_.size()) &&
         is_code(exit.patch_after) && is_code(exit.branch_after) && is_code(exit.stub);
}

}  // namespace zs::engine

#include "engine/translate/snapshot_check.h"

#include <algorithm>
#include <cstring>

#include "engine/translate/emitter.h"

namespace zs::engine {
namespace {

/// Nothing is written so far behind a block, or its side exits, if it comes out longer than it was.
constexpr std::size_t kSpare = 4 << 10;

std::vector<std::byte> copy_of(std::uint64_t start, std::size_t size) {
  const auto* const from = reinterpret_cast<const std::byte*>(start);
  return {from, from + size};
}

}  // namespace

SnapshotCheck::SnapshotCheck(CodeCache& cache, const Stubs& stubs, const BlockStore& store, HashedTables& tables,
                             SuperblockBuilder& builder, const AccumulatorSet& accumulators,
                             std::span<const std::uint32_t> units, FactCounts& fact_counts,
                             const TranslationOptions& options)
    : cache_(cache),
      store_(store),
      builder_(builder),
      accumulators_(accumulators),
      options_(options),
      space_(cache, options.has_near()),
      made_(accumulators, units, options.tallies(), space_.begin(), space_.near_begin()),
      records_(cache.trace(), made_, options),
      emitter_(cache, stubs, made_, space_, tables, fact_counts, records_, options) {}

// How long the path was is known, but not whether it ended there by its own last instruction; nor which table its
// indirect branches look in, since that depends on what they have met.
bool SnapshotCheck::is_good(std::uint32_t index) {
  const Block& block = store_.block(index);
  for (const unsigned more : {0u, 1u}) {
    for (const bool directly : {true, false}) {
      if (directly && (block.variant != Variant::Full || !cache_.direct_table().covers(block.pc))) continue;
      if (comes_out(builder_.replay(block, block.instructions + more), index, directly)) return true;
    }
  }
  return false;
}

bool SnapshotCheck::comes_out(const Path& path, std::uint32_t index, bool looks_up_directly) {
  const Block& block = store_.block(index);
  const std::uint64_t end = block.variant == Variant::Near ? cache_.layout().code_end : cache_.cold_begin();
  const std::size_t room = std::min<std::size_t>(block.code_bytes + kSpare, end - block.entry);
  const std::size_t cold_room = std::min<std::size_t>(kSpare, space_.near_begin() - block.cold_entry);
  Bytes code = copy_of(block.entry, room), cold = copy_of(block.cold_entry, cold_room);

  made_.begin_at(block.first_meta, block.first_exit);
  space_.begin_cold_at(block.cold_entry);
  Block made;
  made.pc = block.pc;
  made.variant = block.variant;
  made.first_meta = block.first_meta;
  made.first_exit = block.first_exit;
  Emitter out(block.entry, end, cache_.context_address());
  emitter_.emit(path, made, index, looks_up_directly, out);
  Bytes new_code = copy_of(block.entry, room), new_cold = copy_of(block.cold_entry, cold_room);
  std::memcpy(reinterpret_cast<void*>(block.entry), code.data(), room);
  std::memcpy(reinterpret_cast<void*>(block.cold_entry), cold.data(), cold_room);

  if (!same_description(block, made)) return false;
  for (Bytes* bytes : {&code, &new_code}) blank_links(block, *bytes, block.entry);
  for (Bytes* bytes : {&cold, &new_cold}) blank_links(block, *bytes, block.cold_entry);
  // What the emitter has written behind the end does not count.
  const std::size_t cold_bytes = space_.filled().cold.end - block.cold_entry;
  return std::equal(code.begin(), code.begin() + block.code_bytes, new_code.begin()) &&
         std::equal(cold.begin(), cold.begin() + static_cast<std::ptrdiff_t>(cold_bytes), new_cold.begin());
}

bool SnapshotCheck::same_description(const Block& block, const Block& made) const {
  if (block.entry != made.entry || block.cold_entry != made.cold_entry || block.code_bytes != made.code_bytes ||
      block.instructions != made.instructions || block.exits != made.exits || block.braked_at != made.braked_at)
    return false;
  const auto metas = store_.metas(block), new_metas = made_.metas(made);
  if (!std::ranges::equal(std::as_bytes(metas), std::as_bytes(new_metas))) return false;
  for (std::uint32_t id = block.first_exit; id < block.first_exit + block.exits; ++id) {
    if (!same_exit(id)) return false;
  }
  return true;
}

bool SnapshotCheck::same_exit(std::uint32_t id) const {
  const Exit& a = store_.exit(id);
  const Exit& b = made_.exit(id);
  if (options_.tallies()) {
    for (std::size_t accumulator = 0; accumulator < accumulators_.size(); ++accumulator) {
      if (store_.counts().at(id, accumulator) != made_.counts().at(id, accumulator)) return false;
    }
    if (store_.counts().words(id) != made_.counts().words(id)) return false;
  }
  return a.pc == b.pc && a.target == b.target && a.patch_after == b.patch_after && a.branch_after == b.branch_after &&
         a.stub == b.stub && a.block == b.block && a.instructions == b.instructions && a.advance == b.advance &&
         a.kind == b.kind && a.taken == b.taken && a.brake == b.brake && a.near == b.near && a.quiet == b.quiet &&
         a.risky == b.risky && store_.probe_of(id) == made_.probe_of(id);
}

// The jumps that links change: the last five bytes of an exit, and where its branch leads.
void SnapshotCheck::blank_links(const Block& block, Bytes& code, std::uint64_t start) const {
  const auto blank = [&](std::uint64_t end, std::size_t size) {
    if (end < start + size || end > start + code.size()) return;
    std::fill_n(code.begin() + static_cast<std::ptrdiff_t>(end - start - size), size, std::byte{0});
  };
  for (std::uint32_t id = block.first_exit; id < block.first_exit + block.exits; ++id) {
    blank(store_.exit(id).patch_after, 5);
    blank(store_.exit(id).branch_after, 4);
  }
}

}  // namespace zs::engine

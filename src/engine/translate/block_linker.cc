#include "engine/translate/block_linker.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

#include "base/check.h"
#include "engine/translate/context.h"

namespace zs::engine {
namespace {

/// As long as a jump with rel32, and in its place where it would lead to what follows.
constexpr std::uint8_t kNop[5] = {0x0F, 0x1F, 0x44, 0x00, 0x00};
constexpr std::uint8_t kJump = 0xE9, kJrcxz = 0xE3;
constexpr unsigned kPageShift = 12;

/// Whether adding `pc` to a register, and taking it off again, needs no register for it.
bool is_added_directly(std::uint64_t pc) { return fits32(pc) && fits32(0 - pc); }

/// lea rcx, [rcx + value]; by way of rax where it is too far.
void emit_add_to_rcx(Emitter& out, std::uint64_t value, bool directly) {
  if (directly) {
    out.code({0x48, 0x8D, 0x89});
    out.u32(static_cast<std::uint32_t>(value));
  } else {
    out.mov_imm(kRax, value);
    out.code({0x48, 0x8D, 0x0C, 0x01});  // lea rcx, [rcx + rax]
  }
}

}  // namespace

// ---- a block that is about to be made -------------------------------------------------------------------------

bool BlockLinker::looks_up_directly(std::uint64_t pc) {
  const bool directly = direct_.covers(pc) && !far_callers_.contains(pc);
  if (!directly) hashed_lookups_ = true;
  return directly;
}

bool BlockLinker::may_lead(std::uint32_t exit_id, Variant variant) const {
  const Exit& exit = store_.exit(exit_id);
  return may_link(exit) && links_to(exit) == variant;
}

// A block is made when somebody wants to go there for the first time. What leads there then may lie right before it: a
// copy of the side exit, or the end of the path, if that was made last. link() makes use of it.
void BlockLinker::approach_from(std::uint32_t exit_id, Emitter& out) {
  copy_of_ = adjacent_ = kNone;
  const Exit& exit = store_.exit(exit_id);
  if (exit.branch_after != 0) {
    copy_of_ = exit_id;
    copy_at_ = out.here();
    records_.emit(out, exit_id);
  } else if (exit.patch_after == out.here() && !exit.near) {
    adjacent_ = exit_id;
  }
}

// Falls into the block.
void BlockLinker::approach(Block& block, Emitter& out) {
  copy_of_ = adjacent_ = kNone;
  block.direct_entry = out.here();
  out.load(kRcx, offsetof(Context, slot_rcx));
}

// No visit, and no store into code that has run already. Not where the block's first exit is that of its code check.
void BlockLinker::link_end(const Block& block, const Path& path) {
  if (path.terminated || path.end_kind != ExitKind::Direct || block.unseen_changes) return;
  const Exit& end = store_.exit(block.first_exit);
  CHECK(end.target == path.end_pc, end.target, path.end_pc);
  const Block* const target = store_.find(path.end_pc, block.variant);
  if (target != nullptr && !target->unseen_changes) link(block.first_exit, *target);
}

// ---- exits ----------------------------------------------------------------------------------------------------

// Blocks lead to their like, but for brakes, and for what lies behind a stop.
Variant BlockLinker::links_to(const Exit& exit) const {
  if (!exit.near) return store_.block(exit.block).variant;
  return exit.kind == ExitKind::Horizon ? Variant::Full : Variant::Near;
}

bool BlockLinker::may_link(const Exit& exit) const {
  return exit.patch_after != 0 && exit.linked_to == kNone && !store_.block(exit.block).dead;
}

bool BlockLinker::comes_out_again(std::uint32_t exit_id) {
  Exit& exit = store_.exit(exit_id);
  return exit.near && exit.kind == ExitKind::Direct && !exit.brake && may_link(exit) &&
         std::exchange(exit.came_out, true);
}

void BlockLinker::link(std::uint32_t exit_id, const Block& target) {
  if (!may_lead(exit_id, target.variant)) return;
  lead(exit_id, target);
  add_incoming(exit_id, store_.index_of(target));
}

void BlockLinker::add_incoming(std::uint32_t exit_id, std::uint32_t block) {
  store_.exit(exit_id).linked_to = block;
  store_.exit(exit_id).next_incoming = store_.block(block).incoming;
  store_.block(block).incoming = exit_id;
}

// Makes `exit` jump to `target`. A side exit comes from far away: a copy of it takes its place.
void BlockLinker::lead(std::uint32_t exit_id, const Block& target) {
  Exit& exit = store_.exit(exit_id);
  const bool made_last = store_.index_of(target) + 1 == store_.size();
  if (made_last && exit_id == adjacent_) {
    exit.adjacent = true;
    std::memcpy(reinterpret_cast<void*>(exit.patch_after - sizeof kNop), kNop, sizeof kNop);
    return;
  }
  if (made_last && exit_id == copy_of_) return Emitter::patch_rel32(exit.branch_after, copy_at_);
  if (exit.branch_after == 0 || nearly_full()) return Emitter::patch_rel32(exit.patch_after, target.entry);
  Emitter out = space_.open(target.variant);
  const std::uint64_t copy = out.here();
  records_.emit(out, exit_id);
  out.jmp(target.entry);
  Emitter::patch_rel32(exit.branch_after, copy);
  space_.close(target.variant, out);
}

void BlockLinker::lead_nowhere(Exit& exit) {
  if (std::exchange(exit.adjacent, false)) *reinterpret_cast<std::uint8_t*>(exit.patch_after - sizeof kNop) = kJump;
  if (exit.branch_after != 0) Emitter::patch_rel32(exit.branch_after, exit.stub);
  Emitter::patch_rel32(exit.patch_after, unlinked(exit));
}

// Where an exit that is not linked leads.
std::uint64_t BlockLinker::unlinked(const Exit& exit) const {
  if (!exit.near && !exit.quiet) return stubs_.unlinked;
  const bool reported_apart = exit.stub != 0 && exit.branch_after == 0;
  return reported_apart ? exit.stub : exit.patch_after;
}

// ---- indirect branches ----------------------------------------------------------------------------------------

void BlockLinker::add_indirect_entry(std::uint32_t index) {
  Block& block = store_.block(index);
  if (direct_.covers(block.pc)) {
    // Most code runs once or twice, and to touch a page of the table costs as much as some visits.
    constexpr unsigned kFewestMeetings = 5;
    if (!direct_.is_touched(block.pc) && ++block.met_indirectly < kFewestMeetings) return;
    if (block.direct_entry == 0) {
      if (nearly_full()) return;
      Emitter out = space_.open(block.variant);
      block.direct_entry = out.here();
      out.load(kRcx, offsetof(Context, slot_rcx));
      out.jmp(block.entry);
      space_.close(block.variant, out);
    }
    direct_.set(block.pc, block.direct_entry);
  }
  if (block.hashed_entry != 0 || (direct_.is_mapped() && !hashed_lookups_)) return;
  emit_hashed_entry(block);
}

void BlockLinker::restore_entries(AddressRange code) {
  const auto targets = store_.stored().targets();
  const auto pc_of = [this](std::uint32_t index) { return store_.block(index).pc; };
  std::vector<DirectTable::Entry> entries;
  for (auto at = std::ranges::lower_bound(targets, code.start, {}, pc_of); at != targets.end() && pc_of(*at) < code.end;
       ++at) {
    const Block& block = store_.block(*at);
    if (block.direct_entry != 0 && direct_.covers(block.pc) && store_.at(block.pc, Variant::Full) == *at)
      entries.push_back({block.pc, block.direct_entry});
  }
  direct_.set(entries);
}

void BlockLinker::add_near_entry(std::uint32_t index) {
  if (store_.block(index).hashed_entry == 0) emit_hashed_entry(store_.block(index));
}

// rcx = the wanted pc. Ours: rcx - pc == 0. Not ours: restore it and ask the next block of this table entry.
void BlockLinker::emit_hashed_entry(Block& block) {
  std::uint64_t& head = tables_.head(block.variant, block.pc);
  constexpr std::uint64_t kAlignment = 16;
  Emitter out = space_.open(block.variant, kAlignment);
  block.hashed_entry = out.here();
  const bool directly = is_added_directly(block.pc);
  emit_add_to_rcx(out, 0 - block.pc, directly);
  out.code({kJrcxz, 0});  // ours
  const std::uint64_t jrcxz_after = out.here();
  emit_add_to_rcx(out, block.pc, directly);
  out.jmp(head);  // at the end of the chain: hashed_miss
  *reinterpret_cast<std::uint8_t*>(jrcxz_after - 1) = static_cast<std::uint8_t>(out.here() - jrcxz_after);
  out.load(kRcx, offsetof(Context, slot_rcx));
  out.load(kRax, offsetof(Context, slot_rax));
  out.jmp(block.entry);
  head = block.hashed_entry;
  space_.close(block.variant, out);
}

// Its check now always fails: jrcxz +0 falls into the "not ours" path.
void BlockLinker::disable_hashed_entry(const Block& block) {
  const std::uint64_t mov_bytes = (0 - block.pc) <= UINT32_MAX ? 5 : 10;
  const std::uint64_t jrcxz = block.hashed_entry + (is_added_directly(block.pc) ? 7 : mov_bytes + 4);
  CHECK(*reinterpret_cast<std::uint8_t*>(jrcxz) == kJrcxz);
  *reinterpret_cast<std::uint8_t*>(jrcxz + 1) = 0;
}

void BlockLinker::note_far_target(std::uint64_t cache_pc) {
  const std::uint32_t index =
      space_.is_cold(cache_pc) ? store_.locate_side_exit(cache_pc) : store_.locate(cache_pc).block;
  if (index == kNone || store_.block(index).dead) return;
  far_callers_.insert(store_.block(index).pc);
  kill(index);
}

// ---- the end of blocks ----------------------------------------------------------------------------------------

void BlockLinker::unlink_incoming(Block& block) {
  const std::uint32_t index = store_.index_of(block);
  for (std::uint32_t id = block.incoming; id != kNone && store_.exit(id).linked_to == index;) {
    Exit& exit = store_.exit(id);
    lead_nowhere(exit);
    exit.linked_to = kNone;
    id = exit.next_incoming;
    exit.next_incoming = kNone;
  }
  block.incoming = kNone;
}

void BlockLinker::unlink_exits(const Block& block) {
  for (std::uint32_t id = block.first_exit; id < block.first_exit + block.exits; ++id) unlink(id);
}

// It leaves the list of what it is linked to.
void BlockLinker::unlink(std::uint32_t id) {
  Exit& exit = store_.exit(id);
  if (exit.linked_to == kNone) return;
  std::uint32_t* at = &store_.block(exit.linked_to).incoming;
  for (std::size_t left = store_.exits(); left != 0 && *at != kNone && *at != id; --left)
    at = &store_.exit(*at).next_incoming;
  if (*at == id) *at = exit.next_incoming;
  lead_nowhere(exit);
  exit.linked_to = kNone;
  exit.next_incoming = kNone;
}

void BlockLinker::kill(std::uint32_t index) {
  Block& block = store_.block(index);
  if (block.dead) return;
  store_.bury(index);
  unlink_incoming(block);
  if (block.variant == Variant::Full && direct_.covers(block.pc)) direct_.clear(block.pc);
  if (block.hashed_entry != 0) disable_hashed_entry(block);
  unlink_exits(block);
}

void BlockLinker::invalidate(std::uint64_t start, std::uint64_t end) {
  store_.take_pages(start >> kPageShift, (end - 1) >> kPageShift, [this](std::uint32_t block) { kill(block); });
}

void BlockLinker::kill_all_with(std::uint64_t pc) {
  store_.pages().for_each_on(pc >> kPageShift, [this, pc](std::uint32_t index) {
    const Block& block = store_.block(index);
    const auto is_it = [&block, pc](const InsnMeta& meta) { return block.pc_of(meta) == pc; };
    if (!block.dead && std::ranges::any_of(store_.metas(block), is_it)) kill(index);
  });
}

void BlockLinker::clear() {
  tables_.clear();
  direct_.forget();
}

// ---- over the life of the process -----------------------------------------------------------------------------

void BlockLinker::save(SnapshotFacts& facts) const {
  facts.hashed_lookups = hashed_lookups_ ? 1 : 0;
  facts.near_lookups = tables_.is_used(Variant::Near) ? 1 : 0;
}

// The tables that their code looks in have to be there. What they held leads to code of this process alone.
void BlockLinker::restore(const SnapshotFacts& facts) {
  hashed_lookups_ = facts.hashed_lookups != 0;
  if (hashed_lookups_) tables_.of(Variant::Full);
  if (facts.near_lookups != 0) tables_.of(Variant::Near);
}

}  // namespace zs::engine

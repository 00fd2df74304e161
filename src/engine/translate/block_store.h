// What is known of translated code: the blocks, the ways out of them, what each of their instructions needs, what each
// exit counts, and how to find all that by guest pc, by cache address and by page. Data alone: whoever writes code,
// links it or drops it says so here.
//
// Blocks, exits and metas are numbered in the order in which they are made, and those of a block stand together. The
// first index is no block's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "engine/translate/accumulators.h"
#include "engine/translate/block.h"
#include "engine/translate/block_map.h"
#include "engine/translate/context.h"
#include "engine/translate/growing_array.h"
#include "engine/translate/page_blocks.h"
#include "engine/translate/snapshot.h"
#include "engine/translate/stored_code.h"
#include "engine/translate/trace_record.h"

namespace zs::engine {

/// Where there is code: of blocks, of their side exits, and of blocks of Variant::Near.
struct FilledCode {
  AddressRange hot, cold, near;
};

class BlockStore {
 public:
  /// units: occurrences of each accumulator that one word of a spaced trace stands for; 0 where no overflow can be
  /// near. tallies: exits stand for counts of each accumulator
  /// begin, near_begin: cache addresses from which on blocks lie, and from which on those of Variant::Near do
  BlockStore(const AccumulatorSet& accumulators, std::span<const std::uint32_t> units, bool tallies,
             std::uint64_t begin, std::uint64_t near_begin);

  /// An id that no exit has, for a path that was left in its middle. It names something else each time.
  static constexpr std::uint32_t kPathLeft = 0;
  static constexpr std::uint32_t kFirstExit = kPathLeft + 1;

  // ---- what there is
  std::size_t size() const { return blocks_.size(); }
  const Block& block(std::uint32_t index) const { return blocks_[index]; }
  Block& block(std::uint32_t index) { return blocks_[index]; }
  std::uint32_t index_of(const Block& block) const { return static_cast<std::uint32_t>(&block - blocks_.data()); }
  const Exit& exit(std::uint32_t id) const { return exits_[id]; }
  Exit& exit(std::uint32_t id) { return exits_[id]; }
  std::size_t exits() const { return exits_.size(); }
  const Block& block_of(std::uint32_t exit) const { return blocks_[exits_[exit].block]; }
  /// Whether a record of this exit says that a probe was reached.
  ProbeTime probe_of(std::uint32_t exit) const { return exit_probes_[exit]; }
  /// What is needed to tell the state at instruction `at` of `block`.
  const InsnMeta& meta(const Block& block, std::uint64_t at) const { return metas_[block.first_meta + at]; }
  /// Of the instructions of `block`.
  std::span<const InsnMeta> metas(const Block& block) const {
    return std::span<const InsnMeta>(metas_.begin(), metas_.size()).subspan(block.first_meta, block.instructions);
  }
  const CountTable& counts() const { return counts_; }

  // ---- finding it
  /// The index of the block that translates `pc`; kNone if there is none.
  std::uint32_t at(std::uint64_t pc, Variant variant) const {
    const std::uint32_t index = by_pc_.find(pc, variant);
    const bool may_sleep = index != kNone && stored_.any_sleeps();
    return may_sleep && stored_.sleeps(blocks_[index].module) ? kNone : index;
  }
  const Block* find(std::uint64_t pc, Variant variant) const {
    const std::uint32_t index = at(pc, variant);
    return index == kNone ? nullptr : &blocks_[index];
  }
  /// Where in a block a cache address lies: the instruction being executed there.
  struct Place {
    std::uint32_t block = kNone;
    std::uint16_t instruction = 0;
    InsnMeta meta;
    std::uint64_t pc = 0;
  };
  /// Async-signal-safe. block == kNone if `cache_pc` is in no block.
  Place locate(std::uint64_t cache_pc) const;
  /// Whether who is at `cache_pc`, an instruction that accesses memory, can be brought in front of the program's
  /// instruction of `place`: it is about to access what that accesses, and is not in the glue around it, behind which
  /// something has been done already.
  /// Async-signal-safe.
  bool is_in_front(const Place& place, std::uint64_t cache_pc) const;
  /// The block whose side exits, which lie apart, `cache_pc` is among; kNone: of none.
  std::uint32_t locate_side_exit(std::uint64_t cache_pc) const;

  // ---- making a block: begin(), add_meta() and add_exit() as it is emitted, add()
  /// returns the index that `block`, of which pc and variant are known, will have; its first meta and exit are those
  /// that come next
  std::uint32_t begin(Block& block);
  InsnMeta& add_meta() { return metas_.emplace_back(); }
  /// One more exit of `block`; to be filled in where it stays.
  /// counts, least_words: as CountTable has them, where exits stand for counts
  /// returns its id
  std::uint32_t add_exit(Block& block, ProbeTime probe, std::span<const std::uint32_t> counts, unsigned least_words);
  /// The block is made, and is found from now on. The reference holds until the next call.
  const Block& add(const Block& block);
  /// The metas and exits that come next have these numbers; nothing is known of those before them. For a block that is
  /// made again.
  void begin_at(std::uint32_t first_meta, std::uint32_t first_exit);
  /// Ids that no exit will have, for paths of the caller's. returns the first
  std::uint32_t reserve_exits(std::uint32_t count);

  // ---- pages (address / 4096)
  /// Which blocks were made of the code of each since the last clear(), with those that are dead perhaps.
  const PageBlocks& pages() const { return by_page_; }
  PageBlocks& pages() { return by_page_; }
  /// No code of the pages from `first` to `last` is there any more; drop(block) is called for each block that was made
  /// of it.
  template <typename Drop>
  void take_pages(std::uint64_t first, std::uint64_t last, Drop drop) {
    by_page_.take(first, last, drop);
    stored_.take_pages(first, last, drop);
  }

  // ---- dropping it
  /// `block` is dead: nobody finds it any more.
  void bury(std::uint32_t block);
  /// Too much of what there is is dead.
  bool mostly_dead() const {
    // chosen: where a program makes its code anew again and again, what is dead is no more than what lives, and 2 MiB
    // of code.
    constexpr std::size_t kMostDead = 16'384;
    return dead_ > kMostDead && 2 * dead_ > blocks_.size();
  }
  bool nearly_full() const { return exits_.size() + 64 > SpacedRecord::kMostExits; }
  void clear();

  // ---- over the life of the process
  const StoredCode& stored() const { return stored_; }
  StoredCode& stored() { return stored_; }
  std::span<const Block> blocks() const { return {blocks_.begin(), blocks_.size()}; }
  std::size_t dead() const { return dead_; }
  /// Adds what is known, but for Part::Blocks and that of StoredCode, which whoever saves it sets right first.
  void save(SnapshotWriter& out, SnapshotFacts& facts) const;
  /// Takes over what a snapshot knows, and knows nothing else then. Its modules sleep.
  /// returns false, and has to be cleared, if it is damaged
  bool restore(const Snapshot& from, const SnapshotFacts& facts, const FilledCode& code);

  /// Of memory that it takes, roughly.
  std::size_t bytes() const;

 private:
  bool is_consistent(const Block& block, const FilledCode& code) const;
  bool is_consistent(const Exit& exit, const FilledCode& code) const;

  const AccumulatorSet& accumulators_;
  bool tallies_;
  std::uint64_t begin_, near_begin_;
  GrowingArray<Block> blocks_;
  GrowingArray<std::uint32_t> common_blocks_, near_blocks_;  // blocks_ by where they lie
  GrowingArray<Exit> exits_;
  GrowingArray<ProbeTime> exit_probes_;  // by exit: apart, because every record is looked up
  GrowingArray<InsnMeta> metas_;
  CountTable counts_;
  BlockMap by_pc_;
  PageBlocks by_page_;
  StoredCode stored_;
  std::size_t dead_ = 0;  // blocks
};

}  // namespace zs::engine

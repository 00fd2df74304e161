// Turns guest code into code-cache code, for the rest of the engine. What it is made of:
//   SuperblockBuilder   chooses the path of a block (superblock.h)
//   BlockEmitter        makes code of it, in the CodeSpace
//   BlockStore          what is known of all blocks
//   BlockLinker         lets them go on in each other, and ends them
//   SuperblockReplay    what their instructions retire
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/translate/accumulators.h"
#include "engine/translate/block.h"
#include "engine/translate/block_emitter.h"
#include "engine/translate/block_linker.h"
#include "engine/translate/block_store.h"
#include "engine/translate/code_cache.h"
#include "engine/translate/code_space.h"
#include "engine/translate/hashed_tables.h"
#include "engine/translate/horizon_check.h"
#include "engine/translate/near_code.h"
#include "engine/translate/record_emitter.h"
#include "engine/translate/snapshot.h"
#include "engine/translate/snapshot_maker.h"
#include "engine/translate/stubs.h"
#include "engine/translate/superblock.h"
#include "engine/translate/superblock_builder.h"
#include "engine/translate/superblock_replay.h"

namespace zs::engine {

class Translator {
 public:
  /// units: occurrences of each accumulator that one word of a spaced trace stands for; 0 where no overflow can be
  /// near.
  Translator(CodeCache& cache, const Stubs& stubs, CodeSource& source, const AccumulatorSet& accumulators,
             std::span<const std::uint32_t> units, const TranslationOptions& options);
  Translator(const Translator&) = delete;
  Translator& operator=(const Translator&) = delete;

  // ---- translations
  /// The translation of `pc`, made if need be. The reference holds until the next call.
  /// from: the exit, not linked yet, that leads there now.
  const Block& get(std::uint64_t pc, Variant variant, std::uint32_t from = kNone);
  /// Drops every translation of code in [start, end).
  void invalidate(std::uint64_t start, std::uint64_t end) {
    if (options_.history != nullptr) options_.history->code_changes(start, end);
    linker_.invalidate(start, end);
  }
  /// Drops those that run the instruction at `pc`.
  void drop_with(std::uint64_t pc) { linker_.kill_all_with(pc); }
  void flush();
  /// Instead of the next translation that would be made.
  void flush_soon() { flush_soon_ = true; }
  bool flushes_soon() const { return flush_soon_; }
  std::uint64_t flushes() const { return flushes_; }
  /// REP strings run alone from now on. Drops all translations.
  void stop_counting_elements();
  /// Of memory that translations take, roughly: the code, what is known of it, and the pages of the direct table.
  std::size_t bytes() const { return store_.bytes() + space_.bytes() + cache_.direct_table().bytes(); }
  bool nearly_full() const { return space_.nearly_full() || store_.nearly_full(); }

  // ---- what is known of them
  const BlockStore& blocks() const { return store_; }
  /// Ids that no exit will have, for paths of the caller's. returns the first
  std::uint32_t reserve_exits(std::uint32_t count) { return store_.reserve_exits(count); }
  /// What their instructions retire.
  SuperblockReplay& replay() { return replay_; }

  // ---- over the life of the process (snapshot.h)
  /// What its code looks like, besides the program's: translations of another translator whose key is the same are as
  /// good as its own.
  std::vector<std::uint64_t> key() const;
  /// Before anything is translated. Modules sleep. returns false, and has nothing, if the snapshot is damaged
  bool restore(const Snapshot& from);
  /// The program has mapped what may be code: modules that lie in it as a whole wake, without what is not as it was.
  /// checks  every block of them is translated anew and compared
  void wake(AddressRange code, CodePages& pages, bool checks);
  bool any_sleeps() const { return store_.stored().any_sleeps(); }
  /// Blocks made so far, dead ones too, with those of a snapshot.
  std::size_t made() const { return store_.size(); }
  SnapshotMaker snapshot(CodePages& pages) { return {cache_.direct_table(), store_, space_, linker_, pages}; }

  // ---- links (BlockLinker)
  void link(std::uint32_t exit, const Block& target) { linker_.link(exit, target); }
  bool comes_out_again(std::uint32_t exit) { return linker_.comes_out_again(exit); }
  void add_indirect_entry(std::uint32_t block) { linker_.add_indirect_entry(block); }
  void add_near_entry(std::uint32_t block) { linker_.add_near_entry(block); }
  void note_far_target(std::uint64_t cache_pc) { linker_.note_far_target(cache_pc); }

  // ---- how close to an overflow they go
  std::uint64_t brake_bytes() const { return engine::brake_bytes(options_); }
  bool has_near() const { return options_.has_near(); }
  unsigned most_unbraked() const { return options_.most_unbraked(); }
  std::uint64_t near_end() const { return engine::near_end(cache_.trace(), options_); }

 private:
  const Block& translate(std::uint64_t pc, Variant variant, std::uint32_t from);
  void note_pages(const Path& path, std::uint32_t block);
  void note_page(std::uint64_t page);
  bool take_over(const Snapshot& from);
  void compare(std::span<const StoredPage> stored, CodePages& pages);
  void check(std::uint16_t module);

  CodeCache& cache_;
  const Stubs& stubs_;
  CodeSource& source_;
  const AccumulatorSet& accumulators_;
  std::vector<std::uint32_t> units_;
  TranslationOptions options_;
  CodeSpace space_;
  BlockStore store_;
  FactCounts fact_counts_;
  HashedTables tables_;
  RecordEmitter records_;
  SuperblockBuilder builder_;
  SuperblockReplay replay_;
  BlockEmitter emitter_;
  BlockLinker linker_;
  std::uint64_t flushes_ = 0;
  bool flush_soon_ = false;
};

}  // namespace zs::engine

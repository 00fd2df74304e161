// Lets one block go on in another without C++: exits jump straight to what they lead to, indirect branches find their
// targets in tables. And takes that back, when a block is killed because its code is no longer what it was.
#pragma once

#include <cstdint>
#include <unordered_set>

#include "engine/translate/block.h"
#include "engine/translate/block_store.h"
#include "engine/translate/code_space.h"
#include "engine/translate/direct_table.h"
#include "engine/translate/emitter.h"
#include "engine/translate/hashed_tables.h"
#include "engine/translate/record_emitter.h"
#include "engine/translate/stubs.h"
#include "engine/translate/superblock.h"

namespace zs::engine {

class BlockLinker {
 public:
  BlockLinker(DirectTable& direct, const Stubs& stubs, BlockStore& store, CodeSpace& space, HashedTables& tables,
              const RecordEmitter& records)
      : direct_(direct), stubs_(stubs), store_(store), space_(space), tables_(tables), records_(records) {}

  // ---- a block that is about to be made
  /// Whether indirect branches of code at `pc`, in Variant::Full, look in the direct table.
  bool looks_up_directly(std::uint64_t pc);
  /// Whether `exit` is not linked yet, and may be to a block of `variant`.
  bool may_lead(std::uint32_t exit, Variant variant) const;
  /// In front of the block: where `exit`, which is the only one to lead there as yet, falls or jumps into it.
  void approach_from(std::uint32_t exit, Emitter& out);
  /// The same where there is no such exit: what the direct table may lead to.
  void approach(Block& block, Emitter& out);
  /// The block just made, of `path`: its end leads on at once, if what it leads to is there.
  void link_end(const Block& block, const Path& path);

  // ---- exits
  /// Makes `exit` jump straight to `target` from now on, if it is not linked and may be.
  void link(std::uint32_t exit, const Block& target);
  /// `exit` has led to C++ behind a stop. returns whether it has before, and to link it to its like would help: where
  /// most blocks are new to a sample that is not worth a translation
  bool comes_out_again(std::uint32_t exit);

  // ---- indirect branches
  /// Lets those of Variant::Full find `block`, which is of that variant, without C++ from now on.
  void add_indirect_entry(std::uint32_t block);
  /// The same for all blocks of a snapshot, made of that code, that indirect branches of a former process have found.
  void restore_entries(AddressRange code);
  /// The same for blocks of Variant::Near, Logged or Quiet, which indirect branches of their like find.
  void add_near_entry(std::uint32_t block);
  /// The block that holds `cache_pc` looks up a target that the direct table does not cover: it is killed, and made
  /// anew with the hashed lookup.
  void note_far_target(std::uint64_t cache_pc);

  // ---- the end of blocks
  /// Nothing leads to `block` any more.
  void kill(std::uint32_t block);
  /// Kills every block made of code in [start, end).
  void invalidate(std::uint64_t start, std::uint64_t end);
  /// Kills every block that runs the instruction at `pc`.
  void kill_all_with(std::uint64_t pc);
  /// `exit` leads to C++ from now on.
  void unlink(std::uint32_t exit);
  /// No block is there any more.
  void clear();

  // ---- over the life of the process
  void save(SnapshotFacts& facts) const;
  /// The blocks of a snapshot are there.
  void restore(const SnapshotFacts& facts);

 private:
  Variant links_to(const Exit& exit) const;
  bool may_link(const Exit& exit) const;
  bool nearly_full() const { return space_.nearly_full() || store_.nearly_full(); }
  void lead(std::uint32_t exit_id, const Block& target);
  void lead_nowhere(Exit& exit);
  std::uint64_t unlinked(const Exit& exit) const;
  void add_incoming(std::uint32_t exit_id, std::uint32_t block);
  void unlink_incoming(Block& block);
  void unlink_exits(const Block& block);
  void emit_hashed_entry(Block& block);
  static void disable_hashed_entry(const Block& block);

  DirectTable& direct_;
  const Stubs& stubs_;
  BlockStore& store_;
  CodeSpace& space_;
  HashedTables& tables_;
  const RecordEmitter& records_;
  std::unordered_set<std::uint64_t> far_callers_;  // pcs of blocks that branch out of the direct table
  bool hashed_lookups_ = false;                    // some block of Variant::Full uses the hashed table
  // How the block made last is approached: the exit whose copy lies before it and where, or the one that falls into it.
  std::uint32_t copy_of_ = kNone, adjacent_ = kNone;
  std::uint64_t copy_at_ = 0;
};

}  // namespace zs::engine

// Emits the code of a block: the program's own instructions, copied, with returns, calls and jumps replaced so that
// control stays in the cache, and with one append to the trace on every way out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "engine/translate/accumulators.h"
#include "engine/translate/block.h"
#include "engine/translate/block_store.h"
#include "engine/translate/code_cache.h"
#include "engine/translate/code_check.h"
#include "engine/translate/code_space.h"
#include "engine/translate/emitter.h"
#include "engine/translate/hashed_tables.h"
#include "engine/translate/horizon_check.h"
#include "engine/translate/near_code.h"
#include "engine/translate/record_emitter.h"
#include "engine/translate/stand_in.h"
#include "engine/translate/stubs.h"
#include "engine/translate/superblock.h"

namespace zs::engine {

class BlockEmitter {
 public:
  BlockEmitter(CodeCache& cache, const Stubs& stubs, BlockStore& store, CodeSpace& space, HashedTables& tables,
               FactCounts& fact_counts, const RecordEmitter& records, const TranslationOptions& options);

  /// Code for `path` behind `out`, which then ends where it does; side exits of Variant::Full go to the cold part of
  /// the space.
  /// block  begun in the store, where its exits and metas come to be; what is to be known of its code is filled in
  /// index  of the block
  /// looks_up_directly  its indirect branches use the direct table
  void emit(const Path& path, Block& block, std::uint32_t index, bool looks_up_directly, Emitter& out);

 private:
  /// What has been emitted of the path so far, as it is for whoever leaves there.
  struct PathState {
    StandIn stand_in;
    std::uint16_t instructions = 0;
    std::uint8_t slots = 0, risky = 0;  // slots; instructions that are risky
    bool braked = false;                // the horizon check is among it
    bool returns = false;               // as Exit has them
    std::uint16_t called_by = 0;
  };
  struct SideExit {
    std::uint64_t jump_after;  // rel32 to patch to the stub
    std::uint64_t target;
    PathState state;
    std::size_t counts;  // where its accumulators start in side_counts_
    bool taken;
    std::uint64_t branch = 0;                 // the conditional branch that leaves
    const Insn* unexpected_return = nullptr;  // a RET that did not lead to `target`; rcx - target is in rcx
    bool brake = false;                       // it is the horizon check that leaves
  };

  // instructions
  void emit_step(const Path& path, std::size_t index);
  void emit_straight(const PathStep& step);
  void emit_plain(const Insn& insn);
  void emit_far(const Insn& insn, std::uint8_t (&bytes)[16]);
  void emit_rep_string(const Insn& insn);
  void emit_conditional(const PathStep& step);
  void emit_expected_return(const PathStep& step);
  void emit_push_return(std::uint64_t pc);
  InsnMeta& note_meta(const Insn& insn, unsigned far_register = 0);
  InsnMeta& begin_indirect(const Insn& insn);
  void note_access(InsnMeta& meta) const;
  void count(const Insn& insn, bool taken) { fact_counts_.add(insn.facts, taken, running_); }

  // registers for addresses
  void emit_slots(std::span<const InsnSlots::Store> stores);
  void emit_flags_slot(unsigned slot);
  void emit_stack_pointer();
  void emit_start_of_log();
  void emit_log(const InsnSlots& slots);

  // ways out
  std::uint32_t new_exit(ExitKind kind, std::uint64_t pc, std::uint64_t target, bool taken);
  void emit_record(std::uint32_t exit_id);
  void emit_leave(std::uint32_t exit_id, bool linkable);
  void emit_report(Emitter& out, std::uint32_t exit_id) const;
  void emit_end(const Path& path);
  std::uint32_t emit_direct_exit(std::uint64_t target, bool taken, std::uint64_t branch = 0);
  void emit_special_exit(ExitKind kind, std::uint64_t pc, std::uint64_t target, bool taken = false);
  void emit_indirect_exit(const Insn& insn);
  void emit_load_target(const Insn& insn, InsnMeta& meta);
  void emit_indirect_tail(std::uint64_t pc);
  void emit_hashed_lookup();
  void emit_horizon_check(const Path& path, std::size_t index);
  void emit_brake_exit(const SideExit& side);
  void emit_near_exit();
  SideExit& add_side_exit(std::uint64_t target, bool taken);
  std::span<std::uint32_t> counts_of(const SideExit& side);
  void emit_side_exits();
  void emit_side_exit(const SideExit& side, bool apart);
  void emit_literals();

  CodeCache& cache_;
  const Stubs& stubs_;
  BlockStore& store_;
  CodeSpace& space_;
  HashedTables& tables_;
  FactCounts& fact_counts_;
  const RecordEmitter& records_;
  const TranslationOptions& options_;

  // the block being emitted
  Emitter out_, cold_;
  Block* block_ = nullptr;
  std::uint32_t index_ = 0;
  bool looks_up_directly_ = false;
  PathState state_;
  std::vector<std::uint32_t> running_;  // by accumulator, what the path so far counts
  std::vector<SideExit> side_exits_;
  std::vector<std::uint32_t> side_counts_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> literals_;  // (disp end, value)
  HorizonCheck horizon_check_;
  NearCode near_code_;
  CodeCheck code_check_;
};

}  // namespace zs::engine

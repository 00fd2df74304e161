// Turns guest code into code-cache code: the program's own instructions, copied, with returns, calls and jumps replaced
// so that control stays in the cache, and with one append to the trace on every way out of a block.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <unordered_set>
#include <vector>

#include "base/check.h"
#include "engine/isa_names.h"
#include "engine/translate/address_slots.h"
#include "engine/translate/block.h"
#include "engine/translate/block_store.h"
#include "engine/translate/code_cache.h"
#include "engine/translate/code_marks.h"
#include "engine/translate/emitter.h"
#include "engine/translate/lanes.h"
#include "engine/translate/near_stop.h"
#include "engine/translate/stubs.h"
#include "engine/translate/superblock.h"
#include "engine/translate/superblock_builder.h"
#include "engine/translate/superblock_replay.h"
#include "isa/decode.h"

namespace zs::engine {

class Translator {
 public:
  /// units: occurrences of each lane that one word of a spaced trace stands for; 0 where no overflow can be near.
  Translator(Window& window, const Stubs& stubs, CodeSource& source, const LaneSet& lanes,
             std::span<const std::uint32_t> units, const TranslationOptions& options);

  /// The translation of `pc`, Full or Step, made if need be. The reference holds until the next call.
  /// from: the exit, not linked yet, that leads there now.
  const Block& get(std::uint64_t pc, Variant variant, std::uint32_t from = kNone);
  /// A translation of at most `instructions` from `pc`, which the next call overwrites.
  const Block& once(std::uint64_t pc, std::uint64_t instructions);
  const Block* find(std::uint64_t pc, Variant variant) const { return store_.find(pc, variant); }
  void prefetch(std::uint64_t pc) const { store_.prefetch(pc); }
  void prefetch_stops(std::span<const PassedStop> stops, std::size_t at) const { store_.prefetch_stops(stops, at); }
  std::uint32_t index_of(const Block& block) const { return store_.index_of(block); }

  /// Makes `exit` jump straight to `target` from now on.
  void link(std::uint32_t exit, const Block& target);
  /// `exit` has led to C++ behind a stop. returns whether it has before, and to link it to its like would help: where most blocks are
  /// new to a sample that is not worth a translation
  bool comes_out_again(std::uint32_t exit);
  /// Lets indirect branches find `block` without C++ from now on. `from_far` is the block whose direct lookup could not reach
  /// it; it is translated anew with the hashed lookup.
  void add_indirect_entry(std::uint32_t index);
  /// The same for blocks of Variant::Near or Logged (there is never a need for both), which indirect branches of their like find.
  void add_near_entry(std::uint32_t index);
  /// The block that holds `cache_pc` looks up a target that the direct table does not cover.
  void note_far_target(std::uint64_t cache_pc);

  /// Drops every translation of code in [start, end).
  void invalidate(std::uint64_t start, std::uint64_t end);
  void flush();
  /// Instead of the next translation that would be made.
  void flush_soon() { flush_soon_ = true; }
  bool flushes_soon() const { return flush_soon_; }
  /// Of memory that translations take, roughly: the code, what is known of it, and the pages of the direct table.
  std::size_t bytes() const;
  bool nearly_full() const {
    constexpr std::uint64_t kSpare = 128 << 10;
    return at_ + kSpare > window_.cold_begin() || cold_at_ + kSpare > near_begin_ ||
           (has_near() && near_at_ + kSpare > window_.code_end()) || store_.nearly_full();
  }
  std::uint64_t flushes() const { return flushes_; }

  /// From how many bytes before the guard on brakes leave; in a spaced trace.
  std::uint64_t brake_bytes() const;
  bool has_near() const { return options_.has_near(); }
  unsigned most_unbraked() const { return options_.most_unbraked(); }
  /// The value of the trace pointer at which nothing more may run in Variant::Near. Behind the guard by what a block may do unseen,
  /// because the guard stands that much too early.
  std::uint64_t near_end() const { return window_.trace_end() + most_unbraked(); }
  const InsnMeta& meta(const Block& block, std::uint64_t at) const { return store_.meta(block, at); }

  /// REP strings run alone from now on. Drops all translations.
  void stop_counting_elements() {
    options_.count_elements = false;
    flush();
  }

  const Exit& exit(std::uint32_t id) const { return store_.exit(id); }
  std::uint32_t reserve_exits(std::uint32_t count) { return store_.reserve_exits(count); }
  MarkTime mark_of(std::uint32_t exit_id) const { return store_.mark_of(exit_id); }
  const Block& block(std::uint32_t index) const { return store_.block(index); }
  const CountTable& counts() const { return store_.counts(); }
  BlockStore::Place locate(std::uint64_t cache_pc) const { return store_.locate(cache_pc); }

  /// What the instructions of blocks retire.
  SuperblockReplay& replay() { return replay_; }

 private:
  struct Mapping {
    int reg = -1;
  };
  struct SideExit {
    std::uint64_t jump_after;  // rel32 to patch to the stub
    std::uint64_t target;
    Mapping mapping;
    std::size_t counts;  // where its lanes start in side_counts_
    std::uint16_t instructions;
    std::uint8_t slots, risky;
    bool taken;
    bool braked;                              // the brake lies before it
    std::uint64_t branch = 0;                 // the conditional branch that leaves
    const Insn* unexpected_return = nullptr;  // a RET that did not lead to `target`; rcx - target is in rcx
    bool brake = false;
  };

  void emit_block(const Path& path);
  const Block& translate(std::uint64_t pc, Variant variant, std::uint32_t from);
  void begin_at(std::uint64_t at);
  /// Where code of that kind goes on.
  std::uint64_t& end_of(Variant variant) { return variant == Variant::Near ? near_at_ : at_; }
  void emit_direct_entry();
  void approach_from(std::uint32_t exit_id);
  void link_end(const Path& path);
  bool may_link(std::uint32_t exit_id) const;
  void lead(std::uint32_t exit_id, const Block& target);
  void lead_nowhere(Exit& exit);

  // emission of one block
  static constexpr std::size_t kMostPerStep = 256;  // bound on the code for one instruction, comparison or exit
  void emit_step(const Path& path, std::size_t index);
  void emit_append(std::uint32_t exit_id);
  void emit_record(std::uint32_t exit_id);
  void emit_mark_note(std::uint32_t exit_id);
  std::uint32_t emit_direct_exit(std::uint64_t target, bool taken, std::uint64_t branch = 0);
  std::int16_t advance_to(std::int32_t all);
  void emit_telling(Emitter& out, std::uint32_t exit_id) const;
  bool wants_brake(const Path& path, std::size_t index) const;
  void emit_brake(const Path& path, std::size_t index);
  bool is_quiet(ExitKind kind) const;
  void emit_brake_exit(const SideExit& side);
  void emit_near_check(const Path& path);
  void emit_near_exit();
  void emit_stop_check(bool plain, bool foreseen);
  void emit_near_table(NearTable table);
  std::uint64_t unlinked(const Exit& exit) const;
  void emit_special_exit(ExitKind kind, std::uint64_t pc, std::uint64_t target, bool taken = false);
  void emit_slots(std::span<const InsnSlots::Store> stores);
  void emit_start_of_log();
  void emit_log(const InsnSlots& slots);
  void emit_flags_slot(unsigned slot);
  Variant links_to(const Exit& exit) const;
  void emit_plain(const Insn& insn);
  void copy(const Insn& insn, std::uint8_t (&bytes)[16]) const;
  void emit_rep_string(const Insn& insn);
  void emit_indirect_exit(const Insn& insn);
  void emit_indirect_tail(std::uint64_t pc);
  void emit_expected_return(const PathStep& step);
  void emit_load_target(const Insn& insn);
  void emit_push_return(std::uint64_t pc);
  SideExit& add_side_exit(std::uint64_t target, bool taken);
  std::span<std::uint32_t> counts_of(const SideExit& side);
  void emit_side_exits();
  void emit_code_check(const Path& path);
  void emit_comparison(std::uint64_t address, std::uint64_t expected, std::size_t size);
  void emit_stale_exit();
  void map_trace_register(const Path& path, std::size_t index);
  void unmap();
  void note_meta(const Insn& insn, int far_register);
  std::uint32_t new_exit(ExitKind kind, std::uint64_t pc, std::uint64_t target, std::uint16_t instructions, bool taken,
                         std::span<const std::uint32_t> counts);
  void emit_leave(std::uint32_t exit_id, bool linkable);
  void emit_hashed_entry(std::uint32_t index, std::uint64_t table_address);
  void emit_hashed_lookup(std::uint64_t table);
  void fill_table(std::uint64_t address);
  bool looks_up_directly() const;
  void note_page(std::uint64_t page);
  void unlink_incoming(Block& block);
  void kill(std::uint32_t index);
  void add_incoming(std::uint32_t exit_id, std::uint32_t block);

  Window& window_;
  const Stubs& stubs_;
  CodeSource& source_;
  const LaneSet& lanes_;
  TranslationOptions options_;
  std::uint64_t at_, cold_at_;
  /// Blocks of Variant::Near lie apart, in the last quarter: between those of Variant::Full, which they are as many as where most
  /// samples are taken in new places, they would make the program's code twice as long.
  std::uint64_t near_begin_, near_at_;
  BlockStore store_;
  FactCounts fact_counts_;
  SuperblockBuilder builder_;
  SuperblockReplay replay_;
  std::unordered_set<std::uint64_t> far_callers_;  // pcs of blocks that branch out of the direct table
  std::uint64_t flushes_ = 0;
  bool flush_soon_ = false;
  static constexpr std::size_t kOnceBytes = 8192;  // of code, for the block that is made once
  bool hashed_lookups_ = false;                    // some block uses the hashed table
  bool table_filled_ = false, near_table_filled_ = false;

  // the block being emitted
  Emitter out_, cold_;
  Block current_;
  std::uint32_t current_index_ = 0;
  Mapping mapping_;
  std::vector<std::uint32_t> running_;
  std::uint8_t slots_used_ = 0, risky_ = 0;  // of the path so far: slots; instructions that are risky
  std::vector<SideExit> side_exits_;
  std::uint32_t copy_of_ = kNone, adjacent_ = kNone;  // the exit before the block made last (approach_from)
  std::uint64_t copy_at_ = 0;
  bool braked_ = false;                 // the block has its brake
  std::uint64_t brake_adds_after_ = 0;  // end of the addition in it, in the budget form
  std::int32_t brake_adds_ = kUnknown;  // and what it adds: what the end of the path does
  static constexpr std::int32_t kUnknown = -1;
  std::uint64_t near_jump_after_ = 0;   // Variant::Near: the jump of its check
  std::uint64_t near_limit_after_ = 0;  // and the immediate that it compares with
  bool near_flags_saved_ = false;
  std::uint64_t stop_jump_ = 0;        // the last jump to Stubs::at_stop in it; 0: none yet
  std::size_t near_instructions_ = 0;  // that will be counted in it
  std::uint32_t stale_exit_ = kNone;
  std::vector<std::uint64_t> stale_jumps_;  // to the stale exit: ends of their rel32
  std::vector<std::uint32_t> side_counts_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> literals_;  // (disp end, value)
};

}  // namespace zs::engine

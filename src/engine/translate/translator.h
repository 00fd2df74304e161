// Turns guest code into code-cache code: the program's own instructions, copied, with returns, calls and jumps replaced
// so that control stays in the cache, and with one append to the trace on every way out of a block.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/check.h"
#include "engine/isa_names.h"
#include "engine/translate/address_slots.h"
#include "engine/translate/block.h"
#include "engine/translate/block_map.h"
#include "engine/translate/code_cache.h"
#include "engine/translate/code_marks.h"
#include "engine/translate/emitter.h"
#include "engine/translate/growing_array.h"
#include "engine/translate/lanes.h"
#include "engine/translate/near_stop.h"
#include "engine/translate/page_blocks.h"
#include "engine/translate/stubs.h"
#include "isa/decode.h"

namespace zs::engine {

/// Where guest instructions come from, and who must hear that code was taken from a page.
class CodeSource {
 public:
  virtual ~CodeSource() = default;
  /// The executable bytes at `pc`, at most 15; empty if `pc` is not executable.
  virtual std::span<const std::uint8_t> fetch(std::uint64_t pc) = 0;
  /// Whether the bytes at `pc` may change without notice: executable shared memory, which another view may write.
  virtual bool may_change_unseen(std::uint64_t pc) = 0;
  /// Whether somebody wants to hear of `insn`, which is about to be translated.
  virtual Mark mark(const Insn& insn) = 0;
  /// Page number `page` (address / 4096) now has translations.
  virtual void translated(std::uint64_t page) = 0;
};

/// How a block's exits tell the trace what retired.
enum class TraceForm : std::uint8_t {
  Records,  // one exit id per block executed
  Spaced,  // the same, behind as many words as the block may bring a counter closer to its overflow, in units (CountTable)
  Budget,  // the pointer itself advances by the one lane's count
};

/// A record of a spaced trace: the exit, and how many words before it the one before lies. So reading back waits for one load
/// per record, not for a table as well.
struct SpacedRecord {
  static constexpr unsigned kWordBits = 6;
  static constexpr std::size_t kMostExits = std::size_t{1} << (32 - kWordBits);
  static std::uint32_t make(std::uint32_t exit, std::uint32_t words) {
    CHECK(words < 1u << kWordBits && exit < 1u << (32 - kWordBits), words, exit);
    return exit << kWordBits | words;
  }
  static std::uint32_t exit(std::uint32_t record) { return record >> kWordBits; }
  static std::uint32_t words(std::uint32_t record) { return record & ((1u << kWordBits) - 1); }
};

/// What an append's store starts with: mov dword [r11], imm32 (the exit's id), or with a displacement of four bytes where the pointer is
/// biased. Nothing else in the cache looks like them.
inline constexpr std::uint8_t kAppend[] = {0x41, 0xC7, 0x03}, kBiasedAppend[] = {0x41, 0xC7, 0x83};
/// Where in the append at `pc` its record stands; 0: it is none.
inline std::uint64_t record_of_append(std::uint64_t pc) {
  const auto* const code = reinterpret_cast<const void*>(pc);
  if (std::memcmp(code, kAppend, sizeof kAppend) == 0) return pc + sizeof kAppend;
  if (std::memcmp(code, kBiasedAppend, sizeof kBiasedAppend) == 0) return pc + sizeof kBiasedAppend + 4;
  return 0;
}

class Translator {
 public:
  struct Options {
    unsigned max_instructions = 32;
    bool virtual_time = false;
    bool wants_retirements = false;  // retirements() will be asked for
    bool count_elements = false;     // REP strings add to Context::elements instead of running alone
    bool brakes = false;  // an overflow may be near: leave before the guard is hit where that costs next to nothing
    TraceForm form = TraceForm::Records;
    bool addresses =
        false;  // with TraceForm::Spaced: what is needed to tell all addresses is stored too (address_slots.h)
    /// Set of Risk. In a spaced trace each instruction of these takes a word at least, and so does in a block of Variant::UpTo
    /// what a lane near its overflow counts.
    std::uint8_t risks = 0;
    bool logs = false;  // with addresses: Variant::Logged is wanted
  };
  /// units: occurrences of each lane that one word of a spaced trace stands for; 0 where no overflow can be near.
  Translator(Window& window, const Stubs& stubs, CodeSource& source, const LaneSet& lanes,
             std::span<const std::uint32_t> units, const Options& options);

  /// The translation of `pc`, Full or Step, made if need be. The reference holds until the next call.
  /// from: the exit, not linked yet, that leads there now.
  const Block& get(std::uint64_t pc, Variant variant, std::uint32_t from = kNone);
  /// A translation of at most `instructions` from `pc`, which the next call overwrites.
  const Block& once(std::uint64_t pc, std::uint64_t instructions);
  const Block* find(std::uint64_t pc, Variant variant) const;
  /// find() for this place or one close behind it follows soon.
  void prefetch(std::uint64_t pc) const { by_pc_.prefetch(pc); }
  /// Of stops that are looked at one after the other, `at` now: what is known of those behind it comes from afar, and each step below
  /// needs what the one before it asked for two stops ago.
  void prefetch_stops(std::span<const PassedStop> stops, std::size_t at) const {
    const auto ahead = [&](std::size_t by) { return at + by < stops.size() ? &stops[at + by] : nullptr; };
    const auto meta_of = [&](const PassedStop& stop) -> const InsnMeta& {
      return meta(blocks_[stop.block], stop.index);
    };
    if (const PassedStop* const stop = ahead(6)) __builtin_prefetch(&blocks_[stop->block]);
    if (const PassedStop* const stop = ahead(4)) __builtin_prefetch(&meta_of(*stop));
    if (const PassedStop* const stop = ahead(2))
      __builtin_prefetch(reinterpret_cast<const void*>(blocks_[stop->block].pc_of(meta_of(*stop))));
  }
  std::uint32_t index_of(const Block& block) const { return static_cast<std::uint32_t>(&block - blocks_.data()); }

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
           (has_near() && near_at_ + kSpare > window_.code_end()) || exits_.size() + 64 > SpacedRecord::kMostExits;
  }
  std::uint64_t flushes() const { return flushes_; }

  /// With more instructions in a block, a brake could not tell the way to the guard from that to an overflow.
  static constexpr unsigned kMostBraked = 64;
  /// From how many bytes before the guard on brakes leave; in a spaced trace.
  std::uint64_t brake_bytes() const;
  /// Whether Variant::Near exists: in the budget form, with brakes.
  bool has_near() const { return options_.brakes && options_.form == TraceForm::Budget; }
  /// The most that runs in a block of Variant::Full before its brake, or before the exit where it has none. Fewer: less is left at a brake,
  /// for Variant::Near. More: code without a place for a brake is cut into fewer pieces.
  unsigned most_unbraked() const {
    constexpr unsigned kMost = 10;
    return has_near() && options_.max_instructions > kMost ? kMost : options_.max_instructions;
  }
  /// The value of the trace pointer at which nothing more may run in Variant::Near. Behind the guard by what a block may do unseen,
  /// because the guard stands that much too early.
  std::uint64_t near_end() const { return window_.trace_end() + most_unbraked(); }
  /// What the registers are before instruction `at` of `block`.
  const InsnMeta& meta(const Block& block, std::uint64_t at) const { return metas_[block.first_meta + at]; }

  /// REP strings run alone from now on. Drops all translations.
  void stop_counting_elements() {
    options_.count_elements = false;
    flush();
  }

  const Exit& exit(std::uint32_t id) const { return exits_[id]; }
  /// Ids that no exit will have, for paths of the caller's. returns the first
  std::uint32_t reserve_exits(std::uint32_t count);
  /// Whether a record of this exit says that a mark was reached.
  MarkTime mark_of(std::uint32_t exit_id) const { return exit_marks_[exit_id]; }
  const Block& block(std::uint32_t index) const { return blocks_[index]; }
  const CountTable& counts() const { return counts_; }

  /// Where in a block a cache address lies: the instruction being executed there.
  struct Place {
    std::uint32_t block = kNone;
    std::uint16_t instruction = 0;
    InsnMeta meta;
    std::uint64_t pc = 0;
  };
  /// Async-signal-safe. block == kNone if `cache_pc` is in no block.
  Place locate(std::uint64_t cache_pc) const;

  /// Occurrences of each lane over the first `instructions` instructions of `block`.
  void count_prefix(const Block& block, unsigned instructions, std::span<std::uint32_t> counts);
  /// The taken branches on the path to an exit, oldest first (the last may be the exit's own).
  struct PathBranch {
    std::uint64_t from, to;
    arch::BranchKind kind;
  };
  const std::vector<PathBranch>& branches_to(std::uint32_t exit_id);
  struct Retirement {
    arch::InsnFacts facts;
    bool taken;
  };
  /// The instructions of a block, as its path goes.
  struct Retirements {
    std::vector<Retirement> insns;
    std::vector<std::uint16_t> sums;  // by lane, before the first instruction, before the second, ..., after the last
  };
  /// Whether the last of the first `instructions` is taken where they leave through `exit`; null: where they do not.
  static bool taken_at_end(const Retirements& path, unsigned instructions, const Exit* exit);
  /// At least `instructions` of them. Holds until the next call. CHECKs that they bring what the block's exits are said to.
  const Retirements& retirements(std::uint32_t block, unsigned instructions);
  /// By lane, what the instructions on the path to an exit, or the first ones of a block, bring: before the first of them, before the
  /// second, ..., after the last. Hold until the next call of either. An exit's are kept in one piece, because an end of a window
  /// finds nothing of it in the caches.
  std::span<const std::uint16_t> sums_to(std::uint32_t exit_id);
  std::span<const std::uint16_t> sums_into(std::uint32_t block, unsigned instructions);
  /// Occurrences of each lane in one such instruction. Holds until the next call.
  std::span<const std::uint32_t> counts_of(const arch::InsnFacts& facts, bool taken) {
    return fact_counts_.of(facts, taken);
  }

  /// One instruction on a path, as it was translated.
  struct PathInsn {
    const Insn* insn = nullptr;
    const InsnSlots* slots = nullptr;
    bool taken = false;         // a branch, on this path
    std::uint64_t went_to = 0;  // of one that is taken, if that is known
  };
  /// The path to an exit, and the first `instructions` of a block's. With Options::addresses. Hold until the next call of either
  /// or until something is translated.
  std::span<const PathInsn> path_to(std::uint32_t exit_id);
  std::span<const PathInsn> path_into(const Block& block, unsigned instructions);
  /// An id that no exit has, for a path that was left in its middle; the smallest of those that name something else each time.
  static constexpr std::uint32_t kPathLeft = 8;
  /// Those below name something else each time too, whenever once() has been called.
  static constexpr std::uint32_t kFirstKept = kPathLeft + 1;

 private:
  struct PathStep {
    Insn insn;
    InsnSlots slots;     // with Options::addresses
    bool risky = false;  // may bring the event horizon closer; with Options::addresses
    bool follow_taken = false;
    std::uint64_t follow_return = 0;  // of a RET whose CALL is on the path: where it must lead for the path to go on
  };
  /// A vector that keeps its elements when it is cleared: decoding writes what an instruction has, and no more.
  class Steps {
   public:
    PathStep& add() {
      if (size_ == kept_.size()) kept_.emplace_back();
      PathStep& step = kept_[size_++];
      step.follow_taken = false;
      step.follow_return = 0;
      return step;
    }
    void drop_last() { --size_; }
    void cut(std::size_t size) { size_ = size; }
    void clear() { size_ = 0; }
    bool empty() const { return size_ == 0; }
    std::size_t size() const { return size_; }
    const PathStep* begin() const { return kept_.data(); }
    const PathStep* end() const { return kept_.data() + size_; }
    const PathStep& operator[](std::size_t at) const { return kept_[at]; }
    const PathStep& back() const { return kept_[size_ - 1]; }

   private:
    std::vector<PathStep> kept_;
    std::size_t size_ = 0;
  };
  struct Path {
    Steps steps;
    std::vector<std::uint64_t> calls;      // return addresses of calls that the path is in
    MarkTime mark = MarkTime::None;        // of its first instruction
    ExitKind end_kind = ExitKind::Direct;  // how it goes on after the last step, unless that step says
    std::uint64_t end_pc = 0;
    bool terminated = false;  // the last step leaves by itself
    bool full = false;        // it ends only because it, or what it stores, would become too long
    void clear() {
      steps.clear();
      calls.clear();
      terminated = full = false;
      mark = MarkTime::None;
    }
  };
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

  /// The path that a new block takes, in path_: at most `limit` instructions, cut where a core model wants it.
  const Path& collect(std::uint64_t pc, Variant variant, unsigned limit);
  /// A path of up to `limit` instructions, in path_. as: the way that an existing block took; null: the best one.
  const Path& follow(std::uint64_t pc, Variant variant, unsigned limit, const Block* as);
  const Path& replay(const Block& block, unsigned instructions);
  static std::uint64_t checksum(const Path& path);
  Retirements& retirements_at(std::uint32_t block);
  Retirements retirements_of(const Path& path);
  void check_exits(const Block& block, const Retirements& path);
  void put_sums_to(std::uint32_t exit_id, std::vector<std::uint16_t>& sums);
  /// Whether exits stand for counts of each lane. In the budget form they are all the same, and in the trace pointer.
  bool tallies() const { return options_.form != TraceForm::Budget; }
  bool needs_step(const Insn& insn) const;
  void reserve_once();
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
  void add_counts(const Insn& insn, bool taken, std::span<std::uint32_t> counts);

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
  static bool has_brake(const Path& path);
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
  bool is_risky(const Insn& insn);
  std::span<const PathInsn> describe(const Path& path, const Exit* exit);
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
  InsnMeta& add_meta();
  std::uint32_t new_exit(ExitKind kind, std::uint64_t pc, std::uint64_t target, std::uint16_t instructions, bool taken,
                         std::span<const std::uint32_t> counts);
  void emit_leave(std::uint32_t exit_id, bool linkable);
  void emit_hashed_entry(std::uint32_t index, std::uint64_t table_address);
  void emit_hashed_lookup(std::uint64_t table);
  void fill_table(std::uint64_t address);
  bool looks_up_directly() const;
  void note_page(std::uint64_t page);
  /// note(page) for each page of the path's code; for one again and again.
  template <typename Note>
  static void for_each_page(const Path& path, Note note);
  void unlink_incoming(Block& block);
  void kill(std::uint32_t index);
  void add_incoming(std::uint32_t exit_id, std::uint32_t block);

  Window& window_;
  const Stubs& stubs_;
  CodeSource& source_;
  const LaneSet& lanes_;
  Options options_;
  std::uint64_t at_, cold_at_;
  /// Blocks of Variant::Near lie apart, in the last quarter: between those of Variant::Full, which they are as many as where most
  /// samples are taken in new places, they would make the program's code twice as long.
  std::uint64_t near_begin_, near_at_;
  GrowingArray<Block> blocks_;
  std::vector<std::uint32_t> common_blocks_, near_blocks_;  // blocks_ by where they lie
  GrowingArray<Exit> exits_;
  std::vector<MarkTime> exit_marks_;  // by exit: apart, because every record is looked up
  GrowingArray<InsnMeta> metas_;
  CountTable counts_;
  BlockMap by_pc_;
  PageBlocks by_page_;
  static constexpr std::uint64_t kNoPage = ~std::uint64_t{0};
  std::uint64_t noted_page_ = kNoPage;  // the page noted last
  std::unordered_map<std::uint32_t, std::vector<PathBranch>> branch_cache_;
  std::vector<Retirements> retirements_;           // by block, as far as somebody asked
  std::vector<std::uint16_t> kept_sums_;           // of sums_to(): how many, and they, of one exit behind the other's
  std::vector<std::uint32_t> kept_sums_at_;        // by exit, as far as somebody asked; 0: not there
  std::vector<std::uint16_t> sums_;                // scratch of sums_to() and sums_into()
  std::unordered_set<std::uint64_t> far_callers_;  // pcs of blocks that branch out of the direct table
  std::uint64_t flushes_ = 0;
  bool flush_soon_ = false;
  std::size_t dead_ = 0;  // blocks
  // The block that is made once has the first index, ids and bytes of all.
  static constexpr std::uint32_t kOnceBlock = 0;
  static constexpr std::size_t kOnceExits = kPathLeft, kOnceMetas = 40, kOnceBytes = 8192;
  std::uint16_t once_metas_ = 0;
  bool hashed_lookups_ = false;  // some block uses the hashed table
  bool table_filled_ = false, near_table_filled_ = false;
  FactCounts fact_counts_;

  // the block being emitted
  Emitter out_, cold_;
  Path path_;
  Block current_;
  std::uint32_t current_index_ = 0;
  Mapping mapping_;
  std::vector<std::uint32_t> running_;
  std::uint8_t slots_used_ = 0, risky_ = 0;  // of the path so far: slots; instructions that are risky
  AddressSlots planner_;
  Effects effects_;
  std::vector<PathInsn> path_insns_;  // scratch of describe()
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

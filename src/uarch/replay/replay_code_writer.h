// Writes the code of one path (replay_code.h): what BlockSimulator::replay_simple() and CoreClock do for any path,
// written out for one in which all accesses hit and no store is met. Each block's map is a few vector instructions
// then, without a look at which registers it reads. What a block's code does about time: block_time_writer.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "arch/core_feed.h"
#include "uarch/branch/branch_unit.h"
#include "uarch/replay/assembler_names.h"
#include "uarch/replay/code_book.h"
#include "uarch/replay/replay_routines.h"
#include "uarch/replay/replay_state.h"
#include "uarch/replay/timed_routines.h"
#include "uarch/timing/timing_parameters.h"

namespace zs::uarch {

/// What the code of all paths of a core shares.
struct PathPlaces {
  const ReplayState& state;
  const ReplayRoutines& routines;
  const TimedRoutines& timed;
  const TimingParameters& core;
  const std::uint8_t* exit;  // where runs end
  const std::uint8_t* ask;   // kRax: a Callout. Behind it the flags say whether the block is over: not equal
  BranchUnit& branches;
};

class ReplayCodeWriter {
 public:
  /// plan  of the blocks
  /// inlined  with copies of routines
  ReplayCodeWriter(const PathPlaces& places, std::uint8_t* at, std::span<const SimpleBlock> blocks, const Plan& plan,
                   std::span<const arch::AddressTerm> terms, bool inlined)
      : places_(places),
        code_(at),
        blocks_(blocks),
        plan_(plan),
        terms_(terms),
        inlined_(inlined),
        units_of_slot_(kUnitsPerCycle / places.core.issue_width) {}

  /// Whether this machine executes such code.
  static bool is_supported();
  /// Whether all of a block's lanes have their place.
  static bool can_write(const BlockTiming& timing) { return timing.result_lanes() <= 4 * kMostVectors; }
  /// What a block's end takes at most.
  static std::size_t bytes_of(const BlockTiming& timing);
  /// Returns where the code ends.
  std::uint8_t* write();
  /// Goes to the code of the path that is next.
  static void write_dispatch(Assembler& code);

 private:
  static constexpr std::size_t kMostVectors = 13;
  static constexpr std::size_t kNoStore = ~std::size_t{0};

  /// Before anything else; goes to PathPlaces::exit where code may not replay the path.
  void write_begin();
  /// before  the path's block before, or null
  void write_block(const SimpleBlock& block, const SimpleBlock* before);
  /// Predicts, and a taken branch enters the path register. Behind it the flags say: not equal, wrong.
  void write_conditional(const SimpleBlock& block);
  /// Behind the last block.
  void write_end();
  /// Behind everything.
  void write_aside();
  void write_access(const Step& step, AccessDescriptor descriptor, std::size_t number, const BlockTiming& timing);
  void write_start(BlockTiming::Latency later);
  void join_register(std::uint8_t name, BlockTiming::Latency later);
  void write_ready(const BlockTiming& timing, std::size_t store);
  void write_older(const BlockTiming& timing, std::size_t store);
  void write_passing(const BlockTiming& timing);
  void write_results(const BlockTiming& timing);
  void write_bound(const BlockTiming& timing);
  void write_time(const BlockTiming& timing, const BlockBound& bound);
  void charge(SlotCause cause, std::uint32_t units);

  void add(Memory to, std::uint64_t value) {
    if (value != 0) code_.operate(Assembler::kAdd, to, static_cast<std::int32_t>(value));
  }
  /// Asks `kind` where `condition` holds. Returns what back_here() wants.
  std::size_t ask_if(Assembler::Condition condition, Callout::Kind kind, std::size_t done = 0) {
    return ask_from(code_.jump_later(condition), kind, done);
  }
  std::size_t ask_from(std::uint8_t* behind_jump, Callout::Kind kind, std::size_t done);
  void back_here(std::size_t aside) { asides_[aside].back = code_.here(); }
  std::size_t asides() const { return asides_.size(); }

  /// Whether the block's first line is the last of the block before.
  static bool same_line(const SimpleBlock& block, const SimpleBlock* before) {
    return before != nullptr && fetches_of(block, before) != block.lines;
  }
  /// Fetches a line unless it is fetched already: that of the block before is known here, that of the path before is
  /// not. Behind it the flags say: not equal, it does not hit. Returns whether there was anything to write.
  /// number  of it in the block
  bool write_line(const SimpleBlock& block, const SimpleBlock* before, std::size_t number);
  /// What jumps over the line that was written last goes on here.
  void line_is_over();

  /// kRax, kRdx: the first and the last byte of the path's look of that number in the block under way.
  void write_address(AccessDescriptor descriptor, std::size_t number);
  /// The block's branch, as BranchUnit does it. Everything that is asked there goes on behind it.
  void write_branch(const SimpleBlock& block);
  void write_transfer(const SimpleBlock& block);
  void write_follow(const SimpleBlock& block);
  void write_target(const SimpleBlock& block);
  std::int32_t write_sum(Gpr to, const arch::AddressTerm& term);

  PathPlaces places_;
  Assembler code_;
  std::span<const SimpleBlock> blocks_;
  const Plan& plan_;
  std::span<const arch::AddressTerm> terms_;  // of the blocks' looks
  bool inlined_;
  std::uint32_t units_of_slot_;
  std::size_t which_ = 0;                    // block under way
  std::vector<const std::uint8_t*> starts_;  // of blocks; and of what comes behind the last

  /// Written behind everything else, because it is seldom run.
  struct Aside {
    std::uint8_t* from;  // behind the jump to it
    Callout what;
    const std::uint8_t* back;             // behind the answer, if the block is not over
    const std::uint8_t* again = nullptr;  // a routine that may do without asking
    std::uint64_t argument = 0;           // its, for kRsi
  };
  std::vector<Aside> asides_;

  /// A block that something else delivers than what is expected; written behind everything else.
  struct Elsewhere {
    std::uint8_t* from;        // behind the jump to it
    const std::uint8_t* back;  // null: not known yet
    const BlockTiming* timing;
    const BlockBound* bound;
    bool fills;  // the uop cache
  };
  std::vector<Elsewhere> elsewhere_;
  std::size_t known_older_ = kNoStore;  // of the block, whose `older` is in the state
  std::size_t looks_ = 0;               // of the blocks before
  std::uint8_t* over_line_ = nullptr;   // line_is_over()
};

}  // namespace zs::uarch

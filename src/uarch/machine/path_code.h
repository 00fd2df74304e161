// Paths of simple blocks as code of the host: what ThreadPlayer::play_simple() does for any path, written out for one. Where an
// access is no hit of a hot line, a branch was predicted wrong, or anything else is not the usual case, the code asks the player,
// which does that block, or what is left of it, as it would have done without this code.
//
// The code belongs to one core: addresses of its structures are in it. It is made when a path has been played a few times, and
// forgotten as a whole when its room is full.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "arch/core_feed.h"
#include "uarch/branch/branch_unit.h"
#include "uarch/cache/hot_lines.h"
#include "uarch/flat_map.h"
#include "uarch/machine/code_book.h"
#include "uarch/machine/code_writer.h"
#include "uarch/machine/path_routines.h"
#include "uarch/memory_system.h"
#include "uarch/timing/bound_clock.h"

namespace zs::uarch {

/// What the code works on. It keeps the first few in registers; whoever it asks finds them here.
struct PlayState {
  const arch::PathRun* run = nullptr;
  const arch::PathRun* runs_end = nullptr;
  std::uint64_t now = 0, slots = 0;  // as BoundClock has them
  std::uint64_t room_until = 0;      // slots with which it must wait for room
  std::uint64_t outcomes = 0;        // as TournamentPredictor has them
  /// Does what the code does not. what: a Question. Returns whether the whole block is over.
  std::uint64_t (*ask)(PlayState& state, std::uint32_t what) = nullptr;
  void* player = nullptr;  // of whoever is asked
  // arch::SlotValues of the runs
  const std::uint64_t* values = nullptr;
  std::uint64_t fs = 0, gs = 0;
  std::uint64_t linear = 0;  // of the access that is asked about
  // Before it is asked: Filter::hits_tags(), Filter::touch_code(), and BranchTargetBuffer::touch().
  bool (*hits)(MemorySystem::InlineCounts& filter, std::uint64_t linear, std::uint32_t bytes, unsigned store) = nullptr;
  bool (*fetches)(MemorySystem::InlineCounts& filter, std::uint64_t line) = nullptr;
  bool (*touches)(BranchTargetBuffer& targets, std::uint64_t pc) = nullptr;
  const std::uint8_t* const* code = nullptr;  // by path
  // The structures of the core.
  MemorySystem::InlineCounts* counts = nullptr;
  const HotLine* hot_lines = nullptr;
  std::array<QuickPages::Inline, 2> tlbs{};
  std::uint64_t* own_outcomes = nullptr;  // whose `outcomes` are
  std::uint8_t* by_address = nullptr;
  std::uint8_t* by_outcomes = nullptr;
  BranchTargetBuffer* targets = nullptr;
  std::uint32_t* branch_tags = nullptr;
  WaitingFootprints::Inline* waiting = nullptr;
  ReturnStack::Inline* returns = nullptr;
  std::array<std::uint8_t, 128> learned{};
};

/// What the code asks, in 32 bits.
struct Question {
  enum Kind : std::uint8_t {
    Room,  // the reorder buffer has no room for the block
    // In program order, or, where an access may take the block's lines of instructions out of L1I, all lines first:
    Lines,   // `done` of its lines of instructions are fetched, and the next is no hit
    Access,  // `done` of its accesses are done, and the next hits no quick line
    Branch,  // a branch that the code does not predict
    Wrong,   // it did, and wrong; and has done nothing else for a taken one
    Resteer  // right, but the BTB did not know the branch
  };
  Kind kind;
  std::uint8_t block;  // of the path
  std::uint8_t done;

  constexpr std::uint32_t word() const { return std::uint32_t{kind} << 16 | std::uint32_t{block} << 8 | done; }
  static constexpr Question of(std::uint32_t word) {
    return {static_cast<Kind>(word >> 16), static_cast<std::uint8_t>(word >> 8), static_cast<std::uint8_t>(word)};
  }
};

/// What pass() of a block adds to the fetches, behind the block before it on its path; without one, the first line is left out, as
/// the path before may have fetched it.
constexpr std::uint64_t fetches_of(const SimpleBlock& block, const SimpleBlock* before) {
  const bool same = before == nullptr || before->first_line + before->lines - 1 == block.first_line;
  return block.lines - (same ? 1U : 0U);
}

class PathCode {
 public:
  /// bytes  room for code; too little for any: nothing is ever made
  PathCode(MemorySystem::Filter& filter, BranchUnit& branches, std::size_t bytes);
  ~PathCode();
  PathCode(const PathCode&) = delete;
  PathCode& operator=(const PathCode&) = delete;

  /// The core's clock and predictor, from which the code goes on, and where they have got to.
  void take(const BoundClock& clock) {
    take_time(clock);
    state_.outcomes = *state_.own_outcomes;
  }
  void give(BoundClock& clock) const {
    give_time(clock);
    *state_.own_outcomes = state_.outcomes;
  }
  /// Of the clock alone, where no branch is predicted in between.
  void take_time(const BoundClock& clock) {
    state_.now = clock.now();
    state_.slots = clock.slots();
    state_.room_until = clock.room_until();
  }
  void give_time(BoundClock& clock) const { clock.move_to(state_.now, state_.slots); }

  /// Plays runs from state().run on, until one has no code, or runs_end. In between, ask() is asked.
  void play() { enter_(&state_); }
  PlayState& state() { return state_; }

  /// Whether there is code for the path, which is below make_room().
  bool has(std::uint32_t path) const { return code_[path] != exit_; }
  /// The path was played by hand.
  void played(std::uint32_t path, const SimplePath& known) {
    if (path < heat_.size() && heat_[path] == kMadeAt) return;
    warm(path, known);
  }
  /// The number names something else.
  void forget(std::uint32_t path) {
    if (path >= heat_.size()) return;
    heat_[path] = 0;
    code_[path] = exit_;
  }
  void forget_numbers() {
    std::ranges::fill(code_, exit_);
    std::ranges::fill(heat_, 0);
  }
  void forget_all() {
    if (memory_ != nullptr) begin_again();
  }
  /// Numbers below `paths` may be run.
  void make_room(std::size_t paths) {
    if (code_.size() >= paths) return;
    code_.resize(paths, exit_);
    heat_.resize(paths, 0);
    state_.code = code_.data();
  }

 private:
  static constexpr std::uint8_t kMadeAt = 12;  // runs; chosen: making it costs as much as a few hundred

  class Maker;

  void warm(std::uint32_t path, const SimplePath& known);
  /// For all paths of its identity.
  const std::uint8_t* code_for(const SimplePath& path);
  const std::uint8_t* make(std::span<const SimpleBlock> blocks, std::span<const arch::AddressTerm> terms);
  void write_entry(const TournamentPredictor::Inline& tournament);
  void begin_again();

  MemorySystem::Filter& filter_;
  BranchUnit& branches_;
  PlayState state_;
  std::vector<const std::uint8_t*> code_;  // by path
  std::vector<std::uint8_t> heat_;         // by path: how often it was played by hand; kMadeAt: it need not be told
  FlatMap<const std::uint8_t*> made_;      // by SimplePath::identity
  std::size_t bytes_;
  std::uint8_t* memory_ = nullptr;  // null: there is none, and nothing is made
  std::uint8_t* at_ = nullptr;      // what is free
  std::uint8_t* begin_ = nullptr;   // behind what write_entry() wrote
  std::uint64_t no_outcomes_ = 0;
  void (*enter_)(PlayState*) = nullptr;
  const std::uint8_t* exit_ = nullptr;
  const std::uint8_t* ask_ = nullptr;
  PathRoutines routines_;
};

}  // namespace zs::uarch

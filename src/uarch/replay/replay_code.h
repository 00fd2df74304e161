// Paths of simple blocks as code of the host: what BlockSimulator::replay_simple() does for any path, written out
// for one (replay_code_writer.h). Where an access is no hit by its way hint, or anything else is not the
// usual case, the code asks the simulator, which does that access, line or branch, or what is left of the block, as it
// would have done without this code.
//
// The code belongs to one core: addresses of its structures are in it. It is made when a path has been replayed a few
// times, and forgotten as a whole when its room is full.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "arch/core_feed.h"
#include "uarch/branch/branch_unit.h"
#include "uarch/flat_map.h"
#include "uarch/memory/memory_system.h"
#include "uarch/replay/assembler_names.h"
#include "uarch/replay/code_book.h"
#include "uarch/replay/replay_code_writer.h"
#include "uarch/replay/replay_routines.h"
#include "uarch/replay/replay_state.h"
#include "uarch/replay/timed_routines.h"
#include "uarch/timing/core_clock.h"

namespace zs::uarch {

class ReplayCode {
 public:
  /// core   of the clock
  /// bytes  room for code; too little for any: nothing is ever made
  ReplayCode(MemorySystem::Filter& filter, BranchUnit& branches, CoreClock& clock, const TimingParameters& core,
             std::size_t bytes);
  ~ReplayCode();
  ReplayCode(const ReplayCode&) = delete;
  ReplayCode& operator=(const ReplayCode&) = delete;

  /// Replays runs from state().run on, until one has no code, or runs_end. In between, ask() is asked.
  void play() { enter_(&state_); }
  ReplayState& state() { return state_; }

  /// Whether there is code for the path, which is below make_room().
  bool has(std::uint32_t path) const { return code_[path] != exit_; }
  /// The path was replayed by hand.
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
  /// How often its room was full and all code was dropped.
  std::uint64_t resets() const { return resets_; }
  /// Numbers below `paths` may be run.
  void make_room(std::size_t paths) {
    if (code_.size() >= paths) return;
    code_.resize(paths, exit_);
    heat_.resize(paths, 0);
    state_.code = code_.data();
  }

 private:
  static constexpr std::uint8_t kMadeAt = 12;  // runs; chosen: making it costs as much as a few hundred

  void prepare();
  PathPlaces places() const { return {state_, routines_, timed_routines_, timing_, exit_, ask_, branches_}; }
  void warm(std::uint32_t path, const SimplePath& known);
  /// For all paths of its identity.
  const std::uint8_t* code_for(const SimplePath& path);
  const std::uint8_t* make(const SimplePath& path);
  void write_entry();
  static void write_registers(Assembler& code);
  static void write_state(Assembler& code);
  void begin_again();

  MemorySystem::Filter& filter_;
  BranchUnit& branches_;
  CoreClock& clock_;
  const TimingParameters& timing_;
  ReplayState state_;
  std::vector<const std::uint8_t*> code_;  // by path
  std::vector<std::uint8_t> heat_;         // by path: how often it was replayed by hand; kMadeAt: it need not be told
  FlatMap<const std::uint8_t*> made_;      // by SimplePath::identity
  std::size_t bytes_;
  std::uint8_t* memory_ = nullptr;  // null: there is none, and nothing is made
  std::uint8_t* at_ = nullptr;      // what is free
  std::uint8_t* begin_ = nullptr;   // behind what write_entry() wrote
  std::uint64_t resets_ = 0;
  void (*enter_)(ReplayState*) = nullptr;
  const std::uint8_t* exit_ = nullptr;
  const std::uint8_t* ask_ = nullptr;
  ReplayRoutines routines_;
  TimedRoutines timed_routines_;
};

}  // namespace zs::uarch

// The machine that a program is replayed on: so many cores of one model, their shared caches, and the threads on them.
// It turns what a program did (arch::CoreFeed) into what such a machine would have counted (arch::CoreSignals).
//
// Signals that are no time move with each instruction. Those of time move at the ends of timing blocks, which are where
// a branch or a serialising instruction retired, a string instruction ended, or 32 instructions went by: places that
// follow from the program alone, so that nothing depends on how the runner splits it into paths.
// Left out: what the kernel does between two instructions; hyper-threads.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "arch/core_feed.h"
#include "arch/core_signals.h"
#include "uarch/coherence/sharing_log.h"
#include "uarch/core_model.h"
#include "uarch/replay/simulation_work.h"

namespace zs::uarch {

struct MachineOptions {
  unsigned cores = 1;
  std::uint64_t seed = 1;  // of the order in which pages get their frames
  bool sampled = false;    // of the program only units are told, and CoreFeed::accessed() in between
  // 0: a run is replayed when it is told. Otherwise, where there are several threads, it waits until each of them has
  // had its turn, and then their cores replay side by side, the one with the lowest clock first, each up to so many
  // cycles ahead, and in the order of their clocks where they fight over a line.
  std::uint64_t quantum_cycles = 0;
  bool logs_sharing = false;  // what cores do to lines that they fight over is kept
  // Of all cores together, but no less than kLeastCode for each, for code that replays paths (replay_code.h); 0: all
  // are replayed by hand, which gives the same.
  std::size_t code_bytes = std::size_t{32} << 20;
  static constexpr std::size_t kLeastCode = std::size_t{4} << 20;
  // When all paths are forgotten, what is known of them stays for those that are the same, up to so much. chosen: most
  // of it is asked for again, but what a program has done with does not go by itself.
  std::size_t kept_bytes = std::size_t{48} << 20;
};

class ModelledMachine {
 public:
  /// model    consistent (inconsistency() is null); overrides applied
  /// options  1 to kMaxCores cores
  ModelledMachine(const CoreModel& model, const MachineOptions& options);
  ~ModelledMachine();
  ModelledMachine(const ModelledMachine&) = delete;
  ModelledMachine& operator=(const ModelledMachine&) = delete;

  /// A thread of the program begins. It ends with the destruction of what is returned, which must come before the
  /// machine's.
  /// core  where it runs; without: the core after the one that the last thread without got. Threads that share a core
  ///       take turns on it, as their runs come.
  std::unique_ptr<arch::CoreFeed> attach_thread(std::optional<unsigned> core = {});

  unsigned cores() const;
  /// MachineOptions::logs_sharing; its threads are numbered in the order in which they were attached. null: nothing is
  /// kept
  SharingLog* sharing();
  /// Of all cores so far.
  SimulationWork work() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace zs::uarch

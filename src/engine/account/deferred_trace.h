// Overflows of modelled counters, found when the core has played what the thread did. Where several threads run, their
// cores play side by side, later than the threads run (uarch/replay/quantum_scheduler.h); a thread that had to wait for
// its core at each overflow would take other turns, and what comes of sharing and locks would be of another run than
// the counted one. So threads run as where nothing overflows. What they did is kept, and counted when the core says
// what the instructions did of which a watched signal changed. The registers at an overflow are gone by then, so it is
// for samples that show none (VirtualCpu::wants_registers).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/account/tally.h"
#include "engine/run.h"

namespace zs::engine {

class CoreFeeder;

class DeferredTrace {
 public:
  DeferredTrace(Run& run, Tally& tally, CoreFeeder& core) : run_(run), tally_(tally), core_(core) {}

  /// The thread has a new core.
  void begin(Thread& thread) const;
  /// What the running thread's core was told last: the paths to these exits, the first instructions of a block, behind
  /// which the thread went on at `next`, or one instruction that ran alone. Counts what has been played.
  void add(std::span<const std::uint32_t> exits);
  void add_into(std::uint32_t block, unsigned instructions, std::uint64_t next);
  void add_step(const arch::Retired& retired, const arch::RegisterFile& after);
  /// The core was told of an instruction that ran alone and has played it, and its outcome is counted elsewhere.
  void counted_step() const;
  /// Counts what the running thread's core has played.
  void count();

 private:
  /// Of one generation of exits' numbers.
  struct Paths {
    std::vector<std::unique_ptr<const DeferredPath>> by_exit;
    std::size_t bytes = 0;  // roughly
  };
  class Counting;

  DeferredPath path_of(std::span<const PathInsn> insns) const;
  const DeferredPath& path(std::uint32_t exit);
  void add(DeferredBatch&& batch);
  void count_step(const DeferredBatch::Step& step, const arch::CoreSignals& end);

  Run& run_;
  Tally& tally_;
  CoreFeeder& core_;
  std::shared_ptr<Paths> paths_;
  std::uint64_t paths_of_flush_ = 0;  // Translator::flushes() when they were begun
};

}  // namespace zs::engine

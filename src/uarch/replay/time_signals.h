// The signals of time, out of what a thread's account says: whole cycles and slots of units, and the sums that events
// of stalled cycles are. All are functions of the account alone, and grow with it.
#pragma once

#include <cstdint>

#include "arch/core_signals.h"
#include "uarch/timing/block_timing.h"
#include "uarch/timing/slot_cause.h"

namespace zs::uarch {

/// Cycles in which at least one load was under way, as loads come in program order: one that is dispatched before an
/// older one adds what lies behind that one's end.
struct PendingLoads {
  // Of loads that missed L1D, L2, LLC. What missed a level missed those before it, so they do not grow from left to
  // right.
  std::uint64_t cycles[3] = {};
  std::uint64_t until[3] = {};

  /// levels  how many of the three the load missed
  void add(unsigned levels, std::uint64_t dispatched, std::uint64_t done) {
    for (unsigned i = levels; i-- > 0;) {
      const std::uint64_t from = dispatched > until[i] ? dispatched : until[i];
      if (done > from) cycles[i] += done - from;
      if (done > until[i]) until[i] = done;
      if (i + 1 < levels && cycles[i] < cycles[i + 1]) cycles[i] = cycles[i + 1];
    }
  }
};

/// What a thread has that no SlotAccount has.
struct TimeCounts {
  std::uint64_t uops = 0, fused = 0;  // of blocks that have ended
  Issue under_way;                    // by the block that has not
  std::uint64_t recovery_cycles = 0;  // of the front end after mispredicts
  PendingLoads pending;
};

/// width  issue slots of a cycle
void set_time_signals(arch::CoreSignals& signals, const SlotAccount& account, const TimeCounts& counts, unsigned width);

/// See arch::CoreFeed::most_per_instruction: of instructions with up to four accesses of 64 bytes. Others are told
/// alone.
/// width  issue slots of a cycle
std::uint32_t most_per_instruction(arch::CoreSignal signal, unsigned width);

}  // namespace zs::uarch

// The caches of the PC's processor as far as LONGEST_LAT_CACHE needs them (event 2EH): one level in front, whose misses
// are the references, and the last level. Loads and stores are told, with physical addresses, and only while a counter
// counts one of these events: before, the caches are empty.
// chosen: 256 KiB and 2 MiB, LRU, for every CPU model: about one core's share of processors that share their last
// level.
// Left out: L1, instruction fetches, page walks, time. A miss brings the other line of its 128 bytes too, as the
// adjacent-line prefetcher does, which is no reference.
// source: SDM vol. 3B, "Pre-defined Architectural Performance Events", LLC reference and LLC misses.
#pragma once

#include <cstdint>
#include <memory>

#include "arch/core_signals.h"

namespace zs::arch {
struct EventMeaning;
}

namespace zs::machine {

class LastLevelCache {
 public:
  LastLevelCache();
  ~LastLevelCache();

  /// Whether this is an event that the caches here make count.
  static bool counts(const arch::EventMeaning& event);

  /// Of the line at this physical address.
  void access(std::uint64_t physical);
  void flush_line(std::uint64_t physical);
  void flush_all();

  /// What happened since this was last asked.
  arch::CoreSignals take_signals();

 private:
  struct Levels;
  std::unique_ptr<Levels> levels_;  // from the first access on
  arch::CoreSignals signals_;
};

}  // namespace zs::machine

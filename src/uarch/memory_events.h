// What the memory side can count: the occurrences behind the modelled events. Which event of which CPU model is which sum of
// these, the event tables say.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace zs::uarch {

enum class MemoryEvent : std::uint8_t {
  // Retired loads by source. They sum to loads, locked ones included; see MemoryParameters::locked_loads_count_as_l1.
  Loads,
  LoadL1Hit,
  LoadFillBuffer,
  LoadL2Hit,
  LoadL3HitNone,   // no other core was asked
  LoadL3HitMiss,   // asked, found nothing
  LoadL3SnoopHit,  // another core had it clean
  LoadL3Hitm,      // another core had it modified
  LoadDram,
  LockedLoads,
  SplitLoads,
  LoadStlbMiss,  // loads that needed a page walk
  Stores,
  SplitStores,
  StoreStlbMiss,
  StreamingStores,
  SoftwarePrefetches,
  FlushedLines,
  // L1D
  L1dReplacement,  // lines put in, for whatever reason
  L1dModifiedEvicted,
  FillBufferPending,  // cycles x entries of demand loads
  FillBufferFull,     // cycles that a request waited for an entry
  // L2 by request
  L2DemandReadHit,
  L2DemandReadMiss,
  L2RfoHit,
  L2RfoMiss,
  L2CodeHit,
  L2CodeMiss,
  L2PrefetchHit,  // of L1D's prefetchers and the L2's own
  L2PrefetchMiss,
  L2WalkHit,  // of page walks: no part of L2_RQSTS
  L2WalkMiss,
  L2LinesIn,
  L2LinesOutSilent,
  L2LinesOutNonSilent,
  // Last-level cache: requests of the cores, prefetches included
  LlcReference,
  LlcMiss,
  // What RFOs found elsewhere
  RfoSnoopHit,
  RfoHitm,
  // Address translation
  DtlbLoadStlbHit,
  DtlbLoadWalk,
  DtlbLoadWalkCycles,
  DtlbStoreStlbHit,
  DtlbStoreWalk,
  DtlbStoreWalkCycles,
  ItlbStlbHit,
  ItlbWalk,
  ItlbWalkCycles,
  WalkCompleted4K,
  WalkCompleted2M,
  // Instruction side, by line
  FetchHit,
  FetchMiss,
  // Store buffer
  ForwardedLoads,
  ForwardBlocked,
  AddressAlias,
  kCount,
};

inline constexpr std::size_t kMemoryEvents = static_cast<std::size_t>(MemoryEvent::kCount);

/// "load-l1-hit": for reports and tests.
std::string_view memory_event_name(MemoryEvent event);

/// Counts of one core.
class MemoryCounts {
 public:
  std::uint64_t operator[](MemoryEvent event) const { return counts_[static_cast<std::size_t>(event)]; }
  void add(MemoryEvent event, std::uint64_t n = 1) { counts_[static_cast<std::size_t>(event)] += n; }
  bool operator==(const MemoryCounts&) const = default;

 private:
  std::array<std::uint64_t, kMemoryEvents> counts_{};
};

}  // namespace zs::uarch

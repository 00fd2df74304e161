// What a core model tells a PMU of: occurrences that do not follow from the architecture alone. The modelled events of
// every CPU model are sums of these (events/meanings.h); `uarch` counts them.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>

namespace zs::arch {

enum class CoreSignal : std::uint8_t {
  // Retired loads by where their data was. They sum to Loads.
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
  LatencyLoads,  // loads that the load-latency facility tagged and that took longer than its threshold
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
  L2PrefetchHit,  // of L1D's prefetchers and software's
  L2PrefetchMiss,
  L2OwnPrefetchMiss,  // of the L2's own prefetcher
  L2WalkHit,          // of page walks: no part of L2_RQSTS
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
  WalkCompleted4K,  // of loads, stores and fetches
  WalkCompleted2M,
  DtlbLoadWalk4K,  // of loads alone; these two sum to DtlbLoadWalk
  DtlbLoadWalk2M,
  // Instruction side, by line
  FetchHit,
  FetchMiss,
  // Store buffer
  ForwardedLoads,
  ForwardBlocked,
  AddressAlias,
  // Retired branches that were mispredicted, by kind
  MispredictedTaken,     // conditional ones
  MispredictedNotTaken,  // likewise
  MispredictedIndirectJump,
  MispredictedIndirectCall,
  MispredictedReturn,
  Resteers,  // taken branches that the BTB did not know
  // Time. Slots are issue slots: cycles x width; those by cause sum to Slots.
  Cycles,
  Slots,
  SlotsRetired,    // fused uops, but for
  SlotsMicrocode,  // those that the microcode sequencer makes
  SlotsMispredict,
  SlotsMachineClear,
  SlotsInstructionCache,
  SlotsInstructionTlb,
  SlotsResteer,
  SlotsMicrocodeSwitch,
  SlotsDecode,
  SlotsUopCache,
  SlotsLatency,
  SlotsL1,
  SlotsL2,
  SlotsL3,
  SlotsDram,
  SlotsPorts,
  SlotsDivider,
  SlotsStoreBuffer,
  SlotsSerialising,
  Uops,              // retired, unfused
  MacroFused,        // pairs of instructions that retired as one uop
  CyclesL1dPending,  // with at least one demand load outstanding that missed L1D,
  CyclesL2Pending,   // L2,
  CyclesL3Pending,   // the last-level cache
  StallsL1dPending,  // of those, in which no uop was issued
  StallsL2Pending,
  StallsL3Pending,
  StallsMemory,  // no uop issued, some load outstanding
  StallsTotal,   // no uop issued
  StallsStoreBuffer,
  StallsPorts,         // SlotsPorts, as cycles
  CyclesNotDelivered,  // the front end delivered nothing and the back end could have taken some
  RecoveryCycles,      // of the allocator after a clear
  WrongPathUops,  // issued and not retired; with width x RecoveryCycles they are SlotsMispredict + SlotsMachineClear
  kCount,
};

inline constexpr std::size_t kCoreSignals = static_cast<std::size_t>(CoreSignal::kCount);

/// What an instruction has to be for one of its own to move a signal. `Any`: each may, also by what it sets off or
/// waits for.
enum class SignalCause : std::uint8_t { Load, Store, Branch, Any };
constexpr SignalCause cause_of(CoreSignal signal) {
  using enum CoreSignal;
  switch (signal) {
    case Loads:
    case LoadL1Hit:
    case LoadFillBuffer:
    case LoadL2Hit:
    case LoadL3HitNone:
    case LoadL3HitMiss:
    case LoadL3SnoopHit:
    case LoadL3Hitm:
    case LoadDram:
    case LockedLoads:
    case SplitLoads:
    case LoadStlbMiss:
    case LatencyLoads: return SignalCause::Load;
    case Stores:
    case SplitStores:
    case StoreStlbMiss:
    case StreamingStores: return SignalCause::Store;
    case MispredictedTaken:
    case MispredictedNotTaken:
    case MispredictedIndirectJump:
    case MispredictedIndirectCall:
    case MispredictedReturn: return SignalCause::Branch;
    default: return SignalCause::Any;
  }
}

/// Whether the signal is time, or a part of it.
constexpr bool is_time(CoreSignal signal) { return signal >= CoreSignal::Cycles && signal < CoreSignal::kCount; }

/// Some of the signals, by number.
using SignalSet = std::bitset<kCoreSignals>;

/// What an access or a fetch adds to that finds all that it needs at hand.
inline constexpr std::array<CoreSignal, 4> kHitSignals{CoreSignal::Loads, CoreSignal::LoadL1Hit, CoreSignal::Stores,
                                                       CoreSignal::FetchHit};

/// Signals from `first` to `last` of which each occurrence adds to one.
struct AlternativeSignals {
  CoreSignal first, last;
};
inline constexpr std::array<AlternativeSignals, 2> kAlternativeSignals{{
    {CoreSignal::LoadL1Hit, CoreSignal::LoadDram},                    // of a retired load
    {CoreSignal::MispredictedTaken, CoreSignal::MispredictedReturn},  // of a mispredicted branch
}};

/// A count of each. Totals only grow; what happened between two moments is the difference.
struct CoreSignals {
  std::array<std::uint64_t, kCoreSignals> counts{};

  constexpr std::uint64_t operator[](CoreSignal signal) const { return counts[static_cast<std::size_t>(signal)]; }
  constexpr std::uint64_t& operator[](CoreSignal signal) { return counts[static_cast<std::size_t>(signal)]; }
  friend constexpr bool operator==(const CoreSignals&, const CoreSignals&) = default;
};

}  // namespace zs::arch

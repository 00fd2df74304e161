#include "uarch/replay/time_signals.h"

#include <algorithm>
#include <array>

#include "uarch/timing/block_timing.h"

namespace zs::uarch {
namespace {

using arch::CoreSignal;

/// In the order of SlotCause.
constexpr std::array<CoreSignal, kSlotCauses> kSlotsOf{
    CoreSignal::SlotsLatency,
    CoreSignal::SlotsL1,
    CoreSignal::SlotsL2,
    CoreSignal::SlotsL3,
    CoreSignal::SlotsDram,
    CoreSignal::SlotsPorts,
    CoreSignal::SlotsDivider,
    CoreSignal::SlotsStoreBuffer,
    CoreSignal::SlotsSerialising,
    CoreSignal::SlotsRetired,
    CoreSignal::SlotsMicrocode,
    CoreSignal::SlotsMispredict,
    CoreSignal::SlotsMachineClear,
    CoreSignal::SlotsInstructionCache,
    CoreSignal::SlotsInstructionTlb,
    CoreSignal::SlotsResteer,
    CoreSignal::SlotsMicrocodeSwitch,
    CoreSignal::SlotsDecode,
    CoreSignal::SlotsUopCache,
};
static_assert(kSlotsOf[static_cast<std::size_t>(SlotCause::StoreBuffer)] == CoreSignal::SlotsStoreBuffer);
static_assert(kSlotsOf[static_cast<std::size_t>(SlotCause::Mispredict)] == CoreSignal::SlotsMispredict);
static_assert(kSlotsOf[static_cast<std::size_t>(SlotCause::UopCache)] == CoreSignal::SlotsUopCache);

}  // namespace

void set_time_signals(arch::CoreSignals& signals, const SlotAccount& account, const TimeCounts& counts,
                      unsigned width) {
  using enum CoreSignal;
  const std::uint64_t units_of_slot = kUnitsPerCycle / width;
  std::uint64_t units = 0, slots = 0;
  for (std::size_t i = 0; i < kSlotCauses; ++i) {
    const std::uint64_t whole = account.units[i] / units_of_slot;
    signals[kSlotsOf[i]] = whole;
    slots += whole;
    units += account.units[i];
  }
  signals[Cycles] = units / kUnitsPerCycle;
  signals[Slots] = slots;
  // What instructions issue is theirs, whenever the time of their block passes.
  const Issue& issued = counts.under_way;
  signals[SlotsRetired] += issued.slots - issued.microcode_slots;
  signals[SlotsMicrocode] += issued.microcode_slots;
  signals[Uops] = counts.uops + issued.uops;
  signals[MacroFused] = counts.fused + issued.fused;

  // A load's end may lie beyond the time that has passed.
  constexpr CoreSignal kPending[] = {CyclesL1dPending, CyclesL2Pending, CyclesL3Pending};
  for (std::size_t i = 0; i < std::size(kPending); ++i) {
    signals[kPending[i]] = std::min(counts.pending.cycles[i], signals[Cycles]);
  }
  const std::uint64_t dram = signals[SlotsDram];
  const std::uint64_t beyond_l2 = dram + signals[SlotsL3];
  const std::uint64_t beyond_l1 = beyond_l2 + signals[SlotsL2];
  const std::uint64_t memory = beyond_l1 + signals[SlotsL1];
  signals[StallsL3Pending] = dram / width;
  signals[StallsL2Pending] = beyond_l2 / width;
  signals[StallsL1dPending] = beyond_l1 / width;
  signals[StallsMemory] = memory / width;
  signals[StallsTotal] = (memory + signals[SlotsLatency] + signals[SlotsDivider] + signals[SlotsSerialising]) / width;
  signals[StallsStoreBuffer] = signals[SlotsStoreBuffer] / width;
  signals[StallsPorts] = signals[SlotsPorts] / width;
  signals[CyclesNotDelivered] = (signals[SlotsInstructionCache] + signals[SlotsInstructionTlb] + signals[SlotsResteer] +
                                 signals[SlotsMicrocodeSwitch]) /
                                width;
  // Refills are whole cycles, so what is left of the slots grows too.
  signals[RecoveryCycles] = counts.recovery_cycles;
  signals[WrongPathUops] = signals[SlotsMispredict] + signals[SlotsMachineClear] - width * counts.recovery_cycles;
}

std::uint32_t most_per_instruction(CoreSignal signal, unsigned width) {
  using enum CoreSignal;
  constexpr std::uint32_t operands = 4;
  // Each of them lies in two lines and two pages at most, and a page takes four reads to walk.
  constexpr std::uint32_t lines = 2 * operands, pages = 2 * operands, walks = 4 * (pages + 2);
  // In L1D each line can bring two others by prefetch; in L2 each request six, and one that leaves L1D.
  constexpr std::uint32_t in_l1 = 3 * lines + walks, in_l2 = 7 * (in_l1 + 2);
  // chosen: what one instruction takes seldom, but may: a miss of all caches and most of a page walk.
  constexpr std::uint32_t cycles = 512;
  if (signal == Slots || (signal >= SlotsRetired && signal <= SlotsSerialising)) return cycles * width;
  if (arch::is_time(signal)) return cycles;
  switch (arch::cause_of(signal)) {
    case arch::SignalCause::Load:
    case arch::SignalCause::Store: return operands;
    case arch::SignalCause::Branch: return 1;
    case arch::SignalCause::Any: break;
  }
  switch (signal) {
    case SoftwarePrefetches:
    case FlushedLines:
    case FetchHit:
    case FetchMiss:
    case ForwardedLoads:
    case ForwardBlocked:
    case AddressAlias: return operands;
    case Resteers: return 1;
    case L1dReplacement:
    case L1dModifiedEvicted: return in_l1;
    case L2DemandReadHit:
    case L2DemandReadMiss:
    case L2RfoHit:
    case L2RfoMiss:
    case RfoSnoopHit:
    case RfoHitm: return lines;
    case L2CodeHit:
    case L2CodeMiss:
    case ItlbStlbHit:
    case ItlbWalk: return 2;
    case L2WalkHit:
    case L2WalkMiss: return walks;
    case DtlbLoadStlbHit:
    case DtlbLoadWalk:
    case DtlbLoadWalk4K:
    case DtlbLoadWalk2M:
    case DtlbStoreStlbHit:
    case DtlbStoreWalk: return pages;
    case WalkCompleted4K:
    case WalkCompleted2M: return pages + 2;
    case ItlbWalkCycles:
    case DtlbLoadWalkCycles:
    case DtlbStoreWalkCycles:
    case FillBufferPending:
    case FillBufferFull: return cycles;
    default: return in_l2;
  }
}

}  // namespace zs::uarch

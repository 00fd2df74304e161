// What events count in one retired instruction: the exact ones a small function over facts, resolved once when a select
// register is written; the modelled ones a sum of a core model's signals. Two encodings that mean the same share one
// function.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "arch/retired.h"

namespace zs::arch {

namespace meanings {

constexpr std::uint32_t saturated(std::uint64_t n) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(n, UINT32_MAX));
}

constexpr bool is_call(BranchKind kind) { return kind == BranchKind::RelativeCall || kind == BranchKind::IndirectCall; }

/// Near branches whose target is data, returns excepted.
constexpr bool is_indirect(BranchKind kind) {
  return kind == BranchKind::IndirectJump || kind == BranchKind::IndirectCall;
}

/// Whether the instruction reads memory; a REP string instruction does, whatever its count.
constexpr bool loads(const Retired& r) { return (r.loads | r.load_count) != 0; }
constexpr bool stores(const Retired& r) { return (r.stores | r.store_count) != 0; }

/// One UMASK bit of FP_ARITH_INST_RETIRED per class, in the order of enum FpArith.
constexpr std::uint8_t fp_bit(FpArith fp) {
  return fp == FpArith::None ? std::uint8_t{0} : static_cast<std::uint8_t>(1U << (static_cast<unsigned>(fp) - 1));
}

template <std::uint8_t Umask>
constexpr std::uint32_t fp_arith(const Retired& r) {
  return (fp_bit(r.fp) & Umask) != 0 ? std::uint32_t{r.fp_weight} : 0U;
}

template <std::size_t... Umask>
constexpr std::array<EventMeaning, 256> fp_arith_table(std::index_sequence<Umask...>) {
  return {EventMeaning{.count = fp_arith<static_cast<std::uint8_t>(Umask)>}...};
}

}  // namespace meanings

inline constexpr EventMeaning kInstructions{.count = [](const Retired&) -> std::uint32_t { return 1; }};
inline constexpr EventMeaning kNops{.count = [](const Retired& r) -> std::uint32_t { return r.nop; }};

inline constexpr EventMeaning kBranches{
    .count = [](const Retired& r) -> std::uint32_t { return r.branch != BranchKind::None; }};
inline constexpr EventMeaning kConditionals{
    .count = [](const Retired& r) -> std::uint32_t { return r.branch == BranchKind::Conditional; }};
inline constexpr EventMeaning kConditionalsTaken{
    .count = [](const Retired& r) -> std::uint32_t { return r.branch == BranchKind::Conditional && r.taken; }};
inline constexpr EventMeaning kConditionalsNotTaken{
    .count = [](const Retired& r) -> std::uint32_t { return r.branch == BranchKind::Conditional && !r.taken; }};
inline constexpr EventMeaning kNearCalls{
    .count = [](const Retired& r) -> std::uint32_t { return meanings::is_call(r.branch); }};
inline constexpr EventMeaning kNearReturns{
    .count = [](const Retired& r) -> std::uint32_t { return r.branch == BranchKind::Return; }};
inline constexpr EventMeaning kNearTaken{.count = [](const Retired& r) -> std::uint32_t {
  return r.taken && r.branch != BranchKind::None && r.branch != BranchKind::Far;
}};
inline constexpr EventMeaning kIndirects{
    .count = [](const Retired& r) -> std::uint32_t { return meanings::is_indirect(r.branch); }};
inline constexpr EventMeaning kFarBranches{
    .count = [](const Retired& r) -> std::uint32_t { return r.branch == BranchKind::Far; }};

inline constexpr EventMeaning kRelativeCalls{
    .count = [](const Retired& r) -> std::uint32_t { return r.branch == BranchKind::RelativeCall; }};
inline constexpr EventMeaning kIndirectCalls{
    .count = [](const Retired& r) -> std::uint32_t { return r.branch == BranchKind::IndirectCall; }};
inline constexpr EventMeaning kTaken{
    .count = [](const Retired& r) -> std::uint32_t { return r.taken && r.branch != BranchKind::None; }};

// Loads and stores: each access, or each instruction that has any. Which of them a processor's events count:
// RetiredAccesses.
inline constexpr EventMeaning kLoads{.count = [](const Retired& r) { return meanings::saturated(r.load_count); },
                                     .memory = true};
inline constexpr EventMeaning kLoadsAndPrefetches{
    .count = [](const Retired& r) { return meanings::saturated(r.load_count + r.prefetch); }, .memory = true};
inline constexpr EventMeaning kStores{.count = [](const Retired& r) { return meanings::saturated(r.store_count); },
                                      .memory = true};
inline constexpr EventMeaning kLoadsAndStores{
    .count = [](const Retired& r) { return meanings::saturated(r.load_count + r.store_count); }, .memory = true};
inline constexpr EventMeaning kStoresAndFences{
    .count = [](const Retired& r) { return meanings::saturated(r.store_count + r.fence); }, .memory = true};
inline constexpr EventMeaning kLoadsStoresAndFences{
    .count = [](const Retired& r) { return meanings::saturated(r.load_count + r.store_count + r.fence); },
    .memory = true};
// An instruction locks one access at most.
inline constexpr EventMeaning kLockedLoads{
    .count = [](const Retired& r) { return r.locked ? meanings::saturated(r.load_count) : 0U; }, .memory = true};
inline constexpr EventMeaning kLoadOrPrefetchInstructions{
    .count = [](const Retired& r) -> std::uint32_t { return meanings::loads(r) || r.prefetch; }};
inline constexpr EventMeaning kStoreInstructions{
    .count = [](const Retired& r) -> std::uint32_t { return meanings::stores(r); }};
inline constexpr EventMeaning kMemoryInstructions{
    .count = [](const Retired& r) -> std::uint32_t { return meanings::loads(r) || meanings::stores(r) || r.prefetch; }};
inline constexpr EventMeaning kStoreInstructionsAndFences{
    .count = [](const Retired& r) -> std::uint32_t { return meanings::stores(r) || r.fence; }};
inline constexpr EventMeaning kMemoryInstructionsAndFences{.count = [](const Retired& r) -> std::uint32_t {
  return meanings::loads(r) || meanings::stores(r) || r.prefetch || r.fence;
}};
inline constexpr EventMeaning kSplitLoads{
    .count = [](const Retired& r) { return r.split_loads; }, .memory = true, .addresses = true};
inline constexpr EventMeaning kSplitStores{
    .count = [](const Retired& r) { return r.split_stores; }, .memory = true, .addresses = true};
inline constexpr EventMeaning kSplitLoadInstructions{
    .count = [](const Retired& r) -> std::uint32_t { return r.split_loads != 0; }, .memory = true, .addresses = true};
inline constexpr EventMeaning kSplitStoreInstructions{
    .count = [](const Retired& r) -> std::uint32_t { return r.split_stores != 0; }, .memory = true, .addresses = true};

/// What a core model has to tell: a sum of its signals.
template <CoreSignal... Signal>
inline constexpr EventMeaning kModelled{
    .count =
        [](const Retired& r) { return r.signals == nullptr ? 0U : meanings::saturated(((*r.signals)[Signal] + ...)); },
    .of_signals = [](const CoreSignals& signals) -> std::uint64_t { return (signals[Signal] + ...); }};

/// The load-latency facility's event. Without a core model a load's latency is unknown, and each counts.
inline constexpr EventMeaning kLatencyLoads{
    .count =
        [](const Retired& r) {
          return r.signals == nullptr ? std::uint32_t{r.load_count != 0}
                                      : meanings::saturated((*r.signals)[CoreSignal::LatencyLoads]);
        },
    .memory = true,
    .of_signals = kModelled<CoreSignal::LatencyLoads>.of_signals};

// Sums that have a name of their own.
inline constexpr const EventMeaning& kLoadsPastL1 =
    kModelled<CoreSignal::LoadL2Hit, CoreSignal::LoadL3HitNone, CoreSignal::LoadL3HitMiss, CoreSignal::LoadL3SnoopHit,
              CoreSignal::LoadL3Hitm, CoreSignal::LoadDram>;
inline constexpr const EventMeaning& kLoadsPastL2 =
    kModelled<CoreSignal::LoadL3HitNone, CoreSignal::LoadL3HitMiss, CoreSignal::LoadL3SnoopHit, CoreSignal::LoadL3Hitm,
              CoreSignal::LoadDram>;
inline constexpr const EventMeaning& kLoadsOfL3 =
    kModelled<CoreSignal::LoadL3HitNone, CoreSignal::LoadL3HitMiss, CoreSignal::LoadL3SnoopHit, CoreSignal::LoadL3Hitm>;
inline constexpr const EventMeaning& kL2DemandReads =
    kModelled<CoreSignal::L2DemandReadHit, CoreSignal::L2DemandReadMiss>;
inline constexpr const EventMeaning& kL2Prefetches =
    kModelled<CoreSignal::L2PrefetchHit, CoreSignal::L2PrefetchMiss, CoreSignal::L2OwnPrefetchMiss>;
inline constexpr const EventMeaning& kL2Misses =
    kModelled<CoreSignal::L2DemandReadMiss, CoreSignal::L2RfoMiss, CoreSignal::L2CodeMiss, CoreSignal::L2PrefetchMiss,
              CoreSignal::L2OwnPrefetchMiss>;
inline constexpr const EventMeaning& kL2References =
    kModelled<CoreSignal::L2DemandReadHit, CoreSignal::L2DemandReadMiss, CoreSignal::L2RfoHit, CoreSignal::L2RfoMiss,
              CoreSignal::L2CodeHit, CoreSignal::L2CodeMiss, CoreSignal::L2PrefetchHit, CoreSignal::L2PrefetchMiss,
              CoreSignal::L2OwnPrefetchMiss>;
inline constexpr const EventMeaning& kMispredictedConditionals =
    kModelled<CoreSignal::MispredictedTaken, CoreSignal::MispredictedNotTaken>;
inline constexpr const EventMeaning& kMispredictedIndirects =
    kModelled<CoreSignal::MispredictedIndirectJump, CoreSignal::MispredictedIndirectCall>;
inline constexpr const EventMeaning& kMispredictedNearTaken =
    kModelled<CoreSignal::MispredictedTaken, CoreSignal::MispredictedIndirectJump, CoreSignal::MispredictedIndirectCall,
              CoreSignal::MispredictedReturn>;
inline constexpr const EventMeaning& kMispredicted =
    kModelled<CoreSignal::MispredictedTaken, CoreSignal::MispredictedNotTaken, CoreSignal::MispredictedIndirectJump,
              CoreSignal::MispredictedIndirectCall, CoreSignal::MispredictedReturn>;
inline constexpr const EventMeaning& kUsedSlots = kModelled<CoreSignal::SlotsRetired, CoreSignal::SlotsMicrocode>;
/// With the formulas of top-down analysis these uops make what is lost to mispredicts and clears the share that it is.
inline constexpr const EventMeaning& kIssuedUops =
    kModelled<CoreSignal::SlotsRetired, CoreSignal::SlotsMicrocode, CoreSignal::WrongPathUops>;
/// The refill after a mispredict is none of them: the allocator could take nothing then.
inline constexpr const EventMeaning& kSlotsNotDelivered =
    kModelled<CoreSignal::SlotsInstructionCache, CoreSignal::SlotsInstructionTlb, CoreSignal::SlotsResteer,
              CoreSignal::SlotsMicrocodeSwitch, CoreSignal::SlotsDecode, CoreSignal::SlotsUopCache>;
inline constexpr const EventMeaning& kSlotsMemory =
    kModelled<CoreSignal::SlotsL1, CoreSignal::SlotsL2, CoreSignal::SlotsL3, CoreSignal::SlotsDram,
              CoreSignal::SlotsStoreBuffer>;
inline constexpr const EventMeaning& kSlotsBackend =
    kModelled<CoreSignal::SlotsL1, CoreSignal::SlotsL2, CoreSignal::SlotsL3, CoreSignal::SlotsDram,
              CoreSignal::SlotsStoreBuffer, CoreSignal::SlotsLatency, CoreSignal::SlotsPorts, CoreSignal::SlotsDivider,
              CoreSignal::SlotsSerialising>;

/// FP_ARITH_INST_RETIRED by UMASK, whose bits may be combined. Entry 0 counts nothing.
inline constexpr std::array<EventMeaning, 256> kFpArith = meanings::fp_arith_table(std::make_index_sequence<256>{});

}  // namespace zs::arch

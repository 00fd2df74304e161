// What became of an issue slot. Every slot of every cycle has exactly one of these causes, so the levels of the
// top-down tree sum to 100 % by construction.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace zs::uarch {

/// The first eight are why a register or a reorder buffer entry is late; a late time carries its cause in its lowest
/// bits (core_clock.h), so where two are equally late the larger number is named.
enum class SlotCause : std::uint8_t {
  Latency,  // a dependency between instructions
  L1,       // a load that hit L1D and still waited: forwarding blocked, a split, a TLB walk
  L2,
  L3,  // with snoops
  Dram,
  Ports,  // more uops than their ports take
  Divider,
  StoreBuffer,  // full
  Serialising,  // a fence, a locked or a serialising instruction
  Retired,
  RetiredMicrocode,  // of instructions that the microcode sequencer makes
  Mispredict,        // wrong path and refill
  MachineClear,
  InstructionCache,
  InstructionTlb,
  Resteer,    // a taken branch that the BTB did not know
  Microcode,  // switch to the sequencer
  Decode,     // fewer uops decoded than issue could take
  UopCache,   // fewer uops from the uop cache or the loop buffer
  kCount,
};

inline constexpr std::size_t kSlotCauses = static_cast<std::size_t>(SlotCause::kCount);

/// Nodes of the top-down tree, level 1 and 2.
enum class TopDown : std::uint8_t {
  Retiring,
  BadSpeculation,
  FrontendBound,
  BackendBound,
  LightOperations,
  HeavyOperations,
  BranchMispredicts,
  MachineClears,
  FetchLatency,
  FetchBandwidth,
  MemoryBound,
  CoreBound,
  kCount,
};

inline constexpr std::size_t kTopDownNodes = static_cast<std::size_t>(TopDown::kCount);

struct TopDownPath {
  TopDown level1, level2;
};

/// Where each cause stands in the tree, in the order of SlotCause.
/// source: Optimization manual, "Top-Down Analysis Method".
inline constexpr std::array<TopDownPath, kSlotCauses> kTopDownPaths{{
    {TopDown::BackendBound, TopDown::CoreBound},            // Latency
    {TopDown::BackendBound, TopDown::MemoryBound},          // L1
    {TopDown::BackendBound, TopDown::MemoryBound},          // L2
    {TopDown::BackendBound, TopDown::MemoryBound},          // L3
    {TopDown::BackendBound, TopDown::MemoryBound},          // Dram
    {TopDown::BackendBound, TopDown::CoreBound},            // Ports
    {TopDown::BackendBound, TopDown::CoreBound},            // Divider
    {TopDown::BackendBound, TopDown::MemoryBound},          // StoreBuffer
    {TopDown::BackendBound, TopDown::CoreBound},            // Serialising
    {TopDown::Retiring, TopDown::LightOperations},          // Retired
    {TopDown::Retiring, TopDown::HeavyOperations},          // RetiredMicrocode
    {TopDown::BadSpeculation, TopDown::BranchMispredicts},  // Mispredict
    {TopDown::BadSpeculation, TopDown::MachineClears},      // MachineClear
    {TopDown::FrontendBound, TopDown::FetchLatency},        // InstructionCache
    {TopDown::FrontendBound, TopDown::FetchLatency},        // InstructionTlb
    {TopDown::FrontendBound, TopDown::FetchLatency},        // Resteer
    {TopDown::FrontendBound, TopDown::FetchLatency},        // Microcode
    {TopDown::FrontendBound, TopDown::FetchBandwidth},      // Decode
    {TopDown::FrontendBound, TopDown::FetchBandwidth},      // UopCache
}};

/// Time by cause, in the units of core_clock.h.
struct SlotAccount {
  std::array<std::uint64_t, kSlotCauses> units{};

  void add(SlotCause cause, std::uint64_t amount) { units[static_cast<std::size_t>(cause)] += amount; }
  std::uint64_t of(SlotCause cause) const { return units[static_cast<std::size_t>(cause)]; }
  std::uint64_t of(TopDown node) const {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < kSlotCauses; ++i) {
      if (kTopDownPaths[i].level1 == node || kTopDownPaths[i].level2 == node) sum += units[i];
    }
    return sum;
  }
  std::uint64_t total() const {
    std::uint64_t sum = 0;
    for (const std::uint64_t amount : units) sum += amount;
    return sum;
  }
};

}  // namespace zs::uarch

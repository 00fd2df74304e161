// Which instruction a cycle belongs to: the oldest that has not retired by then, which is what retirement waits for.
// The clock knows blocks and what delayed them; here the instructions of a block that has passed get a time each, so
// that a sample of time can name one. Only for the stretch before such a sample, because each instruction is looked at.
//
// An instruction is complete when its operands, its loaded data and its share of ports and divider are there, by the
// clock's own times and costs, and retires when all older ones have. Left out: the width of retirement; which port the
// scheduler picks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "uarch/timing/block_timing.h"
#include "uarch/timing/core_clock.h"

namespace zs::uarch {

class RetirementOrder {
 public:
  RetirementOrder(const TimingParameters& core, const MemoryLimits& memory) : core_(core), memory_(memory) {}

  /// Whether passed() may be told this block without its instructions.
  bool knows(std::uint32_t id) const { return blocks_.contains(id); }
  void learn(std::uint32_t id, std::span<const PlacedInstruction> instructions);
  /// Ids may mean other blocks from now on.
  void forget() { blocks_.clear(); }

  /// A known block is about to end.
  /// start   unit in which it was dispatched
  /// events  what happened in it, as the clock has them
  void passed(std::uint32_t id, std::uint64_t start, std::span<const CoreClock::Event> events);

  /// The address of the oldest instruction that retires behind that unit; 0 if none that has passed does.
  std::uint64_t waiting_at(std::uint64_t unit) const;

 private:
  // chosen: twice the largest reorder buffer.
  static constexpr std::size_t kRemembered = 1024;
  struct Retired {
    std::uint64_t ip = 0, unit = 0;
  };
  struct Block {
    std::vector<PlacedInstruction> instructions;
    std::vector<InstructionCost> costs;
  };

  std::uint64_t latest(RegisterSet registers, std::uint64_t unit) const;
  std::uint64_t executed(const InstructionCost& cost, std::uint64_t dispatched, std::uint64_t ready);

  TimingParameters core_;
  MemoryLimits memory_;
  std::unordered_map<std::uint32_t, Block> blocks_;
  std::array<std::uint64_t, reg::kCount> ready_{};
  std::array<std::uint64_t, 16> port_busy_{};  // up to which unit what was dispatched so far takes the port
  std::uint64_t divider_busy_ = 0;
  std::array<Retired, kRemembered> retired_{};  // a ring
  std::uint64_t count_ = 0;
};

}  // namespace zs::uarch

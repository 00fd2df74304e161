#include "uarch/timing/retirement_order.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace zs::uarch {

void RetirementOrder::learn(std::uint32_t id, std::span<const PlacedInstruction> instructions) {
  blocks_[id] = {.instructions = {instructions.begin(), instructions.end()},
                 .costs = block_costs(core_, memory_, instructions)};
}

std::uint64_t RetirementOrder::latest(RegisterSet registers, std::uint64_t unit) const {
  for (; registers != 0; registers &= registers - 1)
    unit = std::max(unit, ready_[static_cast<std::size_t>(std::countr_zero(registers))]);
  return unit;
}

/// When its uops have got their ports, the divider its part. What was dispatched before it goes first.
std::uint64_t RetirementOrder::executed(const InstructionCost& cost, std::uint64_t dispatched, std::uint64_t ready) {
  std::uint64_t from = ready;
  for (const PortUse& use : cost.uses) {
    if (use.cycles == 0 || use.ports == 0) continue;
    std::size_t port = static_cast<std::size_t>(std::countr_zero(use.ports));
    for (unsigned rest = use.ports; rest != 0; rest &= rest - 1) {
      const auto other = static_cast<std::size_t>(std::countr_zero(rest));
      if (port_busy_[other] < port_busy_[port]) port = other;
    }
    const std::uint64_t begins = std::max(port_busy_[port], dispatched);
    from = std::max(from, begins);
    port_busy_[port] = begins + use.cycles * kUnitsPerCycle;
  }
  if (cost.divider != 0) {
    const std::uint64_t begins = std::max(divider_busy_, dispatched);
    from = std::max(from, begins);
    divider_busy_ = begins + std::uint64_t{cost.divider} * kUnitsPerCycle;
  }
  return from;
}

void RetirementOrder::passed(std::uint32_t id, std::uint64_t start, std::span<const CoreClock::Event> events) {
  const auto known = blocks_.find(id);
  CHECK(known != blocks_.end(), id);
  const Block& block = known->second;
  std::uint64_t dispatched = start;
  std::size_t load = 0;
  for (std::size_t i = 0; i < block.instructions.size(); ++i) {
    const InstructionShape& shape = block.instructions[i].shape;
    const InstructionCost& cost = block.costs[i];
    for (const CoreClock::Event& event : events) {
      if (!event.is_load && event.at == i) dispatched += event.time;
    }
    const std::uint64_t addressed = latest(shape.address, dispatched);
    std::uint64_t ready = latest(shape.reads | cost.false_reads, dispatched);
    for (unsigned k = 0; k < shape.loads; ++k, ++load) {
      std::uint64_t cycles = cost.load;
      for (const CoreClock::Event& event : events) {
        if (event.is_load && event.at == load) cycles = std::max<std::uint64_t>(cycles, event.time);
      }
      ready = std::max(ready, addressed + cycles * kUnitsPerCycle);
    }
    const std::uint64_t result = executed(cost, dispatched, ready) + std::uint64_t{cost.latency} * kUnitsPerCycle;
    for (RegisterSet rest = shape.writes; rest != 0; rest &= rest - 1)
      ready_[static_cast<std::size_t>(std::countr_zero(rest))] = result;
    // Nothing waits for a prefetch, not even retirement.
    const bool prefetch =
        shape.loads != 0 && shape.writes == 0 && shape.stores == 0 && shape.branch == arch::BranchKind::None;
    std::uint64_t complete = prefetch ? dispatched : result;
    if (shape.stores != 0) complete = std::max(complete, addressed + kUnitsPerCycle);
    const std::uint64_t before = count_ == 0 ? 0 : retired_[(count_ - 1) % kRemembered].unit;
    retired_[count_++ % kRemembered] = {block.instructions[i].pc, std::max(before, complete)};
    dispatched += cost.slots * (kUnitsPerCycle / core_.issue_width);
  }
}

std::uint64_t RetirementOrder::waiting_at(std::uint64_t unit) const {
  std::uint64_t ip = 0;
  const std::uint64_t oldest = count_ - std::min<std::uint64_t>(count_, kRemembered);
  for (std::uint64_t at = count_; at != oldest && retired_[(at - 1) % kRemembered].unit > unit; --at)
    ip = retired_[(at - 1) % kRemembered].ip;
  return ip;
}

}  // namespace zs::uarch

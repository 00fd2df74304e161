#include "uarch/timing/block_timing.h"

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "uarch/timing/uop_table.h"

namespace zs::uarch {
namespace {

using arch::BranchKind;
using Latency = BlockTiming::Latency;

/// Bounds leave the lowest bits clear, as all times do whose cause is not yet known.
constexpr std::uint32_t without_cause(std::uint32_t units) { return (units + kCauseBits) & ~kCauseBits; }

constexpr double cycles(std::uint32_t units) { return static_cast<double>(units) / kUnitsPerCycle; }

std::uint32_t round_up(std::uint32_t value, std::uint32_t step) { return (value + step - 1) / step; }

// ---- what an instruction costs here
// -----------------------------------------------------------------------------------

/// Conditions (low opcode nibbles) with which each kind of head fuses, one bit each.
/// source: Optimization manual, "Macro-Fusion", table of Sandy Bridge and later.
constexpr std::uint16_t kFusingConditions[] = {
    0x0000,  // None
    0xFFFF,  // Test
    0xF0FC,  // Compare: not O, S, P
    0xF030,  // Increment: nor C
};

constexpr RegisterSet kGeneralRegisters = 0xFFFF;

bool fuses(Fusion fusion, const InstructionShape& head, const InstructionShape& jump) {
  if (fusion == Fusion::None || jump.condition == InstructionShape::kNoJcc || head.memory_and_immediate ||
      head.stores != 0)
    return false;
  if (fusion == Fusion::CompareAndTest && (head.writes & kGeneralRegisters) != 0) return false;
  return (kFusingConditions[static_cast<std::size_t>(head.fusion)] >> jump.condition & 1) != 0;
}

bool vanishes(const TimingParameters& core, const InstructionShape& shape) {
  return shape.nop || (shape.zero_idiom && core.eliminates_zero_idioms) ||
         (shape.copy == CopyKind::General && core.eliminates_general_copies) ||
         (shape.copy == CopyKind::Vector && core.eliminates_vector_copies);
}

InstructionCost cost_of(const TimingParameters& core, const MemoryLimits& memory, const InstructionShape& shape) {
  const UopClass& row = UopTable(core.column).of(shape);
  const bool waits = (shape.bit_count == BitCount::Ones && core.popcnt_waits_for_destination) ||
                     (shape.bit_count == BitCount::Zeros && core.lzcnt_waits_for_destination);
  InstructionCost cost{.slots = row.slots,
                       .uops = row.uops,
                       .latency = row.latency,
                       .divider = row.divider,
                       .false_reads = waits ? shape.writes & kGeneralRegisters : 0,
                       .uses = row.uses,
                       .unknown = row.source == UopSource::Unknown && !shape.nop};
  if (shape.loads != 0) {
    cost.load = memory.load_cycles + (shape.vector ? core.vector_load_cycles : 0) +
                (shape.indexed ? core.indexed_load_cycles : 0);
  }
  if (vanishes(core, shape)) {
    cost.uses = {};
    cost.uops = shape.nop ? 0 : cost.uops;
    cost.latency = 0;
    cost.slots = 1;
  }
  // What a locked read-modify-write takes from its load to its store is in what memory says of it:
  // MemoryParameters::lock_cycles.
  if (shape.serialising && shape.loads != 0 && shape.stores != 0) cost.latency = 0;
  if (core.splits_indexed_operands && shape.indexed && shape.three_operands && shape.loads != 0 &&
      row.uops > row.slots) {
    cost.slots += 1;
  }
  if (shape.indexed && shape.stores != 0) {
    for (PortUse& use : cost.uses) use.ports &= static_cast<PortSet>(~core.plain_address_ports);
  }
  cost.microcoded = cost.slots > 4 || shape.repeats;  // four slots: what a decoder makes, on every core modelled
  return cost;
}

/// The pair executes where the jump does; what the head loads stays.
void join(InstructionCost& head, const InstructionCost& jump) {
  for (PortUse& use : head.uses) {
    if ((use.ports & jump.uses[0].ports) != 0) use = {};
  }
  const auto free = std::ranges::find(head.uses, 0, &PortUse::cycles);
  if (free != head.uses.end()) *free = jump.uses[0];
}

// ---- bounds ---------------------------------------------------------------------------------------------------------

/// Cycles of the predecoder: it looks at one aligned piece of code at a time, and finds so many ends in it per cycle.
std::uint32_t predecode_cycles(const TimingParameters& core, std::span<const PlacedInstruction> block) {
  std::uint32_t total = 0;
  std::size_t i = 0;
  while (i < block.size()) {
    std::uint64_t piece = block[i].pc / core.fetch_bytes;
    std::uint32_t ends = 0;
    for (;; ++i) {
      const std::uint64_t last = (block[i].pc + block[i].shape.length - 1) / core.fetch_bytes;
      if (last != piece) {
        total += std::max(1U, round_up(ends, core.predecode_width));
        piece = last;
        ends = 0;
      }
      ++ends;
      if (block[i].shape.changes_length) total += core.length_change_cycles;
      const bool goes_on = i + 1 < block.size() && block[i + 1].pc == block[i].pc + block[i].shape.length;
      if (!goes_on) break;
    }
    total += round_up(ends, core.predecode_width);
    ++i;
  }
  return total;
}

/// Cycles of the decoders, which take instructions in order: one of several slots only in the first.
std::uint32_t decode_cycles(const TimingParameters& core, std::span<const InstructionCost> costs) {
  std::uint32_t total = 0;
  std::uint32_t used = core.decoders;  // of the current cycle
  for (const InstructionCost& cost : costs) {
    if (cost.fused_away) continue;
    if (cost.microcoded) {
      total += round_up(cost.slots, 4) + core.microcode_cycles;
      used = core.decoders;
      continue;
    }
    if (used >= core.decoders || (used != 0 && cost.slots > core.other_decoder_slots)) {
      ++total;
      used = 0;
    }
    ++used;
  }
  return total;
}

/// The bound by ports: for every union of port sets, the cycles that can go nowhere else, by its ports.
std::uint32_t port_units(std::span<const InstructionCost> costs) {
  std::vector<PortUse> uses;  // by set; their cycles may exceed a byte, so sums stand beside
  std::vector<std::uint32_t> sums;
  for (const InstructionCost& cost : costs) {
    for (const PortUse& use : cost.uses) {
      if (use.cycles == 0) continue;
      const auto at = std::ranges::find(uses, use.ports, &PortUse::ports);
      if (at == uses.end()) {
        uses.push_back(use);
        sums.push_back(use.cycles);
      } else {
        sums[static_cast<std::size_t>(at - uses.begin())] += use.cycles;
      }
    }
  }
  std::vector<PortSet> unions;
  for (const PortUse& use : uses) {
    const std::size_t before = unions.size();
    const auto add = [&unions](PortSet set) {
      if (std::ranges::find(unions, set) == unions.end()) unions.push_back(set);
    };
    add(use.ports);
    for (std::size_t i = 0; i < before; ++i) add(unions[i] | use.ports);
  }
  std::uint32_t most = 0;
  for (const PortSet set : unions) {
    std::uint32_t inside = 0;
    for (std::size_t i = 0; i < uses.size(); ++i) {
      if ((uses[i].ports & ~set) == 0) inside += sums[i];
    }
    most = std::max(most, without_cause(inside * kUnitsPerCycle / static_cast<std::uint32_t>(std::popcount(set))));
  }
  return most;
}

/// Slots that the block takes of the uop cache: whole lines of six for each 32 bytes of code it touches.
/// source: Optimization manual, "Decoded ICache".
std::uint32_t lines_of_uop_cache(std::span<const PlacedInstruction> block, std::span<const InstructionCost> costs) {
  constexpr std::uint32_t slots_of_line = 6, bytes_of_window = 32;
  std::uint32_t lines = 0, inside = 0;
  for (std::size_t i = 0; i < block.size(); ++i) {
    inside += costs[i].microcoded ? slots_of_line : costs[i].slots;
    const bool ends = i + 1 == block.size() || block[i + 1].pc / bytes_of_window != block[i].pc / bytes_of_window ||
                      block[i + 1].pc < block[i].pc;
    if (ends) {
      lines += std::max(1U, round_up(inside, slots_of_line));
      inside = 0;
    }
  }
  return lines * slots_of_line;
}

std::uint32_t loop_units(const TimingParameters& core, std::uint32_t slots) {
  std::uint32_t copies = 1;
  if (core.loop_unrolls) {
    while (copies < 8 && (copies + 1) * slots <= core.loop_slots) ++copies;
  }
  return without_cause(round_up(slots * copies, core.issue_width) * kUnitsPerCycle / copies);
}

BlockBound bound_of(std::uint32_t issue, std::uint32_t frontend, SlotCause cause) {
  return frontend > issue ? BlockBound{frontend, cause} : BlockBound{issue, SlotCause::Retired};
}

bool is_taken_inside(std::span<const PlacedInstruction> block, std::size_t i) {
  return i + 1 < block.size() && block[i + 1].pc != block[i].pc + block[i].shape.length;
}

template <typename Visit>
void each_register(RegisterSet set, const Visit& visit) {
  for (; set != 0; set &= set - 1) visit(static_cast<std::uint8_t>(std::countr_zero(set)));
}

/// The bounds of a block, in units.
struct Bounds {
  std::uint32_t slots = 0, microcoded = 0, microcode_slots = 0, divider = 0;
  std::uint32_t predecode = 0, decode = 0, from_decoders = 0, from_cache = 0, from_loop = 0, issue = 0, ports = 0;
  bool fits_loop = false;

  Bounds(const TimingParameters& core, std::span<const PlacedInstruction> block, std::span<const InstructionCost> costs,
         bool taken) {
    std::uint32_t jumps_taken = 0;
    for (std::size_t i = 0; i < block.size(); ++i) {
      const BranchKind branch = block[i].shape.branch;
      slots += costs[i].slots;
      divider += costs[i].divider;
      if (costs[i].microcoded) {
        microcode_slots += costs[i].slots;
        ++microcoded;
      }
      if (branch != BranchKind::None && branch != BranchKind::Far &&
          (is_taken_inside(block, i) || (i + 1 == block.size() && taken))) {
        ++jumps_taken;
      }
    }
    const std::uint32_t jumps = jumps_taken * core.taken_branch_cycles * kUnitsPerCycle;
    const std::uint32_t sequencer =
        (microcoded * core.microcode_cycles + round_up(microcode_slots, 4)) * kUnitsPerCycle;
    predecode = predecode_cycles(core, block) * kUnitsPerCycle;
    decode = decode_cycles(core, costs) * kUnitsPerCycle;
    from_decoders = std::max({predecode, decode, jumps});
    from_cache =
        core.uop_cache_width == 0
            ? from_decoders
            : std::max(without_cause((slots - microcode_slots) * kUnitsPerCycle / core.uop_cache_width) + sequencer,
                       jumps);
    fits_loop = slots <= core.loop_slots && microcoded == 0;
    from_loop = fits_loop ? std::max(loop_units(core, slots), kUnitsPerCycle * jumps_taken) : from_cache;
    issue = slots * (kUnitsPerCycle / core.issue_width);
    ports = port_units(costs);
  }
};

}  // namespace

std::vector<InstructionCost> block_costs(const TimingParameters& core, const MemoryLimits& memory,
                                         std::span<const PlacedInstruction> block) {
  std::vector<InstructionCost> costs;
  costs.reserve(block.size());
  for (std::size_t i = 0; i < block.size(); ++i) {
    costs.push_back(cost_of(core, memory, block[i].shape));
    const bool follows = i != 0 && block[i].pc == block[i - 1].pc + block[i - 1].shape.length;
    if (follows && fuses(core.fusion, block[i - 1].shape, block[i].shape)) {
      join(costs[i - 1], costs[i]);
      costs[i] = {.fused_away = true};
    }
  }
  return costs;
}

std::vector<Issue> issue_sums(std::span<const InstructionCost> costs) {
  std::vector<Issue> sums;
  sums.reserve(costs.size());
  Issue sum;
  for (const InstructionCost& cost : costs) {
    sum.slots += cost.slots;
    sum.microcode_slots += cost.microcoded ? cost.slots : 0;
    sum.uops += cost.uops;
    sum.fused += cost.fused_away ? 1 : 0;
    sums.push_back(sum);
  }
  return sums;
}

BoundParts bound_parts(const TimingParameters& core, const MemoryLimits& memory,
                       std::span<const PlacedInstruction> block, bool taken) {
  const Bounds bounds(core, block, block_costs(core, memory, block), taken);
  return {.predecode = cycles(bounds.predecode),
          .decode = cycles(bounds.decode),
          .uop_cache = cycles(bounds.from_cache),
          .loop_buffer = cycles(bounds.from_loop),
          .issue = cycles(bounds.issue),
          .ports = cycles(bounds.ports),
          .divider = static_cast<double>(bounds.divider)};
}

/// The matrix, apart from where BlockTiming keeps it.
struct BlockTiming::Map {
  std::vector<Latency> results, events, from_loads;
  std::vector<std::uint8_t> inputs, outputs, lane_instructions;
  std::size_t result_lanes = 0, lanes = 0;
};

BlockTiming::BlockTiming(const TimingParameters& core, const MemoryLimits& memory,
                         std::span<const PlacedInstruction> block, std::uint32_t id, bool taken)
    : id_(id) {
  CHECK(!block.empty() && block.size() <= kMostInstructions, block.size());
  const std::vector<InstructionCost> costs = block_costs(core, memory, block);

  // ---- how many slots, and where each instruction stands among them
  std::vector<Latency> offsets;
  std::vector<std::uint8_t> numbers, branches;
  for (std::size_t i = 0; i < block.size(); ++i) {
    const InstructionShape& shape = block[i].shape;
    offsets.push_back(static_cast<Latency>(slots_ * (kUnitsPerCycle / core.issue_width)));
    slots_ += costs[i].slots;
    found_.uops += costs[i].uops;
    found_.fused += costs[i].fused_away ? 1 : 0;
    found_.unknown += costs[i].unknown ? 1 : 0;
    serialises_ |= shape.serialising;
    for (const PortUse& use : costs[i].uses) {
      if ((use.ports & ~core.load_ports) == 0) load_uops_ += use.cycles;
    }
    numbers.insert(numbers.end(), shape.loads, static_cast<std::uint8_t>(i));
    if (shape.branch != BranchKind::None) branches.push_back(static_cast<std::uint8_t>(i));
    if (shape.stores != 0) ++stores_;
  }
  CHECK(numbers.size() <= kMostLoads, numbers.size());
  instructions_ = static_cast<std::uint8_t>(block.size());
  loads_ = static_cast<std::uint8_t>(numbers.size());
  branches_ = static_cast<std::uint8_t>(branches.size());
  numbers.insert(numbers.end(), branches.begin(), branches.end());
  cache_slots_ = lines_of_uop_cache(block, costs);

  // ---- the bounds
  const Bounds bounds(core, block, costs, taken);
  microcode_slots_ = bounds.microcode_slots;
  const SlotCause sequenced = bounds.microcoded != 0 ? SlotCause::Microcode : SlotCause::UopCache;
  decoded_ =
      bound_of(bounds.issue, bounds.from_decoders, bounds.microcoded != 0 ? SlotCause::Microcode : SlotCause::Decode);
  cached_ = core.uop_cache_width == 0 ? decoded_ : bound_of(bounds.issue, bounds.from_cache, sequenced);
  looped_ = bounds.fits_loop ? bound_of(bounds.issue, bounds.from_loop, SlotCause::UopCache) : cached_;
  executed_ = bounds.divider * kUnitsPerCycle > bounds.ports
                  ? BlockBound{bounds.divider * kUnitsPerCycle, SlotCause::Divider}
                  : BlockBound{bounds.ports, SlotCause::Ports};
  scheduler_units_ = without_cause(core.scheduler * executed_.units / std::max(1U, found_.uops));

  // ---- all that has no fixed size, in one piece
  Map map = map_of(block, costs, offsets, loads_, branches_, stores_);
  result_lanes_ = static_cast<std::uint16_t>(map.result_lanes);
  lanes_ = static_cast<std::uint16_t>(map.lanes);
  live_ins_ = static_cast<std::uint8_t>(map.inputs.size());
  writtens_ = static_cast<std::uint8_t>(map.outputs.size());
  numbers.insert(numbers.end(), map.lane_instructions.begin(), map.lane_instructions.end());
  std::vector<std::uint8_t> names = std::move(map.inputs);
  names.insert(names.end(), map.outputs.begin(), map.outputs.end());
  const auto cells = [](const std::vector<std::uint8_t>& bytes) {
    return round_up(static_cast<std::uint32_t>(bytes.size()), sizeof(Latency));
  };
  names_at_ = static_cast<std::uint32_t>(map.results.size());
  events_at_ = names_at_ + cells(names);
  from_loads_at_ = events_at_ + static_cast<std::uint32_t>(map.events.size());
  offsets_at_ = from_loads_at_ + static_cast<std::uint32_t>(map.from_loads.size());
  cells_ = std::make_unique_for_overwrite<Latency[]>(offsets_at_ + offsets.size() + cells(numbers));
  std::ranges::copy(map.results, &cells_[0]);
  std::ranges::copy(names, reinterpret_cast<std::uint8_t*>(&cells_[names_at_]));
  std::ranges::copy(map.events, &cells_[events_at_]);
  std::ranges::copy(map.from_loads, &cells_[from_loads_at_]);
  std::ranges::copy(offsets, &cells_[offsets_at_]);
  std::ranges::copy(numbers, reinterpret_cast<std::uint8_t*>(&cells_[offsets_at_ + offsets.size()]));
}

/// For each register the latest time as a row of the matrix, from start, registers and loads.
BlockTiming::Map BlockTiming::map_of(std::span<const PlacedInstruction> block, std::span<const InstructionCost> costs,
                                     std::span<const Latency> offsets, std::size_t loads, std::size_t branches,
                                     std::size_t stores) {
  Map map;
  RegisterSet read = 0, written = 0;
  for (std::size_t i = 0; i < block.size(); ++i) {
    const InstructionShape& shape = block[i].shape;
    read |= (shape.reads | costs[i].false_reads | shape.address) & ~written;
    written |= shape.writes;
  }
  std::vector<std::uint8_t>&inputs = map.inputs, &outputs = map.outputs;
  each_register(read, [&inputs](std::uint8_t number) { inputs.push_back(number); });
  each_register(written, [&outputs](std::uint8_t number) { outputs.push_back(number); });
  const auto padded = [](std::size_t count) { return (count + kLanesAtOnce - 1) / kLanesAtOnce * kLanesAtOnce; };
  const std::size_t result_lanes = map.result_lanes = padded(1 + outputs.size());
  const std::size_t lanes = map.lanes = padded(result_lanes + loads + branches + 2 * stores);
  CHECK(lanes <= kMostLanes, lanes);
  const std::size_t shared_rows = 1 + inputs.size();
  const std::size_t rows = shared_rows + loads;
  const std::size_t event_lanes = lanes - result_lanes;
  map.results.assign(shared_rows * result_lanes, kNever);
  map.events.assign(shared_rows * event_lanes, kNever);
  map.from_loads.assign(loads * lanes, kNever);
  map.lane_instructions.assign(lanes, 0);
  const auto cell = [&](std::size_t row, std::size_t lane) -> Latency& {
    if (row >= shared_rows) return map.from_loads[(row - shared_rows) * lanes + lane];
    return lane < result_lanes ? map.results[row * result_lanes + lane]
                               : map.events[row * event_lanes + lane - result_lanes];
  };

  // One for each row. All of a block lie in one piece of memory, since blocks are many and small.
  using Times = std::span<Latency>;
  enum Scratch : std::size_t { Complete, Dispatched, Addressed, Ready, Later, Registers };
  const auto cells = std::make_unique_for_overwrite<Latency[]>((Registers + reg::kCount) * rows);
  const auto times_at = [&](std::size_t at) { return Times(cells.get() + at * rows, rows); };
  const auto state = [&](std::size_t number) { return times_at(Registers + number); };
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    std::ranges::fill(state(inputs[i]), kNever);
    state(inputs[i])[1 + i] = 0;
  }
  const auto join_times = [](Times into, Times from) {
    for (std::size_t row = 0; row < into.size(); ++row) into[row] = std::max(into[row], from[row]);
  };
  const auto later = [&](Times times, std::uint32_t by_cycles) {
    const Times moved = times_at(Later);
    for (std::size_t row = 0; row < rows; ++row) {
      const Latency by = times[row] != kNever ? static_cast<Latency>(by_cycles * kUnitsPerCycle) : 0;
      moved[row] = times[row] + by;
    }
    return moved;
  };
  const auto write_lane = [&map, &cell](std::size_t lane, Times times, std::size_t instruction) {
    for (std::size_t row = 0; row < times.size(); ++row) {
      Latency& latency = cell(row, lane);
      latency = std::max(latency, times[row]);
    }
    map.lane_instructions[lane] = static_cast<std::uint8_t>(instruction);
  };

  std::size_t load = 0, branch = 0, store = 0;
  std::array<std::uint8_t, reg::kCount> writer{};
  const Times complete = times_at(Complete), dispatched = times_at(Dispatched), addressed = times_at(Addressed),
              ready = times_at(Ready);
  std::ranges::fill(complete, kNever);  // all before the instruction
  std::ranges::fill(dispatched, kNever);
  complete[0] = 0;
  for (std::size_t i = 0; i < block.size(); ++i) {
    const InstructionShape& shape = block[i].shape;
    dispatched[0] = offsets[i];
    std::ranges::copy(dispatched, addressed.begin());
    each_register(shape.address, [&](std::uint8_t number) { join_times(addressed, state(number)); });
    std::ranges::copy(dispatched, ready.begin());
    each_register(shape.reads | costs[i].false_reads, [&](std::uint8_t number) { join_times(ready, state(number)); });
    if (shape.loads != 0) {
      join_times(ready, later(addressed, costs[i].load));
      for (unsigned k = 0; k < shape.loads; ++k, ++load) {
        write_lane(result_lanes + load, addressed, i);
        ready[shared_rows + load] = 0;
      }
    }
    if (shape.stores != 0) {
      const Times stored = later(ready, data_cycles(costs[i]));
      join_times(stored, addressed);
      const std::size_t lane = result_lanes + loads + branches + store++;
      write_lane(lane, stored, i);
      write_lane(lane + stores, complete, i);
    }
    const Times result = later(ready, costs[i].latency);
    each_register(shape.writes, [&](std::uint8_t number) {
      std::ranges::copy(result, state(number).begin());
      writer[number] = static_cast<std::uint8_t>(i);
    });
    if (shape.branch != BranchKind::None) write_lane(result_lanes + loads + branch++, result, i);
    // Nothing waits for a prefetch, not even retirement.
    const bool prefetch =
        shape.loads != 0 && shape.writes == 0 && shape.stores == 0 && shape.branch == BranchKind::None;
    join_times(complete, prefetch ? dispatched : result);
    if (shape.stores != 0) join_times(complete, later(addressed, 1));
  }
  write_lane(0, complete, block.size() - 1);
  for (std::size_t i = 0; i < outputs.size(); ++i) write_lane(1 + i, state(outputs[i]), writer[outputs[i]]);
  return map;
}

}  // namespace zs::uarch

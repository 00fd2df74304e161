// What is known of a block's time before it runs: how many slots it takes, how fast it can be fetched, issued and
// executed at best, and how late each of its results is when its operands are. Computed once, at translation.
//
// The bounds are analytical and hold for any schedule: of dispatch, by predecoder, decoders, uop cache, loop buffer and
// issue; of execution, by the divider and the ports (over every union of port sets: its uops by its ports). The two
// meet in the clock, because the scheduler lets dispatch run ahead of the ports. Latency is in neither; it is the map,
// a matrix in max-plus algebra from the registers that come in (and the start, and each load) to what comes out, and
// core_clock.h multiplies the blocks' matrices as they run.
//
// Left out: how the scheduler assigns ports and so the bubbles of an unlucky order; the slots that a taken branch
// leaves empty in the uop cache beyond rounding; bypass delays between domains.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "uarch/timing/shape.h"
#include "uarch/timing/slot_cause.h"
#include "uarch/timing/timing_parameters.h"

namespace zs::uarch {

/// Time is counted in units. 120 are divisible by every issue width, so slots are whole; times 8, because the lowest
/// bits of a late time name its cause.
inline constexpr std::uint32_t kUnitsPerCycle = 960;
inline constexpr std::uint32_t kCauseBits = 7;  // mask

/// What so many uops keep the load ports busy for.
constexpr std::uint32_t load_units(const TimingParameters& core, std::uint32_t uops) {
  return uops * (kUnitsPerCycle / static_cast<std::uint32_t>(std::popcount(core.load_ports)));
}

struct InstructionCost;

struct PlacedInstruction {
  std::uint64_t pc = 0;
  InstructionShape shape;
};

/// What instructions issue.
struct Issue {
  std::uint32_t slots = 0, microcode_slots = 0;  // of these, what the microcode sequencer makes
  std::uint32_t uops = 0, fused = 0;             // macro-fused pairs
};

/// A throughput in units, and what limits it.
struct BlockBound {
  std::uint32_t units = 0;
  SlotCause cause = SlotCause::Retired;  // Retired: issue itself
};

/// The bounds behind a block's, in cycles: for tests and documents (bound_parts).
struct BoundParts {
  double predecode = 0, decode = 0, uop_cache = 0, loop_buffer = 0, issue = 0, ports = 0, divider = 0;
};

class BlockTiming {
 public:
  static constexpr std::size_t kMostInstructions = 64;
  static constexpr std::size_t kMostLoads = 255, kMostLanes = 320;

  /// `block`  in the order of execution, 1 to kMostInstructions; taken branches may lie inside it
  /// `id`     of the caller's, dense: clocks keep what they know of the block under it
  /// `taken`  whether the branch at its end, if there is one, is taken
  BlockTiming(const TimingParameters& core, const MemoryLimits& memory, std::span<const PlacedInstruction> block,
              std::uint32_t id, bool taken = true);

  std::uint32_t id() const { return id_; }
  /// What it takes, roughly.
  std::size_t bytes() const {
    return sizeof *this + (offsets_at_ + instructions_) * sizeof(Latency) + loads_ + branches_ + lanes_;
  }
  std::uint32_t slots() const { return slots_; }
  std::uint32_t uops() const { return found_.uops; }
  std::uint32_t microcode_slots() const { return microcode_slots_; }
  std::uint32_t cache_slots() const { return cache_slots_; }  // that it takes of the uop cache
  std::uint32_t fused() const { return found_.fused; }        // pairs of instructions that became one uop
  std::uint32_t unknown() const { return found_.unknown; }    // instructions whose cost no source tells
  bool serialises() const { return serialises_; }

  const BlockBound& decoded() const { return decoded_; }    // its uops come from the decoders,
  const BlockBound& cached() const { return cached_; }      // from the uop cache,
  const BlockBound& looped() const { return looped_; }      // or from the loop buffer
  const BlockBound& executed() const { return executed_; }  // Ports or Divider
  /// Uops that only the load ports take: loads, and store addresses that no port of their own makes.
  std::uint32_t load_uops() const { return load_uops_; }
  /// How far execution may lie behind dispatch until uops of this block fill the scheduler.
  std::uint32_t scheduler_units() const { return scheduler_units_; }

  // The map. Lanes are what comes out: lane 0 is the completion of the whole block, then come the registers written,
  // and from result_lanes() on the addresses of loads, the branches, what instructions store, and what is older than
  // these. Rows are what it comes from: row 0 the start of the block, row 1 + i the register live_in()[i]. Results and
  // events lie apart, because a block without an event reads results only.
  // Latencies are units; kNever: no path.
  using Latency = std::int32_t;
  static constexpr Latency kNever = -(1 << 30);
  static constexpr std::size_t kLanesAtOnce = 4;

  std::span<const std::uint8_t> live_in() const { return {names(), live_ins_}; }
  std::span<const std::uint8_t> written() const {
    return {names() + live_ins_, writtens_};
  }                                                           // the registers of lanes 1 ...
  std::size_t result_lanes() const { return result_lanes_; }  // padded to a multiple of kLanesAtOnce,
  std::size_t lanes() const { return lanes_; }                // likewise
  std::size_t load_lane(std::size_t load) const { return result_lanes_ + load; }
  std::size_t branch_lane(std::size_t branch) const { return result_lanes_ + loads_ + branch; }
  /// Of the instruction of that number among those that store: when a load can have its data and address, but for
  /// forwarding itself.
  std::size_t store_lane(std::size_t store) const { return result_lanes_ + loads_ + branches_ + store; }
  /// The same of it: when all of the block that is older is complete.
  std::size_t older_lane(std::size_t store) const { return store_lane(stores_ + store); }
  const Latency* results_of(std::size_t row) const { return &cells_[row * result_lanes_]; }
  const Latency* events_of(std::size_t row) const { return &cells_[events_at_ + row * (lanes_ - result_lanes_)]; }
  /// From the data of a load to every lane.
  const Latency* from_load(std::size_t load) const { return &cells_[from_loads_at_ + load * lanes_]; }

  std::size_t instructions() const { return instructions_; }
  std::size_t loads() const { return loads_; }
  std::size_t branches() const { return branches_; }
  std::size_t stores() const { return stores_; }  // instructions that do
  /// Units from the start of the block to the dispatch of an instruction, at the rate of issue.
  std::uint32_t offset(std::size_t instruction) const {
    return static_cast<std::uint32_t>(cells_[offsets_at_ + instruction]);
  }
  std::size_t branch_instruction(std::size_t branch) const { return numbers()[loads_ + branch]; }
  /// The instruction whose dispatch a lane follows: a stall before it delays the lane.
  std::size_t lane_instruction(std::size_t lane) const { return numbers()[loads_ + branches_ + lane]; }

 private:
  struct Map;
  static Map map_of(std::span<const PlacedInstruction> block, std::span<const InstructionCost> costs,
                    std::span<const Latency> offsets, std::size_t loads, std::size_t branches, std::size_t stores);

  const std::uint8_t* names() const { return reinterpret_cast<const std::uint8_t*>(&cells_[names_at_]); }
  const std::uint8_t* numbers() const {
    return reinterpret_cast<const std::uint8_t*>(&cells_[offsets_at_ + instructions_]);
  }

  // What every run of the block needs stands first.
  std::uint32_t id_;
  std::uint32_t slots_ = 0, microcode_slots_ = 0, cache_slots_ = 0;  // cache_slots_: of the uop cache
  BlockBound decoded_, cached_, looped_, executed_;
  std::uint32_t scheduler_units_ = 0, load_uops_ = 0;
  std::uint16_t result_lanes_ = 0, lanes_ = 0;
  std::uint8_t live_ins_ = 0, writtens_ = 0;
  bool serialises_ = false;
  std::uint8_t instructions_ = 0, loads_ = 0, branches_ = 0, stores_ = 0;
  // In one piece of memory: the results' rows, from here on the names of registers, the events' rows, the loads', the
  // offsets, and behind these in bytes the instructions of loads, branches and lanes.
  std::uint32_t names_at_ = 0, events_at_ = 0, from_loads_at_ = 0, offsets_at_ = 0;
  std::unique_ptr<Latency[]> cells_;

  struct {
    std::uint32_t uops = 0, fused = 0, unknown = 0;
  } found_;
};

/// What one instruction costs within a block: the table's class, corrected by what surrounds it.
struct InstructionCost {
  std::uint32_t slots = 0, uops = 0;
  std::uint32_t latency = 0;  // cycles from operands or the loaded value to the result
  std::uint32_t load = 0;     // cycles of its load, 0 if it has none
  std::uint32_t divider = 0;
  RegisterSet false_reads = 0;  // that it waits for beside those that it reads
  std::array<PortUse, 6> uses{};
  bool fused_away = false;  // the second half of a macro-fused pair
  bool microcoded = false;
  bool unknown = false;
};

/// Cycles from the operands, or the loaded value, to the data that an instruction stores. What a store takes by itself
/// is a part of MemoryParameters::forward_cycles.
constexpr std::uint32_t data_cycles(const InstructionCost& cost) { return cost.load != 0 ? cost.latency : 0; }

/// The costs of `block`, one each.
std::vector<InstructionCost> block_costs(const TimingParameters& core, const MemoryLimits& memory,
                                         std::span<const PlacedInstruction> block);

/// What the first instructions of a block issue: the first, the first two, and so on.
std::vector<Issue> issue_sums(std::span<const InstructionCost> costs);

/// What BlockTiming's bounds of it are made of.
BoundParts bound_parts(const TimingParameters& core, const MemoryLimits& memory,
                       std::span<const PlacedInstruction> block, bool taken = true);

}  // namespace zs::uarch

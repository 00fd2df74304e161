// How a modelled core fetches, decodes, issues and retires, as numbers; the numbers of each stand in cpus/. What
// concerns caches and buffers of the memory side (latency of a load, fill buffers, store buffer) stands with it and
// comes in as MemoryLimits.
#pragma once

#include <bit>
#include <cstdint>

#include "uarch/timing/uop_columns.h"
#include "uarch/timing/uop_table_data.h"

namespace zs::uarch {

/// How the front end joins an arithmetic instruction with the conditional jump behind it.
enum class Fusion : std::uint8_t {
  None,
  CompareAndTest,  // CMP and TEST only
  Arithmetic,      // ADD, SUB, AND, INC and DEC too
};

struct TimingParameters {
  UopColumn column = UopColumn::SkylakeServer;

  std::uint8_t issue_width = 0;      // slots a cycle
  std::uint16_t reorder_buffer = 0;  // slots
  std::uint16_t scheduler = 0;       // uops that wait for a port

  std::uint8_t fetch_bytes = 0;      // that the predecoder takes in at once
  std::uint8_t predecode_width = 0;  // instructions a cycle
  std::uint8_t length_change_cycles = 0;
  std::uint8_t decoders = 0;             // the first alone takes instructions of several uops
  std::uint8_t decoder_slots = 0;        // that the first decoder makes in a cycle; more come from microcode
  std::uint8_t other_decoder_slots = 1;  // that each of the others makes
  std::uint8_t uop_cache_width = 0;      // slots a cycle; 0: there is no uop cache
  std::uint16_t uop_cache_slots = 0;
  std::uint8_t loop_slots = 0;   // the largest loop that the loop detector replays; 0: there is none
  bool loop_unrolls = false;     // and slots of two iterations share a cycle
  std::uint8_t queue_slots = 0;  // between decoding and issue: hides that much of a fetch miss
  std::uint8_t taken_branch_cycles = 0;

  std::uint8_t mispredict_cycles = 0;  // from resolution to the first right uop
  std::uint8_t resteer_cycles = 0;     // a taken branch that only the decoder found
  std::uint8_t microcode_cycles = 0;   // switch to the microcode sequencer

  PortSet load_ports = 1U << 2 | 1U << 3;  // a load begins at each in a cycle
  std::uint8_t vector_load_cycles = 0;     // what a load into a vector register takes longer,
  std::uint8_t indexed_load_cycles = 0;    // and one whose address has an index
  PortSet plain_address_ports = 0;         // make store addresses without an index only

  Fusion fusion = Fusion::None;
  bool eliminates_general_copies = false;
  bool eliminates_vector_copies = false;
  bool eliminates_zero_idioms = false;        // they take a slot and no port; otherwise they only break dependencies
  bool merges_upper_halves = false;           // uarch::merging()
  bool popcnt_waits_for_destination = false;  // a false dependence; of LZCNT and TZCNT too:
  bool lzcnt_waits_for_destination = false;
  bool splits_indexed_operands = false;  // an indexed operand of a three-operand form is not micro-fused
};

/// What timing needs of the memory side.
struct MemoryLimits {
  std::uint32_t load_cycles = 0;  // L1D, load to use
};

/// What keeps the numbers from being a core; null if nothing does.
constexpr const char* inconsistency(const TimingParameters& p) {
  if (p.issue_width == 0 || p.issue_width > 8 || p.issue_width == 7) return "a cycle has 1 to 6, or 8, issue slots";
  if (p.reorder_buffer < 64 || p.reorder_buffer > 1024) return "the reorder buffer has 64 to 1024 slots";
  if (p.load_ports == 0 || std::popcount(p.load_ports) > 3) return "a cycle begins 1 to 3 loads";
  if (p.scheduler == 0) return "there is a scheduler";
  if (p.fetch_bytes == 0 || (p.fetch_bytes & (p.fetch_bytes - 1)) != 0) return "fetch takes a power of two of bytes";
  if (p.predecode_width == 0 || p.decoders == 0 || p.decoder_slots == 0) return "there are a predecoder and decoders";
  if ((p.uop_cache_width == 0) != (p.uop_cache_slots == 0)) return "a uop cache has a width and a size";
  if (p.mispredict_cycles == 0 || p.taken_branch_cycles == 0) return "a mispredict and a taken branch take cycles";
  return nullptr;
}

}  // namespace zs::uarch

// How a modelled core fetches, decodes, issues and retires, as numbers, and the rows of the cores. What concerns caches and
// buffers of the memory side (latency of a load, fill buffers, store buffer) stands with it and comes in as MemoryLimits.
#pragma once

#include <cstdint>

#include "uarch/timing/uop_table.h"

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

  std::uint8_t vector_load_cycles = 0;   // what a load into a vector register takes longer,
  std::uint8_t indexed_load_cycles = 0;  // and one whose address has an index
  PortSet plain_address_ports = 0;       // make store addresses without an index only

  Fusion fusion = Fusion::None;
  bool eliminates_general_copies = false;
  bool eliminates_vector_copies = false;
  bool eliminates_zero_idioms = false;   // they take a slot and no port; otherwise they only break dependencies
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
  if (p.scheduler == 0) return "there is a scheduler";
  if (p.fetch_bytes == 0 || (p.fetch_bytes & (p.fetch_bytes - 1)) != 0) return "fetch takes a power of two of bytes";
  if (p.predecode_width == 0 || p.decoders == 0 || p.decoder_slots == 0) return "there are a predecoder and decoders";
  if ((p.uop_cache_width == 0) != (p.uop_cache_slots == 0)) return "a uop cache has a width and a size";
  if (p.mispredict_cycles == 0 || p.taken_branch_cycles == 0) return "a mispredict and a taken branch take cycles";
  return nullptr;
}

// clang-format off

/// source: issue, decoders, 28-slot loop buffer, 128 reorder buffer slots: Optimization manual, "Intel Microarchitecture Code
///         Name Nehalem"; 17 cycles of mispredict: zsim's note on its validated Westmere model; 12 of resteer: Intel's
///         top-down constants for Sandy Bridge.
/// source: scheduler: Sniper's Nehalem model.
/// chosen: predecoder as Sandy Bridge's; three cycles for the microcode switch.
inline constexpr TimingParameters kWestmereTiming{
    .column = UopColumn::Westmere, .issue_width = 4, .reorder_buffer = 128, .scheduler = 36,
    .fetch_bytes = 16, .predecode_width = 5, .length_change_cycles = 3, .decoders = 4, .decoder_slots = 4,
    .loop_slots = 28, .queue_slots = 28, .taken_branch_cycles = 2,
    .mispredict_cycles = 17, .resteer_cycles = 12, .microcode_cycles = 3, .vector_load_cycles = 2,
    .fusion = Fusion::CompareAndTest};

/// source: widths and sizes: uiCA's microarchitecture table, validated to 1 %; resteer, microcode: Intel's top-down constants;
///         mispredict 15 to 20 published, chosen 16.
inline constexpr TimingParameters kHaswellTiming{
    .column = UopColumn::Haswell, .issue_width = 4, .reorder_buffer = 192, .scheduler = 60,
    .fetch_bytes = 16, .predecode_width = 5, .length_change_cycles = 3, .decoders = 4, .decoder_slots = 4,
    .uop_cache_width = 4, .uop_cache_slots = 1536, .loop_slots = 56, .loop_unrolls = true, .queue_slots = 56,
    .taken_branch_cycles = 1,
    .mispredict_cycles = 16, .resteer_cycles = 12, .microcode_cycles = 2, .vector_load_cycles = 1,
    .indexed_load_cycles = 1, .plain_address_ports = 1U << 7, .fusion = Fusion::Arithmetic, .eliminates_general_copies = true, .eliminates_vector_copies = true,
    .eliminates_zero_idioms = true, .splits_indexed_operands = true};

/// source: as Haswell; no loop detector, as microcode updates left these parts (uiCA). Mispredict 16 to 20, chosen 17.
inline constexpr TimingParameters kSkylakeServerTiming{
    .column = UopColumn::SkylakeServer, .issue_width = 4, .reorder_buffer = 224, .scheduler = 97,
    .fetch_bytes = 16, .predecode_width = 5, .length_change_cycles = 3, .decoders = 4, .decoder_slots = 4,
    .uop_cache_width = 6, .uop_cache_slots = 1536, .queue_slots = 64, .taken_branch_cycles = 1,
    .mispredict_cycles = 17, .resteer_cycles = 9, .microcode_cycles = 2, .vector_load_cycles = 1,
    .indexed_load_cycles = 1, .plain_address_ports = 1U << 7, .fusion = Fusion::Arithmetic, .eliminates_general_copies = true, .eliminates_vector_copies = true,
    .eliminates_zero_idioms = true, .splits_indexed_operands = true};

/// source: as Haswell; copies of general registers are not eliminated, as microcode updates left these parts (uiCA).
///         Mispredict 17 to 21, chosen 18.
inline constexpr TimingParameters kIcelakeServerTiming{
    .column = UopColumn::IcelakeServer, .issue_width = 5, .reorder_buffer = 352, .scheduler = 160,
    .fetch_bytes = 16, .predecode_width = 5, .length_change_cycles = 3, .decoders = 5, .decoder_slots = 4,
    .uop_cache_width = 6, .uop_cache_slots = 2304, .loop_slots = 70, .loop_unrolls = true, .queue_slots = 70,
    .taken_branch_cycles = 1,
    .mispredict_cycles = 18, .resteer_cycles = 10, .microcode_cycles = 3, .vector_load_cycles = 1,
    .fusion = Fusion::Arithmetic, .eliminates_vector_copies = true, .eliminates_zero_idioms = true,
    .splits_indexed_operands = true};

/// source: Optimization manual, "Golden Cove Microarchitecture": 6 slots, 512 reorder buffer, 32 bytes and 6 decoders, uop cache
///         of 4K with 8 a cycle, queue of 144. Mispredict 17 to 24, chosen 19. chosen: resteer as Ice Lake; 200 for the three
///         schedulers together.
inline constexpr TimingParameters kSapphireRapidsTiming{
    .column = UopColumn::SapphireRapids, .issue_width = 6, .reorder_buffer = 512, .scheduler = 200,
    .fetch_bytes = 32, .predecode_width = 6, .length_change_cycles = 3, .decoders = 6, .decoder_slots = 4,
    .uop_cache_width = 8, .uop_cache_slots = 4096, .loop_slots = 144, .loop_unrolls = true, .queue_slots = 144,
    .taken_branch_cycles = 1,
    .mispredict_cycles = 19, .resteer_cycles = 10, .microcode_cycles = 3, .vector_load_cycles = 2,
    .fusion = Fusion::Arithmetic, .eliminates_general_copies = true, .eliminates_vector_copies = true,
    .eliminates_zero_idioms = true, .splits_indexed_operands = true};

/// source: AMD, "Software Optimization Guide for the AMD Zen4 Microarchitecture": 6 macro-ops, 320 retire queue, 4 decoders of
///         32 bytes, op cache of 6.75K with 9 a cycle; mispredict 11 to 18, common 13.
/// chosen: resteer 8, microcode 2; 160 for all schedulers together.
inline constexpr TimingParameters kZen4Timing{
    .column = UopColumn::Zen4, .issue_width = 6, .reorder_buffer = 320, .scheduler = 160,
    .fetch_bytes = 32, .predecode_width = 4, .decoders = 4, .decoder_slots = 2, .other_decoder_slots = 2,
    .uop_cache_width = 9, .uop_cache_slots = 6912, .queue_slots = 72, .taken_branch_cycles = 1,
    .mispredict_cycles = 13, .resteer_cycles = 8, .microcode_cycles = 2, .vector_load_cycles = 3,
    .fusion = Fusion::Arithmetic, .eliminates_general_copies = true, .eliminates_vector_copies = true,
    .eliminates_zero_idioms = true};

// clang-format on

static_assert(inconsistency(kWestmereTiming) == nullptr && inconsistency(kHaswellTiming) == nullptr);
static_assert(inconsistency(kSkylakeServerTiming) == nullptr && inconsistency(kIcelakeServerTiming) == nullptr);
static_assert(inconsistency(kSapphireRapidsTiming) == nullptr && inconsistency(kZen4Timing) == nullptr);

}  // namespace zs::uarch

#pragma once

#include "arch/cpus/westmere.h"
#include "uarch/branch/branch_parameters.h"
#include "uarch/core_model.h"
#include "uarch/timing/timing_parameters.h"

namespace zs::uarch {

// clang-format off

/// source: return_stack: Optimization manual, "Return Stack Buffer" (16 from Nehalem on); the two-level hybrid with about 18
///         outcomes: published measurements of Nehalem's predictor.
/// chosen: all sizes; the one indirect table with a short path.
inline constexpr BranchParameters kWestmereBranch{
    .conditional = ConditionalKind::Tournament, .base_entries = 16384, .outcome_entries = 16384, .outcome_history = 18,
    .indirect_last_entries = 1024, .indirect_histories = {8}, .indirect_entries = 1024,
    .return_stack = 16, .btb_entries = 2048, .btb_ways = 4};

/// source: issue, decoders, 28-slot loop buffer, 128 reorder buffer slots: Optimization manual, "Intel Microarchitecture Code
///         Name Nehalem"; 17 cycles of mispredict: zsim's note on its validated Westmere model; 12 of resteer: Intel's
///         top-down constants for Sandy Bridge.
/// source: scheduler: Sniper's Nehalem model.
/// chosen: predecoder as Sandy Bridge's; three cycles for the microcode switch.
inline constexpr TimingParameters kWestmereTiming{
    .column = UopColumn::Westmere, .issue_width = 4, .reorder_buffer = 128, .scheduler = 36,
    .fetch_bytes = 16, .predecode_width = 5, .length_change_cycles = 3, .decoders = 4, .decoder_slots = 4,
    .loop_slots = 28, .queue_slots = 28, .taken_branch_cycles = 2,
    .mispredict_cycles = 17, .resteer_cycles = 12, .microcode_cycles = 3, .load_ports = 1U << 2, .vector_load_cycles = 2,
    .fusion = Fusion::CompareAndTest};

static_assert(inconsistency(kWestmereBranch) == nullptr && inconsistency(kWestmereTiming) == nullptr);

/// Westmere client (06_25H), one thread per core.
/// source:   geometry, LLC inclusive, TLBs: CPUID leaves 2 and 4 of a Core i5-650. L1 policies, MRU in the LLC:
///           nanoBench papers. Snoop and HITM cycles, store buffer: Sniper's nehalem.cfg. Fill buffers: optimisation
///           manual.
/// measured: latencies from published stride matrices of an i5-650: LLC and DRAM are what the random chase of the
///           modelled memory must have to reach 50 and 358 cycles. DRAM gap, row discount, streamer: fitted to the
///           matrix.
///           Page splits: the 100 cycles that the Optimization manual says of those before Skylake.
/// chosen:   L1I policy, L2 policy of the generation, superqueue, PDE cache, gaps of L2 and LLC, when a store retires,
///           forwarding, locks, splits and aliases as measured on later parts; ITLB 128/4 as one thread alone has it.
inline constexpr CoreModel kWestmere1{
    .name = "westmere@1",
    .description = "Intel Core i5-650, Westmere client with its memory controller on the second die",
    .memory = {
        .l1i = {.bytes = 32_KiB, .ways = 4, .load_to_use_cycles = 4, .policy = policy("tree-plru")},
        .l1d = {.bytes = 32_KiB, .ways = 8, .load_to_use_cycles = 4, .policy = policy("tree-plru")},
        .l2 = {.bytes = 256_KiB, .ways = 8, .load_to_use_cycles = 10, .policy = policy("tree-plru")},
        .llc = {.bytes = 4_MiB, .ways = 16, .load_to_use_cycles = 48, .policy = policy("bit-plru")},
        .llc_role = LlcRole::Inclusive,
        .itlb = {.entries_4k = 128, .ways_4k = 4, .entries_2m = 7, .ways_2m = 7},
        .dtlb = {.entries_4k = 64, .ways_4k = 4, .entries_2m = 32, .ways_2m = 4},
        .stlb = {.entries_4k = 512, .ways_4k = 4},
        .stlb_hit_cycles = 7, .pde_cache = 32, .page_walkers = 1, .fill_buffers = 10, .superqueue = 16,
        .store_buffer = 32, .store_retire_cycles = 35, .snoop_hit_cycles = 65, .hitm_cycles = 75,
        .dram_cycles = 325, .dram_row_percent = 85, .l2_gap_cycles = 2, .llc_gap_cycles = 3,
        .dram_gap_cycles = 14, .forward_cycles = 5, .blocked_forward_cycles = 12, .alias_cycles = 5,
        .split_cycles = 7, .page_split_cycles = 100, .lock_cycles = 20, .split_lock_cycles = kSplitLockCycles,
        .retired = arch::kWestmere1.retired_accesses,
        .prefetch = {.next_line = true, .ip_stride = true, .ip_stride_waits = true, .adjacent = true,
                     .streamer_lines = 4, .streamer_distance = 20, .streamer_training = 3},
    },
    .branch = kWestmereBranch,
    .timing = kWestmereTiming,
};

// clang-format on

}  // namespace zs::uarch

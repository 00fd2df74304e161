#pragma once

#include "arch/cpus/haswell.h"
#include "uarch/branch/branch_parameters.h"
#include "uarch/core_model.h"
#include "uarch/timing/timing_parameters.h"

namespace zs::uarch {

// clang-format off

/// source: path of 93 taken branches, tagged tables over about 8, 32 and all of it: the Half&Half paper on Haswell to
///         Skylake; history-hashed indirect prediction: the CGO 2015 study of interpreters on Haswell; 4096 BTB entries:
///         published measurements.
/// fitted: sets, ways and allocations of the tagged tables: what a Skylake learns of a repeated sequence (docs/models/branch.md).
/// chosen: entries of the base; four ways of the BTB; indirect histories as the conditional ones.
inline constexpr BranchParameters kHaswellBranch{
    .base_entries = 8192, .histories = {8, 32, 93}, .tagged_sets = 512, .allocates_of_16 = 7,
    .indirect_last_entries = 1024, .indirect_histories = {4, 8, 32, 93}, .indirect_entries = 1024,
    .return_stack = 16, .btb_entries = 4096, .btb_ways = 4};

/// source: widths and sizes: uiCA's microarchitecture table, validated to 1 %; resteer, microcode: Intel's top-down constants;
///         mispredict 15 to 20 published, chosen 16;
///         POPCNT, LZCNT and TZCNT wait for their destination: errata HSD146 and BDM85 as published.
inline constexpr TimingParameters kHaswellTiming{
    .column = UopColumn::Haswell, .issue_width = 4, .reorder_buffer = 192, .scheduler = 60,
    .fetch_bytes = 16, .predecode_width = 5, .length_change_cycles = 3, .decoders = 4, .decoder_slots = 4,
    .uop_cache_width = 4, .uop_cache_slots = 1536, .loop_slots = 56, .loop_unrolls = true, .queue_slots = 56,
    .taken_branch_cycles = 1,
    .mispredict_cycles = 16, .resteer_cycles = 12, .microcode_cycles = 2, .vector_load_cycles = 1,
    .indexed_load_cycles = 1, .plain_address_ports = 1U << 7, .fusion = Fusion::Arithmetic, .eliminates_general_copies = true, .eliminates_vector_copies = true,
    .eliminates_zero_idioms = true, .popcnt_waits_for_destination = true, .lzcnt_waits_for_destination = true, .splits_indexed_operands = true};

static_assert(inconsistency(kHaswellBranch) == nullptr && inconsistency(kHaswellTiming) == nullptr);

/// Haswell client (06_3CH), one thread per core.
/// source:   geometry, LLC inclusive and hashed, TLBs: CPUID leaves 2 and 4 of a Core i7-4770. L1 policies: nanoBench
///           papers.
///           Snoop and HITM cycles, STLB penalty: constants of the published top-down model. Buffers: Travis Downs.
/// measured: latencies from published stride matrices of an i7-4770: LLC and DRAM are what the random chase of the
///           modelled memory must have to reach 41 and 279 cycles. DRAM gap, row discount, streamer: fitted to the
///           matrix.
///           Page splits: the 100 cycles that the Optimization manual says of those before Skylake.
///           Aliases: the 5 cycles each that Intel's tuning guides reckon (LD_BLOCKS_PARTIAL.ADDRESS_ALIAS * 5).
/// chosen:   L2 policy of the generation; the LLC's adaptive policy without its set duel; superqueue, PDE cache, gaps
///           of L2 and LLC, when a store retires, cycles of blocked forwarding and splits.
inline constexpr CoreModel kHaswell1{
    .name = "haswell@1",
    .description = "Intel Core i7-4770, Haswell client",
    .memory = {
        .l1i = {.bytes = 32_KiB, .ways = 8, .load_to_use_cycles = 4, .policy = policy("tree-plru")},
        .l1d = {.bytes = 32_KiB, .ways = 8, .load_to_use_cycles = 4, .policy = policy("tree-plru")},
        .l2 = {.bytes = 256_KiB, .ways = 8, .load_to_use_cycles = 12, .policy = policy("tree-plru")},
        .llc = {.bytes = 8_MiB, .ways = 16, .load_to_use_cycles = 38, .policy = policy("qlru_h11_m1_r0_u0"),
                .hashed = true},
        .llc_role = LlcRole::Inclusive,
        .itlb = {.entries_4k = 128, .ways_4k = 8, .entries_2m = 8, .ways_2m = 8},
        .dtlb = {.entries_4k = 64, .ways_4k = 4, .entries_2m = 32, .ways_2m = 4},
        .stlb = {.entries_4k = 1024, .ways_4k = 8, .shared_2m = true},
        .stlb_hit_cycles = 8, .pde_cache = 32, .page_walkers = 1, .fill_buffers = 10, .superqueue = 16,
        .store_buffer = 42, .store_retire_cycles = 35, .snoop_hit_cycles = 43, .hitm_cycles = 60,
        .dram_cycles = 245, .dram_row_percent = 85, .l2_gap_cycles = 2, .llc_gap_cycles = 3,
        .dram_gap_cycles = 12, .forward_cycles = 5, .blocked_forward_cycles = 11, .alias_cycles = 5,
        .split_cycles = 7, .page_split_cycles = 100, .lock_cycles = 19, .split_lock_cycles = kSplitLockCycles,
        .retired = arch::kHaswell1.retired_accesses,
        .prefetch = {.next_line = true, .ip_stride = true, .ip_stride_waits = true, .adjacent = true,
                     .streamer_lines = 4, .streamer_distance = 20, .streamer_training = 3},
    },
    .branch = kHaswellBranch,
    .timing = kHaswellTiming,
};

// clang-format on

}  // namespace zs::uarch

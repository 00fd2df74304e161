#pragma once

#include "uarch/branch/branch_parameters.h"
#include "uarch/core_model.h"
#include "uarch/timing/timing_parameters.h"

namespace zs::uarch {

// clang-format off

/// source: TAGE conditional and ITTAGE-like indirect prediction, 32 return addresses, second-level BTB of 7K: AMD's
///         "Software Optimization Guide for the AMD Zen4 Microarchitecture".
/// chosen: histories and entries; the 7K in seven ways.
inline constexpr BranchParameters kZen4Branch{
    .base_entries = 16384, .histories = {16, 32, 80, 160}, .tagged_sets = 1024,
    .indirect_last_entries = 1024, .indirect_histories = {4, 8, 32, 93}, .indirect_entries = 1024,
    .return_stack = 32, .btb_entries = 7168, .btb_ways = 7};

/// source: AMD, "Software Optimization Guide for the AMD Zen4 Microarchitecture": 6 macro-ops, 320 retire queue, 4 decoders of
///         32 bytes, op cache of 6.75K with 9 a cycle; mispredict 11 to 18, common 13.
/// chosen: resteer 8, microcode 2; 160 for all schedulers together.
inline constexpr TimingParameters kZen4Timing{
    .column = UopColumn::Zen4, .issue_width = 6, .reorder_buffer = 320, .scheduler = 160,
    .fetch_bytes = 32, .predecode_width = 4, .decoders = 4, .decoder_slots = 2, .other_decoder_slots = 2,
    .uop_cache_width = 9, .uop_cache_slots = 6912, .queue_slots = 72, .taken_branch_cycles = 1,
    .mispredict_cycles = 13, .resteer_cycles = 8, .microcode_cycles = 2, .load_ports = 1U << 4 | 1U << 5 | 1U << 6, .vector_load_cycles = 3,
    .fusion = Fusion::Arithmetic, .eliminates_general_copies = true, .eliminates_vector_copies = true,
    .eliminates_zero_idioms = true};

static_assert(inconsistency(kZen4Branch) == nullptr && inconsistency(kZen4Timing) == nullptr);

/// Zen 4 (19_61H), one thread per core, the cores of one complex.
/// source:   geometry, L2 inclusive of L1, LLC a victim cache, TLBs: CPUID leaves 8000'0005H, 8000'0006H and 8000'001DH
///           of a Ryzen 9 7950X.
/// measured: latencies from published memory-latency matrices of that part: 14, 50 to 54 and 404 to 423 cycles. Memory
///           renaming: loops on an EPYC 7003 (Zen 3), 1 cycle for a load and a store of the same bytes on each other,
///           however their addresses are written.
/// chosen:   replacement (trees in L1 and L2, SRRIP in L3); snoop and HITM cycles; fill buffers, superqueue, store
///           buffer's times, row discount, gaps; prefetch as next line, stride and a streamer like Intel's, where the
///           part also has regional ones.
/// fitted:   how far the stride prefetcher runs ahead, and what the streamer sees: published matrix of a Ryzen 9 5900X
///           (Zen 3), within a factor of 2 in the mean.
inline constexpr CoreModel kZen4V1{
    .name = "zen4@1",
    .description = "AMD Ryzen 9 7950X, Zen 4, one core complex",
    .memory = {
        .l1i = {.bytes = 32_KiB, .ways = 8, .load_to_use_cycles = 4, .policy = policy("tree-plru")},
        .l1d = {.bytes = 32_KiB, .ways = 8, .load_to_use_cycles = 4, .policy = policy("tree-plru")},
        .l2 = {.bytes = 1_MiB, .ways = 8, .load_to_use_cycles = 14, .policy = policy("tree-plru")},
        .llc = {.bytes = 32_MiB, .ways = 16, .load_to_use_cycles = 50, .policy = policy("srrip")},
        .llc_role = LlcRole::Victim, .l2_includes_l1 = true,
        .itlb = {.entries_4k = 64, .ways_4k = 64, .shared_2m = true},
        .dtlb = {.entries_4k = 72, .ways_4k = 72, .shared_2m = true},
        .stlb = {.entries_4k = 3072, .ways_4k = 8, .shared_2m = true},
        .stlb_hit_cycles = 7, .pde_cache = 64, .page_walkers = 6, .fill_buffers = 24, .superqueue = 48,
        .store_buffer = 64, .store_retire_cycles = 35, .snoop_hit_cycles = 80, .hitm_cycles = 100,
        .dram_cycles = 370, .dram_row_percent = 85, .l2_gap_cycles = 2, .llc_gap_cycles = 2,
        .dram_gap_cycles = 10, .forward_cycles = 7, .blocked_forward_cycles = 13, .split_cycles = 1,
        .lock_cycles = 17, .split_lock_cycles = kSplitLockCycles, .renames_memory = true,
        .prefetch = {.next_line = true, .ip_stride = true, .ip_stride_ahead = 16, .streamer_lines = 4,
                     .streamer_distance = 20, .streamer_training = 2, .streamer_sees_prefetches = false},
    },
    .branch = kZen4Branch,
    .timing = kZen4Timing,
};

// clang-format on

}  // namespace zs::uarch

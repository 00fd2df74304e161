#pragma once

#include "uarch/branch/branch_parameters.h"
#include "uarch/core_model.h"
#include "uarch/timing/timing_parameters.h"

namespace zs::uarch {

/// Westmere client (06_25H), one thread per core.
/// source:   geometry, LLC inclusive, TLBs: CPUID leaves 2 and 4 of a Core i5-650. L1 policies, MRU in the LLC: nanoBench
///           papers. Snoop and HITM cycles, store buffer: Sniper's nehalem.cfg. Fill buffers: optimisation manual.
/// measured: latencies from published stride matrices of an i5-650: LLC and DRAM are what the random chase of the modelled
///           memory must have to reach 50 and 358 cycles. DRAM gap, row discount, streamer: fitted to the matrix.
/// chosen:   L1I policy, L2 policy of the generation, superqueue, PDE cache, gaps of L2 and LLC, when a store retires,
///           forwarding, locks, splits and aliases as measured on later parts; ITLB 128/4 as one thread alone has it.
inline constexpr CoreModel kWestmere1{
    .name = "westmere@1",
    .description = "Intel Core i5-650, Westmere client with its memory controller on the second die",
    .memory =
        {
            .l1i = {.bytes = 32_KiB, .ways = 4, .load_to_use_cycles = 4, .policy = policy("tree-plru")},
            .l1d = {.bytes = 32_KiB, .ways = 8, .load_to_use_cycles = 4, .policy = policy("tree-plru")},
            .l2 = {.bytes = 256_KiB, .ways = 8, .load_to_use_cycles = 10, .policy = policy("tree-plru")},
            .llc = {.bytes = 4_MiB, .ways = 16, .load_to_use_cycles = 48, .policy = policy("bit-plru")},
            .llc_role = LlcRole::Inclusive,
            .itlb = {.entries_4k = 128, .ways_4k = 4, .entries_2m = 7, .ways_2m = 7},
            .dtlb = {.entries_4k = 64, .ways_4k = 4, .entries_2m = 32, .ways_2m = 4},
            .stlb = {.entries_4k = 512, .ways_4k = 4},
            .stlb_hit_cycles = 7,
            .pde_cache = 32,
            .page_walkers = 1,
            .fill_buffers = 10,
            .superqueue = 16,
            .store_buffer = 32,
            .store_retire_cycles = 35,
            .snoop_hit_cycles = 65,
            .hitm_cycles = 75,
            .dram_cycles = 325,
            .dram_row_percent = 85,
            .l2_gap_cycles = 2,
            .llc_gap_cycles = 3,
            .dram_gap_cycles = 14,
            .forward_cycles = 5,
            .blocked_forward_cycles = 13,
            .alias_cycles = 5,
            .split_cycles = 7,
            .lock_cycles = 20,
            .prefetch = {.next_line = true,
                         .ip_stride = true,
                         .adjacent = true,
                         .streamer_lines = 4,
                         .streamer_distance = 20,
                         .streamer_training = 3},
        },
    .branch = kWestmereBranch,
    .timing = kWestmereTiming,
};

}  // namespace zs::uarch

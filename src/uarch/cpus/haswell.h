#pragma once

#include "uarch/branch/branch_parameters.h"
#include "uarch/core_model.h"
#include "uarch/timing/timing_parameters.h"

namespace zs::uarch {

/// Haswell client (06_3CH), one thread per core.
/// source:   geometry, LLC inclusive and hashed, TLBs: CPUID leaves 2 and 4 of a Core i7-4770. L1 policies: nanoBench papers.
///           Snoop and HITM cycles, STLB penalty: constants of the published top-down model. Buffers: Travis Downs.
/// measured: latencies from published stride matrices of an i7-4770: LLC and DRAM are what the random chase of the modelled
///           memory must have to reach 41 and 279 cycles. DRAM gap, row discount, streamer: fitted to the matrix.
/// chosen:   L2 policy of the generation; the LLC's adaptive policy without its set duel; superqueue, PDE cache, gaps of L2
///           and LLC, when a store retires, cycles of blocked forwarding, splits and aliases.
inline constexpr CoreModel kHaswell1{
    .name = "haswell@1",
    .description = "Intel Core i7-4770, Haswell client",
    .memory =
        {
            .l1i = {.bytes = 32_KiB, .ways = 8, .load_to_use_cycles = 4, .policy = policy("tree-plru")},
            .l1d = {.bytes = 32_KiB, .ways = 8, .load_to_use_cycles = 4, .policy = policy("tree-plru")},
            .l2 = {.bytes = 256_KiB, .ways = 8, .load_to_use_cycles = 12, .policy = policy("tree-plru")},
            .llc = {.bytes = 8_MiB,
                    .ways = 16,
                    .load_to_use_cycles = 38,
                    .policy = policy("qlru_h11_m1_r0_u0"),
                    .hashed = true},
            .llc_role = LlcRole::Inclusive,
            .itlb = {.entries_4k = 128, .ways_4k = 8, .entries_2m = 8, .ways_2m = 8},
            .dtlb = {.entries_4k = 64, .ways_4k = 4, .entries_2m = 32, .ways_2m = 4},
            .stlb = {.entries_4k = 1024, .ways_4k = 8, .shared_2m = true},
            .stlb_hit_cycles = 8,
            .pde_cache = 32,
            .page_walkers = 1,
            .fill_buffers = 10,
            .superqueue = 16,
            .store_buffer = 42,
            .store_retire_cycles = 35,
            .snoop_hit_cycles = 43,
            .hitm_cycles = 60,
            .dram_cycles = 245,
            .dram_row_percent = 85,
            .l2_gap_cycles = 2,
            .llc_gap_cycles = 3,
            .dram_gap_cycles = 12,
            .forward_cycles = 5,
            .blocked_forward_cycles = 12,
            .alias_cycles = 6,
            .split_cycles = 7,
            .lock_cycles = 19,
            .prefetch = {.next_line = true,
                         .ip_stride = true,
                         .adjacent = true,
                         .streamer_lines = 4,
                         .streamer_distance = 20,
                         .streamer_training = 3},
        },
    .branch = kHaswellBranch,
    .timing = kHaswellTiming,
};

}  // namespace zs::uarch

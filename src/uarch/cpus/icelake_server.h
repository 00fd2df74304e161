#pragma once

#include "uarch/branch/branch_parameters.h"
#include "uarch/core_model.h"
#include "uarch/timing/timing_parameters.h"

namespace zs::uarch {

/// Ice Lake server (06_6AH), one thread per core.
/// source:   geometry, LLC hashed and not inclusive, TLBs: CPUID leaves 4 and 18H of a Xeon Gold 6336Y. L1 policy and latency:
///           nanoBench papers, client part. LLC, snoop, HITM, DRAM: 23, 47.5, 48 and 66.5 ns of the published top-down model.
/// chosen:   3.1 GHz to turn those into cycles; L2 and LLC policies as on the client part; STLB 2048/8 for pages of both
///           sizes, where the part has a half that takes no 2 MiB pages; streamer as fitted for Skylake server; gaps and the time
///           until a store retires as there; superqueue, PDE cache, cycles of locks, blocked forwarding, splits and aliases.
inline constexpr CoreModel kIcelakeServer1{
    .name = "icelake-server@1",
    .description = "Intel Xeon Gold 6336Y, Ice Lake server",
    .memory =
        {
            .l1i = {.bytes = 32_KiB, .ways = 8, .load_to_use_cycles = 5, .policy = policy("tree-plru")},
            .l1d = {.bytes = 48_KiB, .ways = 12, .load_to_use_cycles = 5, .policy = policy("three-plru4")},
            .l2 = {.bytes = 1280_KiB, .ways = 20, .load_to_use_cycles = 14, .policy = policy("qlru_h00_m1_r0_u1")},
            .llc = {.bytes = 36_MiB,
                    .ways = 12,
                    .load_to_use_cycles = 71,
                    .policy = policy("qlru_h11_m1_r0_u0"),
                    .hashed = true},
            .llc_role = LlcRole::Victim,
            .itlb = {.entries_4k = 128, .ways_4k = 8, .entries_2m = 8, .ways_2m = 8},
            .dtlb = {.entries_4k = 64, .ways_4k = 4, .entries_2m = 32, .ways_2m = 4},
            .stlb = {.entries_4k = 2048, .ways_4k = 8, .shared_2m = true},
            .dtlb_stores = 16,
            .stlb_hit_cycles = 7,
            .pde_cache = 32,
            .page_walkers = 2,
            .fill_buffers = 12,
            .superqueue = 48,
            .store_buffer = 72,
            .store_retire_cycles = 35,
            .snoop_hit_cycles = 147,
            .hitm_cycles = 149,
            .dram_cycles = 206,
            .dram_row_percent = 85,
            .l2_gap_cycles = 2,
            .llc_gap_cycles = 2,
            .dram_gap_cycles = 6,
            .forward_cycles = 5,
            .blocked_forward_cycles = 13,
            .alias_cycles = 4,
            .split_cycles = 7,
            .lock_cycles = 18,
            .locked_loads_count_as_l1 = true,
            .prefetch = {.next_line = true,
                         .ip_stride = true,
                         .adjacent = true,
                         .streamer_lines = 3,
                         .streamer_distance = 20,
                         .streamer_training = 3},
        },
    .branch = kIcelakeServerBranch,
    .timing = kIcelakeServerTiming,
};

}  // namespace zs::uarch

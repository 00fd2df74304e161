#pragma once

#include "arch/cpus/skylake_server.h"
#include "uarch/branch/branch_parameters.h"
#include "uarch/core_model.h"
#include "uarch/cpus/haswell.h"
#include "uarch/timing/timing_parameters.h"

namespace zs::uarch {

// clang-format off

/// As Haswell: the same papers found the same structure.
inline constexpr BranchParameters kSkylakeServerBranch = kHaswellBranch;

/// source: as Haswell; no loop detector, as microcode updates left these parts (uiCA). Mispredict 16 to 20, chosen 17.
///         POPCNT waits for its destination: erratum SKL029.
inline constexpr TimingParameters kSkylakeServerTiming{
    .column = UopColumn::SkylakeServer, .issue_width = 4, .reorder_buffer = 224, .scheduler = 97,
    .fetch_bytes = 16, .predecode_width = 5, .length_change_cycles = 3, .decoders = 4, .decoder_slots = 4,
    .uop_cache_width = 6, .uop_cache_slots = 1536, .queue_slots = 64, .taken_branch_cycles = 1,
    .mispredict_cycles = 17, .resteer_cycles = 9, .microcode_cycles = 2, .vector_load_cycles = 1,
    .indexed_load_cycles = 1, .plain_address_ports = 1U << 7, .fusion = Fusion::Arithmetic, .eliminates_general_copies = true, .eliminates_vector_copies = true,
    .eliminates_zero_idioms = true, .merges_upper_halves = true, .popcnt_waits_for_destination = true, .splits_indexed_operands = true};

static_assert(inconsistency(kSkylakeServerBranch) == nullptr && inconsistency(kSkylakeServerTiming) == nullptr);

/// Skylake server (06_55H stepping 4), one thread per core.
/// source:   geometry, LLC hashed and not inclusive, TLBs: CPUID leaves 2 and 4 of a Xeon Platinum 8160. L1 policies:
///           nanoBench papers. Snoop and HITM: 47.5 ns of the published top-down model at the 3.66 GHz at which its LLC
///           and DRAM meet the matrices. Buffers: Travis Downs. STLB 12-way: measurements contradict CPUID's 6.
/// measured: latencies from published stride matrices of an i9-7900X: LLC and DRAM are what the random chase of the
///           modelled memory must have to reach 75 and 291 cycles. Row discount, streamer: fitted to the matrix. Gaps:
///           published cycles of random 64-byte stores. When a store retires: published stalls of 57 stores a loop.
///           Locks: Travis Downs.
///           Page splits: Optimization manual, "Cache and Memory Subsystem" of Skylake: from 100 cycles down to 5.
///           Aliases: as Haswell.
/// chosen:   L2 and LLC policies, which nobody published, as on the client part; superqueue, PDE cache,
///           cycles of blocked forwarding and splits.
inline constexpr CoreModel kSkylakeServer1{
    .name = "skylake-server@1",
    .description = "Intel Xeon Platinum 8160, Skylake server",
    .memory = {
        .l1i = {.bytes = 32_KiB, .ways = 8, .load_to_use_cycles = 4, .policy = policy("tree-plru")},
        .l1d = {.bytes = 32_KiB, .ways = 8, .load_to_use_cycles = 4, .policy = policy("tree-plru")},
        .l2 = {.bytes = 1_MiB, .ways = 16, .load_to_use_cycles = 14, .policy = policy("qlru_h00_m1_r2_u1")},
        .llc = {.bytes = 33_MiB, .ways = 11, .load_to_use_cycles = 71, .policy = policy("qlru_h11_m1_r0_u0"),
                .hashed = true},
        .llc_role = LlcRole::Victim,
        .itlb = {.entries_4k = 128, .ways_4k = 8, .entries_2m = 8, .ways_2m = 8},
        .dtlb = {.entries_4k = 64, .ways_4k = 4, .entries_2m = 32, .ways_2m = 4},
        .stlb = {.entries_4k = 1536, .ways_4k = 12, .shared_2m = true},
        .stlb_hit_cycles = 9, .pde_cache = 32, .page_walkers = 2, .fill_buffers = 12, .superqueue = 32,
        .store_buffer = 56, .store_retire_cycles = 35, .snoop_hit_cycles = 174, .hitm_cycles = 174,
        .dram_cycles = 275, .dram_row_percent = 85, .l2_gap_cycles = 2, .llc_gap_cycles = 2,
        .dram_gap_cycles = 6, .forward_cycles = 5, .blocked_forward_cycles = 11, .alias_cycles = 5,
        .split_cycles = 7, .page_split_cycles = 5, .lock_cycles = 19, .split_lock_cycles = kSplitLockCycles,
        .retired = arch::kSkylakeServer1.retired_accesses,
        .prefetch = {.next_line = true, .ip_stride = true, .ip_stride_waits = true, .adjacent = true,
                     .streamer_lines = 3, .streamer_distance = 20, .streamer_training = 3},
    },
    .branch = kSkylakeServerBranch,
    .timing = kSkylakeServerTiming,
};

// clang-format on

}  // namespace zs::uarch

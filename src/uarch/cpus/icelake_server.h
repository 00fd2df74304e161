#pragma once

#include "arch/cpus/icelake_server.h"
#include "uarch/branch/branch_parameters.h"
#include "uarch/core_model.h"
#include "uarch/timing/timing_parameters.h"

namespace zs::uarch {

// clang-format off

/// source: as Haswell; larger BTB and return stack: published measurements of Sunny Cove.
/// chosen: 16384 base entries, 22 return addresses, 5120 BTB entries in five ways.
inline constexpr BranchParameters kIcelakeServerBranch{
    .base_entries = 16384, .histories = {8, 32, 93}, .tagged_sets = 512, .allocates_of_16 = 7,
    .indirect_last_entries = 2048, .indirect_histories = {4, 8, 32, 93}, .indirect_entries = 1024,
    .return_stack = 22, .btb_entries = 5120, .btb_ways = 5};

/// source: as Haswell; copies of general registers are not eliminated, as microcode updates left these parts (uiCA).
///         Mispredict 17 to 21, chosen 18.
inline constexpr TimingParameters kIcelakeServerTiming{
    .column = UopColumn::IcelakeServer, .issue_width = 5, .reorder_buffer = 352, .scheduler = 160,
    .fetch_bytes = 16, .predecode_width = 5, .length_change_cycles = 3, .decoders = 5, .decoder_slots = 4,
    .uop_cache_width = 6, .uop_cache_slots = 2304, .loop_slots = 70, .loop_unrolls = true, .queue_slots = 70,
    .taken_branch_cycles = 1,
    .mispredict_cycles = 18, .resteer_cycles = 10, .microcode_cycles = 3, .vector_load_cycles = 1,
    .fusion = Fusion::Arithmetic, .eliminates_vector_copies = true, .eliminates_zero_idioms = true, .merges_upper_halves = true,
    .splits_indexed_operands = true};

static_assert(inconsistency(kIcelakeServerBranch) == nullptr && inconsistency(kIcelakeServerTiming) == nullptr);

/// Ice Lake server (06_6AH), one thread per core.
/// source:   geometry, LLC hashed and not inclusive, TLBs: CPUID leaves 4 and 18H of a Xeon Gold 6336Y. L1 policy and
///           latency: nanoBench papers, client part. LLC, snoop, HITM, DRAM: 23, 47.5, 48 and 66.5 ns of the published
///           top-down model.
/// chosen:   3.1 GHz to turn those into cycles; L2 and LLC policies as on the client part; STLB 2048/8 for pages of
///           both sizes, where the part has a half that takes no 2 MiB pages; streamer as fitted for Skylake server;
///           gaps and the time until a store retires as there; superqueue, PDE cache, cycles of locks, blocked
///           forwarding, splits and aliases.
inline constexpr CoreModel kIcelakeServer1{
    .name = "icelake-server@1",
    .description = "Intel Xeon Gold 6336Y, Ice Lake server",
    .memory = {
        .l1i = {.bytes = 32_KiB, .ways = 8, .load_to_use_cycles = 5, .policy = policy("tree-plru")},
        .l1d = {.bytes = 48_KiB, .ways = 12, .load_to_use_cycles = 5, .policy = policy("three-plru4")},
        .l2 = {.bytes = 1280_KiB, .ways = 20, .load_to_use_cycles = 14, .policy = policy("qlru_h00_m1_r0_u1")},
        .llc = {.bytes = 36_MiB, .ways = 12, .load_to_use_cycles = 71, .policy = policy("qlru_h11_m1_r0_u0"),
                .hashed = true},
        .llc_role = LlcRole::Victim,
        .itlb = {.entries_4k = 128, .ways_4k = 8, .entries_2m = 8, .ways_2m = 8},
        .dtlb = {.entries_4k = 64, .ways_4k = 4, .entries_2m = 32, .ways_2m = 4},
        .stlb = {.entries_4k = 2048, .ways_4k = 8, .shared_2m = true},
        .dtlb_stores = 16, .stlb_hit_cycles = 7, .pde_cache = 32, .page_walkers = 2, .fill_buffers = 12,
        .superqueue = 48, .store_buffer = 72, .store_retire_cycles = 35, .snoop_hit_cycles = 147,
        .hitm_cycles = 149, .dram_cycles = 206, .dram_row_percent = 85, .l2_gap_cycles = 2, .llc_gap_cycles = 2,
        .dram_gap_cycles = 6, .forward_cycles = 5, .blocked_forward_cycles = 12, .alias_cycles = 5,
        .split_cycles = 7, .page_split_cycles = 5, .lock_cycles = 18, .split_lock_cycles = kSplitLockCycles,
        .retired = arch::kIcelakeServer1.retired_accesses,
        .prefetch = {.next_line = true, .ip_stride = true, .ip_stride_waits = true, .adjacent = true,
                     .streamer_lines = 3, .streamer_distance = 20, .streamer_training = 3},
    },
    .branch = kIcelakeServerBranch,
    .timing = kIcelakeServerTiming,
};

// clang-format on

}  // namespace zs::uarch

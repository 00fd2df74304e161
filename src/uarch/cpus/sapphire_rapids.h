#pragma once

#include "arch/cpus/sapphire_rapids.h"
#include "uarch/branch/branch_parameters.h"
#include "uarch/core_model.h"
#include "uarch/timing/timing_parameters.h"

namespace zs::uarch {

// clang-format off

/// source: path of 194 taken branches: the Pathfinder paper on Golden Cove; 12K BTB entries: Optimization manual, "Golden Cove
///         Microarchitecture".
/// chosen: four tables and the histories between; 24 return addresses; six ways.
inline constexpr BranchParameters kSapphireRapidsBranch{
    .base_entries = 16384, .histories = {8, 32, 93, 194}, .tagged_sets = 512, .allocates_of_16 = 7,
    .indirect_last_entries = 2048, .indirect_histories = {4, 8, 32, 194}, .indirect_entries = 1024,
    .return_stack = 24, .btb_entries = 12288, .btb_ways = 6};

/// source: Optimization manual, "Golden Cove Microarchitecture": 6 slots, 512 reorder buffer, 32 bytes and 6 decoders, uop cache
///         of 4K with 8 a cycle, queue of 144. Mispredict 17 to 24, chosen 19. chosen: resteer as Ice Lake; 200 for the three
///         schedulers together.
inline constexpr TimingParameters kSapphireRapidsTiming{
    .column = UopColumn::SapphireRapids, .issue_width = 6, .reorder_buffer = 512, .scheduler = 200,
    .fetch_bytes = 32, .predecode_width = 6, .length_change_cycles = 3, .decoders = 6, .decoder_slots = 4,
    .uop_cache_width = 8, .uop_cache_slots = 4096, .loop_slots = 144, .loop_unrolls = true, .queue_slots = 144,
    .taken_branch_cycles = 1,
    .mispredict_cycles = 19, .resteer_cycles = 10, .microcode_cycles = 3, .load_ports = 1U << 2 | 1U << 3 | 1U << 11, .vector_load_cycles = 2,
    .fusion = Fusion::Arithmetic, .eliminates_general_copies = true, .eliminates_vector_copies = true,
    .eliminates_zero_idioms = true, .merges_upper_halves = true, .splits_indexed_operands = true};

static_assert(inconsistency(kSapphireRapidsBranch) == nullptr && inconsistency(kSapphireRapidsTiming) == nullptr);

/// Sapphire Rapids (06_8FH), one thread per core.
/// source:   geometry, LLC hashed and not inclusive, TLBs: CPUID leaves 4 and 18H of a Xeon w7-2475X. Buffers:
///           optimisation manual, Golden Cove. Memory renaming: published measurements of Golden Cove.
/// chosen:   LLC, snoop, HITM and DRAM of Ice Lake server, because published models carry the client part's for this
///           one; L1D policy of Ice Lake's 12 ways, L2 and LLC policies as there; loads' TLB 96/6 as client parts
///           report it; STLB as on Ice Lake server; streamer as fitted for Skylake server; gaps and the time until a
///           store retires as there; superqueue, PDE cache, cycles of locks, blocked forwarding, splits and aliases;
///           that memory is renamed only where addresses are written alike.
/// The LLC and array-of-pointers prefetchers of this generation are not modelled.
inline constexpr CoreModel kSapphireRapids1{
    .name = "sapphire-rapids@1",
    .description = "Intel Xeon w7-2475X, Sapphire Rapids",
    .memory = {
        .l1i = {.bytes = 32_KiB, .ways = 8, .load_to_use_cycles = 5, .policy = policy("tree-plru")},
        .l1d = {.bytes = 48_KiB, .ways = 12, .load_to_use_cycles = 5, .policy = policy("three-plru4")},
        .l2 = {.bytes = 2_MiB, .ways = 16, .load_to_use_cycles = 16, .policy = policy("qlru_h00_m1_r0_u1")},
        .llc = {.bytes = 38400_KiB, .ways = 15, .load_to_use_cycles = 71, .policy = policy("qlru_h11_m1_r0_u0"),
                .hashed = true},
        .llc_role = LlcRole::Victim,
        .itlb = {.entries_4k = 256, .ways_4k = 8, .entries_2m = 32, .ways_2m = 8},
        .dtlb = {.entries_4k = 96, .ways_4k = 6, .entries_2m = 32, .ways_2m = 4},
        .stlb = {.entries_4k = 2048, .ways_4k = 8, .shared_2m = true},
        .dtlb_stores = 16, .stlb_hit_cycles = 7, .pde_cache = 32, .page_walkers = 4, .fill_buffers = 16,
        .superqueue = 48, .store_buffer = 114, .store_retire_cycles = 35, .snoop_hit_cycles = 147,
        .hitm_cycles = 149, .dram_cycles = 206, .dram_row_percent = 85, .l2_gap_cycles = 2, .llc_gap_cycles = 2,
        .dram_gap_cycles = 6, .forward_cycles = 5, .blocked_forward_cycles = 12, .alias_cycles = 5,
        .split_cycles = 7, .page_split_cycles = 5, .lock_cycles = 18, .split_lock_cycles = kSplitLockCycles,
        .renames_memory = true, .renames_alike_only = true, .retired = arch::kSapphireRapids1.retired_accesses,
        .prefetch = {.next_line = true, .ip_stride = true, .ip_stride_waits = true, .adjacent = true,
                     .streamer_lines = 3, .streamer_distance = 20, .streamer_training = 3},
    },
    .branch = kSapphireRapidsBranch,
    .timing = kSapphireRapidsTiming,
};

// clang-format on

}  // namespace zs::uarch

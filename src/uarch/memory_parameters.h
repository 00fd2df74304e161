// What the memory side of a modelled core is made of, as numbers. A CPU model is one value of this (cpus/), a what-if
// is a changed copy (overrides.h). Cycles are core cycles; latencies are load-to-use, counted from dispatch.
#pragma once

#include <cstdint>

#include "arch/retired.h"
#include "base/units.h"
#include "uarch/replacement/policy_spec.h"

namespace zs::uarch {

inline constexpr unsigned kLineBits = 6;  // 64-byte lines: every processor modelled here
inline constexpr unsigned kLineBytes = 1U << kLineBits;
inline constexpr unsigned kPageBits = 12;
inline constexpr unsigned kLinesPerPage = 1U << (kPageBits - kLineBits);
inline constexpr unsigned kMaxCores = 64;  // sharers are a word

/// What a locked operation on two lines takes more than one within a line, which locks the bus.
/// source: Linux, "Bus lock detection and handling" (Documentation/arch/x86/buslock.rst): "typically >1000 cycles
/// slower"; Intel's support for "~1000 cycles", as E. Rigtorp, "Performance impact of split locks", quotes it. Both say
/// it of all processors, and no figure of one alone in cycles was found.
inline constexpr std::uint32_t kSplitLockCycles = 1000;

struct CacheParameters {
  std::uint64_t bytes = 0;
  std::uint32_t ways = 0;
  std::uint32_t load_to_use_cycles = 0;
  PolicySpec policy{};
  bool hashed = false;  // CPUID leaf 4, "complex function is used to index the cache"

  constexpr std::uint64_t sets() const { return ways == 0 ? 0 : bytes / kLineBytes / ways; }
};

/// One translation buffer. Replacement is LRU: chosen, because no source tells the policy of any part.
struct TlbParameters {
  std::uint32_t entries_4k = 0;
  std::uint32_t ways_4k = 0;
  std::uint32_t entries_2m = 0;  // an array of their own
  std::uint32_t ways_2m = 0;
  bool shared_2m = false;  // 2 MiB pages live in the array of 4 KiB pages; neither: it holds none
};

/// What the last-level cache holds of what the cores hold.
enum class LlcRole : std::uint8_t {
  Inclusive,  // everything; its evictions invalidate the cores' copies
  Victim,     // what L2 evicted; a hit by one core moves the line back
};

struct PrefetchParameters {
  bool next_line = false;             // DCU: an ascending miss fetches the line after it into L1D
  bool ip_stride = false;             // DCU: two equal strides of one load fetch one stride ahead into L1D
  bool ip_stride_waits = false;       // when that load has its data, not together with it
  std::uint32_t ip_stride_ahead = 1;  // if it does not wait: up to so many strides ahead
  bool adjacent = false;              // L2: a miss fetches the other line of its 128 bytes
  // L2 streamer; 0 lines per trigger: none.
  std::uint32_t streamer_lines = 0;      // at most, per trigger
  std::uint32_t streamer_distance = 0;   // lines ahead of the access, at most
  std::uint32_t streamer_training = 0;   // accesses in one direction before it runs
  bool streamer_sees_prefetches = true;  // into L1D; if not: the first use of what they brought
};

struct MemoryParameters {
  CacheParameters l1i, l1d, l2, llc;
  LlcRole llc_role = LlcRole::Inclusive;
  bool l2_includes_l1 = false;  // its evictions take the line out of L1

  TlbParameters itlb, dtlb, stlb;
  std::uint32_t dtlb_stores = 0;  // entries of a TLB of their own for stores, fully associative; 0: they share dtlb
  std::uint32_t stlb_hit_cycles = 0;
  std::uint32_t pde_cache = 0;     // entries of 2 MiB reach each, fully associative
  std::uint32_t page_walkers = 1;  // walks at the same time

  std::uint32_t fill_buffers = 0;         // L1D
  std::uint32_t superqueue = 0;           // L2 requests outstanding
  std::uint32_t store_buffer = 0;         // entries
  std::uint32_t store_retire_cycles = 0;  // from dispatch until a store may commit, at the earliest

  std::uint32_t snoop_hit_cycles = 0;    // another core has the line, clean
  std::uint32_t hitm_cycles = 0;         // another core has it modified
  std::uint32_t dram_cycles = 0;         // idle, random row
  std::uint32_t dram_row_percent = 100;  // of dram_cycles, for a line of the row that was opened last

  // The least distance between two lines on the same way, in cycles.
  std::uint32_t l2_gap_cycles = 0;
  std::uint32_t llc_gap_cycles = 0;
  std::uint32_t dram_gap_cycles = 0;

  std::uint32_t forward_cycles = 0;          // a load served by the store buffer
  std::uint32_t blocked_forward_cycles = 0;  // in addition, when an older store covers only a part of it
  std::uint32_t alias_cycles = 0;            // in addition, when an older store has the same bits 11..0
  std::uint32_t split_cycles = 0;            // in addition, when an access crosses a line
  std::uint32_t page_split_cycles = 0;       // of a load, in addition to that, when it crosses a page
  std::uint32_t lock_cycles = 0;             // a locked read-modify-write that hits L1
  std::uint32_t split_lock_cycles = 0;       // in addition, when it crosses a line: it locks the bus
  // A general register's data comes from the store at once where both are of the same bytes; or only where they write
  // the address alike.
  bool renames_memory = false;
  bool renames_alike_only = false;
  arch::RetiredAccesses retired;  // what the signals of retired loads and stores count

  PrefetchParameters prefetch;
};

namespace detail {

constexpr bool is_consistent(const CacheParameters& cache) {
  return cache.ways != 0 && cache.bytes % (std::uint64_t{kLineBytes} * cache.ways) == 0 && cache.bytes != 0 &&
         serves(cache.policy, cache.ways) && (cache.hashed || is_power_of_two(cache.sets()));
}

constexpr bool are_whole_sets(std::uint32_t entries, std::uint32_t ways) {
  return ways != 0 && entries % ways == 0 && entries <= 8192;
}

constexpr bool is_consistent(const TlbParameters& tlb) {
  return tlb.entries_4k != 0 && are_whole_sets(tlb.entries_4k, tlb.ways_4k) &&
         (tlb.entries_2m == 0 || are_whole_sets(tlb.entries_2m, tlb.ways_2m)) &&
         !(tlb.shared_2m && tlb.entries_2m != 0);
}

}  // namespace detail

/// What keeps the numbers from being a memory system; null if nothing does.
constexpr const char* inconsistency(const MemoryParameters& m) {
  for (const CacheParameters& cache : {m.l1i, m.l1d, m.l2, m.llc}) {
    if (!detail::is_consistent(cache)) {
      return "a cache is a whole number of sets, a power of two unless its index is hashed, with a policy for its ways";
    }
  }
  if (m.l1d.sets() * kLineBytes > 1U << kPageBits) return "a way of L1D is no larger than a page";
  if (!second_touch_is_idle(m.l1d.policy.kind)) return "no L1D has QLRU: a second touch of a line must change nothing";
  if (m.l1d.load_to_use_cycles == 0 || m.l1d.load_to_use_cycles >= m.l2.load_to_use_cycles ||
      m.l2.load_to_use_cycles >= m.llc.load_to_use_cycles || m.llc.load_to_use_cycles > m.snoop_hit_cycles ||
      m.snoop_hit_cycles > m.hitm_cycles || m.llc.load_to_use_cycles >= m.dram_cycles) {
    return "latency grows from L1D over L2 and LLC to DRAM, and from LLC over a snoop hit to HITM";
  }
  if (m.llc_role == LlcRole::Inclusive && m.llc.bytes <= m.l2.bytes) return "an inclusive LLC is larger than L2";
  for (const TlbParameters& tlb : {m.itlb, m.dtlb, m.stlb}) {
    if (!detail::is_consistent(tlb)) return "a TLB is a whole number of sets, at most 8192 entries";
  }
  for (const TlbParameters& tlb : {m.itlb, m.dtlb}) {
    if (!is_power_of_two(tlb.entries_4k / tlb.ways_4k)) return "a first-level TLB has a power of two of sets";
  }
  if (m.pde_cache == 0 || m.page_walkers == 0) return "there are a PDE cache and a page walker";
  if (m.fill_buffers == 0 || m.fill_buffers > 32 || m.superqueue == 0 || m.superqueue > 64) {
    return "there are 1 to 32 fill buffers and a superqueue of 1 to 64";
  }
  if (m.store_buffer == 0 || m.store_buffer > 128) return "the store buffer has 1 to 128 entries";
  if (m.dram_row_percent == 0 || m.dram_row_percent > 100) return "an open row takes 1 to 100 percent of the latency";
  if (m.prefetch.streamer_distance >= kLinesPerPage) return "the streamer stays within a page";
  return nullptr;
}

}  // namespace zs::uarch

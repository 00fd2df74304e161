// source: perf-list(1) of Linux 6.1; what each means on Skylake server: that kernel's generic and cache event tables
// for Intel processors (L1D and dTLB accesses are MEM_INST_RETIRED, BPU accesses are BR_INST_RETIRED); on Zen 4: its
// tables for AMD processors, but for accesses of L1D, for which it programs an event that Zen 4 does not list.
#include "events/perf_names.h"

#include <array>

#include "arch/events/tables.h"
#include "base/items.h"

namespace zs::session {
namespace {

constexpr PerfName counts(std::string_view name, std::string_view aliases, std::string_view row,
                          std::string_view description) {
  return {name, aliases, row, EventKind::Hardware, "", description};
}
constexpr PerfName kernel_counts(std::string_view name, std::string_view aliases, EventKind kind,
                                 std::string_view description) {
  return {name, aliases, "", kind, "", description};
}
constexpr PerfName needs(std::string_view what, std::string_view name, std::string_view aliases = "") {
  return {name, aliases, "", EventKind::Hardware, what, ""};
}

// clang-format off
constexpr std::array kNames{
    counts("instructions",        "",                    "inst_retired.any ex_ret_instr", "instructions retired; :ppp is INST_RETIRED.PREC_DIST"),
    counts("branch-instructions", "branches branch-loads", "br_inst_retired.all_branches ex_ret_brn", "branchinstructions retired"),
    counts("L1-dcache-loads",     "",                    "mem_inst_retired.all_loads ls_dispatch.any_load",   "loads retired"),
    counts("L1-dcache-stores",    "",                    "mem_inst_retired.all_stores ls_dispatch.any_store", "stores retired"),
    counts("dTLB-loads",          "",                    "mem_inst_retired.all_loads ls_l1_d_tlb_miss.all",   "loads retired"),
    counts("dTLB-stores",         "",                    "mem_inst_retired.all_stores",                       "stores retired"),
    counts("mem-stores",          "",
           "mem_trans_retired.precise_store mem_trans_retired.store_sample mem_inst_retired.all_stores",
           "stores retired, by the event whose records say most of them"),

    kernel_counts("task-clock",       "",       EventKind::TaskClock,       "CPU time of the thread, nanoseconds"),
    kernel_counts("cpu-clock",        "",       EventKind::TaskClock,        "CPU time of the thread, nanoseconds"),
    kernel_counts("page-faults",      "faults", EventKind::PageFaults,      "page faults"),
    kernel_counts("minor-faults",     "page-faults-min", EventKind::MinorFaults, "page faults served without input"),
    kernel_counts("major-faults",     "page-faults-maj", EventKind::MajorFaults, "page faults that waited for input"),
    kernel_counts("context-switches", "cs",     EventKind::ContextSwitches, "times the thread left its CPU"),

    counts("cycles",              "cpu-cycles",          "cpu_clk_unhalted.thread ls_not_halted_cyc", "core cycles while not halted"),
    counts("ref-cycles",          "",                    "cpu_clk_unhalted.ref_tsc ls_not_halted_p0_cyc.p0_freq_cyc", "reference cycles, at the rate of the time-stamp counter"),
    counts("bus-cycles",          "",                    "cpu_clk_unhalted.ref_xclk",    "cycles of the crystal or bus clock"),
    counts("slots",               "",                    "topdown.slots",                "issue slots"),
    counts("branch-misses",       "branch-load-misses",  "br_misp_retired.all_branches ex_ret_brn_misp", "mispredicted branch instructions retired"),
    counts("cache-references",    "",                    "longest_lat_cache.reference l2_request_g1.all", "requests that reached the last-level cache, those of prefetchers included"),
    counts("cache-misses",        "",                    "longest_lat_cache.miss l2_cache_req_stat.ic_dc_miss_in_l2", "requests that missed the last-level cache, those of prefetchers included"),
    counts("L1-dcache-load-misses", "",                  "l1d.replacement l2_request_g1.dc_misses", "lines brought into the first-level data cache, for whatever reason: what perf counts by this name"),
    counts("L1-icache-load-misses", "",                  "icache_64b.iftag_miss l2_request_g1.cacheable_ic_read", "instruction fetches that missed the first-level instruction cache, by line"),
    counts("LLC-loads",           "",                    "offcore_requests.demand_data_rd", "demand data reads that left the core"),
    counts("LLC-load-misses",     "",                    "mem_load_retired.l3_miss",     "loads retired that missed the last-level cache"),
    counts("dTLB-load-misses",    "",                    "dtlb_load_misses.walk_completed ls_l1_d_tlb_miss.all_l2_miss", "page walks completed for loads"),
    counts("dTLB-store-misses",   "",                    "dtlb_store_misses.walk_completed", "page walks completed for stores"),
    counts("iTLB-load-misses",    "",                    "itlb_misses.walk_completed bp_l1_tlb_miss_l2_tlb_miss.all", "page walks completed for instruction fetches"),
    counts("iTLB-loads",          "",                    "itlb_misses.stlb_hit bp_l1_tlb_miss_l2_tlb_hit", "instruction fetches that missed the first TLB and hit the second"),
    PerfName{"mem-loads", "", "mem_trans_retired.load_latency_gt_4", EventKind::Hardware, "",
             "tagged loads retired that took more cycles than ldlat= says, 3 without it", 3},

    needs("cycles", "stalled-cycles-frontend", "idle-cycles-frontend"),
    needs("cycles", "stalled-cycles-backend", "idle-cycles-backend"),
    needs("caches", "L1-dcache-store-misses"),
    needs("caches", "L1-dcache-prefetches"),
    needs("caches", "L1-dcache-prefetch-misses"),
    needs("caches", "L1-icache-loads"),
    needs("caches", "LLC-stores"),
    needs("caches", "LLC-store-misses"),
    needs("caches", "LLC-prefetches"),
    needs("caches", "LLC-prefetch-misses"),
    needs("caches", "node-loads"),
    needs("caches", "node-load-misses"),
    needs("caches", "node-stores"),
    needs("caches", "node-store-misses"),

    needs("kernel", "cpu-migrations", "migrations"),
    needs("kernel", "alignment-faults"),
    needs("kernel", "emulation-faults"),
    needs("kernel", "cgroup-switches"),
    needs("kernel", "bpf-output"),
    needs("kernel", "dummy"),
};
// clang-format on

bool lists(std::string_view words, std::string_view name) {
  for (const std::string_view word : pieces_of(words, ' ')) {
    if (arch::equal_case_blind(word, name)) return true;
  }
  return false;
}

}  // namespace

const arch::Event* row_of(const PerfName& name, const arch::CpuModel& cpu) {
  for (const std::string_view one : pieces_of(name.row, ' ')) {
    if (const arch::Event* const row = arch::find_event(cpu, one)) return row;
  }
  return nullptr;
}

std::span<const PerfName> perf_names() { return kNames; }

const PerfName* find_perf_name(std::string_view name) {
  for (const PerfName& row : kNames) {
    if (arch::equal_case_blind(row.name, name) || lists(row.aliases, name)) return &row;
  }
  return nullptr;
}

}  // namespace zs::session

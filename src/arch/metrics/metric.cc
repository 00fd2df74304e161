// Metrics, named as Intel names them.
// source: the vendors' published metric definitions of each generation (formulas; of Intel's names, groups, thresholds)
// and the Optimization manual, "Top-Down Analysis Method". AMD's pipeline metrics are the same tree with other
// boundaries: what a mispredict costs beside the ops thrown away is Frontend_Bound there. What a row leaves out of its
// published formula is said at the row.
// Hyper-threading is not modelled: where a published formula divides by core clocks, thread clocks are meant.
// A share of nothing is made 0 with max(..., 1), where all terms of the divisor are counts; elsewhere it is not a
// number.
#include "arch/metrics/metric.h"

#include <array>
#include <cstddef>
#include <iterator>

#include "arch/cpu_model.h"

namespace zs::arch {

namespace {

// Marks of the top-down tree.
// source: the published definitions' thresholds.
constexpr double kFrontend = 0.15, kBadSpeculation = 0.15, kBackend = 0.20, kRetiring = 0.70;
constexpr double kFetchLatency = 0.10, kFetchBandwidth = 0.20, kMispredicts = 0.10, kClears = 0.10;
constexpr double kMemory = 0.20, kCore = 0.10, kHeavy = 0.10, kLight = 0.60;
constexpr double kL1 = 0.10, kL2 = 0.05, kL3 = 0.05, kDram = 0.10, kStore = 0.20, kContested = 0.05;

// clang-format off
/// A row without a name is one more formula for the metric of the row above it: it has that row's name, groups, unit and
/// place in the tree, and its description, unless it has one of its own.
constexpr Metric kWritten[] = {
    // name, groups, unit, formula, what it is
    {"IPC", "Summary", "instructions per cycle",
     "inst_retired.any / cpu_clk_unhalted.thread",
     "instructions retired per core cycle"},
    {.formula = "ex_ret_instr / ls_not_halted_cyc"},
    {"CPI", "Summary Pipeline", "cycles per instruction",
     "cpu_clk_unhalted.thread / inst_retired.any",
     "core cycles per instruction retired"},
    {.formula = "ls_not_halted_cyc / ex_ret_instr"},
    {"UPI", "Pipeline", "uops per instruction",
     "uops_retired.retire_slots / inst_retired.any",
     "fused uops per instruction retired"},
    {.formula = "ex_ret_ops / ex_ret_instr",
     .description = "macro-ops per instruction retired"},

    {"IpLoad", "InsType", "instructions",
     "inst_retired.any / mem_inst_retired.all_loads",
     "instructions per load"},
    {.formula = "inst_retired.any / inst_retired.loads"},
    {.formula = "ex_ret_instr / ls_dispatch.any_load"},
    {"IpStore", "InsType", "instructions",
     "inst_retired.any / mem_inst_retired.all_stores",
     "instructions per store"},
    {.formula = "inst_retired.any / inst_retired.stores"},
    {.formula = "ex_ret_instr / ls_dispatch.any_store"},
    {"IpBranch", "Branches InsType", "instructions",
     "inst_retired.any / br_inst_retired.all_branches",
     "instructions per branch"},
    {.formula = "ex_ret_instr / ex_ret_brn"},
    {"IpCall", "Branches", "instructions",
     "inst_retired.any / br_inst_retired.near_call",
     "instructions per near call"},
    {"IpTB", "Branches Fed", "instructions",
     "inst_retired.any / br_inst_retired.near_taken",
     "instructions per taken branch"},
    {.formula = "ex_ret_instr / ex_ret_brn_tkn"},
    {"BpTkBranch", "Branches Fed", "branches",
     "br_inst_retired.all_branches / br_inst_retired.near_taken",
     "branches per taken branch"},
    {.formula = "ex_ret_brn / ex_ret_brn_tkn"},
    {"FLOPc", "Flops", "operations per cycle",
     "(fp_arith_inst_retired.scalar + 2 * fp_arith_inst_retired.128b_packed_double + 4 * fp_arith_inst_retired.4_flops"
     " + 8 * fp_arith_inst_retired.8_flops + 16 * fp_arith_inst_retired.512b_packed_single) / cpu_clk_unhalted.thread",
     "floating-point operations per core cycle, a fused multiply-add being two"},

    {"IpMispredict", "BadSpec BrMispredicts", "instructions",
     "inst_retired.any / br_misp_retired.all_branches",
     "instructions per mispredicted branch"},
    {.formula = "ex_ret_instr / ex_ret_brn_misp"},
    {"BrMispredict_MPKI", "BadSpec BrMispredicts", "per 1000 instructions",
     "1000 * br_misp_retired.all_branches / inst_retired.any",
     "mispredicted branches per 1000 instructions"},
    {.formula = "1000 * ex_ret_brn_misp / ex_ret_instr"},
    {"BrMispredict_Rate", "BadSpec BrMispredicts", "% of branches",
     "br_misp_retired.all_branches / br_inst_retired.all_branches",
     "branches that were mispredicted"},
    {.formula = "ex_ret_brn_misp / ex_ret_brn"},

    {"L1MPKI", "CacheMisses Mem", "per 1000 instructions",
     "1000 * mem_load_retired.l1_miss / inst_retired.any",
     "loads that missed L1D per 1000 instructions; those of a line on its way not"},
    {.formula =
     "1000 * (mem_load_retired.l2_hit + mem_load_retired.llc_unshared_hit + mem_load_retired.other_core_l2_hit_hitm"
     " + mem_load_retired.llc_miss) / inst_retired.any"},
    {"L2MPKI", "CacheMisses Mem", "per 1000 instructions",
     "1000 * mem_load_retired.l2_miss / inst_retired.any",
     "loads that missed L2 per 1000 instructions"},
    {.formula =
     "1000 * (mem_load_retired.llc_unshared_hit + mem_load_retired.other_core_l2_hit_hitm + mem_load_retired.llc_miss)"
     " / inst_retired.any"},
    {"L3MPKI", "CacheMisses Mem", "per 1000 instructions",
     "1000 * mem_load_retired.l3_miss / inst_retired.any",
     "loads that missed the last-level cache per 1000 instructions"},
    {"L2MPKI_All", "CacheMisses", "per 1000 instructions",
     "1000 * l2_rqsts.miss / inst_retired.any",
     "L2 requests of every kind that missed, prefetches too, per 1000 instructions"},
    {.formula = "1000 * l2_cache_req_stat.ic_dc_miss_in_l2 / ex_ret_instr",
     .description = "L2 requests of the first-level caches that missed, their prefetches too, per 1000 instructions"},
    {"LLC_MPKI_All", "CacheMisses", "per 1000 instructions",
     "1000 * longest_lat_cache.miss / inst_retired.any",
     "last-level cache misses of every kind, prefetches too, per 1000 instructions"},
    {"L1_Hit_Rate", "CacheHits Mem", "% of loads",
     "mem_load_retired.l1_hit / (mem_load_retired.l1_hit + mem_load_retired.fb_hit + mem_load_retired.l1_miss)",
     "loads whose line was in L1D"},
    {.formula =
         "mem_load_retired.l1d_hit / (mem_load_retired.l1d_hit + mem_load_retired.hit_lfb + mem_load_retired.l2_hit"
         " + mem_load_retired.llc_unshared_hit + mem_load_retired.other_core_l2_hit_hitm + mem_load_retired.llc_miss)"},
    {"L2_Hit_Rate", "CacheHits Mem", "% of loads that missed L1D",
     "mem_load_retired.l2_hit / (mem_load_retired.l2_hit + mem_load_retired.l2_miss)",
     "loads that missed L1D and hit L2"},
    {.formula = "mem_load_retired.l2_hit / (mem_load_retired.l2_hit + mem_load_retired.llc_unshared_hit"
                 " + mem_load_retired.other_core_l2_hit_hitm + mem_load_retired.llc_miss)"},
    {"L3_Hit_Rate", "CacheHits Mem", "% of loads that missed L2",
     "(mem_load_retired.llc_unshared_hit + mem_load_retired.other_core_l2_hit_hitm) / (mem_load_retired.llc_unshared_hit"
     " + mem_load_retired.other_core_l2_hit_hitm + mem_load_retired.llc_miss)",
     "loads that missed L2 and hit the last-level cache"},
    {.formula = "mem_load_retired.l3_hit / (mem_load_retired.l3_hit + mem_load_retired.l3_miss)"},
    {"DTLB_MPKI", "MemoryTLB", "per 1000 instructions",
     "1000 * (dtlb_load_misses.walk_completed + dtlb_store_misses.walk_completed) / inst_retired.any",
     "page walks for loads and stores per 1000 instructions"},
    {.formula = "1000 * dtlb_load_misses.walk_completed / inst_retired.any",
     .description = "page walks for loads per 1000 instructions; those of stores have no event here"},
    {.formula = "1000 * ls_l1_d_tlb_miss.all_l2_miss / ex_ret_instr",
     .description = "page walks for loads and stores per 1000 instructions"},
    {"ITLB_MPKI", "MemoryTLB Fed", "per 1000 instructions",
     "1000 * itlb_misses.walk_completed / inst_retired.any",
     "page walks for instructions per 1000 instructions"},
    {.formula = "1000 * bp_l1_tlb_miss_l2_tlb_miss.all / ex_ret_instr"},
    {"Load_Walk_Utilization", "MemoryTLB", "% of cycles",
     "dtlb_load_misses.walk_pending / cpu_clk_unhalted.thread",
     "page walks for loads under way in a core cycle"},
    {"MLP", "Mem MemoryBound", "misses at a time",
     "l1d_pend_miss.pending / l1d_pend_miss.pending_cycles",
     "memory-level parallelism: demand loads' L1D misses outstanding, in cycles with at least one"},
    {"Load_Miss_Real_Latency", "Mem MemoryLat", "cycles",
     "l1d_pend_miss.pending / (mem_load_retired.l1_miss + mem_load_retired.fb_hit)",
     "average latency of loads that missed L1D"},

    // The top-down tree. Issue slots first; its shares are of these.
    {"Slots", "Pipeline", "slots",
     "topdown.slots",
     "issue slots"},
    {.formula = "4 * cpu_clk_unhalted.thread",
     .description = "issue slots: four in a core cycle"},
    {.formula = "6 * ls_not_halted_cyc",
     .description = "dispatch slots: six in a core cycle"},

    {"Frontend_Bound", "TopdownL1", "% of slots",
     "idq_uops_not_delivered.core / Slots",
     "slots for which the front end had no uop", "", kFrontend},
    {.formula = "de_no_dispatch_per_slot.no_ops_from_frontend / Slots",
     .description = "slots for which the front end had no op, refills after mispredicts included"},
    {"Bad_Speculation", "TopdownL1", "% of slots",
     "topdown.bad_spec_slots / Slots",
     "slots of uops that did not retire, and of the recovery", "", kBadSpeculation},
    // Slots of whole cycles are not quite the slots of each cause, so recovery is a share of slots as the rest is, not of cycles.
    {.formula = "(uops_issued.any - uops_retired.retire_slots + 5 * int_misc.recovery_cycles) / topdown.slots"},
    {.formula = "(uops_issued.any - uops_retired.retire_slots + 4 * int_misc.recovery_cycles) / Slots"},
    {.formula = "(de_src_op_disp.all - ex_ret_ops) / Slots",
     .description = "slots of ops that did not retire"},
    {"Backend_Bound", "TopdownL1", "% of slots",
     "topdown.backend_bound_slots / Slots",
     "slots in which the back end took no uop", "", kBackend},
    {.formula = "de_no_dispatch_per_slot.backend_stalls / Slots",
     .description = "slots in which the back end took no op"},
    {.formula = "1 - Frontend_Bound - Bad_Speculation - Retiring",
     .description = "slots in which the back end took no uop"},
    {"Retiring", "TopdownL1", "% of slots",
     "uops_retired.retire_slots / Slots",
     "slots of uops that retired", "", kRetiring},
    {.formula = "ex_ret_ops / Slots",
     .description = "slots of ops that retired"},

    {"Fetch_Latency", "TopdownL2", "% of slots",
     "idq_uops_not_delivered.cycles_0_uops_deliv.core / cpu_clk_unhalted.thread",
     "the front end delivered nothing: instruction cache, instruction TLB, resteers, switches to microcode",
     "Frontend_Bound", kFetchLatency},
    {"Fetch_Bandwidth", "TopdownL2", "% of slots",
     "Frontend_Bound - Fetch_Latency",
     "the front end delivered too few uops: decoders, uop cache",
     "Frontend_Bound", kFetchBandwidth},
    {"Branch_Mispredicts", "TopdownL2", "% of slots",
     "(de_src_op_disp.all - ex_ret_ops) / Slots",
     "wrong paths",
     "Bad_Speculation", kMispredicts},
    {.formula = "topdown.br_mispredict_slots / Slots",
     .description = "wrong paths, and the recovery from them"},
    // Published as a part by the number of clears, AMD's restarts, beside mispredicts. None is modelled.
    {.formula = "Bad_Speculation"},
    {"Machine_Clears", "TopdownL2", "% of slots",
     "Bad_Speculation * machine_clears.count / max(br_misp_retired.all_branches + machine_clears.count, 1)",
     "work thrown away because code or memory changed under it",
     "Bad_Speculation", kClears},
    {"Memory_Bound", "TopdownL2", "% of slots",
     "topdown.memory_bound_slots / Slots",
     "waiting for loads, or for room in the store buffer",
     "Backend_Bound", kMemory},
    // Published with cycles of two busy ports weighted by Retiring as well. Here the event of one has all slots that ports took.
    {.formula = "Backend_Bound * (cycle_activity.stalls_mem_any + exe_activity.bound_on_stores)"
                 " / max(cycle_activity.stalls_total + exe_activity.1_ports_util + exe_activity.bound_on_stores, 1)"},
    // Published with cycles of few executed uops in the place of those of one busy port, corrected by IPC.
    {.formula = "Backend_Bound * (cycle_activity.stalls_mem_any + resource_stalls.sb)"
                 " / max(cycle_activity.stalls_total + exe_activity.1_ports_util + resource_stalls.sb, 1)"},
    // Cycles in which nothing executed while a miss of one level was under way and none of the next; in the model those of each level's slots,
    // so the five are Memory_Bound.
    {"L1_Bound", "TopdownL3", "% of slots",
     "(cycle_activity.stalls_mem_any - cycle_activity.stalls_l1d_miss) / cpu_clk_unhalted.thread",
     "loads that hit L1D and still waited: forwarding and blocked forwarding, split lines, locks, page walks",
     "Memory_Bound", kL1},
    {.formula = "Memory_Bound - cycle_activity.stalls_l1d_miss / cpu_clk_unhalted.thread - Store_Bound"},
    {"L2_Bound", "TopdownL3", "% of slots",
     "(cycle_activity.stalls_l1d_miss - cycle_activity.stalls_l2_miss) / cpu_clk_unhalted.thread",
     "waiting for lines from L2",
     "Memory_Bound", kL2},
    {"L3_Bound", "TopdownL3", "% of slots",
     "(cycle_activity.stalls_l2_miss - cycle_activity.stalls_l3_miss) / cpu_clk_unhalted.thread",
     "waiting for lines from the last-level cache, or from other cores",
     "Memory_Bound", kL3},
    // Where no event tells the two apart, they are divided as published: a miss of the last level weighs seven hits of it.
    {.formula = "cycle_activity.stalls_l2_miss / cpu_clk_unhalted.thread * mem_load_retired.l3_hit"
                 " / max(mem_load_retired.l3_hit + 7 * mem_load_retired.l3_miss, 1)"},
    {"DRAM_Bound", "TopdownL3", "% of slots",
     "cycle_activity.stalls_l3_miss / cpu_clk_unhalted.thread",
     "waiting for lines from memory",
     "Memory_Bound", kDram},
    {.formula = "cycle_activity.stalls_l2_miss / cpu_clk_unhalted.thread - L3_Bound"},
    {"Store_Bound", "TopdownL3", "% of slots",
     "exe_activity.bound_on_stores / cpu_clk_unhalted.thread",
     "waiting for room in the store buffer",
     "Memory_Bound", kStore},
    {.formula = "resource_stalls.sb / cpu_clk_unhalted.thread",
     .unless = "inst_retired.loads"},
    // Published with the latencies of such lines; of the model, whose slots have their level, the share of the loads.
    {"Contested_Accesses", "TopdownL4", "% of slots",
     "L3_Bound * mem_load_l3_hit_retired.xsnp_hitm / max(mem_load_retired.l3_hit, 1)",
     "waiting for lines that another core had written",
     "L3_Bound", kContested},
    {"Core_Bound", "TopdownL2", "% of slots",
     "Backend_Bound - Memory_Bound",
     "waiting for ports, the divider, or results of other instructions",
     "Backend_Bound", kCore},
    {"Light_Operations", "TopdownL2", "% of slots",
     "Retiring - Heavy_Operations",
     "instructions of one uop",
     "Retiring", kLight},
    {"Heavy_Operations", "TopdownL2", "% of slots",
     "(uops_retired.retire_slots + uops_retired.macro_fused - inst_retired.any) / Slots",
     "further uops of instructions of several, and microcode",
     "Retiring", kHeavy},
    // Published with what the first decoder alone takes as well.
    {.formula = "idq.ms_uops / Slots",
     .description = "microcode"},
    {.formula = "ex_ret_ucode_ops / Slots"},

    // What is left of the tree where no event tells of the front end.
    {"Not_Retiring", "TopdownL1", "% of slots",
     "1 - uops_retired.slots / Slots",
     "slots of which no uop retired", "", 1 - kRetiring, "idq_uops_not_delivered.core"},
    {"Wrong_Path", "TopdownL2", "% of slots",
     "(uops_issued.any - uops_retired.slots) / Slots",
     "uops that were issued and did not retire; the recovery is not in it",
     "Not_Retiring", kMispredicts, "idq_uops_not_delivered.core"},
    {"Store_Buffer", "TopdownL2", "% of slots",
     "resource_stalls.store / cpu_clk_unhalted.thread",
     "waiting for room in the store buffer",
     "Not_Retiring", kMemory, "idq_uops_not_delivered.core"},
    {"Other_Stalls", "TopdownL2", "% of slots",
     "Not_Retiring - Wrong_Path - Store_Buffer",
     "the front end, loads, ports, dependencies and recovery, which this processor has no events to tell apart by",
     "Not_Retiring", kBackend, "idq_uops_not_delivered.core"},
};
// clang-format on

constexpr auto kMetricRows = [] {
  std::array<Metric, std::size(kWritten)> rows{};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i] = kWritten[i];
    if (!rows[i].name.empty()) continue;
    rows[i] = rows[i - 1];
    rows[i].formula = kWritten[i].formula;
    rows[i].unless = kWritten[i].unless;
    if (!kWritten[i].description.empty()) rows[i].description = kWritten[i].description;
  }
  return rows;
}();

constexpr bool all_are_formulas() {
  for (const Metric& row : kMetricRows) {
    if (!is_formula(row.formula) || !names_metric(row.name) || row.unit.empty() || row.description.empty())
      return false;
  }
  return true;
}
static_assert(all_are_formulas());

enum class Inputs : std::uint8_t { Missing, WithoutNumber, Complete };

/// `depth` ends a formula that leads to itself.
Inputs inputs_of(const CpuModel& model, const Metric& row, unsigned depth);

const Metric* find(const CpuModel& model, std::string_view name, unsigned depth) {
  const Metric* without_number = nullptr;
  for (const Metric& row : kMetricRows) {
    if (!equal_case_blind(row.name, name)) continue;
    const Inputs inputs = inputs_of(model, row, depth);
    if (inputs == Inputs::Complete) return &row;
    if (inputs == Inputs::WithoutNumber && without_number == nullptr) without_number = &row;
  }
  return without_number;
}

Inputs inputs_of(const CpuModel& model, const Metric& row, unsigned depth) {
  if (depth == 0) return Inputs::Missing;
  if (!row.unless.empty() && find_event(model, row.unless) != nullptr) return Inputs::Missing;
  Inputs inputs = Inputs::Complete;
  (void)evaluate(row.formula, [&](std::string_view name) {
    Inputs of_name = Inputs::Missing;
    if (names_metric(name)) {
      const Metric* const metric = find(model, name, depth - 1);
      if (metric != nullptr) of_name = inputs_of(model, *metric, depth - 1);
    } else if (const Event* const event = find_event(model, name)) {
      of_name = event->kind() != EventClass::NotModelled ? Inputs::Complete : Inputs::WithoutNumber;
    }
    inputs = std::min(inputs, of_name);
    return 1.0;
  });
  return inputs;
}

}  // namespace

std::span<const Metric> metric_rows() { return kMetricRows; }

const Metric* find_metric(const CpuModel& model, std::string_view name) {
  constexpr unsigned kDeepest = 6;
  return find(model, name, kDeepest);
}

bool count_the_same(const Event& a, const Event& b) {
  if (a.name == b.name) return true;
  if (a.cmask != b.cmask || a.invert != b.invert || a.edge != b.edge || a.any != b.any) return false;
  if (a.selector != b.selector) return false;
  if (a.tick != Tick::None || b.tick != Tick::None) return a.tick == b.tick;
  return a.meaning != nullptr && a.meaning == b.meaning;
}

}  // namespace zs::arch

// Events of Intel's processors, one row for all of them that have the event under the same name, encoding and promise
// of precision. A CPU model's table is the rows that name it; to add an event is to add a row, to add a processor is to
// name it in the rows it shares.
// source: the vendor's published core event lists; of Core 2 and Goldmont the manual's lists of precise events. What
// they count: events/meanings.h. Modelled ones count where a core model tells of its signals, those of time where the
// processor reports time; not_modelled rows are there so that a listing and an error message can name them.
// There is one socket, so what other sockets would serve is not modelled.
// The names *_arch are ours, for architectural encodings that the vendor's list of a processor leaves out.
// Left out: uncore events, and off-core response events, which need a request mask of their own.
#include <array>
#include <cstddef>

#include "arch/cpus/core2.h"
#include "arch/cpus/goldmont.h"
#include "arch/cpus/haswell.h"
#include "arch/cpus/icelake_server.h"
#include "arch/cpus/ivybridge.h"
#include "arch/cpus/nehalem.h"
#include "arch/cpus/sapphire_rapids.h"
#include "arch/cpus/skylake_client.h"
#include "arch/cpus/skylake_server.h"
#include "arch/cpus/westmere.h"
#include "arch/events/event.h"

namespace zs::arch {

namespace {

using enum Precise;
using enum CoreSignal;

/// Processors, by bit.
enum Cpus : unsigned {
  Core2 = 1U << 0,
  Nhm = 1U << 1,
  Wsm = 1U << 2,
  Hsw = 1U << 3,
  Skl = 1U << 4,
  Skx = 1U << 5,
  Icx = 1U << 6,
  Spr = 1U << 7,
  Glm = 1U << 8,
  Ivb = 1U << 9,
  NhmWsm = Nhm | Wsm,
  SklSkx = Skl | Skx,
  IcxSpr = Icx | Spr,
  Big = Nhm | Wsm | Ivb | Hsw | Skl | Skx | Icx | Spr,
  All = Core2 | Big | Glm,
};
constexpr Cpus operator|(Cpus a, Cpus b) { return static_cast<Cpus>(static_cast<unsigned>(a) | b); }

// Counters; those that a processor does not have are left out of its table.
constexpr CounterSet every = any_of(8);
constexpr CounterSet but_pmc0{0xFE};
constexpr CounterSet but_pmc1 = only(0) | only(2) | only(3);

struct Row {
  Cpus in;
  Event event;
};

// clang-format off
constexpr Row kRows[] = {
    // processors, event: name, code, umask, counters, precise, what it counts
    {NhmWsm, not_modelled("arith.div_active", 0x14, 0x01, every, No,
        "cycles in which the divider was busy")
        .also("arith.divider_active arith.fpu_div_active arith.cycles_div_busy")},
    {SklSkx, not_modelled("arith.divider_active", 0x14, 0x01, every, No,
        "cycles in which the divider was busy").cycles(1)
        .also("arith.fpu_div_active arith.cycles_div_busy arith.div_active")},
    {Icx, not_modelled("arith.divider_active", 0x14, 0x09, every, No,
        "cycles in which the divider was busy").cycles(1)
        .also("arith.fpu_div_active arith.cycles_div_busy arith.div_active")},
    {Spr, not_modelled("arith.divider_active", 0xB0, 0x09, every, No,
        "cycles in which the divider was busy").cycles(1)
        .also("arith.fpu_div_active arith.cycles_div_busy arith.div_active")},
    {NhmWsm, not_modelled("assists.fp", 0xF7, 0x01, every, Yes,
        "cycles with a floating-point assist")
        .also("fp_assist.any fp_assist.all")},
    {NhmWsm, modelled("baclear.clear", 0xE6, 0x01, every, No, kModelled<Resteers>,
        "front-end resteers at a taken branch that the BTB did not know")
        .also("baclears.any")},
    {Ivb | Hsw, modelled("baclears.any", 0xE6, 0x1F, every, No, kModelled<Resteers>,
        "front-end resteers at a taken branch that the BTB did not know")
        .also("baclear.clear")},
    {SklSkx | Icx, modelled("baclears.any", 0xE6, 0x01, every, No, kModelled<Resteers>,
        "front-end resteers at a taken branch that the BTB did not know")
        .also("baclear.clear")},
    {Spr, modelled("baclears.any", 0x60, 0x01, every, No, kModelled<Resteers>,
        "front-end resteers at a taken branch that the BTB did not know")
        .also("baclear.clear")},
    {Ivb | Hsw, not_modelled("br_inst_exec.all_branches", 0x88, 0xFF, every, No,
        "branches executed (speculative)")
        .also("br_inst_exec.any")},
    {NhmWsm, not_modelled("br_inst_exec.any", 0x88, 0x7F, every, No,
        "branches executed (speculative)")
        .also("br_inst_exec.all_branches")},
    {Ivb | Hsw, not_modelled("br_inst_exec.taken_conditional", 0x88, 0x81, every, No,
        "taken conditionals executed")},
    {NhmWsm, exact("br_inst_retired.all_branches", 0xC4, 0x04, every, Yes, kBranches,
        "branch instructions retired, far ones included")},
    {Ivb | Hsw | SklSkx, exact("br_inst_retired.all_branches", 0xC4, 0x00, every, No, kBranches,
        "branch instructions retired, far ones included")},
    {IcxSpr | Glm, exact("br_inst_retired.all_branches", 0xC4, 0x00, every, Yes, kBranches,
        "branch instructions retired, far ones included")},
    {NhmWsm, exact("br_inst_retired.all_branches_arch", 0xC4, 0x00, every, No, kBranches,
        "branch instructions retired, the architectural encoding")},
    {Ivb | Hsw | SklSkx, exact("br_inst_retired.all_branches_pebs", 0xC4, 0x04, every, Always, kBranches,
        "branch instructions retired, the precise encoding")},
    {Glm, exact("br_inst_retired.all_taken_branches", 0xC4, 0x80, every, Yes, kNearTaken,
        "near branches retired that were taken")
        .also("br_inst_retired.near_taken br_inst_retired.taken")},
    {Core2, exact("br_inst_retired.any", 0xC4, 0x00, every, No, kBranches,
        "branch instructions retired, far ones included")
        .also("br_inst_retired.all_branches")},
    {Glm, exact("br_inst_retired.call", 0xC4, 0xF9, every, Yes, kNearCalls,
        "near calls retired, direct and indirect")
        .also("br_inst_retired.near_call")},
    {SklSkx, exact("br_inst_retired.cond_ntaken", 0xC4, 0x10, every, No, kConditionalsNotTaken,
        "conditional branch instructions retired that were not taken")
        .also("br_inst_retired.not_taken")},
    {IcxSpr, exact("br_inst_retired.cond_ntaken", 0xC4, 0x10, every, Yes, kConditionalsNotTaken,
        "conditional branch instructions retired that were not taken")
        .also("br_inst_retired.not_taken")},
    {Hsw | SklSkx, exact("br_inst_retired.cond_taken", 0xC4, 0x81, every, Yes, kConditionalsTaken,
        "conditional branch instructions retired that were taken; this processor has no such event, the encoding "
        "is zeroskid's own").own_encoding()},
    {IcxSpr, exact("br_inst_retired.cond_taken", 0xC4, 0x01, every, Yes, kConditionalsTaken,
        "conditional branch instructions retired that were taken")},
    {NhmWsm | Ivb | Hsw | SklSkx, exact("br_inst_retired.conditional", 0xC4, 0x01, every, Yes, kConditionals,
        "conditional branch instructions retired, taken or not")
        .also("br_inst_retired.cond")},
    {IcxSpr, exact("br_inst_retired.conditional", 0xC4, 0x11, every, Yes, kConditionals,
        "conditional branch instructions retired, taken or not")
        .also("br_inst_retired.cond")},
    {Ivb | Hsw, exact("br_inst_retired.far_branch", 0xC4, 0x40, every, No, kFarBranches,
        "far branches retired: SYSCALL, INT n, IRET, far JMP, CALL and RET, interrupts")},
    {SklSkx | IcxSpr, exact("br_inst_retired.far_branch", 0xC4, 0x40, every, Yes, kFarBranches,
        "far branches retired: SYSCALL, INT n, IRET, far JMP, CALL and RET, interrupts")},
    {Glm, exact("br_inst_retired.far_branch", 0xC4, 0xBF, every, Yes, kFarBranches,
        "far branches retired: SYSCALL, INT n, IRET, far JMP, CALL and RET, interrupts")},
    {Glm, exact("br_inst_retired.ind_call", 0xC4, 0xFB, every, Yes, kIndirectCalls,
        "indirect near calls retired")},
    {Hsw | SklSkx, exact("br_inst_retired.indirect", 0xC4, 0x80, every, Yes, kIndirects,
        "indirect near jumps and calls retired, returns excluded; this processor has no such event, the encoding "
        "is Ice Lake's").own_encoding()},
    {IcxSpr, exact("br_inst_retired.indirect", 0xC4, 0x80, every, Yes, kIndirects,
        "indirect near jumps and calls retired, returns excluded")},
    {Glm, exact("br_inst_retired.jcc", 0xC4, 0x7E, every, Yes, kConditionals,
        "conditional branch instructions retired, taken or not")
        .also("br_inst_retired.conditional br_inst_retired.cond")},
    {Core2, not_modelled("br_inst_retired.mispred", 0xC5, 0x00, every, Yes,
        "mispredicted branch instructions retired")
        .also("br_misp_retired.all_branches")},
    {NhmWsm | Ivb | Hsw, exact("br_inst_retired.near_call", 0xC4, 0x02, every, Yes, kNearCalls,
        "near calls retired, direct and indirect")
        .also("br_inst_retired.near_call_r3")},
    {SklSkx | IcxSpr, exact("br_inst_retired.near_call", 0xC4, 0x02, every, Yes, kNearCalls,
        "near calls retired, direct and indirect")},
    {Big, exact("br_inst_retired.near_return", 0xC4, 0x08, every, Yes, kNearReturns,
        "near returns retired")
        .also("br_inst_retired.return")},
    {Big, exact("br_inst_retired.near_taken", 0xC4, 0x20, every, Yes, kNearTaken,
        "near branches retired that were taken")
        .also("br_inst_retired.taken")},
    {Glm, exact("br_inst_retired.non_return_ind", 0xC4, 0xEB, every, Yes, kIndirects,
        "indirect near jumps and calls retired, returns excluded")
        .also("br_inst_retired.indirect")},
    {Ivb | Hsw, exact("br_inst_retired.not_taken", 0xC4, 0x10, every, No, kConditionalsNotTaken,
        "conditional branch instructions retired that were not taken")
        .also("br_inst_retired.cond_ntaken")},
    {Glm, exact("br_inst_retired.rel_call", 0xC4, 0xFD, every, Yes, kRelativeCalls,
        "relative near calls retired")},
    {Glm, exact("br_inst_retired.return", 0xC4, 0xF7, every, Yes, kNearReturns,
        "near returns retired")
        .also("br_inst_retired.near_return")},
    {Core2, exact("br_inst_retired.taken", 0xC4, 0x0C, every, No, kTaken,
        "branch instructions retired that were taken, far ones included")},
    {Glm, exact("br_inst_retired.taken_jcc", 0xC4, 0xFE, every, Yes, kConditionalsTaken,
        "conditional branch instructions retired that were taken")
        .also("br_inst_retired.cond_taken")},
    {Ivb | Hsw | SklSkx, not_modelled("br_misp_exec.all_branches", 0x89, 0xFF, every, No,
        "mispredicted branches executed, retired or not")
        .also("br_misp_exec.any")},
    {NhmWsm, not_modelled("br_misp_exec.any", 0x89, 0x7F, every, No,
        "mispredicted branches executed, retired or not")
        .also("br_misp_exec.all_branches")},
    {Nhm | Ivb | Hsw | SklSkx, modelled("br_misp_retired.all_branches", 0xC5, 0x00, every, No, kMispredicted,
        "mispredicted branch instructions retired")},
    {Wsm, modelled("br_misp_retired.all_branches", 0xC5, 0x04, every, Yes, kMispredicted,
        "mispredicted branch instructions retired")},
    {IcxSpr | Glm, modelled("br_misp_retired.all_branches", 0xC5, 0x00, every, Yes, kMispredicted,
        "mispredicted branch instructions retired")},
    {Wsm, modelled("br_misp_retired.all_branches_arch", 0xC5, 0x00, every, No, kMispredicted,
        "mispredicted branch instructions retired, the architectural encoding")},
    {Ivb | Hsw | SklSkx, modelled("br_misp_retired.all_branches_pebs", 0xC5, 0x04, every, Always, kMispredicted,
        "mispredicted branch instructions retired, the precise encoding")},
    {Wsm, modelled("br_misp_retired.cond", 0xC5, 0x01, every, Yes, kMispredictedConditionals,
        "mispredicted conditional branch instructions retired")
        .also("br_misp_retired.conditional")},
    {IcxSpr, modelled("br_misp_retired.cond_ntaken", 0xC5, 0x10, every, Yes, kModelled<MispredictedNotTaken>,
        "mispredicted, not-taken conditional")
        .also("br_misp_retired.not_taken")},
    {IcxSpr, modelled("br_misp_retired.cond_taken", 0xC5, 0x01, every, Yes, kModelled<MispredictedTaken>,
        "mispredicted, taken conditional")},
    {Ivb | Hsw | SklSkx, modelled("br_misp_retired.conditional", 0xC5, 0x01, every, Yes, kMispredictedConditionals,
        "mispredicted conditional branch instructions retired")
        .also("br_misp_retired.cond")},
    {IcxSpr, modelled("br_misp_retired.conditional", 0xC5, 0x11, every, Yes, kMispredictedConditionals,
        "mispredicted conditional branch instructions retired")
        .also("br_misp_retired.cond")},
    {Glm, not_modelled("br_misp_retired.ind_call", 0xC5, 0xFB, every, Yes,
        "mispredicted indirect calls retired")},
    {IcxSpr, modelled("br_misp_retired.indirect", 0xC5, 0x80, every, Yes, kMispredictedIndirects,
        "mispredicted indirect")},
    {IcxSpr, modelled("br_misp_retired.indirect_call", 0xC5, 0x02, every, Yes, kModelled<MispredictedIndirectCall>,
        "mispredicted indirect call")},
    {Glm, not_modelled("br_misp_retired.jcc", 0xC5, 0x7E, every, Yes,
        "mispredicted conditional branch instructions retired")
        .also("br_misp_retired.conditional br_misp_retired.cond")},
    {NhmWsm | SklSkx, modelled("br_misp_retired.near_call", 0xC5, 0x02, every, Yes, kModelled<MispredictedIndirectCall>,
        "mispredicted near calls retired")},
    {Ivb | Hsw | SklSkx | IcxSpr, modelled("br_misp_retired.near_taken", 0xC5, 0x20, every, Yes, kMispredictedNearTaken,
        "mispredicted near branches retired that were taken")
        .also("br_misp_retired.taken")},
    {Glm, not_modelled("br_misp_retired.non_return_ind", 0xC5, 0xEB, every, Yes,
        "mispredicted indirect jumps and calls retired, returns excluded")},
    {IcxSpr, modelled("br_misp_retired.ret", 0xC5, 0x08, every, Yes, kModelled<MispredictedReturn>,
        "mispredicted returns")
        .also("br_misp_retired.return")},
    {Glm, not_modelled("br_misp_retired.return", 0xC5, 0xF7, every, Yes,
        "mispredicted near returns retired")},
    {Glm, not_modelled("br_misp_retired.taken_jcc", 0xC5, 0xFE, every, Yes,
        "mispredicted conditional branch instructions retired that were taken")},
    {NhmWsm, time("cpu_clk_thread_unhalted.ref_xclk", 0x3C, 0x01, every, Tick::Bus,
        "reference cycles of the crystal or bus clock")
        .also("cpu_clk_unhalted.ref_xclk cpu_clk_unhalted.ref_p")},
    {Core2, time("cpu_clk_unhalted.bus", 0x3C, 0x01, every, Tick::Bus,
        "reference cycles of the crystal or bus clock")
        .also("cpu_clk_unhalted.ref_xclk cpu_clk_unhalted.ref_p")},
    {Core2 | Glm, time("cpu_clk_unhalted.core", 0x00, 0x02, fixed(1), Tick::Core,
        "core cycles while not halted (fixed counter 1)")
        .also("cpu_clk_unhalted.thread")},
    {Core2 | Glm, time("cpu_clk_unhalted.core_p", 0x3C, 0x00, every, Tick::Core,
        "core cycles while not halted")
        .also("cpu_clk_unhalted.thread_p")},
    {Ivb | Hsw | SklSkx | IcxSpr, time("cpu_clk_unhalted.one_thread_active", 0x3C, 0x02, every, Tick::Bus,
        "reference cycles in which only this hyper-thread is active")},
    {Glm, time("cpu_clk_unhalted.ref", 0x3C, 0x01, every, Tick::Bus,
        "reference cycles of the crystal or bus clock")
        .also("cpu_clk_unhalted.ref_xclk cpu_clk_unhalted.ref_p")},
    {Core2 | NhmWsm | Ivb | Hsw | SklSkx | IcxSpr, time("cpu_clk_unhalted.ref_tsc", 0x00, 0x03, fixed(2),
        Tick::Reference, "reference cycles at the rate of the time-stamp counter (fixed counter 2)")
        .also("cpu_clk_unhalted.ref")},
    {Glm, time("cpu_clk_unhalted.ref_tsc", 0x00, 0x03, fixed(2), Tick::Reference,
        "reference cycles at the rate of the time-stamp counter (fixed counter 2)")},
    {Spr, time("cpu_clk_unhalted.ref_tsc_p", 0x3C, 0x01, every, Tick::Reference,
        "reference cycles, programmable")},
    {Ivb | Hsw | SklSkx | Icx, time("cpu_clk_unhalted.ref_xclk", 0x3C, 0x01, every, Tick::Bus,
        "reference cycles of the crystal or bus clock")
        .also("cpu_clk_unhalted.ref_p cpu_clk_thread_unhalted.ref_xclk")},
    {Big, time("cpu_clk_unhalted.thread", 0x00, 0x02, fixed(1), Tick::Core,
        "core cycles while not halted (fixed counter 1)")
        .also("cpu_clk_unhalted.core")},
    {Big, time("cpu_clk_unhalted.thread_p", 0x3C, 0x00, every, Tick::Core,
        "core cycles while not halted")
        .also("cpu_clk_unhalted.core_p")},
    {Ivb | Hsw | SklSkx, time("cpu_clk_unhalted.thread_p_any", 0x3C, 0x00, every, Tick::Core,
        "core cycles while either hyper-thread is not halted").any_thread()},
    {Hsw, modelled("cycle_activity.cycles_l1d_miss", 0xA3, 0x08, only(2), No, kModelled<CyclesL1dPending>,
        "cycles with a first-level data miss outstanding").cycles(8)
        .also("cycle_activity.cycles_l1d_pending")},
    {SklSkx, modelled("cycle_activity.cycles_l1d_miss", 0xA3, 0x08, every, No, kModelled<CyclesL1dPending>,
        "cycles with a first-level data miss outstanding").cycles(8)
        .also("cycle_activity.cycles_l1d_pending")},
    {IcxSpr, modelled("cycle_activity.cycles_l1d_miss", 0xA3, 0x08, any_of(4), No, kModelled<CyclesL1dPending>,
        "cycles with a first-level data miss outstanding").cycles(8)
        .also("cycle_activity.cycles_l1d_pending")},
    {Hsw | SklSkx, modelled("cycle_activity.cycles_l2_miss", 0xA3, 0x01, every, No, kModelled<CyclesL2Pending>,
        "cycles with a second-level miss outstanding").cycles(1)
        .also("cycle_activity.cycles_l2_pending")},
    {IcxSpr, modelled("cycle_activity.cycles_l2_miss", 0xA3, 0x01, any_of(4), No, kModelled<CyclesL2Pending>,
        "cycles with a second-level miss outstanding").cycles(1)
        .also("cycle_activity.cycles_l2_pending")},
    {SklSkx, modelled("cycle_activity.cycles_l3_miss", 0xA3, 0x02, every, No, kModelled<CyclesL3Pending>,
        "cycles with a third-level miss outstanding").cycles(2)},
    {Icx, modelled("cycle_activity.cycles_l3_miss", 0xA3, 0x02, any_of(4), No, kModelled<CyclesL3Pending>,
        "cycles with a third-level miss outstanding").cycles(2)},
    {Hsw, not_modelled("cycle_activity.cycles_mem_any", 0xA3, 0x02, every, No,
        "cycles with a load outstanding").cycles(2)
        .also("cycle_activity.cycles_ldm_pending")},
    {SklSkx | IcxSpr, not_modelled("cycle_activity.cycles_mem_any", 0xA3, 0x10, every, No,
        "cycles with a load outstanding").cycles(16)
        .also("cycle_activity.cycles_ldm_pending")},
    {Hsw, modelled("cycle_activity.stalls_l1d_miss", 0xA3, 0x0C, only(2), No, kModelled<StallsL1dPending>,
        "cycles in which nothing executed and a first-level data miss was outstanding").cycles(12)
        .also("cycle_activity.stalls_l1d_pending")},
    {SklSkx, modelled("cycle_activity.stalls_l1d_miss", 0xA3, 0x0C, every, No, kModelled<StallsL1dPending>,
        "cycles in which nothing executed and a first-level data miss was outstanding").cycles(12)
        .also("cycle_activity.stalls_l1d_pending")},
    {IcxSpr, modelled("cycle_activity.stalls_l1d_miss", 0xA3, 0x0C, any_of(4), No, kModelled<StallsL1dPending>,
        "cycles in which nothing executed and a first-level data miss was outstanding").cycles(12)
        .also("cycle_activity.stalls_l1d_pending")},
    {Hsw | SklSkx, modelled("cycle_activity.stalls_l2_miss", 0xA3, 0x05, every, No, kModelled<StallsL2Pending>,
        "cycles in which nothing executed and a second-level miss was outstanding").cycles(5)
        .also("cycle_activity.stalls_l2_pending")},
    {IcxSpr, modelled("cycle_activity.stalls_l2_miss", 0xA3, 0x05, any_of(4), No, kModelled<StallsL2Pending>,
        "cycles in which nothing executed and a second-level miss was outstanding").cycles(5)
        .also("cycle_activity.stalls_l2_pending")},
    {SklSkx, modelled("cycle_activity.stalls_l3_miss", 0xA3, 0x06, every, No, kModelled<StallsL3Pending>,
        "cycles in which nothing executed and a third-level miss was outstanding").cycles(6)},
    {IcxSpr, modelled("cycle_activity.stalls_l3_miss", 0xA3, 0x06, any_of(4), No, kModelled<StallsL3Pending>,
        "cycles in which nothing executed and a third-level miss was outstanding").cycles(6)},
    {Hsw, modelled("cycle_activity.stalls_mem_any", 0xA3, 0x06, every, No, kModelled<StallsMemory>,
        "cycles in which nothing executed and a load was outstanding").cycles(6)
        .also("cycle_activity.stalls_ldm_pending")},
    {SklSkx | Icx, modelled("cycle_activity.stalls_mem_any", 0xA3, 0x14, every, No, kModelled<StallsMemory>,
        "cycles in which nothing executed and a load was outstanding").cycles(20)
        .also("cycle_activity.stalls_ldm_pending")},
    {Hsw | SklSkx | IcxSpr, modelled("cycle_activity.stalls_total", 0xA3, 0x04, every, No, kModelled<StallsTotal>,
        "cycles in which nothing executed").cycles(4)
        .also("cycle_activity.cycles_no_execute cycle_activity.cycles_no_dispatch")},
    {NhmWsm, modelled("dtlb_load_misses.any", 0x08, 0x01, every, No, kModelled<DtlbLoadWalk>,
        "loads whose TLB miss started a page walk")
        .also("dtlb_load_misses.miss_causes_a_walk")},
    {Ivb, not_modelled("dtlb_load_misses.miss_causes_a_walk", 0x08, 0x81, every, No,
        "loads whose TLB miss started a page walk")
        .also("dtlb_load_misses.any")},
    {Hsw | SklSkx, modelled("dtlb_load_misses.miss_causes_a_walk", 0x08, 0x01, every, No, kModelled<DtlbLoadWalk>,
        "loads whose TLB miss started a page walk")
        .also("dtlb_load_misses.any")},
    {NhmWsm, modelled("dtlb_load_misses.stlb_hit", 0x08, 0x10, every, No, kModelled<DtlbLoadStlbHit>,
        "loads that missed the first TLB and hit the second")},
    {Ivb, not_modelled("dtlb_load_misses.stlb_hit", 0x5F, 0x04, every, No,
        "loads that missed the first TLB and hit the second")},
    {Hsw, modelled("dtlb_load_misses.stlb_hit", 0x08, 0x60, every, No, kModelled<DtlbLoadStlbHit>,
        "loads that missed the first TLB and hit the second")},
    {SklSkx, modelled("dtlb_load_misses.stlb_hit", 0x08, 0x20, every, No, kModelled<DtlbLoadStlbHit>,
        "loads that missed the first TLB and hit the second")},
    {Icx, modelled("dtlb_load_misses.stlb_hit", 0x08, 0x20, any_of(4), No, kModelled<DtlbLoadStlbHit>,
        "loads that missed the first TLB and hit the second")},
    {Spr, modelled("dtlb_load_misses.stlb_hit", 0x12, 0x20, any_of(4), No, kModelled<DtlbLoadStlbHit>,
        "loads that missed the first TLB and hit the second")},
    {NhmWsm, modelled("dtlb_load_misses.walk_completed", 0x08, 0x02, every, No, kModelled<DtlbLoadWalk>,
        "page walks completed for loads, any page size")},
    {Ivb, not_modelled("dtlb_load_misses.walk_completed", 0x08, 0x82, every, No,
        "page walks completed for loads, any page size")},
    {Hsw | SklSkx, modelled("dtlb_load_misses.walk_completed", 0x08, 0x0E, every, No, kModelled<DtlbLoadWalk>,
        "page walks completed for loads, any page size")},
    {Icx, modelled("dtlb_load_misses.walk_completed", 0x08, 0x0E, any_of(4), No, kModelled<DtlbLoadWalk>,
        "page walks completed for loads, any page size")},
    {Spr, modelled("dtlb_load_misses.walk_completed", 0x12, 0x0E, any_of(4), No, kModelled<DtlbLoadWalk>,
        "page walks completed for loads, any page size")},
    {Hsw | SklSkx, modelled("dtlb_load_misses.walk_completed_2m_4m", 0x08, 0x04, every, No, kModelled<DtlbLoadWalk2M>,
        "page walks completed for loads, 2 MB and 4 MB pages")},
    {Icx, modelled("dtlb_load_misses.walk_completed_2m_4m", 0x08, 0x04, any_of(4), No, kModelled<DtlbLoadWalk2M>,
        "page walks completed for loads, 2 MB and 4 MB pages")},
    {Spr, modelled("dtlb_load_misses.walk_completed_2m_4m", 0x12, 0x04, any_of(4), No, kModelled<DtlbLoadWalk2M>,
        "page walks completed for loads, 2 MB and 4 MB pages")},
    {Hsw | SklSkx, modelled("dtlb_load_misses.walk_completed_4k", 0x08, 0x02, every, No, kModelled<DtlbLoadWalk4K>,
        "page walks completed for loads, 4 KB pages")},
    {Icx, modelled("dtlb_load_misses.walk_completed_4k", 0x08, 0x02, any_of(4), No, kModelled<DtlbLoadWalk4K>,
        "page walks completed for loads, 4 KB pages")},
    {Spr, modelled("dtlb_load_misses.walk_completed_4k", 0x12, 0x02, any_of(4), No, kModelled<DtlbLoadWalk4K>,
        "page walks completed for loads, 4 KB pages")},
    {Wsm, modelled("dtlb_load_misses.walk_cycles", 0x08, 0x04, every, No, kModelled<DtlbLoadWalkCycles>,
        "page walks for loads under way, summed over cycles")
        .also("dtlb_load_misses.walk_pending dtlb_load_misses.walk_duration")},
    {Ivb, not_modelled("dtlb_load_misses.walk_pending", 0x08, 0x84, every, No,
        "page walks for loads under way, summed over cycles")
        .also("dtlb_load_misses.walk_duration dtlb_load_misses.walk_cycles")},
    {Hsw | SklSkx, modelled("dtlb_load_misses.walk_pending", 0x08, 0x10, every, No, kModelled<DtlbLoadWalkCycles>,
        "page walks for loads under way, summed over cycles")
        .also("dtlb_load_misses.walk_duration dtlb_load_misses.walk_cycles")},
    {Icx, modelled("dtlb_load_misses.walk_pending", 0x08, 0x10, any_of(4), No, kModelled<DtlbLoadWalkCycles>,
        "page walks for loads under way, summed over cycles")
        .also("dtlb_load_misses.walk_duration dtlb_load_misses.walk_cycles")},
    {Spr, modelled("dtlb_load_misses.walk_pending", 0x12, 0x10, any_of(4), No, kModelled<DtlbLoadWalkCycles>,
        "page walks for loads under way, summed over cycles")
        .also("dtlb_load_misses.walk_duration dtlb_load_misses.walk_cycles")},
    {NhmWsm, modelled("dtlb_misses.any", 0x49, 0x01, every, No, kModelled<DtlbLoadWalk, DtlbStoreWalk>,
        "any DTLB miss (NHM/WSM)")},
    {Ivb | Hsw | SklSkx, modelled("dtlb_store_misses.miss_causes_a_walk", 0x49, 0x01, every, No,
        kModelled<DtlbStoreWalk>,
        "stores whose TLB miss started a page walk")},
    {Ivb, not_modelled("dtlb_store_misses.stlb_hit", 0x49, 0x10, every, No,
        "stores that missed the first TLB and hit the second")},
    {Hsw, modelled("dtlb_store_misses.stlb_hit", 0x49, 0x60, every, No, kModelled<DtlbStoreStlbHit>,
        "stores that missed the first TLB and hit the second")},
    {SklSkx, modelled("dtlb_store_misses.stlb_hit", 0x49, 0x20, every, No, kModelled<DtlbStoreStlbHit>,
        "stores that missed the first TLB and hit the second")},
    {Icx, modelled("dtlb_store_misses.stlb_hit", 0x49, 0x20, any_of(4), No, kModelled<DtlbStoreStlbHit>,
        "stores that missed the first TLB and hit the second")},
    {Spr, modelled("dtlb_store_misses.stlb_hit", 0x13, 0x20, any_of(4), No, kModelled<DtlbStoreStlbHit>,
        "stores that missed the first TLB and hit the second")},
    {Ivb, not_modelled("dtlb_store_misses.walk_completed", 0x49, 0x02, every, No,
        "page walks completed for stores, any page size")},
    {Hsw | SklSkx, modelled("dtlb_store_misses.walk_completed", 0x49, 0x0E, every, No, kModelled<DtlbStoreWalk>,
        "page walks completed for stores, any page size")},
    {Icx, modelled("dtlb_store_misses.walk_completed", 0x49, 0x0E, any_of(4), No, kModelled<DtlbStoreWalk>,
        "page walks completed for stores, any page size")},
    {Spr, modelled("dtlb_store_misses.walk_completed", 0x13, 0x0E, any_of(4), No, kModelled<DtlbStoreWalk>,
        "page walks completed for stores, any page size")},
    {Hsw, modelled("exe_activity.1_ports_util", 0xA6, 0x02, every, No, kModelled<StallsPorts>,
        "cycles that were lost to busy ports; this processor has no such event, the encoding is Skylake's")
        .own_encoding()},
    {SklSkx | IcxSpr, modelled("exe_activity.1_ports_util", 0xA6, 0x02, every, No, kModelled<StallsPorts>,
        "cycles in which issue waited for ports: one uop executed and more were ready")},
    {SklSkx, modelled("exe_activity.bound_on_stores", 0xA6, 0x40, every, No, kModelled<StallsStoreBuffer>,
        "cycles in which the store buffer was full and held issue up")},
    {IcxSpr, modelled("exe_activity.bound_on_stores", 0xA6, 0x40, every, No, kModelled<StallsStoreBuffer>,
        "cycles in which the store buffer was full and held issue up").cycles(2)},
    {SklSkx | IcxSpr, exact("fp_arith_inst_retired.128b_packed_double", 0xC7, 0x04, every, No, kFpArith[0x04],
        "128-bit packed double-precision computations retired; fused multiply-add counts twice")},
    {SklSkx | IcxSpr, exact("fp_arith_inst_retired.128b_packed_single", 0xC7, 0x08, every, No, kFpArith[0x08],
        "128-bit packed single-precision computations retired; fused multiply-add counts twice")},
    {SklSkx | IcxSpr, exact("fp_arith_inst_retired.256b_packed_double", 0xC7, 0x10, every, No, kFpArith[0x10],
        "256-bit packed double-precision computations retired; fused multiply-add counts twice")},
    {SklSkx | IcxSpr, exact("fp_arith_inst_retired.256b_packed_single", 0xC7, 0x20, every, No, kFpArith[0x20],
        "256-bit packed single-precision computations retired; fused multiply-add counts twice")},
    {SklSkx | IcxSpr, exact("fp_arith_inst_retired.4_flops", 0xC7, 0x18, every, No, kFpArith[0x18],
        "128-bit packed single-precision and 256-bit packed double-precision computations retired; fused "
        "multiply-add counts twice")},
    {SklSkx | IcxSpr, exact("fp_arith_inst_retired.512b_packed_double", 0xC7, 0x40, every, No, kFpArith[0x40],
        "512-bit packed double-precision computations retired; fused multiply-add counts twice")},
    {SklSkx | IcxSpr, exact("fp_arith_inst_retired.512b_packed_single", 0xC7, 0x80, every, No, kFpArith[0x80],
        "512-bit packed single-precision computations retired; fused multiply-add counts twice")},
    {SklSkx | IcxSpr, exact("fp_arith_inst_retired.8_flops", 0xC7, 0x60, every, No, kFpArith[0x60],
        "256-bit packed single-precision and 512-bit packed double-precision computations retired; fused "
        "multiply-add counts twice")},
    {SklSkx | IcxSpr, exact("fp_arith_inst_retired.scalar", 0xC7, 0x03, every, No, kFpArith[0x03],
        "scalar computations retired; fused multiply-add counts twice")},
    {SklSkx | IcxSpr, exact("fp_arith_inst_retired.scalar_double", 0xC7, 0x01, every, No, kFpArith[0x01],
        "scalar double-precision computations retired; fused multiply-add counts twice")},
    {SklSkx | IcxSpr, exact("fp_arith_inst_retired.scalar_single", 0xC7, 0x02, every, No, kFpArith[0x02],
        "scalar single-precision computations retired; fused multiply-add counts twice")},
    {SklSkx | IcxSpr, exact("fp_arith_inst_retired.vector", 0xC7, 0xFC, every, No, kFpArith[0xFC],
        "packed computations retired; fused multiply-add counts twice")},
    {Hsw | SklSkx, not_modelled("fp_assist.any", 0xCA, 0x1E, every, No,
        "cycles with a floating-point assist").cycles(1)
        .also("fp_assist.all assists.fp")},
    {IcxSpr, not_modelled("fp_assist.any", 0xC1, 0x02, every, No,
        "cycles with a floating-point assist")
        .also("fp_assist.all assists.fp")},
    {Skl | IcxSpr, not_modelled("frontend_retired.any_dsb_miss", 0xC6, 0x01, every, Yes,
        "instructions retired after any miss of the decoded-uop cache").selecting(0x1)},
    {Skx, not_modelled("frontend_retired.any_dsb_miss", 0xC6, 0x01, any_of(4), Yes,
        "instructions retired after any miss of the decoded-uop cache").selecting(0x1)},
    {Skl | IcxSpr, not_modelled("frontend_retired.dsb_miss", 0xC6, 0x01, every, Yes,
        "instructions retired after a critical miss of the decoded-uop cache").selecting(0x11)},
    {Skx, not_modelled("frontend_retired.dsb_miss", 0xC6, 0x01, any_of(4), Yes,
        "instructions retired after a critical miss of the decoded-uop cache").selecting(0x11)},
    {Skl | IcxSpr, not_modelled("frontend_retired.itlb_miss", 0xC6, 0x01, every, Yes,
        "instructions retired after a miss of the instruction TLB").selecting(0x14)},
    {Skx, not_modelled("frontend_retired.itlb_miss", 0xC6, 0x01, any_of(4), Yes,
        "instructions retired after a miss of the instruction TLB").selecting(0x14)},
    {Skl | IcxSpr, not_modelled("frontend_retired.l1i_miss", 0xC6, 0x01, every, Yes,
        "instructions retired after an instruction fetch that missed the first-level cache").selecting(0x12)},
    {Skx, not_modelled("frontend_retired.l1i_miss", 0xC6, 0x01, any_of(4), Yes,
        "instructions retired after an instruction fetch that missed the first-level cache").selecting(0x12)},
    {Skl | IcxSpr, not_modelled("frontend_retired.l2_miss", 0xC6, 0x01, every, Yes,
        "instructions retired after an instruction fetch that missed the second-level cache").selecting(0x13)},
    {Skx, not_modelled("frontend_retired.l2_miss", 0xC6, 0x01, any_of(4), Yes,
        "instructions retired after an instruction fetch that missed the second-level cache").selecting(0x13)},
    {SklSkx, not_modelled("frontend_retired.latency_ge_1", 0xC6, 0x01, any_of(4), Yes,
        "instructions retired after the front end delivered nothing for at least 1 cycle").selecting(0x400106)},
    {Icx, not_modelled("frontend_retired.latency_ge_1", 0xC6, 0x01, every, Yes,
        "instructions retired after the front end delivered nothing for at least 1 cycle").selecting(0x500106)},
    {Spr, not_modelled("frontend_retired.latency_ge_1", 0xC6, 0x01, every, Yes,
        "instructions retired after the front end delivered nothing for at least 1 cycle").selecting(0x600106)},
    {SklSkx, not_modelled("frontend_retired.latency_ge_128", 0xC6, 0x01, any_of(4), Yes,
        "instructions retired after the front end delivered nothing for at least 128 cycles").selecting(0x408006)},
    {Icx, not_modelled("frontend_retired.latency_ge_128", 0xC6, 0x01, every, Yes,
        "instructions retired after the front end delivered nothing for at least 128 cycles").selecting(0x508006)},
    {Spr, not_modelled("frontend_retired.latency_ge_128", 0xC6, 0x01, every, Yes,
        "instructions retired after the front end delivered nothing for at least 128 cycles").selecting(0x608006)},
    {SklSkx, not_modelled("frontend_retired.latency_ge_16", 0xC6, 0x01, any_of(4), Yes,
        "instructions retired after the front end delivered nothing for at least 16 cycles").selecting(0x401006)},
    {Icx, not_modelled("frontend_retired.latency_ge_16", 0xC6, 0x01, every, Yes,
        "instructions retired after the front end delivered nothing for at least 16 cycles").selecting(0x501006)},
    {Spr, not_modelled("frontend_retired.latency_ge_16", 0xC6, 0x01, every, Yes,
        "instructions retired after the front end delivered nothing for at least 16 cycles").selecting(0x601006)},
    {SklSkx, not_modelled("frontend_retired.latency_ge_2", 0xC6, 0x01, any_of(4), Yes,
        "instructions retired after the front end delivered nothing for at least 2 cycles").selecting(0x400206)},
    {Icx, not_modelled("frontend_retired.latency_ge_2", 0xC6, 0x01, every, Yes,
        "instructions retired after the front end delivered nothing for at least 2 cycles").selecting(0x500206)},
    {Spr, not_modelled("frontend_retired.latency_ge_2", 0xC6, 0x01, every, Yes,
        "instructions retired after the front end delivered nothing for at least 2 cycles").selecting(0x600206)},
    {SklSkx, not_modelled("frontend_retired.latency_ge_256", 0xC6, 0x01, any_of(4), Yes,
        "instructions retired after the front end delivered nothing for at least 256 cycles").selecting(0x410006)},
    {Icx, not_modelled("frontend_retired.latency_ge_256", 0xC6, 0x01, every, Yes,
        "instructions retired after the front end delivered nothing for at least 256 cycles").selecting(0x510006)},
    {Spr, not_modelled("frontend_retired.latency_ge_256", 0xC6, 0x01, every, Yes,
        "instructions retired after the front end delivered nothing for at least 256 cycles").selecting(0x610006)},
    {Skl | IcxSpr, not_modelled("frontend_retired.latency_ge_2_bubbles_ge_1", 0xC6, 0x01, every, Yes,
        "instructions retired after the front end left at least 1 slot empty for 2 cycles").selecting(0x100206)},
    {Skx, not_modelled("frontend_retired.latency_ge_2_bubbles_ge_1", 0xC6, 0x01, any_of(4), Yes,
        "instructions retired after the front end left at least 1 slot empty for 2 cycles").selecting(0x100206)},
    {SklSkx, not_modelled("frontend_retired.latency_ge_2_bubbles_ge_2", 0xC6, 0x01, any_of(4), Yes,
        "instructions retired after the front end left at least 2 slots empty for 2 cycles").selecting(0x200206)},
    {SklSkx, not_modelled("frontend_retired.latency_ge_2_bubbles_ge_3", 0xC6, 0x01, any_of(4), Yes,
        "instructions retired after the front end left at least 3 slots empty for 2 cycles").selecting(0x300206)},
    {SklSkx, not_modelled("frontend_retired.latency_ge_32", 0xC6, 0x01, any_of(4), Yes,
        "instructions retired after the front end delivered nothing for at least 32 cycles").selecting(0x402006)},
    {Icx, not_modelled("frontend_retired.latency_ge_32", 0xC6, 0x01, every, Yes,
        "instructions retired after the front end delivered nothing for at least 32 cycles").selecting(0x502006)},
    {Spr, not_modelled("frontend_retired.latency_ge_32", 0xC6, 0x01, every, Yes,
        "instructions retired after the front end delivered nothing for at least 32 cycles").selecting(0x602006)},
    {SklSkx, not_modelled("frontend_retired.latency_ge_4", 0xC6, 0x01, any_of(4), Yes,
        "instructions retired after the front end delivered nothing for at least 4 cycles").selecting(0x400406)},
    {Icx, not_modelled("frontend_retired.latency_ge_4", 0xC6, 0x01, every, Yes,
        "instructions retired after the front end delivered nothing for at least 4 cycles").selecting(0x500406)},
    {Spr, not_modelled("frontend_retired.latency_ge_4", 0xC6, 0x01, every, Yes,
        "instructions retired after the front end delivered nothing for at least 4 cycles").selecting(0x600406)},
    {SklSkx, not_modelled("frontend_retired.latency_ge_512", 0xC6, 0x01, any_of(4), Yes,
        "instructions retired after the front end delivered nothing for at least 512 cycles").selecting(0x420006)},
    {Icx, not_modelled("frontend_retired.latency_ge_512", 0xC6, 0x01, every, Yes,
        "instructions retired after the front end delivered nothing for at least 512 cycles").selecting(0x520006)},
    {Spr, not_modelled("frontend_retired.latency_ge_512", 0xC6, 0x01, every, Yes,
        "instructions retired after the front end delivered nothing for at least 512 cycles").selecting(0x620006)},
    {SklSkx, not_modelled("frontend_retired.latency_ge_64", 0xC6, 0x01, any_of(4), Yes,
        "instructions retired after the front end delivered nothing for at least 64 cycles").selecting(0x404006)},
    {Icx, not_modelled("frontend_retired.latency_ge_64", 0xC6, 0x01, every, Yes,
        "instructions retired after the front end delivered nothing for at least 64 cycles").selecting(0x504006)},
    {Spr, not_modelled("frontend_retired.latency_ge_64", 0xC6, 0x01, every, Yes,
        "instructions retired after the front end delivered nothing for at least 64 cycles").selecting(0x604006)},
    {SklSkx, not_modelled("frontend_retired.latency_ge_8", 0xC6, 0x01, any_of(4), Yes,
        "instructions retired after the front end delivered nothing for at least 8 cycles").selecting(0x400806)},
    {Icx, not_modelled("frontend_retired.latency_ge_8", 0xC6, 0x01, every, Yes,
        "instructions retired after the front end delivered nothing for at least 8 cycles").selecting(0x500806)},
    {Spr, not_modelled("frontend_retired.latency_ge_8", 0xC6, 0x01, every, Yes,
        "instructions retired after the front end delivered nothing for at least 8 cycles").selecting(0x600806)},
    {Spr, not_modelled("frontend_retired.ms_flows", 0xC6, 0x01, every, Yes,
        "instructions retired after uops from the microcode sequencer").selecting(0x8)},
    {Skl | IcxSpr, not_modelled("frontend_retired.stlb_miss", 0xC6, 0x01, every, Yes,
        "instructions retired after an instruction fetch that missed both TLBs").selecting(0x15)},
    {Skx, not_modelled("frontend_retired.stlb_miss", 0xC6, 0x01, any_of(4), Yes,
        "instructions retired after an instruction fetch that missed both TLBs").selecting(0x15)},
    {Spr, not_modelled("frontend_retired.unknown_branch", 0xC6, 0x01, every, Yes,
        "instructions retired after a branch that the front end did not know").selecting(0x17)},
    {Hsw | SklSkx, not_modelled("hle_retired.aborted", 0xC8, 0x04, every, Yes,
        "hardware lock elisions that aborted")},
    {Icx, not_modelled("hle_retired.aborted", 0xC8, 0x04, every, No,
        "hardware lock elisions that aborted")},
    {SklSkx | Spr, not_modelled("hw_interrupts.received", 0xCB, 0x01, every, No,
        "hardware interrupts taken")},
    {Hsw, modelled("icache.hit", 0x80, 0x01, every, No, kModelled<FetchHit>,
        "instruction fetches that hit the first-level instruction cache, by line")
        .also("icache_64b.iftag_hit l1i.hits")},
    {Ivb | Hsw, modelled("icache.misses", 0x80, 0x02, every, No, kModelled<FetchMiss>,
        "instruction fetches that missed the first-level instruction cache")
        .also("icache_64b.iftag_miss l1i.misses")},
    {Icx, modelled("icache.misses", 0x83, 0x02, any_of(4), No, kModelled<FetchMiss>,
        "instruction fetches that missed the first-level instruction cache")
        .also("icache_64b.iftag_miss l1i.misses")},
    {SklSkx, modelled("icache_64b.iftag_hit", 0x83, 0x01, every, No, kModelled<FetchHit>,
        "instruction fetches that hit the first-level instruction cache, by line")
        .also("icache.hit l1i.hits")},
    {Icx, modelled("icache_64b.iftag_hit", 0x83, 0x01, any_of(4), No, kModelled<FetchHit>,
        "instruction fetches that hit the first-level instruction cache, by line")
        .also("icache.hit l1i.hits")},
    {SklSkx, modelled("icache_64b.iftag_miss", 0x83, 0x02, every, No, kModelled<FetchMiss>,
        "instruction fetches that missed the first-level instruction cache")
        .also("icache.misses l1i.misses")},
    {Hsw | SklSkx | Icx, modelled("idq.ms_uops", 0x79, 0x30, every, No, kModelled<SlotsMicrocode>,
        "uops that the microcode sequencer delivered")},
    {Spr, modelled("idq.ms_uops", 0x79, 0x20, every, No, kModelled<SlotsMicrocode>,
        "uops that the microcode sequencer delivered")},
    {Ivb | Hsw | SklSkx | IcxSpr, modelled("idq_uops_not_delivered.core", 0x9C, 0x01, every, No, kSlotsNotDelivered,
        "issue slots that the front end left empty while the back end could take uops")},
    {Ivb | Hsw | SklSkx, modelled("idq_uops_not_delivered.cycles_0_uops_deliv.core", 0x9C, 0x01, every, No,
        kModelled<CyclesNotDelivered>,
        "cycles in which the front end delivered no uop while the back end could take some").cycles(4)},
    {Icx, modelled("idq_uops_not_delivered.cycles_0_uops_deliv.core", 0x9C, 0x01, every, No,
        kModelled<CyclesNotDelivered>,
        "cycles in which the front end delivered no uop while the back end could take some").cycles(5)},
    {Spr, modelled("idq_uops_not_delivered.cycles_0_uops_deliv.core", 0x9C, 0x01, every, No,
        kModelled<CyclesNotDelivered>,
        "cycles in which the front end delivered no uop while the back end could take some").cycles(6)},
    {All, exact("inst_retired.any", 0x00, 0x01, fixed(0), No, kInstructions,
        "instructions retired (fixed counter 0)")},
    {Core2 | Icx | Glm, exact("inst_retired.any_p", 0xC0, 0x00, every, Yes, kInstructions,
        "instructions retired; a REP string instruction is one")},
    {NhmWsm, exact("inst_retired.any_p", 0xC0, 0x01, every, Yes, kInstructions,
        "instructions retired; a REP string instruction is one")},
    {Ivb | Hsw | SklSkx, exact("inst_retired.any_p", 0xC0, 0x00, every, No, kInstructions,
        "instructions retired; a REP string instruction is one")},
    {Spr, exact("inst_retired.any_p", 0xC0, 0x00, but_pmc0, Yes, kInstructions,
        "instructions retired; a REP string instruction is one")},
    {NhmWsm, exact("inst_retired.any_p_arch", 0xC0, 0x00, every, No, kInstructions,
        "instructions retired, the architectural encoding")},
    {Core2, exact("inst_retired.loads", 0xC0, 0x01, every, No, kLoadInstructions,
        "instructions retired that read memory")
        .also("mem_inst_retired.loads")},
    {SklSkx | Icx, exact("inst_retired.nop", 0xC0, 0x02, every, Yes, kNops,
        "no-operations retired (90H and 0FH 1FH)")},
    {Spr, exact("inst_retired.nop", 0xC0, 0x02, but_pmc0, Yes, kNops,
        "no-operations retired (90H and 0FH 1FH)")},
    {Ivb | Hsw | SklSkx, exact("inst_retired.prec_dist", 0xC0, 0x01, only(1), Distribution, kInstructions,
        "instructions retired; with PEBS on PMC1 the overflowing instruction itself is sampled")},
    {IcxSpr, exact("inst_retired.prec_dist", 0x00, 0x01, fixed(0), Distribution, kInstructions,
        "instructions retired; with PEBS on fixed counter 0 the overflowing instruction itself is sampled")},
    {Core2, exact("inst_retired.stores", 0xC0, 0x02, every, No, kStoreInstructions,
        "instructions retired that wrote memory")
        .also("mem_inst_retired.stores")},
    {NhmWsm, not_modelled("inst_retired.total_cycles", 0xC0, 0x01, every, Always,
        "every cycle, precise: INST_RETIRED below 10").cycles_below(16)
        .also("inst_retired.total_cycles_ps")},
    {SklSkx, not_modelled("inst_retired.total_cycles_ps", 0xC0, 0x01, but_pmc1, Always,
        "every cycle, precise: INST_RETIRED below 10").cycles_below(10)
        .also("inst_retired.total_cycles")},
    {NhmWsm, not_modelled("inst_retired.x87", 0xC0, 0x02, every, Yes,
        "x87 instructions retired")},
    {Hsw, not_modelled("inst_retired.x87", 0xC0, 0x02, every, No,
        "x87 instructions retired")},
    {Ivb | Hsw, modelled("int_misc.recovery_cycles", 0x0D, 0x03, every, No, kModelled<RecoveryCycles>,
        "allocator recovery cycles after a clear").cycles(1)},
    {SklSkx | Icx, modelled("int_misc.recovery_cycles", 0x0D, 0x01, every, No, kModelled<RecoveryCycles>,
        "cycles the allocator recovers after a clear")},
    {Spr, modelled("int_misc.recovery_cycles", 0xAD, 0x01, every, No, kModelled<RecoveryCycles>,
        "cycles the allocator recovers after a clear")},
    {Ivb | Hsw | SklSkx, not_modelled("itlb.itlb_flush", 0xAE, 0x01, every, No,
        "flushes of the instruction TLB")
        .also("itlb_flush")},
    {NhmWsm, not_modelled("itlb_flush", 0xAE, 0x01, every, No,
        "flushes of the instruction TLB")
        .also("itlb.itlb_flush")},
    {NhmWsm, modelled("itlb_miss_retired", 0xC8, 0x20, every, Yes, kModelled<ItlbStlbHit, ItlbWalk>,
        "retired instructions that missed the ITLB")},
    {NhmWsm, modelled("itlb_misses.miss_caused_walk", 0x85, 0x01, every, No, kModelled<ItlbWalk>,
        "instruction fetches whose TLB miss started a page walk")
        .also("itlb_misses.miss_causes_a_walk itlb_misses.any")},
    {Ivb | Hsw | SklSkx, modelled("itlb_misses.miss_causes_a_walk", 0x85, 0x01, every, No, kModelled<ItlbWalk>,
        "instruction fetches whose TLB miss started a page walk")
        .also("itlb_misses.any itlb_misses.miss_caused_walk")},
    {Ivb, not_modelled("itlb_misses.stlb_hit", 0x85, 0x10, every, No,
        "instruction fetches that missed the first TLB and hit the second")},
    {Hsw, modelled("itlb_misses.stlb_hit", 0x85, 0x60, every, No, kModelled<ItlbStlbHit>,
        "instruction fetches that missed the first TLB and hit the second")},
    {SklSkx, modelled("itlb_misses.stlb_hit", 0x85, 0x20, every, No, kModelled<ItlbStlbHit>,
        "instruction fetches that missed the first TLB and hit the second")},
    {Icx, modelled("itlb_misses.stlb_hit", 0x85, 0x20, any_of(4), No, kModelled<ItlbStlbHit>,
        "instruction fetches that missed the first TLB and hit the second")},
    {Spr, modelled("itlb_misses.stlb_hit", 0x11, 0x20, any_of(4), No, kModelled<ItlbStlbHit>,
        "instruction fetches that missed the first TLB and hit the second")},
    {NhmWsm, modelled("itlb_misses.walk_completed", 0x85, 0x02, every, No, kModelled<ItlbWalk>,
        "page walks completed for instruction fetches, any page size")},
    {Ivb, not_modelled("itlb_misses.walk_completed", 0x85, 0x02, every, No,
        "page walks completed for instruction fetches, any page size")},
    {Hsw | SklSkx, modelled("itlb_misses.walk_completed", 0x85, 0x0E, every, No, kModelled<ItlbWalk>,
        "page walks completed for instruction fetches, any page size")},
    {Icx, modelled("itlb_misses.walk_completed", 0x85, 0x0E, any_of(4), No, kModelled<ItlbWalk>,
        "page walks completed for instruction fetches, any page size")},
    {Spr, modelled("itlb_misses.walk_completed", 0x11, 0x0E, any_of(4), No, kModelled<ItlbWalk>,
        "page walks completed for instruction fetches, any page size")},
    {NhmWsm, modelled("l1d.m_evict", 0x51, 0x04, any_of(2), No, kModelled<L1dModifiedEvicted>,
        "modified lines that left the first-level data cache")},
    {NhmWsm, modelled("l1d.repl", 0x51, 0x01, any_of(2), No, kModelled<L1dReplacement>,
        "lines brought into the first-level data cache")
        .also("l1d.replacement")},
    {Ivb | Hsw | SklSkx, modelled("l1d.replacement", 0x51, 0x01, every, No, kModelled<L1dReplacement>,
        "lines brought into the first-level data cache")
        .also("l1d.repl")},
    {IcxSpr, modelled("l1d.replacement", 0x51, 0x01, any_of(4), No, kModelled<L1dReplacement>,
        "lines brought into the first-level data cache")
        .also("l1d.repl")},
    {Nhm, not_modelled("l1d_cache_ld.mesi", 0x40, 0x0F, any_of(2), No,
        "L1D load references by state (NHM)")},
    {Ivb | Hsw, modelled("l1d_pend_miss.fb_full", 0x48, 0x02, every, No, kModelled<FillBufferFull>,
        "cycles blocked on full fill buffers").cycles(1)},
    {SklSkx, modelled("l1d_pend_miss.fb_full", 0x48, 0x02, every, No, kModelled<FillBufferFull>,
        "requests that found all fill buffers taken")},
    {IcxSpr, modelled("l1d_pend_miss.fb_full", 0x48, 0x02, any_of(4), No, kModelled<FillBufferFull>,
        "requests that found all fill buffers taken")},
    {Ivb | Hsw, modelled("l1d_pend_miss.pending", 0x48, 0x01, only(2), No, kModelled<FillBufferPending>,
        "first-level data misses outstanding, summed over cycles")},
    {SklSkx, modelled("l1d_pend_miss.pending", 0x48, 0x01, every, No, kModelled<FillBufferPending>,
        "first-level data misses outstanding, summed over cycles")},
    {IcxSpr, modelled("l1d_pend_miss.pending", 0x48, 0x01, any_of(4), No, kModelled<FillBufferPending>,
        "first-level data misses outstanding, summed over cycles")},
    {Ivb | Hsw, modelled("l1d_pend_miss.pending_cycles", 0x48, 0x01, only(2), No, kModelled<CyclesL1dPending>,
        "cycles with a first-level data miss outstanding").cycles(1)},
    {SklSkx, modelled("l1d_pend_miss.pending_cycles", 0x48, 0x01, every, No, kModelled<CyclesL1dPending>,
        "cycles with a first-level data miss outstanding").cycles(1)},
    {IcxSpr, modelled("l1d_pend_miss.pending_cycles", 0x48, 0x01, any_of(4), No, kModelled<CyclesL1dPending>,
        "cycles with a first-level data miss outstanding").cycles(1)},
    {NhmWsm, modelled("l1i.hits", 0x80, 0x01, every, No, kModelled<FetchHit>,
        "instruction fetches that hit the first-level instruction cache, by line")
        .also("icache.hit icache_64b.iftag_hit")},
    {NhmWsm, modelled("l1i.misses", 0x80, 0x02, every, No, kModelled<FetchMiss>,
        "instruction fetches that missed the first-level instruction cache")
        .also("icache.misses icache_64b.iftag_miss")},
    {NhmWsm, modelled("l1i.reads", 0x80, 0x03, every, No, kModelled<FetchHit, FetchMiss>,
        "instruction fetches, by line")},
    {Ivb | Hsw, modelled("l2_lines_in.all", 0xF1, 0x07, every, No, kModelled<L2LinesIn>,
        "lines brought into the second-level cache")
        .also("l2_lines_in.any")},
    {SklSkx, modelled("l2_lines_in.all", 0xF1, 0x1F, every, No, kModelled<L2LinesIn>,
        "lines brought into the second-level cache")
        .also("l2_lines_in.any")},
    {Icx, modelled("l2_lines_in.all", 0xF1, 0x1F, any_of(4), No, kModelled<L2LinesIn>,
        "lines brought into the second-level cache")
        .also("l2_lines_in.any")},
    {Spr, modelled("l2_lines_in.all", 0x25, 0x1F, any_of(4), No, kModelled<L2LinesIn>,
        "lines brought into the second-level cache")
        .also("l2_lines_in.any")},
    {NhmWsm, modelled("l2_lines_in.any", 0xF1, 0x07, every, No, kModelled<L2LinesIn>,
        "lines brought into the second-level cache")
        .also("l2_lines_in.all")},
    {NhmWsm, modelled("l2_lines_out.any", 0xF2, 0x0F, every, No, kModelled<L2LinesOutSilent, L2LinesOutNonSilent>,
        "lines that left the second-level cache")},
    {SklSkx, modelled("l2_lines_out.non_silent", 0xF2, 0x02, every, No, kModelled<L2LinesOutNonSilent>,
        "lines that left the second-level cache for the next one")},
    {Icx, modelled("l2_lines_out.non_silent", 0xF2, 0x02, any_of(4), No, kModelled<L2LinesOutNonSilent>,
        "lines that left the second-level cache for the next one")},
    {Spr, modelled("l2_lines_out.non_silent", 0x26, 0x02, any_of(4), No, kModelled<L2LinesOutNonSilent>,
        "lines that left the second-level cache for the next one")},
    {SklSkx, modelled("l2_lines_out.silent", 0xF2, 0x01, every, No, kModelled<L2LinesOutSilent>,
        "lines that were dropped from the second-level cache")},
    {Icx, modelled("l2_lines_out.silent", 0xF2, 0x01, any_of(4), No, kModelled<L2LinesOutSilent>,
        "lines that were dropped from the second-level cache")},
    {Spr, modelled("l2_lines_out.silent", 0x26, 0x01, any_of(4), No, kModelled<L2LinesOutSilent>,
        "lines that were dropped from the second-level cache")},
    {Ivb, not_modelled("l2_rqsts.all_code_rd", 0x24, 0x30, every, No,
        "code reads of the second-level cache")
        .also("l2_rqsts.ifetches")},
    {Hsw | SklSkx, modelled("l2_rqsts.all_code_rd", 0x24, 0xE4, every, No, kModelled<L2CodeHit, L2CodeMiss>,
        "code reads of the second-level cache")
        .also("l2_rqsts.ifetches")},
    {IcxSpr, modelled("l2_rqsts.all_code_rd", 0x24, 0xE4, any_of(4), No, kModelled<L2CodeHit, L2CodeMiss>,
        "code reads of the second-level cache")
        .also("l2_rqsts.ifetches")},
    {Ivb, not_modelled("l2_rqsts.all_demand_data_rd", 0x24, 0x03, every, No,
        "demand data reads of the second-level cache")
        .also("l2_rqsts.loads")},
    {Hsw | SklSkx, modelled("l2_rqsts.all_demand_data_rd", 0x24, 0xE1, every, No, kL2DemandReads,
        "demand data reads of the second-level cache")
        .also("l2_rqsts.loads")},
    {IcxSpr, modelled("l2_rqsts.all_demand_data_rd", 0x24, 0xE1, any_of(4), No, kL2DemandReads,
        "demand data reads of the second-level cache")
        .also("l2_rqsts.loads")},
    {NhmWsm, modelled("l2_rqsts.all_hwpf", 0x24, 0xC0, every, No, kL2Prefetches,
        "prefetches of the second-level cache")
        .also("l2_rqsts.all_pf l2_rqsts.prefetches")},
    {Ivb, not_modelled("l2_rqsts.all_pf", 0x24, 0xC0, every, No,
        "prefetches of the second-level cache")
        .also("l2_rqsts.prefetches l2_rqsts.all_hwpf")},
    {Hsw | SklSkx, modelled("l2_rqsts.all_pf", 0x24, 0xF8, every, No, kL2Prefetches,
        "prefetches of the second-level cache")
        .also("l2_rqsts.prefetches l2_rqsts.all_hwpf")},
    {Spr, modelled("l2_rqsts.all_pf", 0x24, 0xF0, any_of(4), No, kL2Prefetches,
        "prefetches of the second-level cache")
        .also("l2_rqsts.prefetches l2_rqsts.all_hwpf")},
    {Ivb, not_modelled("l2_rqsts.all_rfo", 0x24, 0x0C, every, No,
        "reads for ownership of the second-level cache")
        .also("l2_rqsts.rfos")},
    {Hsw | SklSkx, modelled("l2_rqsts.all_rfo", 0x24, 0xE2, every, No, kModelled<L2RfoHit, L2RfoMiss>,
        "reads for ownership of the second-level cache")
        .also("l2_rqsts.rfos")},
    {IcxSpr, modelled("l2_rqsts.all_rfo", 0x24, 0xE2, any_of(4), No, kModelled<L2RfoHit, L2RfoMiss>,
        "reads for ownership of the second-level cache")
        .also("l2_rqsts.rfos")},
    {Ivb, not_modelled("l2_rqsts.code_rd_miss", 0x24, 0x20, every, No,
        "code reads that missed the second-level cache")
        .also("l2_rqsts.ifetch_miss")},
    {Hsw | SklSkx, modelled("l2_rqsts.code_rd_miss", 0x24, 0x24, every, No, kModelled<L2CodeMiss>,
        "code reads that missed the second-level cache")
        .also("l2_rqsts.ifetch_miss")},
    {IcxSpr, modelled("l2_rqsts.code_rd_miss", 0x24, 0x24, any_of(4), No, kModelled<L2CodeMiss>,
        "code reads that missed the second-level cache")
        .also("l2_rqsts.ifetch_miss")},
    {Ivb, not_modelled("l2_rqsts.demand_data_rd_hit", 0x24, 0x01, every, No,
        "demand data reads that hit the second-level cache")
        .also("l2_rqsts.ld_hit")},
    {Hsw | SklSkx, modelled("l2_rqsts.demand_data_rd_hit", 0x24, 0xC1, every, No, kModelled<L2DemandReadHit>,
        "demand data reads that hit the second-level cache")
        .also("l2_rqsts.ld_hit")},
    {IcxSpr, modelled("l2_rqsts.demand_data_rd_hit", 0x24, 0xC1, any_of(4), No, kModelled<L2DemandReadHit>,
        "demand data reads that hit the second-level cache")
        .also("l2_rqsts.ld_hit")},
    {Hsw | SklSkx, modelled("l2_rqsts.demand_data_rd_miss", 0x24, 0x21, every, No, kModelled<L2DemandReadMiss>,
        "demand data reads that missed the second-level cache")
        .also("l2_rqsts.ld_miss")},
    {IcxSpr, modelled("l2_rqsts.demand_data_rd_miss", 0x24, 0x21, any_of(4), No, kModelled<L2DemandReadMiss>,
        "demand data reads that missed the second-level cache")
        .also("l2_rqsts.ld_miss")},
    {NhmWsm, modelled("l2_rqsts.ifetch_miss", 0x24, 0x20, every, No, kModelled<L2CodeMiss>,
        "code reads that missed the second-level cache")
        .also("l2_rqsts.code_rd_miss")},
    {NhmWsm, modelled("l2_rqsts.ifetches", 0x24, 0x30, every, No, kModelled<L2CodeHit, L2CodeMiss>,
        "code reads of the second-level cache")
        .also("l2_rqsts.all_code_rd")},
    {NhmWsm, modelled("l2_rqsts.ld_hit", 0x24, 0x01, every, No, kModelled<L2DemandReadHit>,
        "demand data reads that hit the second-level cache")
        .also("l2_rqsts.demand_data_rd_hit")},
    {NhmWsm, modelled("l2_rqsts.ld_miss", 0x24, 0x02, every, No, kModelled<L2DemandReadMiss>,
        "demand data reads that missed the second-level cache")
        .also("l2_rqsts.demand_data_rd_miss")},
    {NhmWsm, modelled("l2_rqsts.loads", 0x24, 0x03, every, No, kL2DemandReads,
        "demand data reads of the second-level cache")
        .also("l2_rqsts.all_demand_data_rd")},
    {NhmWsm, modelled("l2_rqsts.miss", 0x24, 0xAA, every, No, kL2Misses,
        "requests of any kind that missed the second-level cache")},
    {Hsw | SklSkx, modelled("l2_rqsts.miss", 0x24, 0x3F, every, No, kL2Misses,
        "requests of any kind that missed the second-level cache")},
    {IcxSpr, modelled("l2_rqsts.miss", 0x24, 0x3F, any_of(4), No, kL2Misses,
        "requests of any kind that missed the second-level cache")},
    {NhmWsm | Hsw | SklSkx, modelled("l2_rqsts.references", 0x24, 0xFF, every, No, kL2References,
        "requests to the second-level cache of any kind")},
    {IcxSpr, modelled("l2_rqsts.references", 0x24, 0xFF, any_of(4), No, kL2References,
        "requests to the second-level cache of any kind")},
    {NhmWsm, modelled("l2_rqsts.rfo_hit", 0x24, 0x04, every, No, kModelled<L2RfoHit>,
        "reads for ownership that hit the second-level cache")},
    {Ivb, not_modelled("l2_rqsts.rfo_hit", 0x24, 0x04, every, No,
        "reads for ownership that hit the second-level cache")},
    {Hsw | SklSkx, modelled("l2_rqsts.rfo_hit", 0x24, 0xC2, every, No, kModelled<L2RfoHit>,
        "reads for ownership that hit the second-level cache")},
    {IcxSpr, modelled("l2_rqsts.rfo_hit", 0x24, 0xC2, any_of(4), No, kModelled<L2RfoHit>,
        "reads for ownership that hit the second-level cache")},
    {NhmWsm, modelled("l2_rqsts.rfo_miss", 0x24, 0x08, every, No, kModelled<L2RfoMiss>,
        "reads for ownership that missed the second-level cache")},
    {Ivb, not_modelled("l2_rqsts.rfo_miss", 0x24, 0x08, every, No,
        "reads for ownership that missed the second-level cache")},
    {Hsw | SklSkx, modelled("l2_rqsts.rfo_miss", 0x24, 0x22, every, No, kModelled<L2RfoMiss>,
        "reads for ownership that missed the second-level cache")},
    {IcxSpr, modelled("l2_rqsts.rfo_miss", 0x24, 0x22, any_of(4), No, kModelled<L2RfoMiss>,
        "reads for ownership that missed the second-level cache")},
    {NhmWsm, modelled("l2_rqsts.rfos", 0x24, 0x0C, every, No, kModelled<L2RfoHit, L2RfoMiss>,
        "reads for ownership of the second-level cache")
        .also("l2_rqsts.all_rfo")},
    {Ivb | Hsw | SklSkx, not_modelled("l2_trans.l2_wb", 0xF0, 0x40, every, No,
        "lines written back from the second-level cache")
        .also("l2_transactions.wb")},
    {Icx, not_modelled("l2_trans.l2_wb", 0xF0, 0x40, any_of(4), No,
        "lines written back from the second-level cache")
        .also("l2_transactions.wb")},
    {Spr, not_modelled("l2_trans.l2_wb", 0x23, 0x40, any_of(4), No,
        "lines written back from the second-level cache")
        .also("l2_transactions.wb")},
    {NhmWsm, not_modelled("l2_transactions.wb", 0xF0, 0x40, every, No,
        "lines written back from the second-level cache")
        .also("l2_trans.l2_wb")},
    {Glm, not_modelled("ld_blocks.4k_alias", 0x03, 0x04, every, Yes,
        "loads delayed by an older store at the same offset in a 4 KB page; most of the delay costs no cycles here")
        .also("ld_blocks.address_alias")},
    {Glm, not_modelled("ld_blocks.all_block", 0x03, 0x10, every, Yes,
        "loads blocked for any reason")},
    {Glm, not_modelled("ld_blocks.data_unknown", 0x03, 0x01, every, Yes,
        "loads blocked by an older store whose data was not there yet")},
    {Ivb | Hsw | SklSkx, not_modelled("ld_blocks.no_sr", 0x03, 0x08, every, No,
        "split loads blocked for want of a split register")},
    {Icx, not_modelled("ld_blocks.no_sr", 0x03, 0x08, any_of(4), No,
        "split loads blocked for want of a split register")},
    {Spr, not_modelled("ld_blocks.no_sr", 0x03, 0x88, any_of(4), No,
        "split loads blocked for want of a split register")},
    {Ivb | Hsw | SklSkx, modelled("ld_blocks.store_forward", 0x03, 0x02, every, No, kModelled<ForwardBlocked>,
        "loads blocked by an older store that could not be forwarded")},
    {Icx, modelled("ld_blocks.store_forward", 0x03, 0x02, any_of(4), No, kModelled<ForwardBlocked>,
        "loads blocked by an older store that could not be forwarded")},
    {Spr, modelled("ld_blocks.store_forward", 0x03, 0x82, any_of(4), No, kModelled<ForwardBlocked>,
        "loads blocked by an older store that could not be forwarded")},
    {Glm, not_modelled("ld_blocks.store_forward", 0x03, 0x02, every, Yes,
        "loads blocked by an older store that could not be forwarded")},
    {Glm, not_modelled("ld_blocks.utlb_miss", 0x03, 0x08, every, Yes,
        "loads blocked by a miss of the first TLB")},
    {Ivb | Hsw | SklSkx, modelled("ld_blocks_partial.address_alias", 0x07, 0x01, every, No, kModelled<AddressAlias>,
        "loads delayed by an older store at the same offset in a 4 KB page; most of the delay costs no cycles here")
        .also("ld_blocks.address_alias")},
    {Icx, modelled("ld_blocks_partial.address_alias", 0x07, 0x01, any_of(4), No, kModelled<AddressAlias>,
        "loads delayed by an older store at the same offset in a 4 KB page; most of the delay costs no cycles here")
        .also("ld_blocks.address_alias")},
    {Spr, modelled("ld_blocks_partial.address_alias", 0x03, 0x04, any_of(4), No, kModelled<AddressAlias>,
        "loads delayed by an older store at the same offset in a 4 KB page; most of the delay costs no cycles here")
        .also("ld_blocks.address_alias")},
    {All, modelled("longest_lat_cache.miss", 0x2E, 0x41, every, No, kModelled<LlcMiss>,
        "misses of the last-level cache")},
    {All, modelled("longest_lat_cache.reference", 0x2E, 0x4F, every, No, kModelled<LlcReference>,
        "references to the last-level cache")},
    {Ivb | Hsw | SklSkx | IcxSpr, not_modelled("machine_clears.count", 0xC3, 0x01, every, No,
        "machine clears of any kind").cycles(1).rising()},
    {NhmWsm | Hsw, not_modelled("machine_clears.cycles", 0xC3, 0x01, every, No,
        "cycles of machine-clear activity")},
    {Ivb | Hsw, not_modelled("machine_clears.maskmov", 0xC3, 0x20, every, No,
        "AVX masked-move clears")},
    {NhmWsm, not_modelled("machine_clears.mem_order", 0xC3, 0x02, every, No,
        "machine clears for memory ordering")
        .also("machine_clears.memory_ordering")},
    {Ivb | Hsw | SklSkx | IcxSpr | Glm, not_modelled("machine_clears.memory_ordering", 0xC3, 0x02, every, No,
        "machine clears for memory ordering")
        .also("machine_clears.mem_order")},
    {Big, not_modelled("machine_clears.smc", 0xC3, 0x04, every, No,
        "machine clears for self-modifying code")},
    {Glm, not_modelled("machine_clears.smc", 0xC3, 0x01, every, No,
        "machine clears for self-modifying code")},
    {SklSkx, exact("mem_inst_retired.all_loads", 0xD0, 0x81, every, Yes, kLoadOrPrefetchInstructions,
        "instructions retired that load, a REP string instruction once, and software prefetches").with_address()
        .also("mem_uops_retired.all_loads mem_inst_retired.loads")},
    {IcxSpr, exact("mem_inst_retired.all_loads", 0xD0, 0x81, any_of(4), Yes, kLoadOrPrefetchInstructions,
        "instructions retired that load, a REP string instruction once, and software prefetches").with_address()
        .also("mem_uops_retired.all_loads mem_inst_retired.loads")},
    {SklSkx, exact("mem_inst_retired.all_stores", 0xD0, 0x82, every, Yes, kStoreInstructions,
        "instructions retired that store, a REP string instruction once").with_store_address()
        .also("mem_uops_retired.all_stores mem_inst_retired.stores")},
    {IcxSpr, exact("mem_inst_retired.all_stores", 0xD0, 0x82, any_of(4), Yes, kStoreInstructions,
        "instructions retired that store, a REP string instruction once").with_store_address()
        .also("mem_uops_retired.all_stores mem_inst_retired.stores")},
    {SklSkx, exact("mem_inst_retired.any", 0xD0, 0x83, every, Yes, kMemoryInstructions,
        "instructions retired that load or store, and software prefetches").with_address()
        .also("mem_uops_retired.all")},
    {IcxSpr, exact("mem_inst_retired.any", 0xD0, 0x83, any_of(4), Yes, kMemoryInstructions,
        "instructions retired that load or store, and software prefetches").with_address()
        .also("mem_uops_retired.all")},
    {NhmWsm, modelled("mem_inst_retired.latency_above_threshold_0", 0x0B, 0x10, every, Always,
        kModelled<LatencyLoads>, "tagged loads retired that took more than 0 cycles").with_address().selecting(0)
        .also("mem_trans_retired.load_latency_gt_0")},
    {NhmWsm, modelled("mem_inst_retired.latency_above_threshold_1024", 0x0B, 0x10, every, Always,
        kModelled<LatencyLoads>, "tagged loads retired that took more than 1024 cycles").with_address().selecting(1024)
        .also("mem_trans_retired.load_latency_gt_1024")},
    {NhmWsm, modelled("mem_inst_retired.latency_above_threshold_128", 0x0B, 0x10, every, Always,
        kModelled<LatencyLoads>, "tagged loads retired that took more than 128 cycles").with_address().selecting(128)
        .also("mem_trans_retired.load_latency_gt_128")},
    {NhmWsm, modelled("mem_inst_retired.latency_above_threshold_16", 0x0B, 0x10, every, Always,
        kModelled<LatencyLoads>, "tagged loads retired that took more than 16 cycles").with_address().selecting(16)
        .also("mem_trans_retired.load_latency_gt_16")},
    {NhmWsm, modelled("mem_inst_retired.latency_above_threshold_16384", 0x0B, 0x10, every, Always,
        kModelled<LatencyLoads>, "tagged loads retired that took more than 16384 cycles").with_address().selecting(16384)
        .also("mem_trans_retired.load_latency_gt_16384")},
    {NhmWsm, modelled("mem_inst_retired.latency_above_threshold_2048", 0x0B, 0x10, every, Always,
        kModelled<LatencyLoads>, "tagged loads retired that took more than 2048 cycles").with_address().selecting(2048)
        .also("mem_trans_retired.load_latency_gt_2048")},
    {NhmWsm, modelled("mem_inst_retired.latency_above_threshold_256", 0x0B, 0x10, every, Always,
        kModelled<LatencyLoads>, "tagged loads retired that took more than 256 cycles").with_address().selecting(256)
        .also("mem_trans_retired.load_latency_gt_256")},
    {NhmWsm, modelled("mem_inst_retired.latency_above_threshold_32", 0x0B, 0x10, every, Always,
        kModelled<LatencyLoads>, "tagged loads retired that took more than 32 cycles").with_address().selecting(32)
        .also("mem_trans_retired.load_latency_gt_32")},
    {NhmWsm, modelled("mem_inst_retired.latency_above_threshold_32768", 0x0B, 0x10, every, Always,
        kModelled<LatencyLoads>, "tagged loads retired that took more than 32768 cycles").with_address().selecting(32768)
        .also("mem_trans_retired.load_latency_gt_32768")},
    {NhmWsm, modelled("mem_inst_retired.latency_above_threshold_4", 0x0B, 0x10, every, Always,
        kModelled<LatencyLoads>, "tagged loads retired that took more than 4 cycles").with_address().selecting(4)
        .also("mem_trans_retired.load_latency_gt_4")},
    {NhmWsm, modelled("mem_inst_retired.latency_above_threshold_4096", 0x0B, 0x10, every, Always,
        kModelled<LatencyLoads>, "tagged loads retired that took more than 4096 cycles").with_address().selecting(4096)
        .also("mem_trans_retired.load_latency_gt_4096")},
    {NhmWsm, modelled("mem_inst_retired.latency_above_threshold_512", 0x0B, 0x10, every, Always,
        kModelled<LatencyLoads>, "tagged loads retired that took more than 512 cycles").with_address().selecting(512)
        .also("mem_trans_retired.load_latency_gt_512")},
    {NhmWsm, modelled("mem_inst_retired.latency_above_threshold_64", 0x0B, 0x10, every, Always,
        kModelled<LatencyLoads>, "tagged loads retired that took more than 64 cycles").with_address().selecting(64)
        .also("mem_trans_retired.load_latency_gt_64")},
    {NhmWsm, modelled("mem_inst_retired.latency_above_threshold_8", 0x0B, 0x10, every, Always,
        kModelled<LatencyLoads>, "tagged loads retired that took more than 8 cycles").with_address().selecting(8)
        .also("mem_trans_retired.load_latency_gt_8")},
    {NhmWsm, modelled("mem_inst_retired.latency_above_threshold_8192", 0x0B, 0x10, every, Always,
        kModelled<LatencyLoads>, "tagged loads retired that took more than 8192 cycles").with_address().selecting(8192)
        .also("mem_trans_retired.load_latency_gt_8192")},
    {NhmWsm, exact("mem_inst_retired.loads", 0x0B, 0x01, every, Yes, kLoadInstructions,
        "instructions retired that load, a REP string instruction once")
        .also("mem_inst_retired.all_loads mem_uops_retired.all_loads")},
    {SklSkx, exact("mem_inst_retired.lock_loads", 0xD0, 0x21, every, Yes, kLockedLoads,
        "loads retired of instructions with a LOCK prefix or of XCHG with memory").with_address()
        .also("mem_uops_retired.lock_loads")},
    {IcxSpr, exact("mem_inst_retired.lock_loads", 0xD0, 0x21, any_of(4), Yes, kLockedLoads,
        "loads retired of instructions with a LOCK prefix or of XCHG with memory").with_address()
        .also("mem_uops_retired.lock_loads")},
    {SklSkx, exact("mem_inst_retired.split_loads", 0xD0, 0x41, every, Yes, kSplitLoadInstructions,
        "instructions retired with a load that crossed a 64-byte line").with_address()
        .also("mem_uops_retired.split_loads")},
    {IcxSpr, exact("mem_inst_retired.split_loads", 0xD0, 0x41, any_of(4), Yes, kSplitLoadInstructions,
        "instructions retired with a load that crossed a 64-byte line").with_address()
        .also("mem_uops_retired.split_loads")},
    {SklSkx, exact("mem_inst_retired.split_stores", 0xD0, 0x42, every, Yes, kSplitStoreInstructions,
        "instructions retired with a store that crossed a 64-byte line; costs a cycle more to commit").with_store_address()
        .also("mem_uops_retired.split_stores")},
    {IcxSpr, exact("mem_inst_retired.split_stores", 0xD0, 0x42, any_of(4), Yes, kSplitStoreInstructions,
        "instructions retired with a store that crossed a 64-byte line; costs a cycle more to commit").with_store_address()
        .also("mem_uops_retired.split_stores")},
    {SklSkx, modelled("mem_inst_retired.stlb_miss_loads", 0xD0, 0x11, every, Yes, kModelled<LoadStlbMiss>,
        "loads retired that walked the page tables").with_address()
        .also("mem_uops_retired.stlb_miss_loads mem_load_retired.dtlb_miss")},
    {IcxSpr, modelled("mem_inst_retired.stlb_miss_loads", 0xD0, 0x11, any_of(4), Yes, kModelled<LoadStlbMiss>,
        "loads retired that walked the page tables").with_address()
        .also("mem_uops_retired.stlb_miss_loads mem_load_retired.dtlb_miss")},
    {SklSkx, modelled("mem_inst_retired.stlb_miss_stores", 0xD0, 0x12, every, Yes, kModelled<StoreStlbMiss>,
        "stores retired that walked the page tables").with_store_address()
        .also("mem_uops_retired.stlb_miss_stores mem_store_retired.dtlb_miss")},
    {IcxSpr, modelled("mem_inst_retired.stlb_miss_stores", 0xD0, 0x12, any_of(4), Yes, kModelled<StoreStlbMiss>,
        "stores retired that walked the page tables").with_store_address()
        .also("mem_uops_retired.stlb_miss_stores mem_store_retired.dtlb_miss")},
    {NhmWsm, exact("mem_inst_retired.stores", 0x0B, 0x02, every, Yes, kStoreInstructions,
        "instructions retired that store, a REP string instruction once")
        .also("mem_inst_retired.all_stores mem_uops_retired.all_stores")},
    {SklSkx, modelled("mem_load_l3_hit_retired.xsnp_hit", 0xD2, 0x02, every, Yes, kModelled<LoadL3SnoopHit>,
        "loads retired that hit the third-level cache with the line clean in another core").with_address()
        .also("mem_load_uops_l3_hit_retired.xsnp_hit mem_load_uops_llc_hit_retired.xsnp_hit "
              "mem_load_l3_hit_retired.xsnp_no_fwd")},
    {IcxSpr, modelled("mem_load_l3_hit_retired.xsnp_hit", 0xD2, 0x02, any_of(4), Yes, kModelled<LoadL3SnoopHit>,
        "loads retired that hit the third-level cache with the line clean in another core").with_address()
        .also("mem_load_uops_l3_hit_retired.xsnp_hit mem_load_uops_llc_hit_retired.xsnp_hit "
              "mem_load_l3_hit_retired.xsnp_no_fwd")},
    {SklSkx, modelled("mem_load_l3_hit_retired.xsnp_hitm", 0xD2, 0x04, every, Yes, kModelled<LoadL3Hitm>,
        "loads retired that hit the third-level cache with the line modified in another core").with_address()
        .also("mem_load_uops_l3_hit_retired.xsnp_hitm mem_load_uops_llc_hit_retired.xsnp_hitm "
              "mem_load_l3_hit_retired.xsnp_fwd")},
    {IcxSpr, modelled("mem_load_l3_hit_retired.xsnp_hitm", 0xD2, 0x04, any_of(4), Yes, kModelled<LoadL3Hitm>,
        "loads retired that hit the third-level cache with the line modified in another core").with_address()
        .also("mem_load_uops_l3_hit_retired.xsnp_hitm mem_load_uops_llc_hit_retired.xsnp_hitm "
              "mem_load_l3_hit_retired.xsnp_fwd")},
    {SklSkx, modelled("mem_load_l3_hit_retired.xsnp_miss", 0xD2, 0x01, every, Yes, kModelled<LoadL3HitMiss>,
        "loads retired that hit the third-level cache and whose snoop of other cores missed").with_address()
        .also("mem_load_uops_l3_hit_retired.xsnp_miss mem_load_uops_llc_hit_retired.xsnp_miss")},
    {IcxSpr, modelled("mem_load_l3_hit_retired.xsnp_miss", 0xD2, 0x01, any_of(4), Yes, kModelled<LoadL3HitMiss>,
        "loads retired that hit the third-level cache and whose snoop of other cores missed").with_address()
        .also("mem_load_uops_l3_hit_retired.xsnp_miss mem_load_uops_llc_hit_retired.xsnp_miss")},
    {SklSkx, modelled("mem_load_l3_hit_retired.xsnp_none", 0xD2, 0x08, every, Yes, kModelled<LoadL3HitNone>,
        "loads retired that hit the third-level cache without a snoop").with_address()
        .also("mem_load_uops_l3_hit_retired.xsnp_none mem_load_uops_llc_hit_retired.xsnp_none")},
    {IcxSpr, modelled("mem_load_l3_hit_retired.xsnp_none", 0xD2, 0x08, any_of(4), Yes, kModelled<LoadL3HitNone>,
        "loads retired that hit the third-level cache without a snoop").with_address()
        .also("mem_load_uops_l3_hit_retired.xsnp_none mem_load_uops_llc_hit_retired.xsnp_none")},
    {SklSkx, modelled("mem_load_l3_miss_retired.local_dram", 0xD3, 0x01, every, Yes, kModelled<LoadDram>,
        "loads retired that missed the third-level cache and were served from local memory").with_address()},
    {IcxSpr, modelled("mem_load_l3_miss_retired.local_dram", 0xD3, 0x01, any_of(4), Yes, kModelled<LoadDram>,
        "loads retired that missed the third-level cache and were served from local memory").with_address()
        .also("mem_load_uops_l3_miss_retired.local_dram mem_load_uops_llc_miss_retired.local_dram "
              "mem_uncore_retired.local_dram")},
    {SklSkx, not_modelled("mem_load_l3_miss_retired.remote_dram", 0xD3, 0x02, every, Yes,
        "loads retired that missed the third-level cache and were served from memory of another socket").with_address()},
    {IcxSpr, not_modelled("mem_load_l3_miss_retired.remote_dram", 0xD3, 0x02, any_of(4), Yes,
        "loads retired that missed the third-level cache and were served from memory of another socket").with_address()
        .also("mem_uncore_retired.remote_dram")},
    {SklSkx, not_modelled("mem_load_l3_miss_retired.remote_fwd", 0xD3, 0x08, every, Yes,
        "loads retired that missed the third-level cache and were served from a line forwarded by a cache of "
        "another socket").with_address()},
    {IcxSpr, not_modelled("mem_load_l3_miss_retired.remote_fwd", 0xD3, 0x08, any_of(4), Yes,
        "loads retired that missed the third-level cache and were served from a line forwarded by a cache of "
        "another socket").with_address()
        .also("mem_uncore_retired.remote_cache_local_home_hit")},
    {SklSkx, not_modelled("mem_load_l3_miss_retired.remote_hitm", 0xD3, 0x04, every, Yes,
        "loads retired that missed the third-level cache and were served from a modified line in a cache of "
        "another socket").with_address()},
    {IcxSpr, not_modelled("mem_load_l3_miss_retired.remote_hitm", 0xD3, 0x04, any_of(4), Yes,
        "loads retired that missed the third-level cache and were served from a modified line in a cache of "
        "another socket").with_address()},
    {SklSkx, not_modelled("mem_load_misc_retired.uc", 0xD4, 0x04, every, Yes,
        "uncacheable loads retired").with_address()
        .also("mem_uncore_retired.uncacheable")},
    {IcxSpr, not_modelled("mem_load_misc_retired.uc", 0xD4, 0x04, any_of(4), Yes,
        "uncacheable loads retired").with_address()
        .also("mem_uncore_retired.uncacheable")},
    {Core2, not_modelled("mem_load_retired.dtlb_miss", 0xCB, 0x10, every, Yes,
        "loads retired that missed the data TLB")},
    {NhmWsm, modelled("mem_load_retired.dtlb_miss", 0xCB, 0x80, every, Yes, kModelled<LoadStlbMiss>,
        "loads retired that walked the page tables")
        .also("mem_inst_retired.stlb_miss_loads mem_uops_retired.stlb_miss_loads")},
    {SklSkx, modelled("mem_load_retired.fb_hit", 0xD1, 0x40, every, Yes, kModelled<LoadFillBuffer>,
        "loads retired that found their line already on its way in a fill buffer").with_address()
        .also("mem_load_uops_retired.hit_lfb mem_load_retired.hit_lfb")},
    {IcxSpr, modelled("mem_load_retired.fb_hit", 0xD1, 0x40, any_of(4), Yes, kModelled<LoadFillBuffer>,
        "loads retired that found their line already on its way in a fill buffer").with_address()
        .also("mem_load_uops_retired.hit_lfb mem_load_retired.hit_lfb")},
    {NhmWsm, modelled("mem_load_retired.hit_lfb", 0xCB, 0x40, every, Yes, kModelled<LoadFillBuffer>,
        "loads retired that found their line already on its way in a fill buffer")
        .also("mem_load_retired.fb_hit mem_load_uops_retired.hit_lfb")},
    {SklSkx, modelled("mem_load_retired.l1_hit", 0xD1, 0x01, every, Yes, kModelled<LoadL1Hit>,
        "loads retired that hit the first-level data cache").with_address()
        .also("mem_load_uops_retired.l1_hit mem_load_retired.l1d_hit")},
    {IcxSpr, modelled("mem_load_retired.l1_hit", 0xD1, 0x01, any_of(4), Yes, kModelled<LoadL1Hit>,
        "loads retired that hit the first-level data cache").with_address()
        .also("mem_load_uops_retired.l1_hit mem_load_retired.l1d_hit")},
    {SklSkx, modelled("mem_load_retired.l1_miss", 0xD1, 0x08, every, Yes, kLoadsPastL1,
        "loads retired that missed the first-level data cache").with_address()
        .also("mem_load_uops_retired.l1_miss")},
    {IcxSpr, modelled("mem_load_retired.l1_miss", 0xD1, 0x08, any_of(4), Yes, kLoadsPastL1,
        "loads retired that missed the first-level data cache").with_address()
        .also("mem_load_uops_retired.l1_miss")},
    {NhmWsm, modelled("mem_load_retired.l1d_hit", 0xCB, 0x01, every, Yes, kModelled<LoadL1Hit>,
        "loads retired that hit the first-level data cache")
        .also("mem_load_retired.l1_hit mem_load_uops_retired.l1_hit")},
    {Core2, not_modelled("mem_load_retired.l1d_line_miss", 0xCB, 0x02, every, Yes,
        "lines that loads retired brought into the first-level data cache")},
    {Core2, not_modelled("mem_load_retired.l1d_miss", 0xCB, 0x01, every, Yes,
        "loads retired that missed the first-level data cache")},
    {SklSkx, modelled("mem_load_retired.l2_hit", 0xD1, 0x02, every, Yes, kModelled<LoadL2Hit>,
        "loads retired that hit the second-level cache").with_address()
        .also("mem_load_uops_retired.l2_hit")},
    {IcxSpr, modelled("mem_load_retired.l2_hit", 0xD1, 0x02, any_of(4), Yes, kModelled<LoadL2Hit>,
        "loads retired that hit the second-level cache").with_address()
        .also("mem_load_uops_retired.l2_hit")},
    {Core2, not_modelled("mem_load_retired.l2_line_miss", 0xCB, 0x08, every, Yes,
        "lines that loads retired brought into the second-level cache")},
    {Core2, not_modelled("mem_load_retired.l2_miss", 0xCB, 0x04, every, Yes,
        "loads retired that missed the second-level cache")},
    {SklSkx, modelled("mem_load_retired.l2_miss", 0xD1, 0x10, every, Yes, kLoadsPastL2,
        "loads retired that missed the second-level cache").with_address()
        .also("mem_load_uops_retired.l2_miss")},
    {IcxSpr, modelled("mem_load_retired.l2_miss", 0xD1, 0x10, any_of(4), Yes, kLoadsPastL2,
        "loads retired that missed the second-level cache").with_address()
        .also("mem_load_uops_retired.l2_miss")},
    {SklSkx, modelled("mem_load_retired.l3_hit", 0xD1, 0x04, every, Yes, kLoadsOfL3,
        "loads retired that hit the third-level cache").with_address()
        .also("mem_load_uops_retired.l3_hit mem_load_uops_retired.llc_hit mem_load_retired.llc_unshared_hit")},
    {IcxSpr, modelled("mem_load_retired.l3_hit", 0xD1, 0x04, any_of(4), Yes, kLoadsOfL3,
        "loads retired that hit the third-level cache").with_address()
        .also("mem_load_uops_retired.l3_hit mem_load_uops_retired.llc_hit mem_load_retired.llc_unshared_hit")},
    {SklSkx, modelled("mem_load_retired.l3_miss", 0xD1, 0x20, every, Yes, kModelled<LoadDram>,
        "loads retired that missed the third-level cache").with_address()
        .also("mem_load_uops_retired.l3_miss mem_load_uops_retired.llc_miss mem_load_retired.llc_miss "
              "mem_load_uops_misc_retired.llc_miss")},
    {IcxSpr, modelled("mem_load_retired.l3_miss", 0xD1, 0x20, any_of(4), Yes, kModelled<LoadDram>,
        "loads retired that missed the third-level cache").with_address()
        .also("mem_load_uops_retired.l3_miss mem_load_uops_retired.llc_miss mem_load_retired.llc_miss "
              "mem_load_uops_misc_retired.llc_miss")},
    {NhmWsm, modelled("mem_load_retired.llc_unshared_hit", 0xCB, 0x04, every, Yes,
        kModelled<LoadL3HitNone, LoadL3HitMiss>,
        "loads retired that hit the third-level cache")
        .also("mem_load_retired.l3_hit mem_load_uops_retired.l3_hit mem_load_uops_retired.llc_hit")},
    {NhmWsm, modelled("mem_load_retired.other_core_l2_hit_hitm", 0xCB, 0x08, every, Yes,
        kModelled<LoadL3SnoopHit, LoadL3Hitm>,
        "L3 hit with another core snooped")},
    {Ivb, not_modelled("mem_load_uops_l3_hit_retired.xsnp_hit", 0xD2, 0x02, every, Yes,
        "loads retired that hit the third-level cache with the line clean in another core")
        .also("mem_load_l3_hit_retired.xsnp_hit mem_load_uops_llc_hit_retired.xsnp_hit "
              "mem_load_l3_hit_retired.xsnp_no_fwd")},
    {Hsw, modelled("mem_load_uops_l3_hit_retired.xsnp_hit", 0xD2, 0x02, every, Yes, kModelled<LoadL3SnoopHit>,
        "loads retired that hit the third-level cache with the line clean in another core").with_address()
        .also("mem_load_l3_hit_retired.xsnp_hit mem_load_uops_llc_hit_retired.xsnp_hit "
              "mem_load_l3_hit_retired.xsnp_no_fwd")},
    {Ivb, not_modelled("mem_load_uops_l3_hit_retired.xsnp_hitm", 0xD2, 0x04, every, Yes,
        "loads retired that hit the third-level cache with the line modified in another core")
        .also("mem_load_l3_hit_retired.xsnp_hitm mem_load_uops_llc_hit_retired.xsnp_hitm "
              "mem_load_l3_hit_retired.xsnp_fwd")},
    {Hsw, modelled("mem_load_uops_l3_hit_retired.xsnp_hitm", 0xD2, 0x04, every, Yes, kModelled<LoadL3Hitm>,
        "loads retired that hit the third-level cache with the line modified in another core").with_address()
        .also("mem_load_l3_hit_retired.xsnp_hitm mem_load_uops_llc_hit_retired.xsnp_hitm "
              "mem_load_l3_hit_retired.xsnp_fwd")},
    {Ivb, not_modelled("mem_load_uops_l3_hit_retired.xsnp_miss", 0xD2, 0x01, every, Yes,
        "loads retired that hit the third-level cache and whose snoop of other cores missed")
        .also("mem_load_l3_hit_retired.xsnp_miss mem_load_uops_llc_hit_retired.xsnp_miss")},
    {Hsw, modelled("mem_load_uops_l3_hit_retired.xsnp_miss", 0xD2, 0x01, every, Yes, kModelled<LoadL3HitMiss>,
        "loads retired that hit the third-level cache and whose snoop of other cores missed").with_address()
        .also("mem_load_l3_hit_retired.xsnp_miss mem_load_uops_llc_hit_retired.xsnp_miss")},
    {Ivb, not_modelled("mem_load_uops_l3_hit_retired.xsnp_none", 0xD2, 0x08, every, Yes,
        "loads retired that hit the third-level cache without a snoop")
        .also("mem_load_l3_hit_retired.xsnp_none mem_load_uops_llc_hit_retired.xsnp_none")},
    {Hsw, modelled("mem_load_uops_l3_hit_retired.xsnp_none", 0xD2, 0x08, every, Yes, kModelled<LoadL3HitNone>,
        "loads retired that hit the third-level cache without a snoop").with_address()
        .also("mem_load_l3_hit_retired.xsnp_none mem_load_uops_llc_hit_retired.xsnp_none")},
    {Ivb, not_modelled("mem_load_uops_l3_miss_retired.local_dram", 0xD3, 0x01, every, Yes,
        "loads retired that missed the third-level cache and were served from local memory")
        .also("mem_load_l3_miss_retired.local_dram mem_load_uops_llc_miss_retired.local_dram "
              "mem_uncore_retired.local_dram")},
    {Hsw, modelled("mem_load_uops_l3_miss_retired.local_dram", 0xD3, 0x01, every, Yes, kModelled<LoadDram>,
        "loads retired that missed the third-level cache and were served from local memory").with_address()
        .also("mem_load_l3_miss_retired.local_dram mem_load_uops_llc_miss_retired.local_dram "
              "mem_uncore_retired.local_dram")},
    {NhmWsm, modelled("mem_load_uops_misc_retired.llc_miss", 0xCB, 0x10, every, Yes, kModelled<LoadDram>,
        "loads retired that missed the third-level cache")
        .also("mem_load_retired.l3_miss mem_load_uops_retired.l3_miss mem_load_uops_retired.llc_miss "
              "mem_load_retired.llc_miss")},
    {Glm, not_modelled("mem_load_uops_retired.dram_hit", 0xD1, 0x80, every, Yes,
        "loads retired that were served from memory").with_address()},
    {Ivb, not_modelled("mem_load_uops_retired.hit_lfb", 0xD1, 0x40, every, Yes,
        "loads retired that found their line already on its way in a fill buffer")
        .also("mem_load_retired.fb_hit mem_load_retired.hit_lfb")},
    {Hsw, modelled("mem_load_uops_retired.hit_lfb", 0xD1, 0x40, every, Yes, kModelled<LoadFillBuffer>,
        "loads retired that found their line already on its way in a fill buffer").with_address()
        .also("mem_load_retired.fb_hit mem_load_retired.hit_lfb")},
    {Glm, not_modelled("mem_load_uops_retired.hitm", 0xD1, 0x20, every, Yes,
        "loads retired served from a modified line of another core").with_address()},
    {Ivb, not_modelled("mem_load_uops_retired.l1_hit", 0xD1, 0x01, every, Yes,
        "loads retired that hit the first-level data cache")
        .also("mem_load_retired.l1_hit mem_load_retired.l1d_hit")},
    {Hsw | Glm, modelled("mem_load_uops_retired.l1_hit", 0xD1, 0x01, every, Yes, kModelled<LoadL1Hit>,
        "loads retired that hit the first-level data cache").with_address()
        .also("mem_load_retired.l1_hit mem_load_retired.l1d_hit")},
    {Ivb, not_modelled("mem_load_uops_retired.l1_miss", 0xD1, 0x08, every, Yes,
        "loads retired that missed the first-level data cache")
        .also("mem_load_retired.l1_miss")},
    {Hsw | Glm, modelled("mem_load_uops_retired.l1_miss", 0xD1, 0x08, every, Yes, kLoadsPastL1,
        "loads retired that missed the first-level data cache").with_address()
        .also("mem_load_retired.l1_miss")},
    {NhmWsm, modelled("mem_load_uops_retired.l2_hit", 0xCB, 0x02, every, Yes, kModelled<LoadL2Hit>,
        "loads retired that hit the second-level cache")
        .also("mem_load_retired.l2_hit")},
    {Ivb, not_modelled("mem_load_uops_retired.l2_hit", 0xD1, 0x02, every, Yes,
        "loads retired that hit the second-level cache")
        .also("mem_load_retired.l2_hit")},
    {Hsw | Glm, modelled("mem_load_uops_retired.l2_hit", 0xD1, 0x02, every, Yes, kModelled<LoadL2Hit>,
        "loads retired that hit the second-level cache").with_address()
        .also("mem_load_retired.l2_hit")},
    {Ivb, not_modelled("mem_load_uops_retired.l2_miss", 0xD1, 0x10, every, Yes,
        "loads retired that missed the second-level cache")
        .also("mem_load_retired.l2_miss")},
    {Hsw | Glm, modelled("mem_load_uops_retired.l2_miss", 0xD1, 0x10, every, Yes, kLoadsPastL2,
        "loads retired that missed the second-level cache").with_address()
        .also("mem_load_retired.l2_miss")},
    {Ivb, not_modelled("mem_load_uops_retired.l3_hit", 0xD1, 0x04, every, Yes,
        "loads retired that hit the third-level cache")
        .also("mem_load_retired.l3_hit mem_load_uops_retired.llc_hit mem_load_retired.llc_unshared_hit")},
    {Hsw, modelled("mem_load_uops_retired.l3_hit", 0xD1, 0x04, every, Yes, kLoadsOfL3,
        "loads retired that hit the third-level cache").with_address()
        .also("mem_load_retired.l3_hit mem_load_uops_retired.llc_hit mem_load_retired.llc_unshared_hit")},
    {Ivb, not_modelled("mem_load_uops_retired.l3_miss", 0xD1, 0x20, every, Yes,
        "loads retired that missed the third-level cache")
        .also("mem_load_retired.l3_miss mem_load_uops_retired.llc_miss mem_load_retired.llc_miss "
              "mem_load_uops_misc_retired.llc_miss")},
    {Hsw, modelled("mem_load_uops_retired.l3_miss", 0xD1, 0x20, every, Yes, kModelled<LoadDram>,
        "loads retired that missed the third-level cache").with_address()
        .also("mem_load_retired.l3_miss mem_load_uops_retired.llc_miss mem_load_retired.llc_miss "
              "mem_load_uops_misc_retired.llc_miss")},
    {Glm, not_modelled("mem_load_uops_retired.wcb_hit", 0xD1, 0x40, every, Yes,
        "loads retired that found their line already on its way in a fill buffer").with_address()},
    {NhmWsm, modelled("mem_store_retired.dtlb_miss", 0x0C, 0x01, every, Yes, kModelled<StoreStlbMiss>,
        "stores retired that walked the page tables")
        .also("mem_inst_retired.stlb_miss_stores mem_uops_retired.stlb_miss_stores")},
    {Spr, modelled("mem_trans_retired.load_latency_gt_1024", 0xCD, 0x01, but_pmc0, Yes,
        kModelled<LatencyLoads>, "tagged loads retired that took more than 1024 cycles").with_address().selecting(1024)},
    {Ivb, modelled("mem_trans_retired.load_latency_gt_128", 0xCD, 0x01, only(3), Always,
        kModelled<LatencyLoads>, "tagged loads retired that took more than 128 cycles").with_address().selecting(128)},
    {Hsw | SklSkx, modelled("mem_trans_retired.load_latency_gt_128", 0xCD, 0x01, any_of(4), Always,
        kModelled<LatencyLoads>, "tagged loads retired that took more than 128 cycles").with_address().selecting(128)},
    {Icx, modelled("mem_trans_retired.load_latency_gt_128", 0xCD, 0x01, every, Yes,
        kModelled<LatencyLoads>, "tagged loads retired that took more than 128 cycles").with_address().selecting(128)},
    {Spr, modelled("mem_trans_retired.load_latency_gt_128", 0xCD, 0x01, but_pmc0, Yes,
        kModelled<LatencyLoads>, "tagged loads retired that took more than 128 cycles").with_address().selecting(128)},
    {Ivb, modelled("mem_trans_retired.load_latency_gt_16", 0xCD, 0x01, only(3), Always,
        kModelled<LatencyLoads>, "tagged loads retired that took more than 16 cycles").with_address().selecting(16)},
    {Hsw | SklSkx, modelled("mem_trans_retired.load_latency_gt_16", 0xCD, 0x01, any_of(4), Always,
        kModelled<LatencyLoads>, "tagged loads retired that took more than 16 cycles").with_address().selecting(16)},
    {Icx, modelled("mem_trans_retired.load_latency_gt_16", 0xCD, 0x01, every, Yes,
        kModelled<LatencyLoads>, "tagged loads retired that took more than 16 cycles").with_address().selecting(16)},
    {Spr, modelled("mem_trans_retired.load_latency_gt_16", 0xCD, 0x01, but_pmc0, Yes,
        kModelled<LatencyLoads>, "tagged loads retired that took more than 16 cycles").with_address().selecting(16)},
    {Ivb, modelled("mem_trans_retired.load_latency_gt_256", 0xCD, 0x01, only(3), Always,
        kModelled<LatencyLoads>, "tagged loads retired that took more than 256 cycles").with_address().selecting(256)},
    {Hsw | SklSkx, modelled("mem_trans_retired.load_latency_gt_256", 0xCD, 0x01, any_of(4), Always,
        kModelled<LatencyLoads>, "tagged loads retired that took more than 256 cycles").with_address().selecting(256)},
    {Icx, modelled("mem_trans_retired.load_latency_gt_256", 0xCD, 0x01, every, Yes,
        kModelled<LatencyLoads>, "tagged loads retired that took more than 256 cycles").with_address().selecting(256)},
    {Spr, modelled("mem_trans_retired.load_latency_gt_256", 0xCD, 0x01, but_pmc0, Yes,
        kModelled<LatencyLoads>, "tagged loads retired that took more than 256 cycles").with_address().selecting(256)},
    {Ivb, modelled("mem_trans_retired.load_latency_gt_32", 0xCD, 0x01, only(3), Always,
        kModelled<LatencyLoads>, "tagged loads retired that took more than 32 cycles").with_address().selecting(32)},
    {Hsw | SklSkx, modelled("mem_trans_retired.load_latency_gt_32", 0xCD, 0x01, any_of(4), Always,
        kModelled<LatencyLoads>, "tagged loads retired that took more than 32 cycles").with_address().selecting(32)},
    {Icx, modelled("mem_trans_retired.load_latency_gt_32", 0xCD, 0x01, every, Yes,
        kModelled<LatencyLoads>, "tagged loads retired that took more than 32 cycles").with_address().selecting(32)},
    {Spr, modelled("mem_trans_retired.load_latency_gt_32", 0xCD, 0x01, but_pmc0, Yes,
        kModelled<LatencyLoads>, "tagged loads retired that took more than 32 cycles").with_address().selecting(32)},
    {Ivb, modelled("mem_trans_retired.load_latency_gt_4", 0xCD, 0x01, only(3), Always,
        kModelled<LatencyLoads>, "tagged loads retired that took more than 4 cycles").with_address().selecting(4)},
    {Hsw | SklSkx, modelled("mem_trans_retired.load_latency_gt_4", 0xCD, 0x01, any_of(4), Always,
        kModelled<LatencyLoads>, "tagged loads retired that took more than 4 cycles").with_address().selecting(4)},
    {Icx, modelled("mem_trans_retired.load_latency_gt_4", 0xCD, 0x01, every, Yes,
        kModelled<LatencyLoads>, "tagged loads retired that took more than 4 cycles").with_address().selecting(4)},
    {Spr, modelled("mem_trans_retired.load_latency_gt_4", 0xCD, 0x01, but_pmc0, Yes,
        kModelled<LatencyLoads>, "tagged loads retired that took more than 4 cycles").with_address().selecting(4)},
    {Ivb, modelled("mem_trans_retired.load_latency_gt_512", 0xCD, 0x01, only(3), Always,
        kModelled<LatencyLoads>, "tagged loads retired that took more than 512 cycles").with_address().selecting(512)},
    {Hsw | SklSkx, modelled("mem_trans_retired.load_latency_gt_512", 0xCD, 0x01, any_of(4), Always,
        kModelled<LatencyLoads>, "tagged loads retired that took more than 512 cycles").with_address().selecting(512)},
    {Icx, modelled("mem_trans_retired.load_latency_gt_512", 0xCD, 0x01, every, Yes,
        kModelled<LatencyLoads>, "tagged loads retired that took more than 512 cycles").with_address().selecting(512)},
    {Spr, modelled("mem_trans_retired.load_latency_gt_512", 0xCD, 0x01, but_pmc0, Yes,
        kModelled<LatencyLoads>, "tagged loads retired that took more than 512 cycles").with_address().selecting(512)},
    {Ivb, modelled("mem_trans_retired.load_latency_gt_64", 0xCD, 0x01, only(3), Always,
        kModelled<LatencyLoads>, "tagged loads retired that took more than 64 cycles").with_address().selecting(64)},
    {Hsw | SklSkx, modelled("mem_trans_retired.load_latency_gt_64", 0xCD, 0x01, any_of(4), Always,
        kModelled<LatencyLoads>, "tagged loads retired that took more than 64 cycles").with_address().selecting(64)},
    {Icx, modelled("mem_trans_retired.load_latency_gt_64", 0xCD, 0x01, every, Yes,
        kModelled<LatencyLoads>, "tagged loads retired that took more than 64 cycles").with_address().selecting(64)},
    {Spr, modelled("mem_trans_retired.load_latency_gt_64", 0xCD, 0x01, but_pmc0, Yes,
        kModelled<LatencyLoads>, "tagged loads retired that took more than 64 cycles").with_address().selecting(64)},
    {Ivb, modelled("mem_trans_retired.load_latency_gt_8", 0xCD, 0x01, only(3), Always,
        kModelled<LatencyLoads>, "tagged loads retired that took more than 8 cycles").with_address().selecting(8)},
    {Hsw | SklSkx, modelled("mem_trans_retired.load_latency_gt_8", 0xCD, 0x01, any_of(4), Always,
        kModelled<LatencyLoads>, "tagged loads retired that took more than 8 cycles").with_address().selecting(8)},
    {Icx, modelled("mem_trans_retired.load_latency_gt_8", 0xCD, 0x01, every, Yes,
        kModelled<LatencyLoads>, "tagged loads retired that took more than 8 cycles").with_address().selecting(8)},
    {Spr, modelled("mem_trans_retired.load_latency_gt_8", 0xCD, 0x01, but_pmc0, Yes,
        kModelled<LatencyLoads>, "tagged loads retired that took more than 8 cycles").with_address().selecting(8)},
    {Ivb, exact("mem_trans_retired.precise_store", 0xCD, 0x02, only(3), Always, kStores,
        "stores retired, sampled with their addresses by the precise-store facility").with_store_address()
        .by(Facility::PreciseStore)},
    {Spr, exact("mem_trans_retired.store_sample", 0xCD, 0x02, only(0), Yes, kStoreInstructions,
        "instructions retired that store, sampled with their addresses, where the line was and how long it took")
        .with_store_address()
        .by(Facility::StoreLatency)},
    {Nhm, not_modelled("mem_uncore_retired.local_dram", 0x0F, 0x20, every, Yes,
        "loads retired that missed the third-level cache and were served from local memory")
        .also("mem_load_l3_miss_retired.local_dram mem_load_uops_l3_miss_retired.local_dram "
              "mem_load_uops_llc_miss_retired.local_dram")},
    {Wsm, modelled("mem_uncore_retired.local_dram", 0x0F, 0x10, every, Yes, kModelled<LoadDram>,
        "loads retired that missed the third-level cache and were served from local memory")
        .also("mem_load_l3_miss_retired.local_dram mem_load_uops_l3_miss_retired.local_dram "
              "mem_load_uops_llc_miss_retired.local_dram")},
    {Wsm, modelled("mem_uncore_retired.other_core_l2_hitm", 0x0F, 0x02, every, Yes, kModelled<LoadL3Hitm>,
        "loads retired that found their line modified in another core")},
    {Nhm, not_modelled("mem_uncore_retired.remote_cache_local_home_hit", 0x0F, 0x08, every, Yes,
        "loads retired that missed the third-level cache and were served from a line forwarded by a cache of "
        "another socket")
        .also("mem_load_l3_miss_retired.remote_fwd")},
    {Nhm, not_modelled("mem_uncore_retired.remote_dram", 0x0F, 0x10, every, Yes,
        "loads retired that missed the third-level cache and were served from memory of another socket")
        .also("mem_load_l3_miss_retired.remote_dram")},
    {Nhm, not_modelled("mem_uncore_retired.uncacheable", 0x0F, 0x80, every, Yes,
        "uncacheable loads retired")
        .also("mem_load_misc_retired.uc")},
    {Glm, exact("mem_uops_retired.all", 0xD0, 0x83, every, Yes, kLoadsAndStores,
        "loads and stores retired").with_address()
        .also("mem_inst_retired.any")},
    {Ivb, exact("mem_uops_retired.all_loads", 0xD0, 0x81, every, Yes, kLoadsAndPrefetches,
        "loads retired, one per operand read and per element with REP, and software prefetches")
        .also("mem_inst_retired.all_loads mem_inst_retired.loads")},
    {Hsw, exact("mem_uops_retired.all_loads", 0xD0, 0x81, every, Yes, kLoadsAndPrefetches,
        "loads retired, one per operand read and per element with REP, and software prefetches").with_address()
        .also("mem_inst_retired.all_loads mem_inst_retired.loads")},
    {Glm, exact("mem_uops_retired.all_loads", 0xD0, 0x81, every, Yes, kLoads,
        "loads retired, one per operand read and per element with REP").with_address()
        .also("mem_inst_retired.all_loads mem_inst_retired.loads")},
    {Ivb, exact("mem_uops_retired.all_stores", 0xD0, 0x82, every, Yes, kStores,
        "stores retired, one per operand written and per element with REP")
        .also("mem_inst_retired.all_stores mem_inst_retired.stores")},
    {Hsw | Glm, exact("mem_uops_retired.all_stores", 0xD0, 0x82, every, Yes, kStores,
        "stores retired, one per operand written and per element with REP").with_store_address()
        .also("mem_inst_retired.all_stores mem_inst_retired.stores")},
    {Glm, not_modelled("mem_uops_retired.dtlb_miss", 0xD0, 0x13, every, Yes,
        "loads and stores retired that walked the page tables").with_address()},
    {Glm, not_modelled("mem_uops_retired.dtlb_miss_loads", 0xD0, 0x11, every, Yes,
        "loads retired that walked the page tables").with_address()
        .also("mem_inst_retired.stlb_miss_loads")},
    {Glm, not_modelled("mem_uops_retired.dtlb_miss_stores", 0xD0, 0x12, every, Yes,
        "stores retired that walked the page tables").with_store_address()
        .also("mem_inst_retired.stlb_miss_stores")},
    {Ivb, exact("mem_uops_retired.lock_loads", 0xD0, 0x21, every, Yes, kLockedLoads,
        "loads retired of instructions with a LOCK prefix or of XCHG with memory")
        .also("mem_inst_retired.lock_loads")},
    {Hsw | Glm, exact("mem_uops_retired.lock_loads", 0xD0, 0x21, every, Yes, kLockedLoads,
        "loads retired of instructions with a LOCK prefix or of XCHG with memory").with_address()
        .also("mem_inst_retired.lock_loads")},
    {Ivb, exact("mem_uops_retired.split_loads", 0xD0, 0x41, every, Yes, kSplitLoads,
        "loads retired that crossed a 64-byte line")
        .also("mem_inst_retired.split_loads")},
    {Hsw | Glm, exact("mem_uops_retired.split_loads", 0xD0, 0x41, every, Yes, kSplitLoads,
        "loads retired that crossed a 64-byte line").with_address()
        .also("mem_inst_retired.split_loads")},
    {Ivb, exact("mem_uops_retired.split_stores", 0xD0, 0x42, every, Yes, kSplitStores,
        "stores retired that crossed a 64-byte line; costs a cycle more to commit")
        .also("mem_inst_retired.split_stores")},
    {Hsw | Glm, exact("mem_uops_retired.split_stores", 0xD0, 0x42, every, Yes, kSplitStores,
        "stores retired that crossed a 64-byte line; costs a cycle more to commit").with_store_address()
        .also("mem_inst_retired.split_stores")},
    {Ivb, not_modelled("mem_uops_retired.stlb_miss_loads", 0xD0, 0x11, every, Yes,
        "loads retired that walked the page tables")
        .also("mem_inst_retired.stlb_miss_loads mem_load_retired.dtlb_miss")},
    {Hsw, modelled("mem_uops_retired.stlb_miss_loads", 0xD0, 0x11, every, Yes, kModelled<LoadStlbMiss>,
        "loads retired that walked the page tables").with_address()
        .also("mem_inst_retired.stlb_miss_loads mem_load_retired.dtlb_miss")},
    {Ivb, not_modelled("mem_uops_retired.stlb_miss_stores", 0xD0, 0x12, every, Yes,
        "stores retired that walked the page tables")
        .also("mem_inst_retired.stlb_miss_stores mem_store_retired.dtlb_miss")},
    {Hsw, modelled("mem_uops_retired.stlb_miss_stores", 0xD0, 0x12, every, Yes, kModelled<StoreStlbMiss>,
        "stores retired that walked the page tables").with_store_address()
        .also("mem_inst_retired.stlb_miss_stores mem_store_retired.dtlb_miss")},
    {Ivb | Hsw, not_modelled("misalign_mem_ref.loads", 0x05, 0x01, every, No,
        "line-split speculative loads")},
    {Wsm, not_modelled("misalign_mem_ref.store", 0x05, 0x02, every, No,
        "line-split speculative stores")
        .also("misalign_mem_ref.stores")},
    {Ivb | Hsw, not_modelled("misalign_mem_ref.stores", 0x05, 0x02, every, No,
        "line-split speculative stores")
        .also("misalign_mem_ref.store")},
    {Wsm, modelled("offcore_requests.demand.read_data", 0xB0, 0x01, every, No, kModelled<L2DemandReadMiss>,
        "demand data reads that left the core")
        .also("offcore_requests.demand_data_rd")},
    {Ivb | Hsw | SklSkx, modelled("offcore_requests.demand_data_rd", 0xB0, 0x01, every, No, kModelled<L2DemandReadMiss>,
        "demand data reads that left the core")
        .also("offcore_requests.demand.read_data")},
    {Icx, modelled("offcore_requests.demand_data_rd", 0xB0, 0x01, any_of(4), No, kModelled<L2DemandReadMiss>,
        "demand data reads that left the core")
        .also("offcore_requests.demand.read_data")},
    {Spr, modelled("offcore_requests.demand_data_rd", 0x21, 0x01, any_of(4), No, kModelled<L2DemandReadMiss>,
        "demand data reads that left the core")
        .also("offcore_requests.demand.read_data")},
    {Wsm, not_modelled("offcore_requests_outstanding.demand.read_data", 0x60, 0x01, only(0), No,
        "demand data reads outstanding outside the core, summed over cycles")
        .also("offcore_requests_outstanding.demand_data_rd")},
    {Ivb | Hsw | SklSkx, not_modelled("offcore_requests_outstanding.demand_data_rd", 0x60, 0x01, every, No,
        "demand data reads outstanding outside the core, summed over cycles")
        .also("offcore_requests_outstanding.demand.read_data")},
    {Icx, not_modelled("offcore_requests_outstanding.demand_data_rd", 0x60, 0x01, any_of(4), No,
        "demand data reads outstanding outside the core, summed over cycles")
        .also("offcore_requests_outstanding.demand.read_data")},
    {Spr, not_modelled("offcore_requests_outstanding.demand_data_rd", 0x20, 0x01, any_of(4), No,
        "demand data reads outstanding outside the core, summed over cycles")
        .also("offcore_requests_outstanding.demand.read_data")},
    {Hsw, not_modelled("other_assists.any", 0xC1, 0x40, every, No,
        "assists other than floating-point ones")
        .also("other_assists.any_wb_assist assists.any")},
    {SklSkx, not_modelled("other_assists.any", 0xC1, 0x3F, every, No,
        "assists other than floating-point ones")
        .also("other_assists.any_wb_assist assists.any")},
    {Icx, not_modelled("other_assists.any", 0xC1, 0x07, every, No,
        "assists other than floating-point ones")
        .also("other_assists.any_wb_assist assists.any")},
    {Spr, not_modelled("other_assists.any", 0xC1, 0x1B, every, No,
        "assists other than floating-point ones")
        .also("other_assists.any_wb_assist assists.any")},
    {Glm, not_modelled("page_walks.d_side_cycles", 0x05, 0x01, every, No,
        "cycles of page walks for data")},
    {NhmWsm | Hsw | SklSkx, not_modelled("resource_stalls.any", 0xA2, 0x01, every, No,
        "cycles in which the allocator waited for some resource")},
    {Hsw | SklSkx | IcxSpr, modelled("resource_stalls.sb", 0xA2, 0x08, every, No, kModelled<StallsStoreBuffer>,
        "cycles in which the allocator waited for the store buffer")
        .also("resource_stalls.store")},
    {NhmWsm, modelled("resource_stalls.store", 0xA2, 0x08, every, No, kModelled<StallsStoreBuffer>,
        "cycles in which the allocator waited for the store buffer")
        .also("resource_stalls.sb")},
    {Ivb | Hsw | SklSkx, not_modelled("rob_misc_events.lbr_inserts", 0xCC, 0x20, every, No,
        "branches entered into the LBR stack")},
    {Hsw | IcxSpr, not_modelled("rtm_retired.aborted", 0xC9, 0x04, every, Yes,
        "restricted transactions that aborted")},
    {SklSkx, not_modelled("rtm_retired.aborted", 0xC9, 0x04, every, Always,
        "restricted transactions that aborted")},
    {Hsw | SklSkx | IcxSpr, not_modelled("rtm_retired.start", 0xC9, 0x01, every, No,
        "restricted transactions begun")},
    {Core2, not_modelled("simd_inst_retired.any", 0xC7, 0x1F, every, Yes,
        "SIMD instructions retired")},
    {IcxSpr, modelled("topdown.backend_bound_slots", 0xA4, 0x02, every, No, kSlotsBackend,
        "slots lost to the back end")},
    {Spr, modelled("topdown.bad_spec_slots", 0xA4, 0x04, only(0), No, kModelled<SlotsMispredict, SlotsMachineClear>,
        "slots lost to bad speculation")},
    {Spr, modelled("topdown.br_mispredict_slots", 0xA4, 0x08, only(0), No, kModelled<SlotsMispredict>,
        "slots lost to branch mispredicts")},
    {Spr, modelled("topdown.memory_bound_slots", 0xA4, 0x10, every, No, kSlotsMemory,
        "back-end slots lost to memory")},
    {IcxSpr, time("topdown.slots", 0x00, 0x04, fixed(3), Tick::Slots,
        "issue slots, fixed counter 3")},
    {IcxSpr, time("topdown.slots_p", 0xA4, 0x01, every, Tick::Slots,
        "issue slots, programmable")},
    {SklSkx | IcxSpr, modelled("uops_executed.thread", 0xB1, 0x01, every, No, kModelled<Uops>,
        "uops executed for this hyper-thread")
        .also("uops_dispatched.thread")},
    {NhmWsm | Ivb | Hsw | SklSkx | Icx, modelled("uops_issued.any", 0x0E, 0x01, every, No, kIssuedUops,
        "uops issued by the renamer")},
    {Spr, modelled("uops_issued.any", 0xAE, 0x01, every, No, kIssuedUops,
        "uops issued by the renamer")},
    {Ivb | Hsw, modelled("uops_retired.all", 0xC2, 0x01, every, Yes, kModelled<Uops>,
        "uops retired (this is C2/01 on SNB..BDW)")
        .also("uops_retired.any")},
    {NhmWsm, modelled("uops_retired.any", 0xC2, 0x01, every, Yes, kModelled<Uops>,
        "uops retired (this is C2/01 on SNB..BDW)")
        .also("uops_retired.all")},
    {Glm, not_modelled("uops_retired.any", 0xC2, 0x00, every, Yes,
        "uops retired")
        .also("uops_retired.all")},
    {NhmWsm, modelled("uops_retired.macro_fused", 0xC2, 0x04, every, Yes, kModelled<MacroFused>,
        "macro-fused uops retired")},
    {SklSkx, modelled("uops_retired.macro_fused", 0xC2, 0x04, every, No, kModelled<MacroFused>,
        "macro-fused uops retired")},
    {Glm, not_modelled("uops_retired.ms", 0xC2, 0x01, every, Yes,
        "uops of the microcode sequencer retired")},
    {Hsw, modelled("uops_retired.retire_slots", 0xC2, 0x02, every, Yes, kUsedSlots,
        "retirement slots used")
        .also("uops_retired.slots")},
    {SklSkx | IcxSpr, modelled("uops_retired.retire_slots", 0xC2, 0x02, every, No, kUsedSlots,
        "retirement slots used")
        .also("uops_retired.slots")},
    {NhmWsm, modelled("uops_retired.slots", 0xC2, 0x02, every, Yes, kUsedSlots,
        "retirement slots used")
        .also("uops_retired.retire_slots")},
    {NhmWsm, not_modelled("uops_retired.stall_cycles", 0xC2, 0x01, every, Yes,
        "cycles in which no uop retired").cycles_below(1)},
    {Hsw, not_modelled("uops_retired.stall_cycles", 0xC2, 0x01, every, No,
        "cycles in which no uop retired").cycles_below(1)},
    {SklSkx | IcxSpr, not_modelled("uops_retired.stall_cycles", 0xC2, 0x02, every, No,
        "cycles in which no uop retired").cycles_below(1)},
    {NhmWsm, not_modelled("uops_retired.total_cycles", 0xC2, 0x01, every, Yes,
        "every cycle: UOPS_RETIRED below 16").cycles_below(16)},
    {Hsw, not_modelled("uops_retired.total_cycles", 0xC2, 0x01, every, No,
        "every cycle: UOPS_RETIRED below 16").cycles_below(16)},
    {SklSkx, not_modelled("uops_retired.total_cycles", 0xC2, 0x02, every, No,
        "every cycle: UOPS_RETIRED below 16").cycles_below(16)},
    {Icx, not_modelled("uops_retired.total_cycles", 0xC2, 0x02, every, No,
        "every cycle: UOPS_RETIRED below 16").cycles_below(10)},
    {Core2, not_modelled("x87_ops_retired.any", 0xC1, 0xFE, every, Yes,
        "x87 computational operations retired")},
};
// clang-format on

template <Cpus Cpu>
constexpr std::size_t kRowsOf = [] {
  std::size_t rows = 0;
  for (const Row& row : kRows) rows += (row.in & Cpu) != 0;
  return rows;
}();

template <Cpus Cpu, const CpuModel& Model>
constexpr auto kTable = [] {
  constexpr CounterSet existing = Model.counters();
  std::array<Event, kRowsOf<Cpu>> table{};
  std::size_t at = 0;
  for (const Row& row : kRows) {
    if ((row.in & Cpu) == 0) continue;
    table[at] = row.event;
    table[at].counters = row.event.counters & existing;
    ++at;
  }
  return table;
}();

template <Cpus Cpu, const CpuModel& Model>
std::span<const Event> table() {
  static_assert(is_consistent(kTable<Cpu, Model>, Model.counters()));
  return kTable<Cpu, Model>;
}

}  // namespace

std::span<const Event> core2_events() { return table<Core2, kCore2V1>(); }
std::span<const Event> nehalem_events() { return table<Nhm, kNehalem1>(); }
std::span<const Event> westmere_events() { return table<Wsm, kWestmere1>(); }
std::span<const Event> ivybridge_events() { return table<Ivb, kIvybridge1>(); }
std::span<const Event> haswell_events() { return table<Hsw, kHaswell1>(); }
std::span<const Event> skylake_client_events() { return table<Skl, kSkylakeClient1>(); }
std::span<const Event> skylake_server_events() { return table<Skx, kSkylakeServer1>(); }
std::span<const Event> icelake_server_events() { return table<Icx, kIcelakeServer1>(); }
std::span<const Event> sapphire_rapids_events() { return table<Spr, kSapphireRapids1>(); }
std::span<const Event> goldmont_events() { return table<Glm, kGoldmont1>(); }

}  // namespace zs::arch

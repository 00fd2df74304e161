// Events of Westmere (06_25H). Rows ascend by name. Only the exact events and the architectural ones: the rest of this
// generation's list is still to be written. The names *_arch are ours, for architectural encodings that the vendor's
// list of this processor leaves out.
// source: the vendor's published core event list of that processor; what the exact ones count: events/meanings.h.
#include "arch/events/tables.h"

namespace zs::arch {

namespace {

using enum Precise;

// clang-format off
constexpr Event kEvents[] = {
    //            name                                 code  umask counters,  precise,     what it counts
    exact(       "br_inst_retired.all_branches",       0xC4, 0x04, any_of(4), Yes,          kBranches,
        "branch instructions retired, far ones included"),
    exact(       "br_inst_retired.all_branches_arch",  0xC4, 0x00, any_of(4), No,           kBranches,
        "branch instructions retired, the architectural encoding"),
    exact(       "br_inst_retired.conditional",        0xC4, 0x01, any_of(4), Yes,          kConditionals,
        "conditional branch instructions retired, taken or not").also("br_inst_retired.cond"),
    exact(       "br_inst_retired.near_call",          0xC4, 0x02, any_of(4), Yes,          kNearCalls,
        "near calls retired, direct and indirect").also("br_inst_retired.near_call_r3"),
    exact(       "br_inst_retired.near_return",        0xC4, 0x08, any_of(4), Yes,          kNearReturns,
        "near returns retired").also("br_inst_retired.return"),
    exact(       "br_inst_retired.near_taken",         0xC4, 0x20, any_of(4), Yes,          kNearTaken,
        "near branches retired that were taken").also("br_inst_retired.taken"),
    not_modelled("br_misp_retired.all_branches",       0xC5, 0x04, any_of(4), Yes,
        "mispredicted branch instructions retired"),
    not_modelled("cpu_clk_unhalted.ref_tsc",           0x00, 0x03, fixed(2),  No,
        "reference cycles at the rate of the time-stamp counter (fixed counter 2)").also("cpu_clk_unhalted.ref"),
    not_modelled("cpu_clk_unhalted.thread",            0x00, 0x02, fixed(1),  No,
        "core cycles while not halted (fixed counter 1)").also("cpu_clk_unhalted.core"),
    not_modelled("cpu_clk_unhalted.thread_p",          0x3C, 0x00, any_of(4), No,
        "core cycles while not halted").also("cpu_clk_unhalted.core_p"),
    exact(       "inst_retired.any",                   0x00, 0x01, fixed(0),  No,           kInstructions,
        "instructions retired (fixed counter 0)"),
    exact(       "inst_retired.any_p",                 0xC0, 0x01, any_of(4), Yes,          kInstructions,
        "instructions retired; a REP string instruction is one"),
    exact(       "inst_retired.any_p_arch",            0xC0, 0x00, any_of(4), No,           kInstructions,
        "instructions retired, the architectural encoding"),
    not_modelled("longest_lat_cache.miss",             0x2E, 0x41, any_of(4), No,
        "misses of the last-level cache"),
    not_modelled("longest_lat_cache.reference",        0x2E, 0x4F, any_of(4), No,
        "references to the last-level cache"),
    exact(       "mem_inst_retired.loads",             0x0B, 0x01, any_of(4), Yes,          kLoads,
        "loads retired: one per memory operand read, per element with REP")
        .also("mem_inst_retired.all_loads mem_uops_retired.all_loads"),
    exact(       "mem_inst_retired.stores",            0x0B, 0x02, any_of(4), Yes,          kStores,
        "stores retired: one per memory operand written, per element with REP")
        .also("mem_inst_retired.all_stores mem_uops_retired.all_stores"),
};
// clang-format on
static_assert(is_consistent(kEvents, any_of(4) | all_fixed(3)));

}  // namespace

std::span<const Event> westmere_events() { return kEvents; }

}  // namespace zs::arch

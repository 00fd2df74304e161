// What the parser of event lists refuses, word for word.
#include <gtest/gtest.h>

#include <string>

#include "arch/cpu_model.h"
#include "events/event_parser.h"

namespace zs::session {
namespace {

struct Refusal {
  std::string text;
  const char* message;
  const char* hint;
};

class EveryRefusal : public ::testing::TestWithParam<Refusal> {};

TEST_P(EveryRefusal, SaysThis) {
  const auto groups = parse_events(GetParam().text, *arch::find_cpu_model("skylake-server@1"));
  ASSERT_FALSE(groups);
  EXPECT_EQ(groups.error().message, GetParam().message);
  EXPECT_EQ(groups.error().hint, GetParam().hint);
}

constexpr const char* kExample = "name an event, as in -e instructions:ppp";
constexpr const char* kOneComma = "events are separated by one comma";
constexpr const char* kList = "`zeroskid list` shows what is counted";
constexpr const char* kModifiers = "modifiers are u, p, pp, ppp and P";
constexpr const char* kTerms = "terms are event umask config cmask inv edge any pc name period freq ldlat";

INSTANTIATE_TEST_SUITE_P(
    Shape, EveryRefusal,
    ::testing::Values(Refusal{"", "event list: empty", kExample}, Refusal{" \t ", "event list: empty", kExample},
                      Refusal{std::string(1 << 20, 'x'), "event list: 1048576 bytes long, and at most 65536 are read",
                              kExample},
                      Refusal{",", "event list, column 1: an event name is missing", kOneComma},
                      Refusal{"instructions,", "event list, column 14: an event name is missing", kOneComma},
                      Refusal{"instructions,,branches", "event list, column 14: an event name is missing", kOneComma},
                      Refusal{"{instructions", "event list, column 1: the '{' here is not closed", ""},
                      Refusal{"cs,{instructions,", "event list, column 4: the '{' here is not closed", ""},
                      Refusal{"{instructions,}", "event list, column 15: an event name is missing", kOneComma},
                      Refusal{"instructions}", "event list, column 13: '}' without a '{' before it", ""},
                      Refusal{"}", "event list, column 1: an event name is missing", kOneComma},
                      Refusal{"{}", "event list, column 1: the group is empty", ""},
                      Refusal{"{ }", "event list, column 1: the group is empty", ""},
                      Refusal{"{{instructions}}", "event list, column 2: groups do not nest", ""},
                      Refusal{"{cs,{cs}}", "event list, column 5: groups do not nest", ""},
                      Refusal{"{cs}x", "event list, column 5: expected ',' or the end, found 'x'", ""},
                      Refusal{"cs{cs}", "event list, column 3: expected ',' or the end, found '{'", ""},
                      Refusal{"cpu/event=1", "event list, column 4: the '/' here is not closed", ""},
                      Refusal{"cpu/name='x/", "event list, column 10: the quote that opens here is not closed", ""}));

INSTANTIATE_TEST_SUITE_P(
    Names, EveryRefusal,
    ::testing::Values(
        Refusal{"instrs", "event list, column 1: unknown event 'instrs'",
                "nearest: instructions, mem_inst_retired.stores, rob_misc_events.lbr_inserts; `zeroskid list` shows "
                "every event"},
        Refusal{"cs,brnaches", "event list, column 4: unknown event 'brnaches'",
                "nearest: branches, br_inst_retired.all_branches, br_misp_exec.all_branches; `zeroskid list` shows "
                "every event"},
        Refusal{"MEM_INST_RETIRED.ALL_LODS:pp", "event list, column 1: unknown event 'MEM_INST_RETIRED.ALL_LODS'",
                "nearest: MEM_INST_RETIRED.ALL_LOADS, MEM_INST_RETIRED.ALL_STORES, MEM_INST_RETIRED.LOCK_LOADS; "
                "`zeroskid list` shows every event"},
        Refusal{"mem_inst_retired", "event list, column 1: unknown event 'mem_inst_retired'",
                "nearest: mem_inst_retired.all_loads, mem_inst_retired.all_stores, mem_inst_retired.any; `zeroskid "
                "list` shows every event"},
        Refusal{"inst_retired:any_pp", "event list, column 1: unknown event 'inst_retired:any_pp'",
                "nearest: inst_retired.any_p, inst_retired.any, inst_retired.nop; `zeroskid list` shows every event"},
        Refusal{"perf::instrs", "event list, column 7: unknown event 'instrs'",
                "nearest: instructions, mem_inst_retired.stores, rob_misc_events.lbr_inserts; `zeroskid list` shows "
                "every event"},
        Refusal{"\x01\xff" + std::string(90, 'a'),
                "event list, column 1: unknown event '\\x01\\xffaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...'",
                "`zeroskid list` shows every event"},
        Refusal{":u", "event list, column 1: an event name is missing", ""},
        Refusal{"icl::INST_RETIRED:ANY_P",
                "event list, column 1: 'icl' names no processor whose events skylake-server@1 has",
                "leave the prefix out, or choose another --model"},
        Refusal{"uncore_imc/cas_count_read/", "event list, column 1: unknown PMU 'uncore_imc'",
                "cpu/.../, ibs_op//, ibs_fetch// and intel_bts// are modelled"},
        Refusal{"ibs_op//", "event list, column 1: skylake-server@1 has no instruction-based sampling",
                "take --model zen4"},
        Refusal{"ibs_op/cnt_ctl=2/", "event list, column 16: cnt_ctl=2 is too large: at most 0x1 fits", ""},
        Refusal{"ibs_op/event=0xc0/", "event list, column 8: unknown term 'event' of ibs_op",
                "terms are cnt_ctl l3missonly swfilt period freq name"},
        Refusal{"ibs_op/period/", "event list, column 8: 'period' needs a value, as in period=100000", ""},
        Refusal{"ibs_fetch//", "event list, column 1: skylake-server@1 has no instruction-based sampling",
                "take --model zen4"},
        Refusal{"ibs_fetch/cnt_ctl=1/", "event list, column 11: unknown term 'cnt_ctl' of ibs_fetch",
                "terms are rand_en l3missonly swfilt period freq name"},
        Refusal{"intel_bts/x/u", "event list, column 11: 'intel_bts/x/u': intel_bts has no terms", "intel_bts//u"},
        Refusal{"intel_bts//pp", "event list, column 1: intel_bts// takes no modifier but u: it has every branch",
                ""}));

INSTANTIATE_TEST_SUITE_P(
    NotModelled, EveryRefusal,
    ::testing::Values(
        Refusal{"stalled-cycles-backend",
                "event list, column 1: not modelled: stalled-cycles-backend needs more of the core (cycles) than its "
                "models have",
                kList},
        Refusal{"instructions,node-loads:u",
                "event list, column 14: not modelled: node-loads needs more of the core (caches) than its models have",
                kList},
        Refusal{"MEM_LOAD_L3_MISS_RETIRED.REMOTE_DRAM:ppp",
                "event list, column 1: not modelled: MEM_LOAD_L3_MISS_RETIRED.REMOTE_DRAM needs more of the core "
                "(caches) than its models have",
                kList},
        Refusal{"r02d3",
                "event list, column 1: not modelled: r02d3 (mem_load_l3_miss_retired.remote_dram) needs more of the "
                "core (caches) than its models have",
                kList},
        Refusal{"0x4102D3",
                "event list, column 1: not modelled: 0x4102D3 (mem_load_l3_miss_retired.remote_dram) needs more of the "
                "core (caches) than its models have",
                kList},
        Refusal{"0x41FF89",
                "event list, column 1: not modelled: 0x41FF89 (br_misp_exec.all_branches) needs more of the core "
                "(branch predictor) than its models have",
                kList},
        Refusal{"cpu/event=0xd3,umask=0x02,name=X/ppp",
                "event list, column 1: not modelled: cpu/event=0xd3,umask=0x02,name=X/ "
                "(mem_load_l3_miss_retired.remote_dram) needs more of the core (caches) than its models have",
                kList},
        Refusal{"cpu/instructions,ldlat=30/P",
                "event list, column 18: ldlat= is of events that measure the latency of loads, and "
                "'cpu/instructions,ldlat=30/' does not",
                "mem-loads does"},
        Refusal{"slots", "event list, column 1: not modelled: skylake-server@1 has no event for 'slots'", ""},
        Refusal{"rtm_retired.start",
                "event list, column 1: not modelled: rtm_retired.start needs more of the core (transactional memory) "
                "than its models have",
                kList},
        Refusal{
            "fp_assist.any",
            "event list, column 1: not modelled: fp_assist.any needs more of the core (values of operands) than its "
            "models have",
            kList},
        Refusal{"assists.fp",
                "event list, column 1: not modelled: assists.fp (fp_assist.any) needs more of the core (values of "
                "operands) than its models have",
                kList},
        Refusal{"r1234",
                "event list, column 1: not modelled: skylake-server@1 has no event 34H with umask 12H that this "
                "version counts",
                kList},
        Refusal{"cpu/umask=1/",
                "event list, column 1: not modelled: skylake-server@1 has no event 00H with umask 01H that this "
                "version counts",
                kList},
        Refusal{"cpu-migrations",
                "event list, column 1: not modelled: cpu-migrations is not among the kernel's events that this version "
                "counts",
                "task-clock, cpu-clock, page-faults, minor-faults, major-faults and context-switches are"},
        Refusal{"MEM_INST_RETIRED:ALL_LOADS:c=2",
                "event list, column 28: not modelled: a counter mask or edge makes MEM_INST_RETIRED:ALL_LOADS count "
                "cycles, which needs more of the core (cycles) than its models have",
                kList},
        Refusal{"r10181d0",
                "event list, column 1: not modelled: a counter mask or edge makes r10181d0 count cycles, which needs "
                "more of the core (cycles) than its models have",
                kList},
        Refusal{"cpu/event=0xc4,edge/",
                "event list, column 16: not modelled: a counter mask or edge makes cpu/event=0xc4,edge/ count cycles, "
                "which needs more of the core (cycles) than its models have",
                kList}));

INSTANTIATE_TEST_SUITE_P(
    Modifiers, EveryRefusal,
    ::testing::Values(
        Refusal{"instructions:", "event list, column 14: a modifier is missing after ':'", kModifiers},
        Refusal{"instructions:u:", "event list, column 16: a modifier is missing after ':'", kModifiers},
        Refusal{"{cs}:", "event list, column 6: a modifier is missing after ':'", kModifiers},
        Refusal{"instructions:ux", "event list, column 15: unknown modifier 'x' in ':ux'", kModifiers},
        Refusal{"instructions:pppp", "event list, column 14: ':pppp' asks for precision 4, and 3 (:ppp) is the most",
                ""},
        Refusal{"instructions:" + std::string(1000, 'p'),
                "event list, column 14: ':pppppppppppppppppppppppppppppppppppppppp...' asks for precision 1000, and 3 "
                "(:ppp) is the most",
                ""},
        Refusal{"instructions:k", "event list, column 14: ring-0 counting is not modelled",
                "leave it out: what the program retires in ring 3 is counted"},
        Refusal{"instructions:uk", "event list, column 15: ring-0 counting is not modelled",
                "leave it out: what the program retires in ring 3 is counted"},
        Refusal{"{cs}:k", "event list, column 6: ring-0 counting is not modelled",
                "leave it out: what the program retires in ring 3 is counted"},
        Refusal{"skx::INST_RETIRED:ANY_P:k=1", "event list, column 25: ring-0 counting is not modelled",
                "leave it out: what the program retires in ring 3 is counted"},
        Refusal{"skx::INST_RETIRED:ANY_P:u=0", "event list, column 1: 'skx::INST_RETIRED:ANY_P:u=0' counts in no ring",
                "ring 3 (:u) is what is counted"},
        Refusal{"instructions:h", "event list, column 14: counting in the hypervisor is not modelled", kModifiers},
        Refusal{"instructions:G", "event list, column 14: counting in a guest is not modelled", kModifiers},
        Refusal{"instructions:S", "event list, column 14: ':S' (sample the group's leader only) is not in this version",
                kModifiers},
        Refusal{"INST_RETIRED:ANY_P:c=300", "event list, column 22: c=300 is too large: at most 0xFF fits", ""},
        Refusal{"INST_RETIRED:ANY_P:c=", "event list, column 22: '' is not a number", ""},
        Refusal{"INST_RETIRED:ANY_P:c", "event list, column 20: 'c' needs a value, as in c=1", ""},
        Refusal{"INST_RETIRED:ANY_P:z=1", "event list, column 20: unknown attribute 'z'",
                "libpfm4 attributes are u, c=N, e, i and t"},
        Refusal{"page-faults:p", "event list, column 13: page-faults has no precise form",
                "the kernel counts it; only the PMU's events take :p"},
        Refusal{"{instructions,cs}:pp", "event list, column 19: cs has no precise form",
                "the kernel counts it; only the PMU's events take :p"},
        Refusal{"cs:c=1",
                "event list, column 4: cs is counted by the kernel, which has no counter mask, edge or invert", ""}));

INSTANTIATE_TEST_SUITE_P(
    Numbers, EveryRefusal,
    ::testing::Values(
        Refusal{"r123456789abcdef01", "event list, column 1: 'r123456789abcdef01' does not fit 64 bits", ""},
        Refusal{"r10000000000c4",
                "event list, column 1: 'r10000000000c4' has bit 48 set, which is not of an event select", ""},
        Refusal{"r1000000c4",
                "event list, column 1: not modelled: r1000000c4 needs more of the core (transactional memory) than its "
                "models have",
                kList},
        Refusal{"0x4200C4", "event list, column 1: ring-0 counting is not modelled: '0x4200C4' has OS (bit 17) set",
                "the same in ring 3: 0x4100C4"},
        Refusal{"0x4300C4", "event list, column 1: ring-0 counting is not modelled: '0x4300C4' has OS (bit 17) set",
                "the same in ring 3: 0x4100C4"},
        Refusal{"0x4000C4", "event list, column 1: '0x4000C4' has USR (bit 16) clear, so it counts nothing in ring 3",
                "the same in ring 3: 0x4100C4"},
        Refusal{"0x0100C4", "event list, column 1: '0x0100C4' has EN (bit 22) clear, so its counter stands still",
                "the same in ring 3: 0x4100C4"},
        Refusal{"0x", "event list, column 1: '0x' is not a number", ""},
        Refusal{"0x41zz", "event list, column 1: '0x41zz' is not a number", ""},
        Refusal{"0x1234567890abcdef1", "event list, column 1: '0x1234567890abcdef1' does not fit 64 bits", ""},
        Refusal{"0x8000000004100C4",
                "event list, column 1: '0x8000000004100C4' has bit 59 set, which is not of an event select", ""}));

INSTANTIATE_TEST_SUITE_P(
    Terms, EveryRefusal,
    ::testing::Values(
        Refusal{"cpu//", "event list, column 5: a term is missing", "as in cpu/event=0xd0,umask=0x81/"},
        Refusal{"cpu/event=1,/", "event list, column 13: a term is missing", "as in cpu/event=0xd0,umask=0x81/"},
        Refusal{"cpu/event/", "event list, column 5: 'event' needs a value, as in event=0xd0", ""},
        Refusal{"cpu/event=/", "event list, column 5: 'event' needs a value, as in event=0xd0", ""},
        Refusal{"cpu/name=/", "event list, column 5: 'name' needs a value, as in name=loads", ""},
        Refusal{"cpu/event=0xd0,name=a\nb/", "event list, column 21: a name cannot hold control characters: 'a\\x0ab'",
                ""},
        Refusal{"cpu/event=0xd0,umask=0x1ff/", "event list, column 22: umask=0x1ff is too large: at most 0xFF fits",
                ""},
        Refusal{"cpu/event=99999999999999999999999/",
                "event list, column 11: event=99999999999999999999999 is too large: at most 0xFF fits", ""},
        Refusal{"cpu/event=0xzz/", "event list, column 11: '0xzz' is not a number", ""},
        Refusal{"cpu/event=-1/", "event list, column 11: '-1' is not a number", ""},
        Refusal{"cpu/event=1,event=2/", "event list, column 13: 'event' is given twice", ""},
        Refusal{"cpu/evnt=1/", "event list, column 5: unknown term 'evnt'", kTerms},
        Refusal{"cpu/instructions,event=1/",
                "event list, column 5: an event's name beside event=, umask= or config=", "give one or the other"},
        Refusal{"cpu/instructions,branches/", "event list, column 18: a second event's name, 'branches'", ""},
        Refusal{"cpu/page-faults/", "event list, column 5: 'page-faults' is counted by the kernel and not by the cpu",
                "write it without cpu/.../"},
        Refusal{"cpu/instructions,period=0/", "event list, column 18: period=0: at least 1 is needed", ""},
        Refusal{"cpu/instructions,period=0x800000000000/",
                "event list, column 25: period=0x800000000000 is too large: at most 0x7FFFFFFFFFFF fits", ""},
        Refusal{"cpu/instructions/:", "event list, column 19: a modifier is missing after ':'", kModifiers},
        Refusal{"cpu/instructions/x", "event list, column 18: unknown modifier 'x' in ':x'", kModifiers}));

}  // namespace
}  // namespace zs::session

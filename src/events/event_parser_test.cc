#include "events/event_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "arch/events/tables.h"
#include "events/perf_names.h"
#include "session/driver/core_choice.h"
#include "uarch/core_model.h"

namespace zs::session {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

const arch::CpuModel& skylake() { return *arch::find_cpu_model("skylake-server@1"); }

/// The only event of `text`.
ParsedEvent one(std::string_view text, const arch::CpuModel& cpu = skylake(), const EventNames* more = nullptr) {
  const auto groups = parse_events(text, cpu, more);
  EXPECT_TRUE(groups) << text << ": " << (groups ? "" : groups.error().message);
  if (!groups || groups->size() != 1 || groups->front().events.size() != 1) {
    ADD_FAILURE() << text << ": not one event";
    return {};
  }
  return groups->front().events.front();
}

std::string row_of(std::string_view text) {
  const ParsedEvent event = one(text);
  return event.row == nullptr ? "" : std::string(event.row->name);
}

// ---- spellings

struct Spelling {
  const char* text;
  const char* row;
  std::uint64_t select;  // USR and what selects the event
  int precise = 0;
};

class EverySpelling : public ::testing::TestWithParam<Spelling> {};

TEST_P(EverySpelling, MeansThisRowAndSelect) {
  const ParsedEvent event = one(GetParam().text);
  ASSERT_NE(event.row, nullptr);
  EXPECT_EQ(event.row->name, GetParam().row);
  EXPECT_EQ(event.select.raw(), GetParam().select);
  EXPECT_EQ(event.precise, GetParam().precise);
  EXPECT_EQ(event.meaning, event.row->meaning);
  EXPECT_EQ(event.kind, EventKind::Hardware);
  EXPECT_TRUE(event.user);
  EXPECT_FALSE(event.kernel);
  EXPECT_EQ(event.spelling, GetParam().text);
}

constexpr const char* kLoads = "mem_inst_retired.all_loads";
constexpr const char* kBranches = "br_inst_retired.all_branches";

INSTANTIATE_TEST_SUITE_P(Intel, EverySpelling,
                         ::testing::Values(Spelling{"MEM_INST_RETIRED.ALL_LOADS", kLoads, 0x1'81D0},
                                           Spelling{"mem_inst_retired.all_loads", kLoads, 0x1'81D0},
                                           Spelling{"Mem_Inst_Retired.All_Loads:u", kLoads, 0x1'81D0},
                                           Spelling{"MEM_INST_RETIRED.ALL_LOADS:p", kLoads, 0x1'81D0, 1},
                                           Spelling{"MEM_INST_RETIRED.ALL_LOADS:pp", kLoads, 0x1'81D0, 2},
                                           Spelling{"MEM_INST_RETIRED.ALL_LOADS:ppp", kLoads, 0x1'81D0, 3},
                                           Spelling{"MEM_INST_RETIRED.ALL_LOADS:upp", kLoads, 0x1'81D0, 2},
                                           Spelling{"MEM_INST_RETIRED.ALL_LOADS:ppu", kLoads, 0x1'81D0, 2},
                                           Spelling{"MEM_INST_RETIRED.ALL_LOADS:P", kLoads, 0x1'81D0, 3},
                                           Spelling{"MEM_INST_RETIRED.ALL_LOADS:pp:u", kLoads, 0x1'81D0, 2},
                                           Spelling{"MEM_INST_RETIRED.ALL_LOADS:uDWIHe", kLoads, 0x1'81D0},
                                           Spelling{"MEM_UOPS_RETIRED.ALL_LOADS", kLoads, 0x1'81D0},
                                           Spelling{"INST_RETIRED.ANY_P", "inst_retired.any_p", 0x1'00C0},
                                           Spelling{"INST_RETIRED.ANY", "inst_retired.any", 0x1'00C0},
                                           Spelling{"INST_RETIRED.ANY:pp", "inst_retired.any", 0x1'00C0, 2},
                                           Spelling{"INST_RETIRED.ANY:ppp", "inst_retired.prec_dist", 0x1'01C0, 3},
                                           Spelling{"INST_RETIRED.PREC_DIST:p", "inst_retired.prec_dist", 0x1'01C0,
                                                    1}));

INSTANTIATE_TEST_SUITE_P(Libpfm, EverySpelling,
                         ::testing::Values(Spelling{"skl::INST_RETIRED:ANY_P", "inst_retired.any_p", 0x1'00C0},
                                           Spelling{"skx::inst_retired:any_p:u", "inst_retired.any_p", 0x1'00C0},
                                           Spelling{"INST_RETIRED:ANY_P", "inst_retired.any_p", 0x1'00C0},
                                           Spelling{"skx::MEM_INST_RETIRED:ALL_LOADS:u=1:k=0", kLoads, 0x1'81D0},
                                           Spelling{"MEM_INST_RETIRED:ALL_LOADS:u", kLoads, 0x1'81D0},
                                           Spelling{"MEM_INST_RETIRED:ALL_LOADS:precise=2", kLoads, 0x1'81D0, 2},
                                           Spelling{"MEM_INST_RETIRED:ALL_LOADS:t", kLoads, 0x21'81D0},
                                           Spelling{"perf::PERF_COUNT_HW_BRANCH_INSTRUCTIONS", kBranches, 0x1'00C4},
                                           Spelling{"perf::INSTRUCTIONS:ppp", "inst_retired.prec_dist", 0x1'01C0, 3},
                                           Spelling{"perf_raw::r81d0", kLoads, 0x1'81D0}));

INSTANTIATE_TEST_SUITE_P(
    Perf, EverySpelling,
    ::testing::Values(Spelling{"instructions", "inst_retired.any", 0x1'00C0},
                      Spelling{"Instructions:u", "inst_retired.any", 0x1'00C0},
                      Spelling{"instructions:p", "inst_retired.any", 0x1'00C0, 1},
                      Spelling{"instructions:pp", "inst_retired.any", 0x1'00C0, 2},
                      Spelling{"instructions:ppp", "inst_retired.prec_dist", 0x1'01C0, 3},
                      Spelling{"instructions:P", "inst_retired.prec_dist", 0x1'01C0, 3},
                      Spelling{"branches", kBranches, 0x1'00C4}, Spelling{"branch-instructions", kBranches, 0x1'00C4},
                      Spelling{"branch-loads", kBranches, 0x1'00C4}, Spelling{"L1-dcache-loads", kLoads, 0x1'81D0},
                      Spelling{"l1-dcache-loads:ppp", kLoads, 0x1'81D0, 3}, Spelling{"dTLB-loads", kLoads, 0x1'81D0},
                      Spelling{"L1-dcache-stores", "mem_inst_retired.all_stores", 0x1'82D0},
                      Spelling{"mem-stores", "mem_inst_retired.all_stores", 0x1'82D0}));

INSTANTIATE_TEST_SUITE_P(
    Numbers, EverySpelling,
    ::testing::Values(Spelling{"r81d0", kLoads, 0x1'81D0}, Spelling{"r81D0:ppp", kLoads, 0x1'81D0, 3},
                      Spelling{"rc4", kBranches, 0x1'00C4},
                      Spelling{"r5300c4", kBranches, 0x1'00C4},  // perf's kernel ignores these bits as well
                      Spelling{"r00c0:ppp", "inst_retired.any_p", 0x1'00C0, 3},  // a raw code is what it says
                      Spelling{"0x4100C4", kBranches, 0x1'00C4}, Spelling{"0x004100c4", kBranches, 0x1'00C4},
                      Spelling{"0x5100C4", kBranches, 0x1'00C4}, Spelling{"0X4181D0:pp", kLoads, 0x1'81D0, 2},
                      Spelling{"0x4182D0", "mem_inst_retired.all_stores", 0x1'82D0},
                      Spelling{"0x4900C4", kBranches, 0x9'00C4}));

INSTANTIATE_TEST_SUITE_P(Terms, EverySpelling,
                         ::testing::Values(Spelling{"cpu/event=0xd0,umask=0x81/", kLoads, 0x1'81D0},
                                           Spelling{"cpu/event=208,umask=129/u", kLoads, 0x1'81D0},
                                           Spelling{"CPU/UMASK=0x81, EVENT=0xD0/ppp", kLoads, 0x1'81D0, 3},
                                           Spelling{"cpu/config=0x81d0/:pp", kLoads, 0x1'81D0, 2},
                                           Spelling{"cpu/event=0xc4/", kBranches, 0x1'00C4},
                                           Spelling{"cpu/event=0xc4,any/", kBranches, 0x21'00C4},
                                           Spelling{"cpu/event=0xc4,cmask=0,edge=0,inv=0,pc=0/", kBranches, 0x1'00C4},
                                           Spelling{"cpu/mem_inst_retired.all_loads/ppp", kLoads, 0x1'81D0, 3},
                                           Spelling{"cpu/instructions/ppp", "inst_retired.prec_dist", 0x1'01C0, 3},
                                           Spelling{"cpu/mem-stores/P", "mem_inst_retired.all_stores", 0x1'82D0, 3},
                                           Spelling{"cpu/r81d0/", kLoads, 0x1'81D0}));

TEST(EventParser, NamesAnEventByItsSpellingUnlessNameSaysOtherwise) {
  EXPECT_EQ(one("MEM_Inst_retired.all_loads:ppp").name, "MEM_Inst_retired.all_loads:ppp");
  EXPECT_EQ(one(" instructions ").name, "instructions");
  EXPECT_EQ(one("cpu/event=0xc4,name=jumps/").name, "jumps");
  EXPECT_EQ(one("cpu/event=0xc4,name='a,b/c'/p").name, "a,b/c");
}

TEST(EventParser, ReadsPeriodAndFrequency) {
  const ParsedEvent event = one("cpu/instructions,period=10007/ppp");
  EXPECT_EQ(event.period, 10007u);
  EXPECT_FALSE(event.frequency.has_value());
  EXPECT_EQ(one("cpu/instructions,freq=999/").frequency, 999u);
  EXPECT_FALSE(one("instructions").period.has_value());
}

TEST(EventParser, KeepsGroupsAndGivesTheirModifiersToEveryMember) {
  const auto groups = parse_events("{instructions:p, branches}:pp,page-faults,{r81d0}", skylake());
  ASSERT_TRUE(groups);
  ASSERT_EQ(groups->size(), 3u);
  ASSERT_EQ((*groups)[0].events.size(), 2u);
  EXPECT_EQ((*groups)[0].events[0].precise, 2);
  EXPECT_EQ((*groups)[0].events[0].spelling, "instructions:p");
  EXPECT_EQ((*groups)[0].events[1].precise, 2);
  EXPECT_EQ((*groups)[1].events.front().kind, EventKind::PageFaults);
  EXPECT_EQ((*groups)[2].events.front().row->name, kLoads);
}

TEST(EventParser, LeavesWhatTheKernelCountsToTheKernel) {
  EXPECT_EQ(one("task-clock").kind, EventKind::TaskClock);
  EXPECT_EQ(one("cpu-clock:u").kind, EventKind::TaskClock);
  EXPECT_EQ(one("faults").kind, EventKind::PageFaults);
  EXPECT_EQ(one("minor-faults").kind, EventKind::MinorFaults);
  EXPECT_EQ(one("major-faults").kind, EventKind::MajorFaults);
  EXPECT_EQ(one("cs").kind, EventKind::ContextSwitches);
  EXPECT_EQ(one("perf::PERF_COUNT_SW_CONTEXT_SWITCHES").kind, EventKind::ContextSwitches);
  const ParsedEvent event = one("page-faults:P");
  EXPECT_EQ(event.precise, 0);
  EXPECT_EQ(event.row, nullptr);
  EXPECT_TRUE(event.counters.empty());
}

TEST(EventParser, GivesInstructionsTheFixedCounterToo) {
  EXPECT_EQ(one("instructions").counters, arch::any_of(8) | arch::fixed(0));
  EXPECT_EQ(one("INST_RETIRED.ANY_P").counters, arch::any_of(8) | arch::fixed(0));
  EXPECT_EQ(one("r00c0").counters, arch::any_of(8) | arch::fixed(0));
  EXPECT_EQ(one("branches").counters, arch::any_of(8));
}

TEST(EventParser, SamplesPreciselyOnTheCountersThatHavePebs) {
  EXPECT_EQ(one("instructions:pp").precise_counters, arch::any_of(4));
  EXPECT_FALSE(one("instructions:pp").precise_distribution);
  const ParsedEvent event = one("instructions:ppp");
  EXPECT_EQ(event.counters, arch::only(1));
  EXPECT_EQ(event.precise_counters, arch::only(1));
  EXPECT_TRUE(event.precise_distribution);
  EXPECT_FALSE(one("inst_retired.prec_dist").precise_distribution);
}

TEST(EventParser, SaysWhichEventsCarryAnAddress) {
  EXPECT_TRUE(one("mem_inst_retired.all_stores:pp").has_address);
  EXPECT_FALSE(one("branches:pp").has_address);
}

TEST(EventParser, LetsFloatingPointUmasksBeCombined) {
  const ParsedEvent event = one("r05c7");
  EXPECT_EQ(event.row, nullptr);
  EXPECT_EQ(event.meaning, &arch::kFpArith[5]);
  EXPECT_EQ(event.counters, arch::any_of(8));
  EXPECT_EQ(row_of("r03c7"), "fp_arith_inst_retired.scalar");
}

// ---- AMD's

const arch::CpuModel& zen4() { return *arch::find_cpu_model("zen4@1"); }

TEST(EventParserOfAmd, TakesCodesOf12BitsInEverySpelling) {
  for (const char* const text : {"ex_ret_fused_instr", "r1000000d0", "cpu/event=0x1d0/", "cpu/config=0x1000000d0/",
                                 "0x1004100D0", "EX_RET_FUSED_INSTR:u"}) {
    const ParsedEvent event = one(text, zen4());
    ASSERT_NE(event.row, nullptr) << text;
    EXPECT_EQ(event.row->name, "ex_ret_fused_instr") << text;
    EXPECT_EQ(event.select.raw(), 0x1'0001'00D0U) << text;
    EXPECT_EQ(event.counters, arch::any_of(6)) << text;
  }
  EXPECT_EQ(parse_events("cpu/event=0x1000/", zen4()).error().message.substr(0, 10), "event list");
  EXPECT_FALSE(parse_events("cpu/event=0x1d0/", skylake()));
}

TEST(EventParserOfAmd, RefusesBitsThatItsSelectHasNot) {
  EXPECT_EQ(parse_events("cpu/event=0xc0,any=1/", zen4()).error().message,
            "event list, column 16: zen4@1 has no bits PC and ANY in its select registers");
  EXPECT_EQ(parse_events("cpu/event=0xc0,pc/", zen4()).error().message,
            "event list, column 1: zen4@1 has no bits PC and ANY in its select registers");
  EXPECT_THAT(parse_events("r2000c0", zen4()).error().message, HasSubstr("has bit 21 set, which is not of an event"));
}

TEST(EventParserOfAmd, TakesInstructionBasedSamplingWithItsTerms) {
  const arch::CpuModel& zen4 = *arch::find_cpu_model("zen4@1");
  const auto one = [&](std::string_view text) { return parse_events(text, zen4)->front().events.front(); };
  EXPECT_EQ(one("ibs_op//").kind, EventKind::IbsOp);
  EXPECT_EQ(one("ibs_op//").select.raw(), 0U);
  EXPECT_EQ(one("ibs_op//").detail, Detail::Full);
  EXPECT_TRUE(one("ibs_op//").has_address);
  EXPECT_EQ(one("IBS_OP/cnt_ctl=1/u").select.raw(), 1U << 19);
  EXPECT_EQ(one("ibs_op/cnt_ctl/pp").precise, 2);
  EXPECT_EQ(one("ibs_op/cnt_ctl=0,swfilt=1/").select.raw(), 0U);
  EXPECT_EQ(one("ibs_op/l3missonly=1,cnt_ctl=1/").select.raw(), 1U << 19 | 1U << 16);
  EXPECT_EQ(one("ibs_op/period=1600,name=mine/").period, 1600U);
  EXPECT_EQ(one("ibs_op/period=1600,name=mine/").name, "mine");
  EXPECT_EQ(one("ibs_op/freq=99/").frequency, 99U);
  EXPECT_FALSE(parse_events("ibs_op//ppp", zen4));
  EXPECT_EQ(one("ibs_fetch//").kind, EventKind::IbsFetch);
  EXPECT_EQ(one("ibs_fetch//").detail, Detail::Full);
  EXPECT_FALSE(one("ibs_fetch//").has_address);
  EXPECT_EQ(one("ibs_fetch/rand_en=1/").select.raw(), std::uint64_t{1} << 57);
  EXPECT_EQ(one("IBS_FETCH/l3missonly,swfilt,period=160/u").select.raw(), std::uint64_t{1} << 59);
}

TEST(EventParserOfAmd, RefusesPrecisionAndTakesAsMuchAsThereIs) {
  EXPECT_EQ(parse_events("ex_ret_brn:pp", zen4()).error().message,
            "event list, column 12: zen4@1 has no PEBS, so nothing samples 'ex_ret_brn' precisely");
  EXPECT_EQ(one("cycles:P", zen4()).precise, 0);
}

TEST(EventParserOfAmd, GivesPerfsNamesWhatPerfProgramsForThem) {
  const auto select = [](const char* text) { return one(text, zen4()).select.with(arch::PerfEvtSel::user, 0).raw(); };
  EXPECT_EQ(select("instructions"), 0xC0U);
  EXPECT_EQ(select("branches"), 0xC2U);
  EXPECT_EQ(select("branch-misses"), 0xC3U);
  EXPECT_EQ(select("cycles"), 0x76U);
  EXPECT_EQ(select("ref-cycles"), 0x1'0000'0120U);
  EXPECT_EQ(select("cache-references"), 0xFF60U);
  EXPECT_EQ(select("cache-misses"), 0x964U);
  EXPECT_EQ(parse_events("LLC-loads", zen4()).error().message,
            "event list, column 1: not modelled: zen4@1 has no event for 'LLC-loads'");
}

TEST(EventParser, CountsOrRefusesEveryRowOfEveryModelByNameAndByEachAlias) {
  for (const arch::CpuModel& cpu : arch::cpu_models()) {
    for (const arch::Event& row : arch::events(cpu)) {
      std::string names = std::string(row.name) + " " + std::string(row.aliases);
      for (std::size_t start = 0; start < names.size();) {
        const std::size_t end = std::min(names.find(' ', start), names.size());
        const std::string name = names.substr(start, end - start);
        start = end + 1;
        if (name.empty()) continue;
        const auto groups = parse_events(name, cpu);
        const bool core = core_of(cpu) != nullptr;
        if (row.kind() == arch::EventClass::Exact || (row.kind() == arch::EventClass::Modelled && core)) {
          ASSERT_TRUE(groups) << cpu.name << ": " << name << (groups ? "" : groups.error().message);
          const ParsedEvent& event = groups->front().events.front();
          EXPECT_EQ(event.row, &row) << cpu.name << ": " << name;
          EXPECT_EQ(event.detail == Detail::Exact, row.kind() == arch::EventClass::Exact) << cpu.name << ": " << name;
        } else {
          ASSERT_FALSE(groups) << cpu.name << ": " << name;
          EXPECT_THAT(groups.error().message, StartsWith("event list, column 1: not modelled: " + name));
        }
      }
    }
  }
}

TEST(EventParser, EitherCountsOrExplainsEveryNameOfPerf) {
  for (const PerfName& name : perf_names()) {
    const auto groups = parse_events(name.name, skylake());
    const bool has_row = name.kind != EventKind::Hardware || row_of(name, skylake()) != nullptr;
    EXPECT_EQ(static_cast<bool>(groups), name.needs.empty() && has_row) << name.name;
    const std::string message = groups ? "" : groups.error().message;
    EXPECT_TRUE(groups ||
                (message.find(": not modelled: ") != std::string::npos && message.find(name.name) != std::string::npos))
        << message;
  }
}

// ---- modelled events

TEST(EventParser, SaysHowMuchOfTheCoreAnEventNeeds) {
  EXPECT_EQ(one("instructions").detail, Detail::Exact);
  EXPECT_EQ(one("cache-misses").detail, Detail::Full);
  EXPECT_EQ(one("branch-misses").detail, Detail::Full);
  EXPECT_EQ(one("mem_load_retired.l3_miss:pp").detail, Detail::Full);
  EXPECT_EQ(one("cycles").detail, Detail::Full);
  EXPECT_EQ(one("uops_issued.any").detail, Detail::Full);
  EXPECT_EQ(one("mem-loads:P").detail, Detail::Full);
}

TEST(EventParser, MayCountCyclesOnTheFixedCounterAndOnGeneralOnes) {
  for (const char* const name : {"cycles", "cpu_clk_unhalted.thread", "cpu_clk_unhalted.thread_p", "r3c"}) {
    const ParsedEvent event = one(name);
    EXPECT_EQ(event.tick, arch::Tick::Core) << name;
    EXPECT_EQ(event.counters, arch::any_of(8) | arch::fixed(1)) << name;
    EXPECT_EQ(event.precise_counters, arch::any_of(4)) << name;
    EXPECT_EQ(event.select.raw(), 0x1'003CU) << name;
  }
  EXPECT_EQ(one("ref-cycles").counters, arch::fixed(2)) << "no general counter counts them on this processor";
  EXPECT_EQ(one("bus-cycles").counters, arch::any_of(8));
  const arch::CpuModel& spr = *arch::find_cpu_model("sapphire-rapids");
  EXPECT_EQ(one("ref-cycles", spr).counters, arch::any_of(8) | arch::fixed(2));
  EXPECT_EQ(one("slots", spr).counters, arch::any_of(8) | arch::fixed(3));
}

TEST(EventParser, TakesTheMaskThatBelongsToAnEncoding) {
  EXPECT_EQ(row_of("cycle_activity.stalls_total"), "cycle_activity.stalls_total");
  EXPECT_EQ(row_of("r40004a3"), "cycle_activity.stalls_total");
  EXPECT_EQ(row_of("cpu/event=0xa3,umask=0x4,cmask=4/"), "cycle_activity.stalls_total");
  EXPECT_FALSE(parse_events("cpu/event=0xa3,umask=0x4,cmask=5/", skylake()));
}

TEST(EventParser, TakesTheThresholdOfLoadLatencyFromTheNameOrTheTerm) {
  EXPECT_EQ(one("mem-loads").latency_threshold, 3);
  EXPECT_EQ(one("cpu/mem-loads/P").latency_threshold, 3);
  EXPECT_EQ(one("cpu/mem-loads,ldlat=30/P").latency_threshold, 30);
  EXPECT_EQ(one("cpu/event=0xcd,umask=0x1,ldlat=50/P").latency_threshold, 50);
  EXPECT_EQ(one("mem_trans_retired.load_latency_gt_64:pp").latency_threshold, 64);
  EXPECT_EQ(one("mem_inst_retired.latency_above_threshold_16:pp", *arch::find_cpu_model("westmere")).latency_threshold,
            16);
  EXPECT_FALSE(parse_events("cpu/mem-loads,ldlat=65536/P", skylake()));
}

TEST(EventParser, SaysWhichCpuModelsHaveACoreWhereThisOneHasNone) {
  const auto groups = parse_events("instructions,cache-misses", *arch::find_cpu_model("nehalem"));
  ASSERT_FALSE(groups);
  EXPECT_EQ(groups.error().message,
            "event list, column 14: not modelled: cache-misses (longest_lat_cache.miss) needs a model of the core "
            "(caches), which nehalem@1 does not have");
  std::string cores;
  for (const uarch::CoreModel& core : uarch::core_models()) cores.append(cores.empty() ? "" : ", ").append(core.name);
  EXPECT_THAT(cores, StartsWith("haswell@1, icelake-server@1, "));
  EXPECT_EQ(groups.error().hint, "CPU models with one are " + cores);
}

TEST(EventParser, RefusesMoreEventsThanARecordingTakes) {
  std::string text = "cs";
  for (std::size_t i = 0; i < kMostParsedEvents; ++i) text += ",cs";
  const auto groups = parse_events(text, skylake());
  ASSERT_FALSE(groups);
  EXPECT_EQ(groups.error().message, "event list, column 3073: more than 1024 events");
}

TEST(EventParser, SaysWhatAnotherProcessorLacks) {
  const auto groups = parse_events("cs,skx::INST_RETIRED:ANY_P", *arch::find_cpu_model("westmere"));
  ASSERT_FALSE(groups);
  EXPECT_THAT(groups.error().message, HasSubstr("column 4: 'skx' names no processor whose events westmere@"));
  EXPECT_EQ(one("wsm::INST_RETIRED:ANY_P", *arch::find_cpu_model("westmere")).row->name, "inst_retired.any_p");
}

// ---- further names

/// Stands for libpfm4.
class TwoNames : public EventNames {
 public:
  std::optional<std::uint64_t> config_of(const arch::CpuModel&, std::string_view name) const override {
    if (name == "FP:A:B") return 0x03C7;
    if (name == "EXOTIC:THING") return 0x12'34;
    return std::nullopt;
  }
  std::vector<std::string> all(const arch::CpuModel&) const override { return {"EXOTIC.THING"}; }
};

TEST(FurtherNames, AreAskedWithAllSegmentsThatCanBelongToTheName) {
  const TwoNames more;
  const ParsedEvent event = one("FP:A:B:u", skylake(), &more);
  EXPECT_EQ(event.row->name, "fp_arith_inst_retired.scalar");
  EXPECT_EQ(event.spelling, "FP:A:B:u");
}

TEST(FurtherNames, DoNotTakeAModifierForAUmaskNorAUmaskForAModifier) {
  const TwoNames more;
  const auto ring_0 = parse_events("FP:A:B:k", skylake(), &more);
  ASSERT_FALSE(ring_0);
  EXPECT_EQ(ring_0.error().message, "event list, column 8: ring-0 counting is not modelled");
  const auto umask = parse_events("EXOTIC:THING:OTHER", skylake(), &more);
  ASSERT_FALSE(umask);
  EXPECT_EQ(umask.error().message, "event list, column 1: unknown event 'EXOTIC:THING'");
}

TEST(FurtherNames, AreNamedWhereTheyAreNotModelled) {
  const TwoNames more;
  for (const char* spelling : {"skx::EXOTIC:THING:u", "EXOTIC.THING"}) {
    const auto groups = parse_events(spelling, skylake(), &more);
    ASSERT_FALSE(groups);
    EXPECT_THAT(groups.error().message, HasSubstr("EXOTIC"));
    EXPECT_THAT(groups.error().message, HasSubstr("needs more of the core (cycles) than its models have"));
  }
}

TEST(FurtherNames, AreOfferedToWhoeverMistypes) {
  const TwoNames more;
  const auto groups = parse_events("exotic.thng", skylake(), &more);
  ASSERT_FALSE(groups);
  EXPECT_THAT(groups.error().hint, StartsWith("nearest: EXOTIC.THING, "));
}

}  // namespace
}  // namespace zs::session

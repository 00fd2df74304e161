#include "cli/list/list_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

namespace zs::cli {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const arch::CpuModel& skylake() { return *arch::find_cpu_model("skylake-server@1"); }

const std::vector<ListedEvent>& everything() {
  static const PfmNames pfm;
  static const std::vector<ListedEvent> events = list_events(skylake(), pfm);
  return events;
}

std::vector<std::string> names_of(const std::vector<ListedEvent>& events) {
  std::vector<std::string> names;
  for (const ListedEvent& event : events) names.push_back(event.name);
  return names;
}

const ListedEvent& listed(const std::string& name) {
  const auto found = std::find_if(everything().begin(), everything().end(),
                                  [&](const ListedEvent& event) { return event.name == name; });
  EXPECT_NE(found, everything().end()) << name;
  return *found;
}

TEST(ListEvents, NamesNoEventTwice) {
  std::set<std::string> seen;
  for (const ListedEvent& event : everything()) EXPECT_TRUE(seen.insert(event.name).second) << event.name;
}

// Whatever is listed has a class that its number will carry, or is refused with the words "not modelled".
TEST(ListEvents, SaysOfEveryEventOfEveryCpuModelWhatTheParserSays) {
  for (const arch::CpuModel& cpu : arch::cpu_models()) {
    for (const ListedEvent& event : list_events(cpu, PfmNames())) {
      const auto parsed = parse_events(event.name, cpu);
      const std::string what = std::string(cpu.name) + ": " + event.name;
      ASSERT_EQ(parsed.has_value(), event.kind != ListedClass::NotModelled) << what;
      if (!parsed) {
        EXPECT_THAT(parsed.error().message, HasSubstr("not modelled")) << what;
        continue;
      }
      const session::ParsedEvent& counted = parsed->front().events.front();
      EXPECT_EQ(counted.detail != session::Detail::Exact, event.kind == ListedClass::Modelled) << what;
      EXPECT_EQ(event.error.empty(), event.kind != ListedClass::Modelled) << what;
      if (event.kind == ListedClass::Exact) {
        EXPECT_EQ(counted.counters, event.counters) << what;
      }
    }
  }
}

TEST(ListEvents, AddsLibpfmsEventsThatTheTableLacks) {
  const ListedEvent& event = listed("exe_activity.2_ports_util");
  EXPECT_EQ(event.kind, ListedClass::NotModelled);
  EXPECT_EQ(event.needs, "cycles");
}

TEST(ListEvents, GivesPerfsNamesTheRowBehindThem) {
  const ListedEvent& event = listed("L1-dcache-loads");
  EXPECT_EQ(event.config, 0x81D0u);
  EXPECT_THAT(event.aliases, ElementsAre("mem_inst_retired.all_loads"));
  EXPECT_FALSE(listed("task-clock").config.has_value());
}

TEST(ListEvents, HasTheBranchTraceWhereTheProcessorHasAStoreForIt) {
  EXPECT_EQ(listed("intel_bts//").kind, ListedClass::Exact);
  EXPECT_FALSE(listed("intel_bts//").config.has_value());
  EXPECT_THAT(names_of(list_events(*arch::find_cpu_model("zen4@1"), PfmNames())), Not(Contains("intel_bts//")));
}

TEST(ListEvents, HasInstructionBasedSamplingWhereTheProcessorHas) {
  const auto events = list_events(*arch::find_cpu_model("zen4@1"), PfmNames());
  for (const char* name : {"ibs_op//", "ibs_fetch//"}) {
    const auto found = std::ranges::find(events, name, &ListedEvent::name);
    ASSERT_NE(found, events.end());
    EXPECT_EQ(found->kind, ListedClass::Modelled);
    EXPECT_FALSE(found->config.has_value());
    EXPECT_THAT(names_of(everything()), Not(Contains(name)));
  }
}

TEST(Matching, ComparesGlobsCaseBlindWithNamesAndAliases) {
  EXPECT_THAT(names_of(matching(everything(), {"MEM_INST_RETIRED.LOCK*"})), ElementsAre("mem_inst_retired.lock_loads"));
  EXPECT_THAT(names_of(matching(everything(), {"cs", "faults"})), ElementsAre("page-faults", "context-switches"));
}

TEST(Matching, FallsBackToNamesThatContainTheWord) {
  EXPECT_THAT(names_of(matching(everything(), {"prec_di"})), ElementsAre("inst_retired.prec_dist"));
  EXPECT_THAT(matching(everything(), {"no such thing"}), IsEmpty());
}

TEST(ListPage, IsThisTable) {
  EXPECT_EQ(list_page(arch::default_cpu_model(), matching(everything(), {"instructions", "cs", "inst_retired.[apt]*"}),
                      false),
            R"(
EVENT                         CLASS         CODE/UMASK   COUNTERS    PRECISE       DESCRIPTION
instructions                  exact         C0/00        0-7 fixed0  no            instructions retired; :ppp is INST_RETIRED.PREC_DIST
context-switches              software      -            -           -             times the thread left its CPU
inst_retired.any              exact         C0/00        0-7 fixed0  no            instructions retired (fixed counter 0)
inst_retired.any_p            exact         C0/00        0-7 fixed0  no            instructions retired; a REP string instruction is one
inst_retired.prec_dist        exact         C0/01        1           distribution  instructions retired; with PEBS on PMC1 the overflowing instruction itself is sampled
inst_retired.total_cycles_ps  not modelled  C0/01 c10 i  0,2-3       only          every cycle, precise: INST_RETIRED below 10
)" + 1);
}

TEST(ListPage, TellsAliasesAndWhatIsMissingWhenVerbose) {
  EXPECT_EQ(list_page(arch::default_cpu_model(),
                      matching(everything(), {"cycles", "cache-misses", "node-loads", "migrations"}), true),
            R"(
EVENT           CLASS         CODE/UMASK  COUNTERS    PRECISE       DESCRIPTION
cycles          modelled      3C/00       0-7 fixed1  no            core cycles while not halted
    also: cpu_clk_unhalted.thread, cpu-cycles
    error: within 10 % of published figures on a plain loop
cache-misses    modelled      2E/41       0-7         no            requests that missed the last-level cache, those of prefetchers included
    also: longest_lat_cache.miss
    error: within 50 % of arithmetic on a plain loop
node-loads      not modelled  -           -           -
    needs: more of the core (caches)
cpu-migrations  not modelled  -           -           -
    also: migrations
    needs: the kernel's own counting
)" + 1);
}

TEST(ListPage, WritesCountersAsRanges) {
  EXPECT_EQ(counter_names(arch::any_of(8)), "0-7");
  EXPECT_EQ(counter_names(arch::only(0) | arch::only(2) | arch::only(3) | arch::fixed(1)), "0,2-3 fixed1");
  EXPECT_EQ(counter_names(arch::fixed(0)), "fixed0");
  EXPECT_EQ(counter_names({}), "-");
}

TEST(ListJson, KeepsTheFieldsThatTheFormatPagePromises) {
  const auto json = nlohmann::json::parse(
      list_json(skylake(), matching(everything(), {"mem_load_retired.l2_miss", "cs", "hw_interrupts.received"})));
  EXPECT_EQ(json.at("schema"), "zeroskid-list");
  EXPECT_EQ(json.at("version"), 1);
  EXPECT_EQ(json.at("cpu"), "skylake-server@1");
  ASSERT_EQ(json.at("events").size(), 3u);
  const auto& software = json.at("events").at(0);
  EXPECT_EQ(software.at("name"), "context-switches");
  EXPECT_EQ(software.at("class"), "software");
  EXPECT_FALSE(software.contains("config"));
  const auto& missing = json.at("events").at(1);
  EXPECT_EQ(missing.at("class"), "not modelled");
  EXPECT_EQ(missing.at("needs"), "cycles");
  EXPECT_FALSE(missing.contains("error"));
  const auto& event = json.at("events").at(2);
  EXPECT_EQ(event.at("class"), "modelled");
  EXPECT_EQ(event.at("error"), "within 15 % of arithmetic on a plain loop");
  EXPECT_FALSE(event.contains("needs"));
  EXPECT_EQ(event.at("config"), "0x10d1");
  EXPECT_EQ(event.at("event"), 0xD1);
  EXPECT_EQ(event.at("umask"), 0x10);
  EXPECT_EQ(event.at("cmask"), 0);
  EXPECT_EQ(event.at("counters"), (std::vector{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(event.at("precise"), "yes");
  EXPECT_EQ(event.at("data_address"), true);
  EXPECT_EQ(event.at("extension"), false);
}

TEST(SelectPage, DecodesTheWordsOfTheCounterTutorial) {
  EXPECT_EQ(select_page("0x004100C4", skylake()), R"(
0x004100C4  IA32_PERFEVTSELx of skylake-server@1
  bits 7-0   EVENT   C4H
  bits 15-8  UMASK   00H
  bit  16    USR     1    counts in ring 3
  bit  17    OS      0    does not count in ring 0
  bit  20    INT     0    no interrupt on overflow
  bit  22    EN      1    the counter runs
Counts br_inst_retired.all_branches, exact: branch instructions retired, far ones included
)" + 1);
  EXPECT_THAT(select_page("0x0041412E", skylake()),
              HasSubstr("Counts longest_lat_cache.miss, modelled: misses of the last-level cache\n"));
  EXPECT_THAT(select_page("0x0041412E", *arch::find_cpu_model("nehalem")),
              HasSubstr("Not counted: not modelled: 0x0041412E (longest_lat_cache.miss) needs a model of the core "
                        "(caches), which nehalem@1 does not have\n"));
}

TEST(SelectPage, ShowsTheRegisterOfAnAmdProcessor) {
  const arch::CpuModel& zen4 = *arch::find_cpu_model("zen4");
  EXPECT_EQ(select_page("0x1004100D0", zen4), R"(
0x1004100D0  PERF_CTLx of zen4@1
  bits 7-0   EVENT   D0H
  bits 15-8  UMASK   00H
  bit  16    USR     1    counts in ring 3
  bit  17    OS      0    does not count in ring 0
  bit  20    INT     0    no interrupt on overflow
  bit  22    EN      1    the counter runs
  bits 35-32 EVENT_HIGH 01H
Counts ex_ret_fused_instr, modelled: fused instructions retired: pairs that made one op
)" + 1);
  EXPECT_THAT(select_page("0x6100C0", zen4), HasSubstr("  reserved bits are set: 0x200000\n"));
}

TEST(ListEvents, GivePerfsNamesTheMeaningThatPerfGivesThemOnThatProcessor) {
  const auto zen4 = list_events(*arch::find_cpu_model("zen4"), PfmNames());
  const auto of = [&](std::string_view name) { return *std::ranges::find(zen4, name, &ListedEvent::name); };
  EXPECT_EQ(of("cache-misses").config, 0x964U);
  EXPECT_EQ(of("cache-references").config, 0xFF60U);
  EXPECT_EQ(of("ref-cycles").config, 0x1'0000'0120U);
  EXPECT_EQ(of("L1-dcache-load-misses").config, 0xC860U);
  EXPECT_EQ(of("dTLB-load-misses").config, 0xF045U);
  EXPECT_EQ(of("dTLB-load-misses").description, "loads and stores that missed both data TLBs: page walks");
  EXPECT_EQ(of("LLC-loads").kind, ListedClass::NotModelled);
}

TEST(SelectPage, SaysWhyAWordCountsNothing) {
  EXPECT_EQ(select_page("0x18300A0", skylake()), R"(
0x18300A0  IA32_PERFEVTSELx of skylake-server@1
  bits 7-0   EVENT   A0H
  bits 15-8  UMASK   00H
  bit  16    USR     1    counts in ring 3
  bit  17    OS      1    counts in ring 0 (not modelled)
  bit  20    INT     0    no interrupt on overflow
  bit  22    EN      0    the counter stands still
  bit  23    INV     1    fewer than CMASK a cycle; no meaning while CMASK is 0
  bits 31-24 CMASK   1    cycles with at least so many occurrences
Not counted: ring-0 counting is not modelled: '0x18300A0' has OS (bit 17) set
hint: the same in ring 3: 0x1C100A0
)" + 1);
  EXPECT_THAT(select_page("0x8000000000000000", skylake()), HasSubstr("  reserved bits are set: 0x8000000000000000\n"));
}

TEST(SelectJson, CarriesEveryField) {
  const auto json = nlohmann::json::parse(select_json("0x4300C4", skylake()));
  EXPECT_EQ(json.at("schema"), "zeroskid-select");
  EXPECT_EQ(json.at("fields").at("EVENT"), 0xC4);
  EXPECT_EQ(json.at("fields").at("OS"), 1);
  EXPECT_EQ(json.at("counted"), false);
  EXPECT_TRUE(json.at("counts").is_null());
  EXPECT_EQ(json.at("why"), "ring-0 counting is not modelled: '0x4300C4' has OS (bit 17) set");
}

}  // namespace
}  // namespace zs::cli

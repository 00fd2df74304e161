#include "arch/events/tables.h"

#include <gmock/gmock.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "arch/cpu_model.h"

namespace zs::arch {
namespace {

const CpuModel& skylake() { return *find_cpu_model("skylake-server"); }

std::vector<std::string_view> names(const Event& event) {
  std::vector<std::string_view> all{event.name};
  for (std::string_view rest = event.aliases; !rest.empty();) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    all.push_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return all;
}

Retired branch(BranchKind kind, bool taken) {
  Retired r;
  r.branch = kind;
  r.taken = taken;
  return r;
}

std::uint32_t count(const char* event, const Retired& r) {
  const Event* row = find_event(skylake(), event);
  EXPECT_NE(row, nullptr) << event;
  EXPECT_NE(row->meaning, nullptr) << event;
  return row->meaning->count(r);
}

TEST(EventTables, GiveEveryNameAndAliasToOneEventOnly) {
  for (const CpuModel& model : cpu_models()) {
    std::map<std::string_view, std::string_view> owner;
    for (const Event& event : events(model)) {
      for (const std::string_view name : names(event)) {
        EXPECT_TRUE(owner.emplace(name, event.name).second)
            << model.name << ": " << name << " names " << owner[name] << " and " << event.name;
        EXPECT_EQ(find_event(model, name), &event) << name;
      }
    }
  }
}

TEST(EventTables, CountEveryExactEventOnTheEncodingOfItsRow) {
  for (const CpuModel& model : cpu_models()) {
    for (const Event& event : events(model)) {
      if (event.kind() != EventClass::Exact) continue;
      const EventMeaning* counted = event.code != 0
                                        ? meaning_of(model, event.code, event.umask)
                                        : fixed_meaning(model, event.counters.fixed().first() - kFirstFixedBit);
      EXPECT_EQ(counted, event.meaning) << model.name << ": " << event.name;
    }
  }
}

TEST(EventTables, GiveAllRowsOfAFixedCounterOneMeaningAndOneClock) {
  for (const CpuModel& model : cpu_models()) {
    for (unsigned i = 0; i < model.fixed_counters; ++i) {
      const Event* chosen = fixed_event(model, i);
      ASSERT_NE(chosen, nullptr) << model.name << " " << i;
      for (const Event& row : events(model)) {
        if (row.code != 0 || !row.counters.has(kFirstFixedBit + i)) continue;
        EXPECT_EQ(row.meaning, chosen->meaning) << model.name << " " << row.name;
        EXPECT_EQ(row.tick, chosen->tick) << model.name << " " << row.name;
      }
    }
  }
}

TEST(EventTables, CountNothingForAnEncodingThatIsNotModelled) {
  for (const CpuModel& model : cpu_models()) {
    for (const Event& event : events(model)) {
      if (event.kind() == EventClass::Exact || event.code == 0 || event.cmask != 0) continue;
      EXPECT_EQ(meaning_of(model, event.code, event.umask), nullptr) << model.name << ": " << event.name;
    }
    EXPECT_EQ(meaning_of(model, 0x00, 0x00), nullptr);
    EXPECT_EQ(meaning_of(model, 0x00, 0x01), nullptr) << "code 00H counts on fixed counters only";
    EXPECT_EQ(meaning_of(model, 0xFF, 0xFF), nullptr);
  }
}

TEST(EventTables, KnowEveryEventOfTheFirstStepOnSkylakeServer) {
  for (const char* name : {"INST_RETIRED.ANY",
                           "INST_RETIRED.ANY_P",
                           "INST_RETIRED.PREC_DIST",
                           "INST_RETIRED.NOP",
                           "BR_INST_RETIRED.ALL_BRANCHES",
                           "BR_INST_RETIRED.ALL_BRANCHES_PEBS",
                           "BR_INST_RETIRED.CONDITIONAL",
                           "BR_INST_RETIRED.COND",
                           "BR_INST_RETIRED.COND_TAKEN",
                           "BR_INST_RETIRED.COND_NTAKEN",
                           "BR_INST_RETIRED.NOT_TAKEN",
                           "BR_INST_RETIRED.NEAR_CALL",
                           "BR_INST_RETIRED.NEAR_RETURN",
                           "BR_INST_RETIRED.NEAR_TAKEN",
                           "BR_INST_RETIRED.INDIRECT",
                           "BR_INST_RETIRED.FAR_BRANCH",
                           "MEM_INST_RETIRED.ALL_LOADS",
                           "MEM_INST_RETIRED.ALL_STORES",
                           "MEM_INST_RETIRED.ANY",
                           "MEM_INST_RETIRED.LOCK_LOADS",
                           "MEM_INST_RETIRED.SPLIT_LOADS",
                           "MEM_INST_RETIRED.SPLIT_STORES",
                           "FP_ARITH_INST_RETIRED.SCALAR_DOUBLE",
                           "FP_ARITH_INST_RETIRED.SCALAR_SINGLE",
                           "FP_ARITH_INST_RETIRED.128B_PACKED_DOUBLE",
                           "FP_ARITH_INST_RETIRED.128B_PACKED_SINGLE",
                           "FP_ARITH_INST_RETIRED.256B_PACKED_DOUBLE",
                           "FP_ARITH_INST_RETIRED.256B_PACKED_SINGLE",
                           "FP_ARITH_INST_RETIRED.512B_PACKED_DOUBLE",
                           "FP_ARITH_INST_RETIRED.512B_PACKED_SINGLE",
                           "FP_ARITH_INST_RETIRED.SCALAR",
                           "FP_ARITH_INST_RETIRED.VECTOR"}) {
    const Event* event = find_event(skylake(), name);
    ASSERT_NE(event, nullptr) << name;
    EXPECT_EQ(event->kind(), EventClass::Exact) << name;
  }
}

TEST(EventTables, KnowByNameWhatIsNotModelled) {
  const Event* miss = find_event(skylake(), "MEM_LOAD_RETIRED.L3_MISS");
  ASSERT_NE(miss, nullptr);
  EXPECT_EQ(miss->kind(), EventClass::NotModelled);
  EXPECT_EQ(miss->config(), 0x20D1U);
  const Event* latency = find_event(skylake(), "mem_trans_retired.load_latency_gt_64");
  ASSERT_NE(latency, nullptr);
  EXPECT_EQ(latency->selector, 64U);
}

TEST(EventTables, SpellConfigsAsPerfDoes) {
  EXPECT_EQ(find_event(skylake(), "inst_retired.total_cycles_ps")->config(), 0x0A80'01C0U);
  EXPECT_EQ(find_event(skylake(), "machine_clears.count")->config(), 0x0104'01C3U);
  EXPECT_EQ(find_event(skylake(), "cpu_clk_unhalted.thread_p_any")->config(), 0x0020'003CU);
}

TEST(EventTables, MarkTheEncodingsThatTheProcessorDoesNotHave) {
  std::set<std::string_view> extensions;
  for (const Event& event : events(skylake())) {
    if (event.extension) extensions.insert(event.name);
  }
  EXPECT_EQ(extensions, (std::set<std::string_view>{"br_inst_retired.cond_taken", "br_inst_retired.indirect"}));
}

TEST(EventTables, PutPreciseDistributionOnPmc1Only) {
  const Event* event = find_event(skylake(), "inst_retired.prec_dist");
  EXPECT_EQ(event->counters, only(1));
  EXPECT_EQ(event->precise, Precise::Distribution);
}

TEST(EventTables, TakeAnyUnionOfFloatingPointClasses) {
  const EventMeaning* meaning = meaning_of(skylake(), 0xC7, 0x21);  // scalar double, packed 256 single
  ASSERT_NE(meaning, nullptr);
  Retired r;
  r.fp_weight = 2;
  r.fp = FpArith::Packed256Single;
  EXPECT_EQ(meaning->count(r), 2U);
  r.fp = FpArith::ScalarDouble;
  EXPECT_EQ(meaning->count(r), 2U);
  r.fp = FpArith::ScalarSingle;
  EXPECT_EQ(meaning->count(r), 0U);
  EXPECT_EQ(meaning_of(skylake(), 0xC7, 0x00), nullptr);
  EXPECT_EQ(meaning_of(*find_cpu_model("westmere"), 0xC7, 0x21), nullptr) << "Westmere uses code C7H for another event";
}

TEST(EventTables, GiveEachFloatingPointClassItsUmaskBit) {
  const FpArith classes[] = {FpArith::ScalarDouble,    FpArith::ScalarSingle,    FpArith::Packed128Double,
                             FpArith::Packed128Single, FpArith::Packed256Double, FpArith::Packed256Single,
                             FpArith::Packed512Double, FpArith::Packed512Single};
  for (unsigned bit = 0; bit < 8; ++bit) {
    Retired r;
    r.fp = classes[bit];
    r.fp_weight = 1;
    for (unsigned umask = 1; umask < 256; ++umask) {
      EXPECT_EQ(meaning_of(skylake(), 0xC7, static_cast<std::uint8_t>(umask))->count(r), umask >> bit & 1);
    }
  }
}

TEST(EventMeanings, ShareOneFunctionBetweenEncodingsThatMeanTheSame) {
  EXPECT_EQ(meaning_of(skylake(), 0xC0, 0x00)->count, meaning_of(skylake(), 0xC0, 0x01)->count);
  EXPECT_EQ(meaning_of(skylake(), 0xC0, 0x00)->count, fixed_meaning(skylake(), 0)->count);
  EXPECT_EQ(meaning_of(skylake(), 0xC4, 0x00)->count, meaning_of(skylake(), 0xC4, 0x04)->count);
  EXPECT_EQ(fixed_meaning(skylake(), 1), nullptr) << "cycles are not modelled";
}

TEST(EventMeanings, CountAnUntakenConditionalAsABranchThatIsNotTaken) {
  const Retired r = branch(BranchKind::Conditional, false);
  EXPECT_EQ(count("br_inst_retired.all_branches", r), 1U);
  EXPECT_EQ(count("br_inst_retired.conditional", r), 1U);
  EXPECT_EQ(count("br_inst_retired.not_taken", r), 1U);
  EXPECT_EQ(count("br_inst_retired.cond_taken", r), 0U);
  EXPECT_EQ(count("br_inst_retired.near_taken", r), 0U);
}

TEST(EventMeanings, CountSyscallAsAFarBranchThatIsNotNearTaken) {
  const Retired r = branch(BranchKind::Far, true);
  EXPECT_EQ(count("br_inst_retired.all_branches", r), 1U);
  EXPECT_EQ(count("br_inst_retired.far_branch", r), 1U);
  EXPECT_EQ(count("br_inst_retired.near_taken", r), 0U);
  EXPECT_EQ(count("br_inst_retired.indirect", r), 0U);
}

TEST(EventMeanings, CountAnIndirectCallAsCallIndirectAndTaken) {
  const Retired r = branch(BranchKind::IndirectCall, true);
  EXPECT_EQ(count("br_inst_retired.near_call", r), 1U);
  EXPECT_EQ(count("br_inst_retired.indirect", r), 1U);
  EXPECT_EQ(count("br_inst_retired.near_taken", r), 1U);
  EXPECT_EQ(count("br_inst_retired.near_return", r), 0U);
}

TEST(EventMeanings, DoNotCountAReturnAsIndirect) {
  const Retired r = branch(BranchKind::Return, true);
  EXPECT_EQ(count("br_inst_retired.near_return", r), 1U);
  EXPECT_EQ(count("br_inst_retired.indirect", r), 0U);
  EXPECT_EQ(count("br_inst_retired.near_call", r), 0U);
}

TEST(EventMeanings, CountEveryElementOfARepStringInstructionButOneInstruction) {
  Retired r;  // rep movsb, 1000 bytes
  r.rep_string = true;
  r.load_count = r.store_count = 1000;
  EXPECT_EQ(count("inst_retired.any_p", r), 1U);
  EXPECT_EQ(count("mem_inst_retired.all_loads", r), 1000U);
  EXPECT_EQ(count("mem_inst_retired.all_stores", r), 1000U);
  EXPECT_EQ(count("mem_inst_retired.any", r), 2000U);
  EXPECT_EQ(count("mem_inst_retired.lock_loads", r), 0U);
}

TEST(EventMeanings, SaturateInsteadOfWrapping) {
  Retired r;
  r.load_count = r.store_count = 0x1'0000'0005;
  EXPECT_EQ(count("mem_inst_retired.all_loads", r), UINT32_MAX);
  EXPECT_EQ(count("mem_inst_retired.any", r), UINT32_MAX);
}

TEST(EventMeanings, SayWhichOfThemDependOnMemory) {
  EXPECT_FALSE(kInstructions.memory);
  EXPECT_FALSE(kBranches.memory);
  EXPECT_TRUE(kLoads.memory);
  EXPECT_FALSE(kLoads.addresses);
  EXPECT_TRUE(kSplitLoads.addresses);
}

}  // namespace
}  // namespace zs::arch

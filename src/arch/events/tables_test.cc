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

TEST(EventTables, CountEveryEventOnTheEncodingOfItsRow) {
  for (const CpuModel& model : cpu_models()) {
    for (const Event& event : events(model)) {
      if (event.meaning == nullptr) continue;
      const Event* const whole = find_whole_event(model, PerfEvtSel{event.config()});
      EXPECT_EQ(whole != nullptr, event.has_condition()) << model.name << ": " << event.name;
      const EventMeaning* counted = whole != nullptr ? whole->meaning
                                    : event.code != 0
                                        ? meaning_of(model, event.code, event.umask)
                                        : fixed_event(model, event.counters.fixed().first() - kFirstFixedBit)->meaning;
      EXPECT_EQ(counted, event.meaning) << model.name << ": " << event.name;
    }
  }
}

// ---- modelled events

/// Intel's CPU models that a core model stands behind (uarch/core_model.cc).
constexpr const char* kWithCore[] = {"westmere", "haswell", "skylake-server", "icelake-server", "sapphire-rapids"};

/// A count of each signal by which sums can be told apart.
CoreSignals different_signals() {
  CoreSignals signals;
  std::uint64_t n = 1;
  for (std::uint64_t& count : signals.counts) count = n = n * 5 % 1'000'003;
  return signals;
}

std::uint64_t modelled(const CpuModel& model, const char* name, const CoreSignals& signals) {
  const Event* const event = find_event(model, name);
  if (event == nullptr || event->kind() != EventClass::Modelled || event->meaning == nullptr) {
    ADD_FAILURE() << model.name << " does not model " << name;
    return 0;
  }
  return event->meaning->of_signals(signals);
}

TEST(ModelledEvents, CountTheSameFromTotalsAndFromOneInstruction) {
  const CoreSignals signals = different_signals();
  Retired r;
  EXPECT_EQ(kMispredicted.count(r), 0U) << "no core model";
  r.signals = &signals;
  for (const CpuModel& model : cpu_models()) {
    for (const Event& event : events(model)) {
      if (event.kind() != EventClass::Modelled || event.meaning == nullptr) continue;
      EXPECT_EQ(event.meaning->count(r), event.meaning->of_signals(signals)) << model.name << ": " << event.name;
    }
  }
}

TEST(ModelledEvents, DivideRetiredLoadsWithoutRemainder) {
  CoreSignals signals = different_signals();
  signals[CoreSignal::Loads] = 0;
  for (auto s = static_cast<std::size_t>(CoreSignal::LoadL1Hit); s <= static_cast<std::size_t>(CoreSignal::LoadDram);
       ++s)
    signals[CoreSignal::Loads] += signals.counts[s];
  for (const char* const name : kWithCore) {
    const CpuModel& model = *find_cpu_model(name);
    const auto of = [&](const char* event) { return modelled(model, event, signals); };
    if (std::string_view(name) == "westmere") {
      EXPECT_EQ(of("mem_load_retired.l1d_hit") + of("mem_load_retired.hit_lfb") + of("mem_load_retired.l2_hit") +
                    of("mem_load_retired.llc_unshared_hit") + of("mem_load_retired.other_core_l2_hit_hitm") +
                    of("mem_load_retired.llc_miss"),
                signals[CoreSignal::Loads]);
      continue;
    }
    EXPECT_EQ(of("mem_load_retired.l1_hit") + of("mem_load_retired.fb_hit") + of("mem_load_retired.l1_miss"),
              signals[CoreSignal::Loads])
        << name;
    EXPECT_EQ(of("mem_load_retired.l2_hit") + of("mem_load_retired.l2_miss"), of("mem_load_retired.l1_miss")) << name;
    EXPECT_EQ(of("mem_load_retired.l3_hit") + of("mem_load_retired.l3_miss"), of("mem_load_retired.l2_miss")) << name;
    EXPECT_EQ(of("mem_load_l3_hit_retired.xsnp_none") + of("mem_load_l3_hit_retired.xsnp_miss") +
                  of("mem_load_l3_hit_retired.xsnp_hit") + of("mem_load_l3_hit_retired.xsnp_hitm"),
              of("mem_load_retired.l3_hit"))
        << name;
    EXPECT_EQ(of("mem_load_l3_miss_retired.local_dram"), of("mem_load_retired.l3_miss")) << name;
  }
}

TEST(ModelledEvents, DivideMispredictsByKindWithoutRemainder) {
  const CoreSignals signals = different_signals();
  for (const char* const name : kWithCore) {
    const CpuModel& model = *find_cpu_model(name);
    const auto of = [&](const char* event) { return modelled(model, event, signals); };
    const std::uint64_t not_taken = signals[CoreSignal::MispredictedNotTaken];
    const std::uint64_t other = signals[CoreSignal::MispredictedIndirectJump] +
                                signals[CoreSignal::MispredictedIndirectCall] + signals[CoreSignal::MispredictedReturn];
    EXPECT_EQ(of("br_misp_retired.conditional") + other, of("br_misp_retired.all_branches")) << name;
    if (std::string_view(name) == "westmere") continue;
    EXPECT_EQ(of("br_misp_retired.near_taken") + not_taken, of("br_misp_retired.all_branches")) << name;
  }
}

TEST(ModelledEvents, DivideRequestsOfTheSecondLevelWithoutRemainder) {
  const CoreSignals signals = different_signals();
  for (const char* const name : kWithCore) {
    const CpuModel& model = *find_cpu_model(name);
    const auto of = [&](const char* event) { return modelled(model, event, signals); };
    const std::uint64_t prefetch_misses = signals[CoreSignal::L2PrefetchMiss] + signals[CoreSignal::L2OwnPrefetchMiss];
    const std::uint64_t prefetches = signals[CoreSignal::L2PrefetchHit] + prefetch_misses;
    EXPECT_EQ(of("l2_rqsts.all_demand_data_rd") + of("l2_rqsts.all_rfo") + of("l2_rqsts.all_code_rd") + prefetches,
              of("l2_rqsts.references"))
        << name;
    EXPECT_EQ(
        of("l2_rqsts.demand_data_rd_miss") + of("l2_rqsts.rfo_miss") + of("l2_rqsts.code_rd_miss") + prefetch_misses,
        of("l2_rqsts.miss"))
        << name;
  }
}

// source: Optimization manual, "Top-Down Analysis Method": the published formulas over slots of 4 a cycle.
TEST(ModelledEvents, MakeTheTopDownFormulasGiveTheSlotAccount) {
  constexpr std::uint64_t kWidth = 4;
  CoreSignals signals = different_signals();
  const std::uint64_t recovery = signals[CoreSignal::RecoveryCycles];
  signals[CoreSignal::SlotsMispredict] += kWidth * recovery;
  signals[CoreSignal::WrongPathUops] =
      signals[CoreSignal::SlotsMispredict] + signals[CoreSignal::SlotsMachineClear] - kWidth * recovery;
  std::uint64_t slots = 0;
  for (auto s = static_cast<std::size_t>(CoreSignal::SlotsRetired);
       s <= static_cast<std::size_t>(CoreSignal::SlotsSerialising); ++s)
    slots += signals.counts[s];
  for (const char* const name : {"haswell", "skylake-server"}) {
    const CpuModel& model = *find_cpu_model(name);
    const auto of = [&](const char* event) { return modelled(model, event, signals); };
    const std::uint64_t retiring = of("uops_retired.retire_slots");
    const std::uint64_t frontend = of("idq_uops_not_delivered.core");
    const std::uint64_t speculation = of("uops_issued.any") - retiring + kWidth * of("int_misc.recovery_cycles");
    EXPECT_EQ(speculation, signals[CoreSignal::SlotsMispredict] + signals[CoreSignal::SlotsMachineClear]) << name;
    EXPECT_EQ(slots - retiring - frontend - speculation, kSlotsBackend.of_signals(signals)) << name;
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
      if (event.kind() != EventClass::NotModelled || event.code == 0 || event.has_condition()) continue;
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
  const Event* remote = find_event(skylake(), "MEM_LOAD_L3_MISS_RETIRED.REMOTE_DRAM");
  ASSERT_NE(remote, nullptr);
  EXPECT_EQ(remote->kind(), EventClass::NotModelled);
  EXPECT_EQ(remote->config(), 0x02D3U);
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

TEST(EventTables, HaveAnEventOfEachFacilityOfTheirProcessorAndOfNoOther) {
  for (const CpuModel& model : cpu_models()) {
    const auto has = [&model](Facility facility) {
      return std::ranges::any_of(events(model), [facility](const Event& event) { return event.facility == facility; });
    };
    EXPECT_EQ(has(Facility::LoadLatency), model.load_latency) << model.name;
    EXPECT_EQ(has(Facility::PreciseStore), model.precise_store) << model.name;
    EXPECT_EQ(has(Facility::StoreLatency), model.store_latency) << model.name;
  }
  const CpuModel &nehalem = *find_cpu_model("nehalem"), &spr = *find_cpu_model("sapphire-rapids");
  EXPECT_TRUE(is_load_latency(nehalem, 0x0B, 0x10) && is_load_latency(spr, 0xCD, 0x01));
  EXPECT_FALSE(is_load_latency(nehalem, 0xCD, 0x01) || is_load_latency(spr, 0x0B, 0x10));
  EXPECT_TRUE(is_store_latency(spr, 0xCD, 0x02) && is_precise_store(*find_cpu_model("ivybridge"), 0xCD, 0x02));
  EXPECT_FALSE(is_precise_store(spr, 0xCD, 0x02) || is_load_latency(spr, 0xCD, 0x02));
}

/// What moves with an access of its own instruction can be in no other instruction.
TEST(CoreSignals, OfRetiredAccessesAndBranchesNameTheirInstruction) {
  using enum CoreSignal;
  for (const CoreSignal signal : {Loads, LoadDram, LockedLoads, LoadStlbMiss, LatencyLoads})
    EXPECT_EQ(cause_of(signal), SignalCause::Load);
  for (const CoreSignal signal : {Stores, SplitStores, StoreStlbMiss, StreamingStores})
    EXPECT_EQ(cause_of(signal), SignalCause::Store);
  for (const CoreSignal signal : {MispredictedTaken, MispredictedNotTaken, MispredictedReturn})
    EXPECT_EQ(cause_of(signal), SignalCause::Branch);
  for (const CoreSignal signal : {L1dReplacement, FetchMiss, Resteers, Cycles, DtlbLoadWalk, SoftwarePrefetches})
    EXPECT_EQ(cause_of(signal), SignalCause::Any);
  EXPECT_TRUE(is_time(Cycles) && is_time(WrongPathUops));
  EXPECT_FALSE(is_time(Resteers) || is_time(Loads));
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
  EXPECT_EQ(meaning_of(skylake(), 0xC0, 0x00)->count, fixed_event(skylake(), 0)->meaning->count);
  EXPECT_EQ(meaning_of(skylake(), 0xC4, 0x00)->count, meaning_of(skylake(), 0xC4, 0x04)->count);
  EXPECT_EQ(fixed_event(skylake(), 1)->meaning, nullptr) << "cycles are time";
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

/// The events of retired loads and stores, by what RetiredAccesses says of the processor.
TEST(EventMeanings, CountLoadsAndStoresAsTheProcessorsEventsDo) {
  Retired moves;  // rep movsb, 1000 bytes
  moves.rep_string = true;
  moves.loads = moves.stores = 1;
  moves.load_count = moves.store_count = 1000;
  moves.split_loads = moves.split_stores = 3;
  Retired compares = moves;  // repe cmpsb
  compares.loads = 2;
  compares.load_count = 2000;
  compares.stores = 0;
  compares.store_count = 0;
  Retired none = moves;  // of no bytes
  none.load_count = none.store_count = 0;
  Retired prefetch;
  prefetch.prefetch = true;
  std::size_t rows = 0;
  for (const CpuModel& model : cpu_models()) {
    if (model.vendor == Vendor::Amd) continue;
    const auto of = [&](const char* name, const Retired& r) -> std::uint64_t {
      const Event* const event = find_event(model, name);
      EXPECT_NE(event, nullptr) << model.name << ": " << name;
      ++rows;
      return event == nullptr ? 0 : event->meaning->count(r);
    };
    const bool once = model.retired_accesses.instructions;
    const char *const loads = "mem_inst_retired.loads", *const stores = "mem_inst_retired.stores";
    EXPECT_EQ(of(loads, moves), once ? 1U : 1000U) << model.name;
    EXPECT_EQ(of(loads, compares), once ? 1U : 2000U) << model.name;
    EXPECT_EQ(of(loads, none), once ? 1U : 0U) << model.name;
    EXPECT_EQ(of(loads, prefetch), model.retired_accesses.prefetches ? 1U : 0U) << model.name;
    EXPECT_EQ(of(stores, moves), once ? 1U : 1000U) << model.name;
    EXPECT_EQ(of(stores, compares), 0U) << model.name;
    EXPECT_EQ(of(stores, prefetch), 0U) << model.name;
    for (const char* const name : {"mem_inst_retired.split_loads", "mem_inst_retired.split_stores"}) {
      if (find_event(model, name) != nullptr) {
        EXPECT_EQ(of(name, moves), once ? 1U : 3U) << model.name;
      }
    }
    if (find_event(model, "mem_inst_retired.any") != nullptr) {
      EXPECT_EQ(of("mem_inst_retired.any", moves), once ? 1U : 2000U) << model.name;
    }
  }
  EXPECT_GT(rows, 70U);
  EXPECT_EQ(count("inst_retired.any_p", moves), 1U);
}

TEST(EventMeanings, SaturateInsteadOfWrapping) {
  Retired r;
  r.load_count = r.store_count = 0x1'0000'0005;
  EXPECT_EQ(kLoads.count(r), UINT32_MAX);
  EXPECT_EQ(kLoadsAndStores.count(r), UINT32_MAX);
}

TEST(EventMeanings, SayWhichOfThemDependOnMemory) {
  EXPECT_FALSE(kInstructions.memory);
  EXPECT_FALSE(kBranches.memory);
  EXPECT_TRUE(kLoads.memory);
  EXPECT_FALSE(kLoadOrPrefetchInstructions.memory || kMemoryInstructions.memory) << "known before a REP string has run";
  EXPECT_FALSE(kLoads.addresses);
  EXPECT_TRUE(kSplitLoads.addresses);
}

// ---- AMD's

const CpuModel& zen4() { return *find_cpu_model("zen4"); }

// source: the vendor's event list as perf carries it.
TEST(AmdEvents, HaveTheNamesAndCodesOfThatProcessor) {
  const struct {
    const char* name;
    std::uint64_t config;
  } rows[] = {{"ex_ret_instr", 0xC0},
              {"ex_ret_ops", 0xC1},
              {"ex_ret_brn", 0xC2},
              {"ex_ret_brn_misp", 0xC3},
              {"ex_ret_brn_tkn", 0xC4},
              {"ex_ret_brn_tkn_misp", 0xC5},
              {"ex_ret_brn_far", 0xC6},
              {"ex_ret_near_ret", 0xC8},
              {"ex_ret_near_ret_mispred", 0xC9},
              {"ex_ret_brn_ind_misp", 0xCA},
              {"ex_ret_cond", 0xD1},
              {"ls_not_halted_cyc", 0x76},
              {"ls_not_halted_p0_cyc.p0_freq_cyc", 0x1'0000'0120},
              {"l2_cache_req_stat.ic_dc_miss_in_l2", 0x964},
              {"l2_request_g1.all", 0xFF60},
              {"ls_l1_d_tlb_miss.all_l2_miss", 0xF045},
              {"bp_l1_tlb_miss_l2_tlb_hit", 0x84},
              {"ic_tag_hit_miss.instruction_cache_miss", 0x1'0000'188E},
              {"op_cache_hit_miss.op_cache_hit", 0x2'0000'038F},
              {"ex_ret_fused_instr", 0x1'0000'00D0},
              {"de_no_dispatch_per_slot.backend_stalls", 0x1'0000'1EA0}};
  for (const auto& row : rows) {
    const Event* const event = find_event(zen4(), row.name);
    ASSERT_NE(event, nullptr) << row.name;
    EXPECT_EQ(event->config(), row.config) << row.name;
    EXPECT_EQ(find_event(zen4(), PerfEvtSel{event->config()}), event) << row.name;
  }
}

TEST(AmdEvents, AreToldApartByAll12BitsOfTheirCode) {
  EXPECT_EQ(event_code(zen4(), PerfEvtSel{0x2'0041'038F}), 0x28F);
  EXPECT_EQ(event_code(skylake(), PerfEvtSel{0x4'0041'00C0}), 0xC0) << "bit 34 is ADAPTIVE there";
  EXPECT_EQ(find_event(zen4(), PerfEvtSel{0x00D0}), nullptr) << "1D0H and 2D0H are others";
  EXPECT_EQ(find_event(zen4(), 0x1D0, 0)->name, "ex_ret_fused_instr");
}

TEST(AmdEvents, CountBranchesByWhatTheyAre) {
  const auto count = [](const char* name, const Retired& r) { return find_event(zen4(), name)->meaning->count(r); };
  const Retired far = branch(BranchKind::Far, true), not_taken = branch(BranchKind::Conditional, false),
                back = branch(BranchKind::Return, true);
  for (const Retired& r : {far, not_taken, back}) EXPECT_EQ(count("ex_ret_brn", r), 1U);
  EXPECT_EQ(count("ex_ret_brn_tkn", far), 1U);
  EXPECT_EQ(count("ex_ret_brn_tkn", not_taken), 0U);
  EXPECT_EQ(count("ex_ret_brn_far", far), 1U);
  EXPECT_EQ(count("ex_ret_brn_far", back), 0U);
  EXPECT_EQ(count("ex_ret_near_ret", back), 1U);
  EXPECT_EQ(count("ex_ret_cond", not_taken), 1U);
}

TEST(AmdEvents, DivideRequestsOfTheSecondLevelWithoutRemainder) {
  const CoreSignals signals = different_signals();
  const auto of = [&](const char* event) { return modelled(zen4(), event, signals); };
  EXPECT_EQ(of("l2_cache_req_stat.ic_access_in_l2") + of("l2_cache_req_stat.dc_access_in_l2"),
            of("l2_cache_req_stat.all"));
  EXPECT_EQ(of("l2_cache_req_stat.ic_dc_hit_in_l2") + of("l2_cache_req_stat.ic_dc_miss_in_l2"),
            of("l2_cache_req_stat.all"));
  EXPECT_EQ(of("l2_cache_req_stat.dc_hit_in_l2") + of("l2_cache_req_stat.ls_rd_blk_c"),
            of("l2_cache_req_stat.dc_access_in_l2"));
  EXPECT_EQ(of("l2_request_g1.all_no_prefetch"), of("l2_cache_req_stat.all"));
  EXPECT_EQ(of("l2_request_g1.all"), of("l2_cache_req_stat.all") + signals[CoreSignal::L2OwnPrefetchMiss]);
}

// source: the vendor's pipeline metrics: of six slots a cycle those empty for want of ops, those that the back end
// refused, ops that did not retire, and ops that did.
TEST(AmdEvents, DivideDispatchSlotsWithoutRemainder) {
  constexpr std::uint64_t kWidth = 6;
  CoreSignals signals = different_signals();
  const auto number = [](CoreSignal signal) { return static_cast<std::size_t>(signal); };
  std::uint64_t slots = 0;
  for (auto i = number(CoreSignal::SlotsRetired); i <= number(CoreSignal::SlotsSerialising); ++i)
    slots += signals.counts[i];
  const std::uint64_t bad = signals[CoreSignal::SlotsMispredict] + signals[CoreSignal::SlotsMachineClear];
  signals[CoreSignal::RecoveryCycles] = bad / (2 * kWidth);
  signals[CoreSignal::WrongPathUops] = bad - kWidth * signals[CoreSignal::RecoveryCycles];
  const auto of = [&](const char* event) { return modelled(zen4(), event, signals); };
  EXPECT_EQ(of("de_no_dispatch_per_slot.no_ops_from_frontend") + of("de_no_dispatch_per_slot.backend_stalls") +
                of("de_src_op_disp.all"),
            slots);
  EXPECT_EQ(of("de_src_op_disp.all") - of("ex_ret_ops"), signals[CoreSignal::WrongPathUops]);
}

}  // namespace
}  // namespace zs::arch

// Each field against the manual's table: what an op or a fetch that does one thing sets, and nothing beside it.
#include "arch/ibs.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include "arch/cpu_model.h"
#include "arch/retired.h"

namespace zs::arch {
namespace {

constexpr std::uint64_t bit(unsigned n) { return std::uint64_t{1} << n; }

Retired at(std::uint64_t ip) {
  Retired retired;
  retired.ip = ip;
  retired.next_ip = ip + 4;
  return retired;
}

Retired load(AccessOutcome outcome = {}) {
  Retired retired = at(0x1000);
  retired.loads = 1;
  retired.load_count = 1;
  retired.data_address = 0x7000;
  retired.load = outcome;
  return retired;
}

Retired store(AccessOutcome outcome = {}) {
  Retired retired = at(0x1000);
  retired.stores = 1;
  retired.store_count = 1;
  retired.data_address = 0x8000;
  retired.store = outcome;
  return retired;
}

AccessOutcome from(DataLevel level, std::uint32_t latency = 40, DataSnoop snoop = DataSnoop::None) {
  return {.present = true, .latency = latency, .source = {.level = level, .snoop = snoop, .tlb = DataTlb::L1}};
}

constexpr std::uint64_t kPlainLoad = 0x2'0001;  // IbsLdOp, IbsDcLinAddrValid

TEST(IbsCapabilities, AreOfAmdsModelsAndHaveWhatSamplingNeeds) {
  unsigned found = 0;
  for (const CpuModel& model : cpu_models()) {
    if (!has_ibs(model)) continue;
    ++found;
    EXPECT_EQ(model.vendor, Vendor::Amd) << model.name;
    EXPECT_EQ(ibs_capabilities(model) & 0xAFF, 0xAFFU) << model.name;
  }
  EXPECT_EQ(found, 1U);
}

Retired fetched(DataLevel level, DataTlb tlb = DataTlb::L1, std::uint32_t latency = 40) {
  Retired retired = at(0x1000);
  retired.fetch = {.present = true, .latency = latency, .source = {.level = level, .tlb = tlb}};
  return retired;
}

TEST(IbsFetch, OfALineThatIsThereIsCompleteAndHasItsAddress) {
  EXPECT_EQ(sampled_fetch(at(0x4010)), (IbsFetch{.control = IbsFetchCtl{bit(50)}, .linear = 0x4010}));
}

TEST(IbsFetch, TellsWhichCachesAndTlbsItMissed) {
  constexpr std::uint64_t kWaited = bit(50) | std::uint64_t{40} << 32;
  const struct {
    DataLevel level;
    DataTlb tlb;
    std::uint64_t bits;
  } rows[] = {
      {DataLevel::L1, DataTlb::Stlb, bit(55)},
      {DataLevel::L1, DataTlb::Walk, bit(55) | bit(56)},
      {DataLevel::L2, DataTlb::L1, bit(51)},
      {DataLevel::L3, DataTlb::L1, bit(51) | bit(58)},
      {DataLevel::Dram, DataTlb::L1, bit(51) | bit(58) | bit(61)},
      {DataLevel::Dram, DataTlb::Walk, bit(51) | bit(58) | bit(61) | bit(55) | bit(56)},
  };
  for (const auto& row : rows) {
    const IbsFetch fetch = sampled_fetch(fetched(row.level, row.tlb));
    EXPECT_EQ(fetch.control.raw(), kWaited | row.bits);
    EXPECT_EQ(fetch.extended.raw(), 0U);
    EXPECT_EQ(fetch.physical, 0U);
  }
}

TEST(IbsFetch, HasTheTimeOfThePageWalkAloneAndSaturates) {
  CoreSignals signals;
  signals[CoreSignal::ItlbWalkCycles] = 70'000;
  Retired walked = fetched(DataLevel::L2, DataTlb::Walk, 100'000);
  walked.signals = &signals;
  const IbsFetch fetch = sampled_fetch(walked);
  EXPECT_EQ(fetch.extended.get(IbsFetchCtlExtd::tlb_latency), 0xFFFFU);
  EXPECT_EQ(fetch.control.get(IbsFetchCtl::latency), 0xFFFFU);
  walked.fetch.source.tlb = DataTlb::Stlb;
  EXPECT_EQ(sampled_fetch(walked).extended.raw(), 0U);
}

TEST(IbsOp, OfNoAccessAndNoBranchIsItsRip) {
  const IbsOp op = sampled_op(at(0x4010));
  EXPECT_EQ(op, (IbsOp{.rip = 0x4010}));
}

TEST(IbsOp, TellsABranchItsKindItsOutcomeAndItsTarget) {
  Retired retired = at(0x1000);
  retired.branch = BranchKind::Conditional;
  EXPECT_EQ(sampled_op(retired).data.raw(), bit(37)) << "IbsOpBrnRet alone";
  EXPECT_EQ(sampled_op(retired).target, 0U);
  retired.taken = true;
  retired.next_ip = 0x5000;
  EXPECT_EQ(sampled_op(retired).data.raw(), bit(37) | bit(35));
  EXPECT_EQ(sampled_op(retired).target, 0x5000U);
  retired.mispredicted = true;
  EXPECT_EQ(sampled_op(retired).data.raw(), bit(37) | bit(35) | bit(36));
  retired.branch = BranchKind::Return;
  EXPECT_EQ(sampled_op(retired).data.raw(), bit(37) | bit(35) | bit(36) | bit(34));
}

TEST(IbsOp, TellsMicrocodeWhereTheCoreModelDoes) {
  CoreSignals signals;
  Retired retired = at(0x1000);
  retired.signals = &signals;
  EXPECT_EQ(sampled_op(retired).data.raw(), 0U);
  signals[CoreSignal::SlotsMicrocode] = 3;
  EXPECT_EQ(sampled_op(retired).data.raw(), bit(40));
}

TEST(IbsOp, TellsWhatAnAccessIs) {
  EXPECT_EQ(sampled_op(load()).data3.raw(), kPlainLoad);
  EXPECT_EQ(sampled_op(load()).linear, 0x7000U);
  EXPECT_EQ(sampled_op(store()).data3.raw(), 0x2'0002U);
  EXPECT_EQ(sampled_op(store()).linear, 0x8000U);
  Retired both = load();
  both.stores = 1;
  both.store_count = 1;
  both.store_address = 0x9000;
  EXPECT_EQ(sampled_op(both).data3.raw(), kPlainLoad | bit(1));
  EXPECT_EQ(sampled_op(both).linear, 0x7000U) << "the load's";
  both.loads = 0;
  both.load_count = 0;
  EXPECT_EQ(sampled_op(both).linear, 0x9000U);
  Retired locked = load();
  locked.locked = true;
  EXPECT_EQ(sampled_op(locked).data3.raw(), kPlainLoad | bit(15));
  Retired split = load();
  split.split_loads = 1;
  EXPECT_EQ(sampled_op(split).data3.raw(), kPlainLoad | bit(8));
  Retired nowhere = load();
  nowhere.data_address = 0;
  EXPECT_EQ(sampled_op(nowhere).data3.raw(), 1U) << "without IbsDcLinAddrValid";
  Retired prefetch = at(0x1000);
  prefetch.prefetch = true;
  EXPECT_EQ(sampled_op(prefetch).data3.raw(), bit(21));
}

TEST(IbsOp, TellsHowWideTheAccessIs) {
  const struct {
    std::uint8_t bytes;
    std::uint64_t code;
  } rows[] = {{0, 0}, {1, 1}, {2, 2}, {4, 3}, {8, 4}, {10, 0}, {16, 5}, {32, 6}, {64, 7}, {128, 0}};
  for (const auto& row : rows) {
    Retired retired = load();
    retired.data_bytes = row.bytes;
    EXPECT_EQ(sampled_op(retired).data3.raw(), kPlainLoad | row.code << 22) << int{row.bytes};
    retired.store_bytes = 2;
    EXPECT_EQ(sampled_op(retired).data3.raw(), kPlainLoad | row.code << 22) << "the load's";
    Retired stored = store();
    stored.store_address = 0x9000;
    stored.store_bytes = row.bytes;
    EXPECT_EQ(sampled_op(stored).data3.raw(), 0x2'0002U | row.code << 22) << int{row.bytes};
  }
}

TEST(IbsOp, HasThePhysicalAddressWhereSomebodyKnowsIt) {
  Retired retired = load();
  EXPECT_EQ(sampled_op(retired).physical, 0U);
  retired.physical = 0x12'3000;
  EXPECT_EQ(sampled_op(retired).physical, 0x12'3000U);
  EXPECT_EQ(sampled_op(retired).data3.raw(), kPlainLoad | bit(18));
  Retired stored = store();
  stored.store_address = 0x9000;
  stored.physical = 0x12'3000;
  EXPECT_EQ(sampled_op(stored).physical, 0U) << "that of another operand";
}

TEST(IbsOp, TellsHowLongThePageWalkTookWhereItIsKnownWhose) {
  CoreSignals signals;
  signals[CoreSignal::DtlbLoadWalkCycles] = 30;
  signals[CoreSignal::DtlbStoreWalkCycles] = 70'000;
  AccessOutcome walked = from(DataLevel::L1);
  walked.source.tlb = DataTlb::Walk;
  Retired loaded = load(walked), stored = store(walked);
  loaded.signals = stored.signals = &signals;
  EXPECT_EQ(sampled_op(loaded).data3.raw() >> 48, 30U);
  EXPECT_EQ(sampled_op(stored).data3.raw() >> 48, 0xFFFFU);
  loaded.load_count = 2;
  EXPECT_EQ(sampled_op(loaded).data3.raw() >> 48, 0U) << "one of the two";
  loaded.load_count = 1;
  loaded.load.source.tlb = DataTlb::Stlb;
  EXPECT_EQ(sampled_op(loaded).data3.raw() >> 48, 0U);
}

TEST(IbsOp, TellsHowTheTlbsAnswered) {
  for (const auto& [tlb, bits] : {std::pair{DataTlb::L1, std::uint64_t{0}}, std::pair{DataTlb::Stlb, bit(2)},
                                  std::pair{DataTlb::Walk, bit(2) | bit(3)}}) {
    AccessOutcome outcome = from(DataLevel::L1);
    outcome.source.tlb = tlb;
    EXPECT_EQ(sampled_op(load(outcome)).data3.raw(), kPlainLoad | bits);
  }
}

TEST(IbsOp, TellsWhereALoadsDataWasAndHowLongItTook) {
  constexpr std::uint64_t kMiss = bit(7), kL2Miss = bit(20), kLatency = std::uint64_t{40} << 32;
  const auto data3 = [](DataLevel level) { return sampled_op(load(from(level))).data3.raw() & ~kPlainLoad; };
  const auto data2 = [](DataLevel level, DataSnoop snoop = DataSnoop::None) {
    return sampled_op(load(from(level, 40, snoop))).data2.raw();
  };
  EXPECT_EQ(data3(DataLevel::L1), 0U) << "no latency either";
  EXPECT_EQ(data3(DataLevel::L2), kMiss | kLatency);
  EXPECT_EQ(data3(DataLevel::FillBuffer), kMiss | kL2Miss | bit(16) | kLatency);
  EXPECT_EQ(data3(DataLevel::L3), kMiss | kL2Miss | kLatency);
  EXPECT_EQ(data3(DataLevel::Dram), kMiss | kL2Miss | kLatency);
  EXPECT_EQ(data2(DataLevel::L1), 0U);
  EXPECT_EQ(data2(DataLevel::L2), 0U);
  EXPECT_EQ(data2(DataLevel::FillBuffer), 0U);
  EXPECT_EQ(data2(DataLevel::L3), 1U | bit(5));
  EXPECT_EQ(data2(DataLevel::L3, DataSnoop::Hit), 1U | bit(5));
  EXPECT_EQ(data2(DataLevel::L3, DataSnoop::Hitm), 1U) << "CacheHitSt 0: modified";
  EXPECT_EQ(data2(DataLevel::Dram), 3U | bit(5));
  AccessOutcome remote = from(DataLevel::Dram);
  remote.source.remote = true;
  EXPECT_EQ(sampled_op(load(remote)).data2.raw(), 3U | bit(4) | bit(5));
  EXPECT_EQ(sampled_op(load(from(DataLevel::L3))).data.raw(), std::uint64_t{40} << 16) << "IbsTagToRetCtr";
  EXPECT_EQ(sampled_op(load(from(DataLevel::Dram, 100'000))).data3.get(IbsOpData3::miss_latency), 0xFFFFU);
}

TEST(IbsOp, TellsAStoresLevelsAndNoSourceOrLatency) {
  const IbsOp op = sampled_op(store(from(DataLevel::Dram)));
  EXPECT_EQ(op.data3.raw(), 0x2'0002U | bit(7) | bit(20));
  EXPECT_EQ(op.data2.raw(), 0U);
}

TEST(IbsOp, HasMissedL3IfItsDataCameFromBeyond) {
  EXPECT_TRUE(missed_l3(sampled_op(load(from(DataLevel::Dram)))));
  EXPECT_FALSE(missed_l3(sampled_op(load(from(DataLevel::L3)))));
  EXPECT_FALSE(missed_l3(sampled_op(store(from(DataLevel::Dram)))));
  EXPECT_FALSE(missed_l3(sampled_op(at(0x1000))));
}

/// As the system's header has it.
perf_mem_data_src word(const IbsOp& op) {
  perf_mem_data_src word{};
  word.val = perf_data_src(op);
  return word;
}

TEST(IbsPerfWord, NamesTheLevelsAsLinuxDoes) {
  const struct {
    DataLevel level;
    std::uint64_t perf_level, number;
  } kRows[] = {{DataLevel::L1, PERF_MEM_LVL_L1 | PERF_MEM_LVL_HIT, PERF_MEM_LVLNUM_L1},
               {DataLevel::L2, PERF_MEM_LVL_L2 | PERF_MEM_LVL_HIT, PERF_MEM_LVLNUM_L2},
               {DataLevel::FillBuffer, PERF_MEM_LVL_LFB | PERF_MEM_LVL_HIT, PERF_MEM_LVLNUM_LFB},
               {DataLevel::L3, PERF_MEM_LVL_L3 | PERF_MEM_LVL_HIT, PERF_MEM_LVLNUM_L3},
               {DataLevel::Dram, PERF_MEM_LVL_LOC_RAM | PERF_MEM_LVL_HIT, PERF_MEM_LVLNUM_RAM}};
  for (const auto& row : kRows) {
    const perf_mem_data_src src = word(sampled_op(load(from(row.level))));
    EXPECT_EQ(src.mem_op, std::uint64_t{PERF_MEM_OP_LOAD});
    EXPECT_EQ(src.mem_lvl, row.perf_level) << static_cast<int>(row.level);
    EXPECT_EQ(src.mem_lvl_num, row.number) << static_cast<int>(row.level);
    EXPECT_EQ(src.mem_snoop, std::uint64_t{PERF_MEM_SNOOP_NA});
    EXPECT_EQ(src.mem_dtlb, std::uint64_t{PERF_MEM_TLB_L1 | PERF_MEM_TLB_HIT});
    EXPECT_EQ(src.mem_lock, std::uint64_t{PERF_MEM_LOCK_NA});
  }
}

TEST(IbsPerfWord, NamesEverySourceThatTheRegisterCanHold) {
  const struct {
    IbsDataSource source;
    std::uint64_t level, number, remote, hops;
  } kRows[] = {
      {IbsDataSource::NearCache, PERF_MEM_LVL_REM_CCE1 | PERF_MEM_LVL_HIT, PERF_MEM_LVLNUM_ANY_CACHE, 1, 1},
      {IbsDataSource::FarCache, PERF_MEM_LVL_REM_CCE2 | PERF_MEM_LVL_HIT, PERF_MEM_LVLNUM_ANY_CACHE, 1, 2},
      {IbsDataSource::LongLatency, 0, PERF_MEM_LVLNUM_PMEM, 0, 0},
      {IbsDataSource::Io, PERF_MEM_LVL_IO | PERF_MEM_LVL_HIT, 0xA, 0, 0},
      {IbsDataSource::ExtensionMemory, 0, 0x9, 0, 0},
      {IbsDataSource::None, PERF_MEM_LVL_NA, PERF_MEM_LVLNUM_NA, 0, 0},
      {static_cast<IbsDataSource>(17), PERF_MEM_LVL_NA, PERF_MEM_LVLNUM_NA, 0, 0},
  };
  for (const auto& row : kRows) {
    IbsOp op = sampled_op(load(from(DataLevel::Dram)));
    op.data2 = IbsOpData2{bit(5)}.with_source(row.source);
    const perf_mem_data_src src = word(op);
    EXPECT_EQ(src.mem_lvl, row.level) << static_cast<int>(row.source);
    EXPECT_EQ(src.mem_lvl_num, row.number) << static_cast<int>(row.source);
    EXPECT_EQ(src.mem_remote, row.remote) << static_cast<int>(row.source);
    EXPECT_EQ(src.mem_hops, row.hops) << static_cast<int>(row.source);
  }
  IbsOp remote = sampled_op(load(from(DataLevel::Dram)));
  remote.data2 = remote.data2.with(IbsOpData2::remote, 1);
  EXPECT_EQ(word(remote).mem_lvl, std::uint64_t{PERF_MEM_LVL_REM_RAM1 | PERF_MEM_LVL_HIT});
}

TEST(IbsPerfWord, SaysHitmOfALineThatAnotherCoreHadModified) {
  EXPECT_EQ(word(sampled_op(load(from(DataLevel::L3, 40, DataSnoop::Hitm)))).mem_snoop,
            std::uint64_t{PERF_MEM_SNOOP_HITM});
  EXPECT_EQ(word(sampled_op(load(from(DataLevel::L3, 40, DataSnoop::Hit)))).mem_snoop,
            std::uint64_t{PERF_MEM_SNOOP_NA});
}

TEST(IbsPerfWord, OfAStoreThatMissedL2NamesNoLevel) {
  const perf_mem_data_src src = word(sampled_op(store(from(DataLevel::Dram))));
  EXPECT_EQ(src.mem_op, std::uint64_t{PERF_MEM_OP_STORE});
  EXPECT_EQ(src.mem_lvl, std::uint64_t{PERF_MEM_LVL_NA});
}

TEST(IbsPerfWord, OfAnOpWithoutAnAccessIsNotAvailable) {
  const perf_mem_data_src src = word(sampled_op(at(0x1000)));
  EXPECT_EQ(src.mem_op, std::uint64_t{PERF_MEM_OP_NA});
  EXPECT_EQ(src.mem_lvl, std::uint64_t{PERF_MEM_LVL_NA});
}

TEST(IbsPerfWord, TellsTheLatencyOfLoadsThatMissedL1) {
  EXPECT_EQ(perf_latency(sampled_op(load(from(DataLevel::L3)))).cycles, 40U);
  EXPECT_EQ(perf_latency(sampled_op(load(from(DataLevel::L3)))).instruction_cycles, 40U);
  EXPECT_EQ(perf_latency(sampled_op(load(from(DataLevel::L1)))).cycles, 0U);
  EXPECT_EQ(perf_latency(sampled_op(store(from(DataLevel::Dram)))).cycles, 0U);
}

TEST(IbsOpCtl, HoldsTheMaximumInTwoPieces) {
  EXPECT_EQ(IbsOpCtl{}.with_maximum(0x7FF'FFF0).raw(), 0x7F0'FFFFU);
  EXPECT_EQ(IbsOpCtl{0x7F0'FFFF}.maximum(), 0x7FF'FFF0U);
  EXPECT_EQ(IbsOpCtl{}.with_maximum(100'000).maximum(), 100'000U);
}

}  // namespace
}  // namespace zs::arch

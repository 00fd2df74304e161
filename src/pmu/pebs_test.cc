// When PEBS records an instruction, which one, and what happens to counter, status and PMI around it.
#include <gmock/gmock.h>

#include <random>
#include <utility>
#include <vector>

#include "pmu/fakes.h"

namespace zs::pmu {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::uint64_t> eventing_ips(TestPmu& t) {
  std::vector<std::uint64_t> ips;
  for (std::size_t i = 0; i < t.records(); ++i) ips.push_back(t.record(i).v2.eventing_ip);
  return ips;
}

/// A PMU that samples `select` on PMC0, reload and start value -period.
void sample(TestPmu& t, std::uint64_t select, std::uint64_t period, std::uint64_t records = 8) {
  t.set_up_ds(records, records, minus(period));
  t.wr(kSelect0, select);
  t.wr(kFullPmc0, minus(period));
  t.wr(kPebsEnable, 1);
}

TEST(Pebs, TheOverflowingEventOnlyArmsAndTheNextIsRecorded) {
  TestPmu t;
  sample(t, kCountInstructions, 1);
  t.run(1, 0x1000);
  EXPECT_EQ(t.records(), 0U);
  EXPECT_EQ(t.rd(kStatus), 1U);
  t.run(1, 0x1004);
  EXPECT_THAT(eventing_ips(t), ElementsAre(0x1004));
  EXPECT_EQ(t.record(0).v2.v1.v0.registers.ip, 0x1008U);
}

// The arming rule in one line: with reload -N the records are of events N+1, 2(N+1), 3(N+1), ...
TEST(Pebs, RecordsEveryNPlusFirstEventAtEveryPeriod) {
  for (std::uint64_t period = 1; period <= 50; ++period) {
    TestPmu t;
    sample(t, kCountInstructions, period);
    t.run(200, 0);
    std::vector<std::uint64_t> expected;
    for (std::uint64_t event = period + 1; event <= 200 && expected.size() < 8; event += period + 1) {
      expected.push_back(4 * (event - 1));
    }
    EXPECT_EQ(eventing_ips(t), expected) << "period " << period;
  }
}

constexpr std::uint64_t kCountCycles = 0x41'003C;

TEST(Pebs, ACounterOfTimeIsLoadedWhenItWrapsWithWhatHasPassedSinceAndRecordsWhatRetiresNext) {
  TestPmu t;
  sample(t, kCountCycles, 100);
  EXPECT_TRUE(t.pmu.records_time());
  t.pmu.advance({.core = 130});
  EXPECT_EQ(t.rd(kPmc0), minus(100) + 30);
  t.pmu.advance({.core = 5});
  t.run(1, 0x1000);
  EXPECT_THAT(eventing_ips(t), ElementsAre(0x1000));
  EXPECT_EQ(t.rd(kPmc0), minus(100) + 35) << "nothing that passed before the record was written is lost";
}

TEST(Pebs, PeriodsOfTimeThatPassAtOnceHaveARecordEach) {
  TestPmu t;
  sample(t, kCountCycles, 100);
  t.pmu.advance({.core = 330});
  EXPECT_EQ(t.rd(kPmc0), 230U) << "what no record stands for yet";
  EXPECT_EQ(t.pmu.time_headroom().core, 0U);
  t.run(2, 0x1000);
  EXPECT_TRUE(t.pmu.needs_each());
  t.run(4, 0x2000);
  EXPECT_THAT(eventing_ips(t), ElementsAre(0x1000, 0x1004, 0x2000));
  EXPECT_EQ(t.rd(kPmc0), minus(100) + 30);
}

TEST(Pebs, PeriodsOfTimeThatHavePassedAreOwedNoRecordWhereTheCounterIsWritten) {
  TestPmu t;
  sample(t, kCountCycles, 100);
  t.pmu.advance({.core = 330});
  t.run(1, 0x1000);
  EXPECT_EQ(t.rd(kPmc0), 130U) << "one period and 30";
  t.wr(kFullPmc0, minus(1000) + 30);
  t.run(4, 0x2000);
  EXPECT_THAT(eventing_ips(t), ElementsAre(0x1000));
  EXPECT_EQ(t.rd(kPmc0), minus(1000) + 30);
}

TEST(Pebs, ARecordOfTimeIsOfTheInstructionThatRetirementWaitedForWhenItRetiresAgain) {
  TestPmu t;
  sample(t, kCountCycles, 100);
  t.pmu.await(0x2000, 3);  // none is due, so it is forgotten
  t.pmu.advance({.core = 100});
  t.pmu.await(0x2000, 3);
  t.pmu.await(0x3000, 3);  // the first holds
  t.run(1, 0x1000);
  EXPECT_TRUE(t.pmu.needs_each());
  t.run(1, 0x3000);
  EXPECT_EQ(t.records(), 0U);
  t.run(1, 0x2000);
  EXPECT_THAT(eventing_ips(t), ElementsAre(0x2000));
  EXPECT_FALSE(t.pmu.needs_each());
}

TEST(Pebs, ARecordOfTimeIsOfWhatIsNextWhereTheAwaitedInstructionDoesNotCome) {
  TestPmu t;
  sample(t, kCountCycles, 100);
  t.pmu.advance({.core = 100});
  t.pmu.await(0x2000, 2);
  for (std::uint64_t ip = 0x1000; ip < 0x1010; ip += 4) t.run(1, ip);
  EXPECT_THAT(eventing_ips(t), ElementsAre(0x1008));
}

TEST(Pebs, WithPreciseDistributionRecordsEveryNthEventAtEveryPeriod) {
  for (std::uint64_t period = 1; period <= 50; ++period) {
    TestPmu t;
    t.set_up_ds(8, 8, minus(period));
    t.wr(kSelect1, kCountPrecDist);
    t.wr(kFullPmc1, minus(period));
    t.wr(kPebsEnable, 2);
    t.run(200, 0);
    std::vector<std::uint64_t> expected;
    for (std::uint64_t event = period; event <= 200 && expected.size() < 8; event += period) {
      expected.push_back(4 * (event - 1));
    }
    EXPECT_EQ(eventing_ips(t), expected) << "period " << period;
  }
}

TEST(Pebs, HasPreciseDistributionOnPmc1Only) {
  TestPmu t;
  sample(t, kCountPrecDist, 2);
  t.run(3, 0x1000);
  EXPECT_THAT(eventing_ips(t), ElementsAre(0x1008)) << "on PMC0 the event is armed like any other";
}

TEST(Pebs, SkipsInstructionsWithoutTheEvent) {
  TestPmu t;
  sample(t, kCountLoads, 1);
  t.retire(load_at(0x1000, 0x9000));
  t.run(5, 0x1004);
  t.retire(load_at(0x2000, 0x9008));
  EXPECT_THAT(eventing_ips(t), ElementsAre(0x2000));
  EXPECT_EQ(t.record(0).v2.v1.data_address, 0x9008U);
}

TEST(Pebs, RecordsTheOverflowingInstructionItselfIfItHasAFurtherEvent) {
  TestPmu t{TestPmu::kCountsAccesses};
  sample(t, kCountLoads, 3);
  t.retire(load_at(0x1000, 0x9000, 4));  // the third load overflows, the fourth triggers
  EXPECT_THAT(eventing_ips(t), ElementsAre(0x1000));
  EXPECT_EQ(t.rd(kPmc0), minus(3));
}

TEST(Pebs, OnlyArmsWhenTheLastEventOfAnInstructionOverflows) {
  TestPmu t{TestPmu::kCountsAccesses};
  sample(t, kCountLoads, 4);
  t.retire(load_at(0x1000, 0x9000, 4));
  EXPECT_THAT(eventing_ips(t), IsEmpty());
  EXPECT_EQ(t.rd(kPmc0), 0U);
}

TEST(Pebs, DoesNotCountTheRestOfTheRecordedInstructionIntoTheReloadedCounter) {
  TestPmu t{TestPmu::kCountsAccesses};
  sample(t, kCountLoads, 3);
  t.retire(load_at(0x1000, 0x9000, 1'000'000));
  EXPECT_EQ(t.records(), 1U);
  EXPECT_EQ(t.rd(kPmc0), minus(3));
}

TEST(Pebs, AReadModifyWriteThatOverflowsWithItsLoadIsRecordedForItsStore) {
  TestPmu t{"goldmont"};
  sample(t, kCountAnyMemory, 1);
  arch::Retired r = load_at(0x1000, 0x9000);
  r.store_count = 1;
  t.retire(r);
  EXPECT_THAT(eventing_ips(t), ElementsAre(0x1000));
}

TEST(Pebs, ReloadsFromTheResetSlotOfItsOwnCounter) {
  TestPmu t;
  t.set_up_ds(4, 4);
  for (unsigned n = 0; n < 4; ++n) {
    t.wr(kSelect0 + n, kCountInstructions);
    t.wr(kPmc0 + n, 0xFFFF'FFFF);
    t.set_reset(n, minus(100 + n));
  }
  t.wr(kPebsEnable, 0xF);
  t.run(2);
  for (unsigned n = 0; n < 4; ++n) EXPECT_EQ(t.rd(kPmc0 + n), minus(100 + n)) << n;
  EXPECT_EQ(t.records(), 1U) << "one assist, one record";
  EXPECT_EQ(t.record(0).v2.v1.status, 0xFU) << "of four applicable counters";
}

TEST(Pebs, CutsAResetValueToTheCountersWidth) {
  TestPmu t;
  sample(t, kCountInstructions, 1);
  t.set_reset(0, ~std::uint64_t{0} - 4);
  t.run(2);
  EXPECT_EQ(t.rd(kPmc0), minus(5));
}

TEST(Pebs, ClearsTheOverflowBitWithTheRecord) {
  TestPmu t;
  sample(t, kCountInstructions, 1);
  t.run(1);
  EXPECT_EQ(t.rd(kStatus), 1U);
  t.run(1);
  EXPECT_EQ(t.rd(kStatus), 0U);
  EXPECT_EQ(t.pmi.requested, 0) << "neither INT nor the threshold asks for one";
}

TEST(Pebs, SetsOvfBufAndRequestsThePmiWhenTheThresholdIsReached) {
  TestPmu t;
  t.set_up_ds(4, 2, minus(1));
  t.wr(kSelect0, kCountInstructions);
  t.wr(kFullPmc0, minus(1));
  t.wr(kPebsEnable, 1);
  t.run(2);
  EXPECT_EQ(t.rd(kStatus), 0U);
  EXPECT_EQ(t.pmi.requested, 0);
  t.run(2);
  EXPECT_EQ(t.rd(kStatus), kOvfBuf);
  EXPECT_EQ(t.pmi.requested, 1);
  t.run(2);
  EXPECT_EQ(t.pmi.requested, 2) << "the next record is past the threshold, too";
  EXPECT_EQ(t.rd(kStatus), kOvfBuf);
  t.rewind();
  t.wr(kOvfCtrl, kOvfBuf);
  t.run(2);
  EXPECT_EQ(t.rd(kStatus), 0U);
}

TEST(Pebs, DropsTheRecordOfAFullBufferWithoutASignAndDoesNotReload) {
  TestPmu t;
  t.set_up_ds(1, 100, minus(1));
  t.wr(kSelect0, kCountInstructions);
  t.wr(kFullPmc0, minus(1));
  t.wr(kPebsEnable, 1);
  t.run(10);
  EXPECT_EQ(t.records(), 1U);
  EXPECT_EQ(t.rd(kPmc0), 7U) << "counts on from the wrap at the third instruction";
  EXPECT_EQ(t.rd(kStatus), 1U);
  EXPECT_EQ(t.pmi.requested, 0);
}

TEST(Pebs, WithIntRequestsTheOverflowPmiAfterTheRecordAndNotWhenItArms) {
  TestPmu t;
  sample(t, kCountInstructions | kInt, 1);
  t.run(1);
  EXPECT_EQ(t.pmi.requested, 0);
  EXPECT_EQ(t.rd(kStatus), 1U);
  t.run(1);
  EXPECT_EQ(t.pmi.requested, 1);
  EXPECT_EQ(t.records(), 1U);
  EXPECT_EQ(t.rd(kStatus), 0U) << "the handler finds no bit, only an index that has moved";
}

TEST(Pebs, WithIntAtTheThresholdRequestsTwoPmis) {
  TestPmu t;
  t.set_up_ds(4, 1, minus(1));
  t.wr(kSelect0, kCountInstructions | kInt);
  t.wr(kFullPmc0, minus(1));
  t.wr(kPebsEnable, 1);
  t.run(2);
  EXPECT_EQ(t.pmi.requested, 2);
}

TEST(Pebs, LeavesCountersWithoutPebsToOrdinaryOverflow) {
  TestPmu t;
  sample(t, kCountInstructions, 1);
  t.wr(kSelect1, kCountInstructions | kInt);
  t.wr(kFullPmc1, minus(2));
  t.run(2);
  EXPECT_EQ(t.records(), 1U);
  EXPECT_EQ(t.rd(kPmc1), 0U) << "not reloaded";
  EXPECT_EQ(t.rd(kStatus), 2U);
  EXPECT_EQ(t.pmi.requested, 1);
}

// kvm-unit-tests: PEBS_ENABLE cleared while the counter still runs.
TEST(Pebs, RecordsNothingOnceItIsDisabledThoughTheCounterRunsOn) {
  TestPmu t;
  sample(t, kCountInstructions, 1);
  t.run(1);
  t.wr(kPebsEnable, 0);
  t.run(3);
  EXPECT_EQ(t.records(), 0U);
  EXPECT_EQ(t.rd(kPmc0), 3U);
  EXPECT_EQ(t.rd(kStatus), 1U);
  t.wr(kPebsEnable, 1);
  t.run(3);
  EXPECT_EQ(t.records(), 0U) << "disabling has disarmed it";
}

// kvm-unit-tests: start 0 gives no record and no OvfBuf.
TEST(Pebs, LeavesTheBufferAloneWhileTheCounterDoesNotOverflow) {
  TestPmu t;
  t.set_up_ds(4, 1);
  t.wr(kSelect0, kCountInstructions);
  t.wr(kPebsEnable, 1);
  t.run(1000);
  EXPECT_EQ(t.index(), TestPmu::kRecords);
  EXPECT_EQ(t.rd(kStatus), 0U);
}

// kvm-unit-tests: starts FFFFFFFFFFF0H, FFFFFFFFFFFEH and FFFFFFFFFFFFH give a record of that counter.
TEST(Pebs, RecordsFromEachOfTheUnitTestsStartValues) {
  for (const std::uint64_t start : {minus(16), minus(2), minus(1)}) {
    for (unsigned n = 0; n < 4; ++n) {
      TestPmu t;
      t.set_up_ds(4, 1);
      t.wr(kSelect0 + n, kCountInstructions);
      t.wr(kFullPmc0 + n, start);
      t.wr(kPebsEnable, std::uint64_t{1} << n);
      t.run(100);
      ASSERT_GE(t.records(), 1U);
      EXPECT_EQ(t.record(0).v2.v1.status, std::uint64_t{1} << n);
      EXPECT_NE(t.rd(kStatus) & kOvfBuf, 0U);
    }
  }
}

TEST(Pebs, StaysArmedWhenSoftwareAcknowledgesTheStatusBit) {
  TestPmu t;
  sample(t, kCountInstructions, 1);
  t.run(1);
  t.wr(kOvfCtrl, 1);
  t.run(1, 0x2000);
  EXPECT_THAT(eventing_ips(t), ElementsAre(0x2000));
}

TEST(Pebs, StaysArmedWhileItsCounterIsStopped) {
  TestPmu t;
  sample(t, kCountInstructions, 1);
  t.run(1);
  t.wr(kGlobal, 0);
  t.run(5);
  EXPECT_EQ(t.records(), 0U);
  t.wr(kGlobal, 1);
  t.run(1, 0x2000);
  EXPECT_THAT(eventing_ips(t), ElementsAre(0x2000));
}

TEST(Pebs, LeavesNoHeadroomWhileArmed) {
  TestPmu t;
  sample(t, kCountInstructions, 5);
  EXPECT_EQ(t.pmu.headroom(0), 4U);
  t.run(5);
  EXPECT_EQ(t.pmu.headroom(0), 0U);
  t.run(1);
  EXPECT_EQ(t.pmu.headroom(0), 4U);
}

TEST(Pebs, CarriesNoDataAddressForEventsThatHaveNone) {
  TestPmu t;
  sample(t, kCountInstructions, 1);
  t.retire(load_at(0x1000, 0x9000));
  t.retire(load_at(0x1004, 0x9000));
  EXPECT_EQ(t.records(), 1U);
  EXPECT_EQ(t.record(0).v2.v1.data_address, 0U);
}

TEST(Pebs, StampsFormat3WithTheTimeOfTheRecord) {
  TestPmu t;
  sample(t, kCountInstructions, 1);
  t.run(4);
  EXPECT_EQ(t.record(0).tsc, 10U);
  EXPECT_EQ(t.record(1).tsc, 20U);
}

TEST(Pebs, FreezesOnItsThresholdPmi) {
  TestPmu t;
  t.wr(kDebugCtl, 0x1000);
  t.set_up_ds(4, 1, minus(1));
  t.wr(kSelect0, kCountInstructions);
  t.wr(kFullPmc0, minus(1));
  t.wr(kPebsEnable, 1);
  t.run(10);
  EXPECT_EQ(t.records(), 1U);
  EXPECT_EQ(t.rd(kStatus), kOvfBuf | kCtrFrz);
  EXPECT_EQ(t.rd(kPmc0), minus(1)) << "reloaded, then frozen";
}

// After a record the processor reloads each counter that has overflowed and is enabled for PEBS (SDM vol. 3B, "PEBS
// CounterX Reset"): an armed counter whose event did not occur is served by another one's record. In format 3, which
// names the counters of a record, it waits for its own.
TEST(Pebs, ServesAnArmedCounterWithAnothersRecordInFormats1And2Only) {
  for (const char* model : {"westmere", "haswell", "skylake-server"}) {
    TestPmu t{model};
    t.set_up_ds(4, 4, minus(50));
    t.wr(kSelect0, 0x41'00C0);  // instructions
    t.wr(kSelect1, 0x41'00C4);  // branches
    t.wr(kGlobal, 3);
    t.wr(kPmc0, 0xFFFF'FFFF);
    t.wr(kPmc1, 0xFFFF'FFFF);
    t.wr(kPebsEnable, 3);
    t.retire(branch_at(0x1000, 0x1004, arch::BranchKind::RelativeJump));  // arms both
    t.run(1, 0x1004);                                                     // triggers PMC0 only
    ASSERT_EQ(t.records(), 1U) << model;
    const bool format3 = t.model.pebs_format() == arch::PebsFormat::V3;
    EXPECT_EQ(t.record(0).v2.v1.status, format3 ? 1U : 3U) << model;
    EXPECT_EQ(t.rd(kStatus), format3 ? 2U : 0U) << model;
    EXPECT_EQ(t.rd(kPmc1), format3 ? 0U : minus(50)) << model;
    t.retire(branch_at(0x2000, 0x2004, arch::BranchKind::RelativeJump));
    EXPECT_EQ(t.records(), format3 ? 2U : 1U) << model;
  }
}

// The arming rule occurrence by occurrence, as plainly as it can be written.
struct PlainCounter {
  std::uint64_t period;
  bool distribution;
  std::uint64_t left = period;
  bool armed = false;

  /// Whether an instruction with `events` occurrences is recorded.
  bool retire(std::uint64_t events) {
    for (; events != 0; --events) {
      if (!armed && --left != 0) continue;
      if (armed || distribution) {
        left = period;
        armed = false;
        return true;  // the other occurrences of this instruction are lost
      }
      armed = true;
    }
    return false;
  }
};

TEST(Pebs, LetsEachOfFourCountersFollowItsOwnArmingRule) {
  std::mt19937_64 random{20};
  for (int round = 0; round < 50; ++round) {
    TestPmu t;  // its events count instructions, but for fused multiply-add, which is two
    constexpr std::uint64_t kEvents[4] = {0x41'01C7, kCountPrecDist, kCountStores, kCountBranches};
    PlainCounter plain[4] = {
        {random() % 20 + 1, false}, {random() % 20 + 1, true}, {random() % 20 + 1, false}, {random() % 20 + 1, false}};
    t.set_up_ds(1, 1);
    for (unsigned n = 0; n < 4; ++n) {
      t.wr(kSelect0 + n, kEvents[n]);
      t.wr(kFullPmc0 + n, minus(plain[n].period));
      t.set_reset(n, minus(plain[n].period));
    }
    t.wr(kPebsEnable, 0xF);
    for (std::uint64_t ip = 0; ip < 400; ++ip) {
      arch::Retired r = load_at(ip, 0x9000);
      if (random() % 3 == 0) {
        r.fp = arch::FpArith::ScalarDouble;
        r.fp_weight = static_cast<std::uint8_t>(1 + random() % 2);
      }
      r.store_count = random() % 3 == 0 ? 1 : 0;
      if (random() % 4 == 0) r.branch = arch::BranchKind::Conditional;
      const std::uint64_t events[4] = {r.fp_weight, 1, r.store_count, r.branch != arch::BranchKind::None ? 1U : 0U};
      std::uint64_t expected = 0;
      for (unsigned n = 0; n < 4; ++n) expected |= std::uint64_t{plain[n].retire(events[n])} << n;
      t.retire(r);
      ASSERT_EQ(t.records(), expected == 0 ? 0U : 1U) << "round " << round << " instruction " << ip;
      if (expected == 0) continue;
      ASSERT_EQ(t.record(0).v2.eventing_ip, ip);
      ASSERT_EQ(t.record(0).v2.v1.status, expected);
      t.rewind();
    }
  }
}

TEST(Pebs, ShowsTheSampledBranchAsTheNewestLbrEntryAtThePmi) {
  TestPmu t;
  t.wr(kDebugCtl, 0x801);  // LBR, frozen by the PMI
  t.set_up_ds(4, 1, minus(1));
  t.wr(kSelect0, kCountBranches);
  t.wr(kFullPmc0, minus(1));
  t.wr(kPebsEnable, 1);
  t.retire(branch_at(0x1000, 0x2000, arch::BranchKind::RelativeJump));
  t.retire(branch_at(0x2000, 0x3000, arch::BranchKind::RelativeJump));
  EXPECT_EQ(t.pmi.requested, 1);
  const auto tos = static_cast<std::uint32_t>(t.rd(kTos));
  EXPECT_EQ(t.rd(kFrom0 + tos), t.record(0).v2.eventing_ip);
  EXPECT_EQ(t.rd(kTo0 + tos), t.record(0).v2.v1.v0.registers.ip);
}

// push qword [rbx]: a load and a store at different addresses.
TEST(Pebs, WritesTheAddressOfTheStoreForEventsOfStoresAndOfTheLoadForOthers) {
  for (const auto& [select, address] :
       {std::pair{kCountLoads, 0x1000U}, {0x41'82D0UL, 0x2000U}, {kCountAnyMemory, 0x1000U}}) {
    TestPmu t;
    t.set_up_ds(4, 4);
    t.wr(kSelect0, select);
    t.wr(kFullPmc0, kWidth48);
    t.wr(kPebsEnable, 1);
    arch::Retired push = load_at(0x40'1000, 0x1000);
    push.stores = 1;
    push.store_count = 1;
    push.store_address = 0x2000;
    t.retire(push);
    t.retire(push);
    ASSERT_EQ(t.records(), 1U) << std::hex << select;
    EXPECT_EQ(t.record(0).v2.v1.data_address, address) << std::hex << select;
  }
}

}  // namespace
}  // namespace zs::pmu

// What counters count, when they wrap, and what a PMI freezes.
#include <gmock/gmock.h>

#include "pmu/fakes.h"

namespace zs::pmu {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(Counters, CountOnlyWithTheirOwnEnableTheGlobalOneAndTheRing) {
  TestPmu t;
  t.wr(kSelect0, 0x1'00C0);  // no EN
  t.run(1);
  EXPECT_EQ(t.rd(kPmc0), 0U);
  t.wr(kSelect0, 0x42'00C0);  // OS only
  t.run(1);
  EXPECT_EQ(t.rd(kPmc0), 0U);
  t.wr(kSelect0, kCountInstructions);
  t.wr(kGlobal, 0);
  t.run(1);
  EXPECT_EQ(t.rd(kPmc0), 0U);
  t.wr(kGlobal, 1);
  t.run(1);
  EXPECT_EQ(t.rd(kPmc0), 1U);
}

TEST(Counters, CountInRing0WhatOsAsksForAndInRing3WhatUsrAsksFor) {
  TestPmu t;
  t.wr(kSelect0, 0x42'00C0);
  t.wr(kSelect1, 0x41'00C0);
  t.wr(kSelect0 + 2, 0x43'00C0);
  for (const unsigned cpl : {0U, 0U, 0U, 1U, 3U}) {
    arch::Retired r;
    r.cpl = static_cast<std::uint8_t>(cpl);
    t.retire(r);
  }
  EXPECT_EQ(t.rd(kPmc0), 3U);
  EXPECT_EQ(t.rd(kPmc1), 2U);
  EXPECT_EQ(t.rd(kPmc0 + 2), 5U);
}

TEST(Counters, CountInstructionsOnFixedCounter0AndNothingOnTheUnmodelledOnes) {
  TestPmu t;
  t.wr(kFixedCtrl, 0x222);
  t.wr(kGlobal, 0x7'0000'0000);
  t.run(5);
  EXPECT_EQ(t.rd(kFixed0), 5U);
  EXPECT_EQ(t.rd(kFixed0 + 1), 0U);
  EXPECT_EQ(t.rd(kFixed0 + 2), 0U);
}

TEST(Counters, CountAnAccumulatorUnlessTheyTickOrAskForMoreThanEvents) {
  TestPmu t;
  t.wr(kSelect0, 0x41'00C0);
  t.wr(kSelect1, 0x41'01C4);
  t.wr(kSelect0 + 2, 0x141'00C0);  // CMASK 1
  t.wr(kFixedCtrl, 0x22);
  t.wr(kGlobal, 0x3'0000'0007);
  for (const unsigned counter : {0U, 1U, arch::kFirstFixedBit}) {
    const auto accumulator = t.pmu.accumulator_of(counter);
    ASSERT_TRUE(accumulator) << counter;
    t.wr(kSelect0 + 2, 0);  // whose condition would want every instruction
    t.pmu.count(*accumulator, 5);
    t.wr(kSelect0 + 2, 0x141'00C0);
  }
  EXPECT_EQ(t.pmu.accumulator_of(0), t.pmu.accumulator_of(arch::kFirstFixedBit)) << "one event";
  EXPECT_NE(t.pmu.accumulator_of(0), t.pmu.accumulator_of(1));
  EXPECT_EQ(t.rd(kPmc0), 10U);
  EXPECT_EQ(t.rd(kPmc0 + 1), 5U);
  EXPECT_FALSE(t.pmu.accumulator_of(2)) << "a condition";
  EXPECT_FALSE(t.pmu.accumulator_of(arch::kFirstFixedBit + 1)) << "cycles";
  EXPECT_FALSE(t.pmu.accumulator_of(3)) << "off";
}

TEST(Counters, CountNothingWhileTheySleepAndKeepTheirAccumulators) {
  TestPmu t;
  t.wr(kSelect0, 0x41'00C0);
  t.wr(kPmc0, 0xFFFF'FFFF'FFFE);  // two before it wraps
  t.wr(kSelect1, 0x41'01C4);
  t.wr(kGlobal, 3);
  const auto accumulator = t.pmu.accumulator_of(0);
  ASSERT_TRUE(accumulator);
  const std::uint32_t generation = t.pmu.accumulators_generation();
  t.pmu.let_sleep(arch::only(0));
  EXPECT_NE(t.pmu.headroom(*t.pmu.accumulator_of(1)), Pmu::kAsleep);
  t.run(5);
  t.pmu.count(*accumulator, 1000);
  EXPECT_EQ(t.rd(kPmc0), 0xFFFF'FFFF'FFFEU);
  EXPECT_EQ(t.pmu.headroom(*accumulator), Pmu::kAsleep);
  EXPECT_EQ(t.pmu.accumulators_generation(), generation);
  t.pmu.let_sleep({});
  EXPECT_EQ(t.pmu.headroom(*accumulator), 1U);
  t.run(1);
  EXPECT_EQ(t.rd(kPmc0), 0xFFFF'FFFF'FFFFU);
}

TEST(Counters, SleepInAnAccumulatorThatOthersCount) {
  TestPmu t;
  t.wr(kSelect0, 0x41'00C0);
  t.wr(kSelect1, 0x41'00C0);
  t.wr(kGlobal, 3);
  t.pmu.let_sleep(arch::only(0));
  EXPECT_NE(t.pmu.headroom(*t.pmu.accumulator_of(0)), Pmu::kAsleep);
  t.run(3);
  t.pmu.count(*t.pmu.accumulator_of(1), 4);
  EXPECT_EQ(t.rd(kPmc0), 0U);
  EXPECT_EQ(t.rd(kPmc0 + 1), 7U);
}

TEST(Counters, CountNothingForAnEventThatIsNotModelled) {
  TestPmu t;
  t.wr(kSelect0, 0x41'04C3);  // machine_clears.smc
  t.run(5);
  EXPECT_EQ(t.rd(kPmc0), 0U);
  EXPECT_THAT(t.pmu.accumulators(), IsEmpty());
}

// ---- modelled events

constexpr std::uint32_t kMispredicts = 0x41'00C5, kMispredictsPrecise = 0x41'04C5, kL3Misses = 0x41'20D1;

TEST(ModelledEvents, CountNothingWhereNoCoreModelTellsOfThem) {
  TestPmu t;
  t.wr(kSelect0, kL3Misses);
  t.run(5);
  EXPECT_EQ(t.rd(kPmc0), 0U);
}

TEST(ModelledEvents, CountWhatTheCoreModelSaysOfAnInstruction) {
  TestPmu t;
  t.wr(kSelect0, kL3Misses);
  arch::CoreSignals signals;
  arch::Retired load;
  load.load_count = 2;
  load.signals = &signals;
  t.retire(load);
  EXPECT_EQ(t.rd(kPmc0), 0U);
  signals[arch::CoreSignal::LoadDram] = 2;
  t.retire(load);
  EXPECT_EQ(t.rd(kPmc0), 2U);
}

TEST(ModelledEvents, ShareAnAccumulatorBetweenEncodingsThatMeanTheSame) {
  TestPmu t;
  t.wr(kSelect0, kMispredicts);
  t.wr(kSelect0 + 1, kMispredictsPrecise);
  ASSERT_EQ(t.pmu.accumulators().size(), 1U);
  ASSERT_NE(t.pmu.accumulators()[0].of_signals, nullptr);
  arch::CoreSignals signals;
  signals[arch::CoreSignal::MispredictedTaken] = 3;
  signals[arch::CoreSignal::MispredictedReturn] = 4;
  EXPECT_EQ(t.pmu.accumulators()[0].of_signals(signals), 7U);
  t.pmu.count(0, 7);
  EXPECT_EQ(t.rd(kPmc0), 7U);
  EXPECT_EQ(t.rd(kPmc0 + 1), 7U);
}

// CYCLE_ACTIVITY's encodings have a CMASK of their own, which is no comparison with what one instruction did.
TEST(ModelledEvents, TakeACmaskThatBelongsToTheEncodingForNoCondition) {
  TestPmu t;
  t.wr(kSelect0, 0x0841'08A3);  // cycle_activity.cycles_l1d_miss
  ASSERT_EQ(t.pmu.accumulators().size(), 1U);
  EXPECT_EQ(t.pmu.headroom(0), kWidth48);
  arch::CoreSignals signals;
  signals[arch::CoreSignal::CyclesL1dPending] = 5;
  arch::Retired load;
  load.signals = &signals;
  t.retire(load);
  EXPECT_EQ(t.rd(kPmc0), 5U);
  t.wr(kSelect0, 0x0741'08A3);  // another CMASK: no such event
  EXPECT_THAT(t.pmu.accumulators(), IsEmpty());
}

// kvm-unit-tests presets 1 - N and expects 1 after N events, the status bit being set.
TEST(Counters, ReadOneAfterNEventsFromOneMinusN) {
  TestPmu t;
  t.wr(kSelect0, kCountInstructions);
  t.wr(kFullPmc0, minus(99));
  t.run(98);
  EXPECT_EQ(t.rd(kPmc0), kWidth48);
  EXPECT_EQ(t.rd(kStatus), 0U);
  t.run(1);
  EXPECT_EQ(t.rd(kPmc0), 0U);
  EXPECT_EQ(t.rd(kStatus), 1U);
  t.run(1);
  EXPECT_EQ(t.rd(kPmc0), 1U);
}

TEST(Counters, SetTheirStatusBitWithoutIntButRequestThePmiOnlyWithIt) {
  TestPmu t;
  t.wr(kSelect0, kCountInstructions);
  t.wr(kSelect1, kCountInstructions | kInt);
  t.wr(kPmc0, 0xFFFF'FFFF);
  t.run(1);
  EXPECT_EQ(t.rd(kStatus), 1U);
  EXPECT_EQ(t.pmi.requested, 0);
  t.wr(kPmc1, 0xFFFF'FFFF);
  t.run(1);
  EXPECT_EQ(t.rd(kStatus), 3U);
  EXPECT_EQ(t.pmi.requested, 1);
}

TEST(Counters, RequestThePmiOfAFixedCounterByItsOwnBit) {
  TestPmu t;
  t.wr(kFixedCtrl, 0xA);
  t.wr(kGlobal, 0x1'0000'0000);
  t.wr(kFixed0, kWidth48);
  t.run(1);
  EXPECT_EQ(t.rd(kStatus), 0x1'0000'0000U);
  EXPECT_EQ(t.pmi.requested, 1);
}

TEST(Counters, RequestOnePmiForSeveralThatOverflowTogether) {
  TestPmu t;
  for (unsigned n = 0; n < 8; ++n) {
    t.wr(kSelect0 + n, kCountInstructions | kInt);
    t.wr(kPmc0 + n, 0xFFFF'FFFF);
  }
  t.run(1);
  EXPECT_EQ(t.rd(kStatus), 0xFFU);
  EXPECT_EQ(t.pmi.requested, 1);
}

TEST(Counters, KeepTheirStatusBitUntilItIsCleared) {
  TestPmu t;
  t.wr(kSelect0, kCountInstructions | kInt);
  t.wr(kPmc0, 0xFFFF'FFFF);
  t.run(3);
  EXPECT_EQ(t.rd(kStatus), 1U);
  EXPECT_EQ(t.rd(kStatus), 1U);
  t.wr(kOvfCtrl, 1);
  EXPECT_EQ(t.rd(kStatus), 0U);
}

// The book's experiment 14-10: PMC0 = FFFFFFF8H, PERFEVTSEL0 = 5300C0H; the eighth instruction interrupts.
TEST(Counters, OverflowAtTheEighthInstructionFromMinus8) {
  TestPmu t{"westmere"};
  t.wr(kPmc0, 0xFFFF'FFF8);
  EXPECT_EQ(t.rd(kPmc0), 0x0000'FFFF'FFFF'FFF8U);
  t.wr(kGlobal, 1);
  t.wr(kSelect0, 0x53'00C0);
  t.run(7);
  EXPECT_EQ(t.pmi.requested, 0);
  t.run(1);
  EXPECT_EQ(t.pmi.requested, 1);
  EXPECT_EQ(t.rd(kStatus), 1U);
}

TEST(Counters, CarryOnBehindTheWrapWithTheRestOfTheInstructionsEvents) {
  TestPmu t{TestPmu::kCountsAccesses};
  t.wr(kSelect0, kCountLoads);
  t.wr(kFullPmc0, minus(3));
  t.retire(load_at(0x1000, 0x5000, 10));
  EXPECT_EQ(t.rd(kPmc0), 7U);
  EXPECT_EQ(t.rd(kStatus), 1U);
}

TEST(Counters, AddOnePerInstructionThatReachesCmask) {
  TestPmu t{TestPmu::kCountsAccesses};
  t.wr(kSelect0, kCountLoads | 2U << 24);
  for (const unsigned loads : {0U, 1U, 2U, 3U, 1U, 2U}) t.retire(load_at(0x1000, 0x5000, loads));
  EXPECT_EQ(t.rd(kPmc0), 3U);
}

TEST(Counters, AddOnePerInstructionBelowCmaskWithInv) {
  TestPmu t{TestPmu::kCountsAccesses};
  t.wr(kSelect0, kCountLoads | 2U << 24 | 1U << 23);
  for (const unsigned loads : {0U, 1U, 2U, 3U, 1U, 2U}) t.retire(load_at(0x1000, 0x5000, loads));
  EXPECT_EQ(t.rd(kPmc0), 3U);
}

TEST(Counters, IgnoreInvWhileCmaskIs0) {
  TestPmu t{TestPmu::kCountsAccesses};
  t.wr(kSelect0, kCountLoads | 1U << 23);
  for (const unsigned loads : {0U, 1U, 2U, 3U, 1U, 2U}) t.retire(load_at(0x1000, 0x5000, loads));
  EXPECT_EQ(t.rd(kPmc0), 9U);
}

TEST(Counters, IgnoreInvWhileCmaskIs0WithEToo) {
  TestPmu t{TestPmu::kCountsAccesses};
  t.wr(kSelect0, kCountLoads | 1U << 23 | 1U << 18);
  for (const unsigned loads : {0U, 1U, 2U, 0U, 0U, 3U}) t.retire(load_at(0x1000, 0x5000, loads));
  EXPECT_EQ(t.rd(kPmc0), 2U);
}

TEST(Counters, CountWithEOnlyWhereTheConditionBecomesTrue) {
  TestPmu t{TestPmu::kCountsAccesses};
  t.wr(kSelect0, kCountLoads | 1U << 18);
  t.wr(kSelect1, kCountLoads | 1U << 18 | 2U << 24 | 1U << 23);  // rising edges of "fewer than 2"
  for (const unsigned loads : {1U, 1U, 0U, 2U, 3U, 0U, 0U, 1U}) t.retire(load_at(0x1000, 0x5000, loads));
  EXPECT_EQ(t.rd(kPmc0), 3U);
  EXPECT_EQ(t.rd(kPmc1), 2U);
}

TEST(Counters, CountAnInvertedConditionOnInstructionsWithoutTheEventToo) {
  TestPmu t;
  t.wr(kSelect0, 0x1080'00C0U | 0x41'0000U);  // perf's cycles:p on Skylake, INST_RETIRED < 16
  t.run(10);
  EXPECT_EQ(t.rd(kPmc0), 10U);
}

TEST(CountersFreeze, StreamlinedSetsCtrFrzAndLeavesGlobalCtrlAlone) {
  TestPmu t;
  t.wr(kDebugCtl, 0x1000);
  t.wr(kSelect0, kCountInstructions | kInt);
  t.wr(kPmc0, 0xFFFF'FFFF);
  t.run(5);
  EXPECT_EQ(t.rd(kStatus), 1 | kCtrFrz);
  EXPECT_EQ(t.rd(kGlobal), 0xFFU);
  EXPECT_EQ(t.rd(kPmc0), 0U) << "nothing counts after the PMI";
  t.wr(kOvfCtrl, 1 | kCtrFrz);
  t.run(5);
  EXPECT_EQ(t.rd(kPmc0), 5U);
}

TEST(CountersFreeze, LegacyClearsGlobalCtrl) {
  TestPmu t{"haswell"};
  t.wr(kDebugCtl, 0x1000);
  t.wr(kSelect0, kCountInstructions | kInt);
  t.wr(kPmc0, 0xFFFF'FFFF);
  t.run(5);
  EXPECT_EQ(t.rd(kStatus), 1U);
  EXPECT_EQ(t.rd(kGlobal), 0U);
  EXPECT_EQ(t.rd(kPmc0), 0U);
}

TEST(CountersFreeze, StopsCountingWhenSoftwareSetsCtrFrzItself) {
  TestPmu t;
  t.wr(kSelect0, kCountInstructions);
  t.wr(kStatusSet, kCtrFrz);
  t.run(5);
  EXPECT_EQ(t.rd(kPmc0), 0U);
}

TEST(CountersFreeze, DoesNothingForAnOverflowWithoutInt) {
  TestPmu t;
  t.wr(kDebugCtl, 0x1000);
  t.wr(kSelect0, kCountInstructions);
  t.wr(kPmc0, 0xFFFF'FFFF);
  t.run(5);
  EXPECT_EQ(t.rd(kStatus), 1U);
  EXPECT_EQ(t.rd(kPmc0), 4U);
}

TEST(Accumulators, ShowOneAccumulatorPerDistinctEvent) {
  TestPmu t;
  t.wr(kSelect0, kCountInstructions);
  t.wr(kSelect1, kCountPrecDist);
  t.wr(kFixedCtrl, 0x2);
  t.wr(kSelect0 + 2, kCountBranches);
  t.wr(kSelect0 + 3, 0x41'04C4);
  t.wr(kGlobal, 0x1'0000'000F);
  EXPECT_THAT(t.pmu.accumulators(), SizeIs(2));
}

TEST(Accumulators, LeaveOutCountersThatDoNotCountInUserMode) {
  TestPmu t;
  t.wr(kSelect0, 0x42'00C0);
  EXPECT_THAT(t.pmu.accumulators(), IsEmpty());
}

TEST(Accumulators, KeepTheirGenerationWhenAHandlerStopsAndRestartsEverything) {
  TestPmu t;
  t.wr(kSelect0, kCountInstructions);
  const std::uint32_t generation = t.pmu.accumulators_generation();
  t.wr(kGlobal, 0);
  t.wr(kPmc0, 5);
  t.wr(kGlobal, 0xFF);
  EXPECT_EQ(t.pmu.accumulators_generation(), generation);
}

TEST(Accumulators, ChangeTheirGenerationWithTheSetOfEventsAndWithTheWishForBranches) {
  TestPmu t;
  t.wr(kSelect0, kCountInstructions);
  const std::uint32_t first = t.pmu.accumulators_generation();
  t.wr(kSelect1, kCountBranches);
  const std::uint32_t second = t.pmu.accumulators_generation();
  EXPECT_NE(first, second);
  t.wr(kDebugCtl, 1);
  EXPECT_TRUE(t.pmu.wants_branches());
  EXPECT_NE(t.pmu.accumulators_generation(), second);
}

TEST(Headroom, LeavesTheWrappingEventToRetire) {
  TestPmu t;
  t.wr(kSelect0, kCountInstructions);
  t.wr(kFullPmc0, minus(10));
  EXPECT_EQ(t.pmu.headroom(0), 9U);
  t.pmu.count(0, 9);
  EXPECT_EQ(t.rd(kPmc0), kWidth48);
  EXPECT_EQ(t.rd(kStatus), 0U);
  EXPECT_EQ(t.pmu.headroom(0), 0U);
}

TEST(Counters, WrapAndInterruptWhereEventsPassThatBelongToNoInstruction) {
  TestPmu t;
  t.wr(kSelect0, kCountInstructions | kInt);
  t.wr(kFullPmc0, minus(10));
  t.pmu.pass(0, 9);
  EXPECT_EQ(t.rd(kStatus), 0U);
  t.pmu.pass(0, 5);
  EXPECT_EQ(t.rd(kPmc0), 4U);
  EXPECT_EQ(t.rd(kStatus), 1U);
  EXPECT_EQ(t.pmi.requested, 1);
}

TEST(Headroom, IsThatOfTheCounterClosestToItsWrap) {
  TestPmu t;
  t.wr(kSelect0, kCountInstructions);
  t.wr(kSelect1, kCountInstructions);
  t.wr(kFullPmc0, minus(100));
  t.wr(kFullPmc1, minus(7));
  EXPECT_EQ(t.pmu.headroom(0), 6U);
}

TEST(Headroom, OfACounterAt0IsItsWholeRange) {
  TestPmu t;
  t.wr(kSelect0, kCountInstructions);
  EXPECT_EQ(t.pmu.headroom(0), kWidth48);
}

TEST(Headroom, Is0ForAConditionalCounterAndItsEventIsWhatItNeedsToSee) {
  TestPmu t;
  t.wr(kSelect0, kCountLoads | 2U << 24);
  ASSERT_THAT(t.pmu.accumulators(), SizeIs(1));
  EXPECT_EQ(t.pmu.accumulators()[0].count, arch::kLoadOrPrefetchInstructions.count);
  EXPECT_EQ(t.pmu.headroom(0), 0U);
  t.wr(kSelect0, kCountLoads | 2U << 24 | 1U << 23);
  ASSERT_THAT(t.pmu.accumulators(), SizeIs(1));
  EXPECT_EQ(t.pmu.accumulators()[0].count, arch::kInstructions.count) << "INV counts where there is no load";
  EXPECT_EQ(t.pmu.headroom(0), 0U);
}

TEST(HeadroomDeathTest, IsCheckedByCount) {
  TestPmu t;
  t.wr(kSelect0, kCountInstructions);
  t.wr(kFullPmc0, minus(10));
  EXPECT_DEATH(t.pmu.count(0, 10), "events < counter.limit - counter.value");
}

}  // namespace
}  // namespace zs::pmu

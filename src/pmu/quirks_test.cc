// Each quirk on and off: the case that its row in arch/quirks.cc names.
#include <gtest/gtest.h>

#include <string>

#include "arch/cpuid.h"
#include "pmu/fakes.h"

namespace zs::pmu {
namespace {

using arch::BranchKind;
using arch::Quirk;
using arch::QuirkSet;

constexpr const char* kCases[] = {
    "Quirks.Ds32LaysTheDebugStoreOutIn32BitFieldsOutsideIa32e",
    "Quirks.PebsFormat5MovesTheFixedCountersResetValues",
    "Quirks.GlobalCtrl0StartsWithNoCounterEnabled",
    "Quirks.PebsBoundsSetsOvfBufForAnIndexOutsideTheBuffer",
    "Quirks.FenceStoresCountsAFenceAsAStore",
    "Quirks.InterruptCountsAddsOneOfEachPerInterrupt",
    "Quirks.BtsNoPredictionLeavesTheFlagsWord0",
    "Quirks.FreezeClearsTrStopsBtsAtAPmi",
    "Quirks.InitClearsDsClearsTheAddressToo",
    "Quirks.DbClearsTrKeepsTheDebugExceptionOutOfBts",
};

TEST(Quirks, HaveARowEachInOrderWithANameAndACase) {
  ASSERT_EQ(arch::quirks().size(), std::size(kCases));
  for (std::size_t i = 0; i < arch::quirks().size(); ++i) {
    const arch::QuirkFact& row = arch::quirks()[i];
    EXPECT_EQ(static_cast<std::size_t>(row.quirk), i) << row.name;
    EXPECT_EQ(row.test, kCases[i]) << row.name;
    EXPECT_EQ(arch::find_quirk(row.name), &row);
    EXPECT_FALSE(row.description.empty() || row.source.empty()) << row.name;
  }
  EXPECT_EQ(arch::find_quirk("nonesuch"), nullptr);
}

TEST(Quirks, AreOffUnlessTheModelHasThem) {
  EXPECT_TRUE(TestPmu{}.pmu.quirks().empty());
  EXPECT_TRUE(TestPmu{"westmere"}.pmu.quirks().empty());
  EXPECT_TRUE(TestPmu{"goldmont"}.pmu.quirks().has(Quirk::OutOfBoundsSetsOvfBuf));
  EXPECT_TRUE(TestPmu{"core2"}.pmu.quirks().has(Quirk::BtsFlagsAreZero));
}

TEST(Quirks, Ds32LaysTheDebugStoreOutIn32BitFieldsOutsideIa32e) {
  for (const bool on : {false, true}) {
    TestPmu t{"westmere", on ? QuirkSet{Quirk::Ds32} : QuirkSet{}};
    t.pmu.set_mode({.ia32e = false, .code64 = false});
    t.set_up_ds(2, 3, minus(1));
    t.wr(kSelect0, kCountInstructions);
    t.wr(kPmc0, 0xFFFF'FFFF);
    t.wr(kPebsEnable, 1);
    t.run(2);
    EXPECT_EQ(t.index(), TestPmu::kRecords + (on ? 40 : 176));
    EXPECT_EQ(t.rd(kPmc0), kWidth48) << "the reset value's slot is where the layout has it";
    const arch::CpuidBits bits = arch::pmu_bits(t.model, 1, 0);
    EXPECT_EQ(bits.value.ecx >> 2 & 1, on ? 0U : 1U) << "DTES64";
  }
}

TEST(Quirks, PebsFormat5MovesTheFixedCountersResetValues) {
  for (const bool on : {false, true}) {
    TestPmu t{"icelake-server", on ? QuirkSet{Quirk::PebsFormat5} : QuirkSet{}};
    t.set_up_ds(4, 5, 0);
    EXPECT_EQ(t.rd(0x345) >> 8 & 0xF, on ? 5U : 4U);
    t.memory.put(TestPmu::kDs + (on ? 0x140 : 0x80), std::uint64_t{0x1234});  // slot 32 or 8
    t.wr(kFixedCtrl, 0x2);
    t.wr(kGlobal, std::uint64_t{1} << 32);
    t.wr(kFixed0, kWidth48);
    t.wr(kPebsEnable, std::uint64_t{1} << 32);
    t.run(1);
    EXPECT_EQ(t.rd(kFixed0), 0x1234U);
  }
}

TEST(Quirks, GlobalCtrl0StartsWithNoCounterEnabled) {
  EXPECT_EQ((TestPmu{"skylake-server", {}}.rd(kGlobal)), 0xFFU);
  EXPECT_EQ((TestPmu{"skylake-server", {Quirk::GlobalCtrlStartsAt0}}.rd(kGlobal)), 0U);
}

TEST(Quirks, PebsBoundsSetsOvfBufForAnIndexOutsideTheBuffer) {
  for (const bool on : {false, true}) {
    TestPmu t{"goldmont", on ? QuirkSet{Quirk::OutOfBoundsSetsOvfBuf} : QuirkSet{}};
    t.set_up_ds(2, 3, minus(100));
    t.set_index(TestPmu::kRecords - 8);
    t.wr(kSelect0, kCountInstructions);
    t.wr(kPmc0, 0xFFFF'FFFF);
    t.wr(kPebsEnable, 1);
    t.run(1);
    EXPECT_EQ(t.rd(kStatus), on ? kOvfBuf : 1U);
    EXPECT_EQ(t.rd(kPmc0), 0U) << "not reloaded";
    EXPECT_EQ(t.pmi.requested, on ? 1 : 0);
  }
}

TEST(Quirks, FenceStoresCountsAFenceAsAStore) {
  for (const bool on : {false, true}) {
    TestPmu t{"westmere", on ? QuirkSet{Quirk::FencesCountAsStores} : QuirkSet{}};
    t.wr(kSelect0, 0x41'020B);
    arch::Retired mfence;
    mfence.fence = true;
    t.retire(mfence);
    EXPECT_EQ(t.rd(kPmc0), on ? 1U : 0U);
  }
}

TEST(Quirks, InterruptCountsAddsOneOfEachPerInterrupt) {
  for (const bool on : {false, true}) {
    TestPmu t{"westmere", on ? QuirkSet{Quirk::InterruptsCountOnce} : QuirkSet{}};
    t.wr(kSelect0, 0x43'00C0);
    t.wr(kSelect1, 0x43'00C4);
    t.pmu.enter_branch({.from = 0x1000,
                        .to = 0x2000,
                        .kind = BranchKind::Far,
                        .cpl_from = 3,
                        .cpl_to = 0,
                        .cause = arch::TransferCause::Interrupt});
    EXPECT_EQ(t.rd(kPmc0), on ? 1U : 0U);
    EXPECT_EQ(t.rd(kPmc1), on ? 1U : 0U);
  }
}

TEST(Quirks, BtsNoPredictionLeavesTheFlagsWord0) {
  for (const bool on : {false, true}) {
    TestPmu t{"goldmont", on ? QuirkSet{Quirk::BtsFlagsAreZero} : QuirkSet{}};
    t.set_up_bts(4, 5);
    t.wr(kDebugCtl, 0xC0);
    t.retire(branch_at(0x1000, 0x2000, BranchKind::RelativeJump));
    EXPECT_EQ(t.branch(0).flags, on ? 0U : 0x10U);
  }
}

TEST(Quirks, FreezeClearsTrStopsBtsAtAPmi) {
  for (const bool on : {false, true}) {
    TestPmu t{"goldmont", on ? QuirkSet{Quirk::FreezeLbrsClearsTr} : QuirkSet{}};
    t.wr(kSelect0, kCountInstructions | kInt);
    t.wr(kPmc0, 0xFFFF'FFFF);
    t.wr(kDebugCtl, 0x8C1);
    t.run(1);
    EXPECT_EQ(t.pmi.requested, 1);
    EXPECT_EQ(t.rd(kDebugCtl), on ? 0x880U : 0x8C0U)
        << "LBR is cleared in both: Goldmont's freeze of LBRs is the old one";
  }
}

TEST(Quirks, InitClearsDsClearsTheAddressToo) {
  for (const bool on : {false, true}) {
    TestPmu t{"skylake-server", on ? QuirkSet{Quirk::InitClearsDsArea} : QuirkSet{}};
    t.wr(kDsArea, TestPmu::kDs);
    t.pmu.init();
    EXPECT_EQ(t.rd(kDsArea), on ? 0 : TestPmu::kDs);
  }
}

TEST(Quirks, DbClearsTrKeepsTheDebugExceptionOutOfBts) {
  for (const bool on : {false, true}) {
    TestPmu t{"skylake-server", on ? QuirkSet{Quirk::DebugExceptionClearsTr} : QuirkSet{}};
    t.set_up_bts(4, 5);
    t.wr(kDebugCtl, 0xC0);
    t.pmu.debug_exception();
    t.pmu.enter_branch({.from = 0x1000, .to = 0x2000, .cause = arch::TransferCause::Exception});
    EXPECT_EQ(t.bts_index(), TestPmu::kBranches + (on ? 0 : 24));
  }
}

}  // namespace
}  // namespace zs::pmu

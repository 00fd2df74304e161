// The PMU as AMD's processors have it: PerfMonV2. Counters and selects at their own addresses, no fixed counters,
// writes that never fault.
// source: APM vol. 2, "Performance Monitoring Counters"; PPR of family 19H model 61H.
#include <gmock/gmock.h>

#include "arch/msr_map.h"
#include "pmu/fakes.h"

namespace zs::pmu {
namespace {

using ::testing::SizeIs;

constexpr std::uint32_t kCtl0 = 0xC001'0200, kCtr0 = 0xC001'0201, kCtl5 = 0xC001'020A, kCtr5 = 0xC001'020B,
                        kOldCtl0 = 0xC001'0000, kOldCtr0 = 0xC001'0004, kGlobalStatus = 0xC000'0300,
                        kGlobalCtl = 0xC000'0301, kGlobalStatusClr = 0xC000'0302;
// EN | USR
constexpr std::uint64_t kRetiredInstructions = 0x41'00C0, kRetiredTaken = 0x41'00C4, kReferenceCycles = 0x1'0041'0120;

struct Zen4 : TestPmu {
  Zen4() : TestPmu("zen4") {}
};

TEST(AmdPmu, CountsWhatTheSelectSaysWhereTheGlobalControlLetsIt) {
  Zen4 t;
  EXPECT_EQ(t.rd(kGlobalCtl), 0x3FU) << "software that knows of no global control can count";
  t.wr(kCtl0, kRetiredInstructions);
  t.wr(kCtl5, kRetiredTaken);
  t.run(3);
  t.retire(branch_at(0x2000, 0x3000, arch::BranchKind::Far));
  t.retire(branch_at(0x3000, 0x3004, arch::BranchKind::Conditional, false));
  EXPECT_EQ(t.rd(kCtr0), 5U);
  EXPECT_EQ(t.rd(kCtr5), 1U);
  t.wr(kGlobalCtl, 0x20);
  t.run(1);
  EXPECT_EQ(t.rd(kCtr0), 5U);
}

TEST(AmdPmu, HasTheFirstFourCountersAtTheirOldAddressesToo) {
  Zen4 t;
  for (std::uint32_t n = 0; n < 4; ++n) {
    t.wr(kOldCtl0 + n, kRetiredInstructions + n);
    t.wr(kCtr0 + 2 * n, 1000 + n);
    EXPECT_EQ(t.rd(kCtl0 + 2 * n), kRetiredInstructions + n);
    EXPECT_EQ(t.rd(kOldCtr0 + n), 1000 + n);
  }
  EXPECT_TRUE(t.read_faults(kOldCtr0 + 4));
  EXPECT_TRUE(t.read_faults(kCtr5 + 1)) << "a seventh counter";
}

TEST(AmdPmu, TakesACounterAsItIsAndDropsWhatIsBeyond48Bits) {
  Zen4 t;
  t.wr(kCtr0, 0xFFFF'FFF8);
  EXPECT_EQ(t.rd(kCtr0), 0xFFFF'FFF8U) << "no sign is extended";
  t.wr(kCtr0, ~std::uint64_t{7});
  EXPECT_EQ(t.rd(kCtr0), minus(8));
  t.wr(kOldCtr0, ~std::uint64_t{0});
  EXPECT_EQ(t.rd(kCtr0), minus(1));
}

TEST(AmdPmu, DropsReservedBitsAndFaultsOnNone) {
  Zen4 t;
  t.wr(kCtl0, ~std::uint64_t{0});
  EXPECT_EQ(t.rd(kCtl0), 0x30F'FFD7'FFFFU) << "bits 19, 21, 39:36 and 63:42 are reserved";
  t.wr(kGlobalCtl, ~std::uint64_t{0});
  EXPECT_EQ(t.rd(kGlobalCtl), 0x3FU);
}

TEST(AmdPmu, TellsAnEventOf12BitsFromThatOfItsLower8) {
  Zen4 t;
  t.wr(kCtl0, kReferenceCycles);                  // 120H
  t.wr(kCtl0 + 2, kReferenceCycles & 0xFF'FFFF);  // 020H is nothing
  t.pmu.advance({.core = 100, .reference = 70});
  EXPECT_EQ(t.rd(kCtr0), 70U);
  EXPECT_EQ(t.rd(kCtr0 + 2), 0U);
  t.wr(kCtl0, 0x41'0076);
  t.pmu.advance({.core = 100, .reference = 70});
  EXPECT_EQ(t.rd(kCtr0), 170U) << "core cycles";
}

TEST(AmdPmu, SetsItsStatusBitAndAsksForAnInterruptWhenACounterWraps) {
  Zen4 t;
  t.wr(kCtl0 + 2, kRetiredInstructions | kInt);
  t.wr(kCtr0 + 2, minus(3));
  t.run(2);
  EXPECT_EQ(t.rd(kGlobalStatus), 0U);
  EXPECT_EQ(t.pmi.requested, 0);
  t.run(1);
  EXPECT_EQ(t.rd(kGlobalStatus), 0x2U);
  EXPECT_EQ(t.rd(kCtr0 + 2), 0U);
  EXPECT_EQ(t.pmi.requested, 1);
  EXPECT_EQ(t.rd(kGlobalCtl), 0x3FU) << "nothing freezes";
}

TEST(AmdPmu, ClearsTheStatusWhereItIsToldToAndIgnoresAWriteOfIt) {
  Zen4 t;
  t.wr(kCtl0, kRetiredInstructions);
  t.wr(kCtl0 + 2, kRetiredInstructions);
  t.wr(kCtr0, minus(1));
  t.wr(kCtr0 + 2, minus(1));
  t.run(1);
  EXPECT_EQ(t.rd(kGlobalStatus), 0x3U);
  t.wr(kGlobalStatus, 0);
  EXPECT_EQ(t.rd(kGlobalStatus), 0x3U);
  t.wr(kGlobalStatusClr, 0x1);
  EXPECT_EQ(t.rd(kGlobalStatus), 0x2U);
  EXPECT_EQ(t.rd(kGlobalStatusClr), 0U);
}

TEST(AmdPmu, CountsInBulkAsOneByOne) {
  Zen4 t;
  t.wr(kCtl0, kRetiredInstructions);
  t.wr(kCtr0, minus(10));
  ASSERT_THAT(t.pmu.accumulators(), SizeIs(1));
  EXPECT_EQ(t.pmu.headroom(0), 9U);
  t.pmu.count(0, 9);
  EXPECT_EQ(t.rd(kCtr0), minus(1));
}

TEST(AmdPmu, GivesRdpmcItsSixCountersAndNoFixedOnes) {
  Zen4 t;
  t.wr(kCtr5, 77);
  std::uint64_t value = 0;
  EXPECT_TRUE(t.pmu.rdpmc(5, value));
  EXPECT_EQ(value, 77U);
  EXPECT_FALSE(t.pmu.rdpmc(6, value));
  EXPECT_FALSE(t.pmu.rdpmc(0x4000'0000, value));
  EXPECT_FALSE(t.pmu.rdpmc(0x2000'0000, value));
}

TEST(AmdPmu, FaultsOnEveryRegisterOfIntelsPmu) {
  Zen4 t;
  for (const arch::CpuModel& intel : arch::cpu_models()) {
    if (intel.vendor != arch::Vendor::Intel) continue;
    for (const arch::MsrFact& fact : arch::msr_facts()) {
      if (fact.msr == arch::Msr::DebugCtl) continue;  // both have it
      for (unsigned i = 0; i < fact.count(intel); ++i) {
        EXPECT_TRUE(t.read_faults(fact.address(i))) << fact.name << i;
        EXPECT_TRUE(t.write_faults(fact.address(i), 0)) << fact.name << i;
      }
    }
  }
}

TEST(AmdPmu, IsNotThereOnIntelsProcessors) {
  for (const arch::CpuModel& model : arch::cpu_models()) {
    if (model.vendor != arch::Vendor::Intel) continue;
    TestPmu t{model.name};
    for (const std::uint32_t msr : {kCtl0, kCtr0, kOldCtl0, kOldCtr0, kGlobalStatus, kGlobalCtl, kGlobalStatusClr}) {
      EXPECT_TRUE(t.read_faults(msr)) << model.name << std::hex << msr;
      EXPECT_TRUE(t.write_faults(msr, 0)) << model.name << std::hex << msr;
    }
  }
}

// CPUID says that there are none. Bit 0 is taken all the same.
TEST(AmdPmu, RecordsNoBranches) {
  Zen4 t;
  t.wr(kDebugCtl, 0x3);
  EXPECT_FALSE(t.pmu.wants_branches());
  EXPECT_TRUE(t.write_faults(kDebugCtl, 0x40)) << "no branch trace";
  t.retire(branch_at(0x2000, 0x3000, arch::BranchKind::RelativeJump));
  t.pmu.enter_branch({.from = 1, .to = 2, .cause = arch::TransferCause::Interrupt});
  EXPECT_TRUE(t.read_faults(0x1DD)) << "no last-exception record";
}

}  // namespace
}  // namespace zs::pmu

#include "pmu/perf_metrics.h"

#include <gtest/gtest.h>

#include "pmu/fakes.h"

namespace zs::pmu {
namespace {

constexpr std::uint32_t kMetrics = 0x329, kSlots = 0x30C;
constexpr std::uint64_t kOn = std::uint64_t{1} << 48 | std::uint64_t{1} << 35;
constexpr IssuedSlots kIssued{500, 100, 150, 250, 50, 60, 70, 80};  // of 1000

/// Counts slots in both rings, with metrics, from 0.
struct Counting : TestPmu {
  explicit Counting(const char* name = "sapphire-rapids") : TestPmu(name) {
    wr(kFixedCtrl, 0x3000);
    wr(kGlobal, kOn);
  }
  void pass(std::uint64_t slots, const IssuedSlots& issued, Ring ring = Ring::User) {
    pmu.advance({.slots = slots}, ring);
    pmu.issue(issued, ring);
  }
};

TEST(PerfMetrics, AreSharesOfTheSlotsInFixedCounter3) {
  Counting t;
  t.pass(1000, kIssued);
  EXPECT_EQ(t.rd(kSlots), 1000U);
  // 255 times 0.5, 0.1, 0.15, 0.25, 0.05, 0.06, 0.07, 0.08, rounded
  EXPECT_EQ(t.rd(kMetrics), 0x14'12'0F'0D'40'26'1A'80U);
  t.pass(1000, {1000});
  EXPECT_EQ(t.rd(kMetrics) & 0xFFFF, 0x0DBF) << "0.75 and 0.05";
  std::uint64_t value = 0;
  ASSERT_TRUE(t.pmu.rdpmc(0x2000'0000, value));
  EXPECT_EQ(value, t.rd(kMetrics));
}

TEST(PerfMetrics, KeepWhatSoftwareWroteUntilSlotsCome) {
  Counting t;
  t.wr(kSlots, 1000);
  t.wr(kMetrics, 0x33);
  EXPECT_EQ(t.rd(kMetrics), 0x33U);
  t.pmu.advance({.core = 100, .reference = 100});
  EXPECT_EQ(t.rd(kMetrics), 0x33U) << "without a core model nothing is said of slots";
}

TEST(PerfMetrics, GoOnFromASavedPair) {
  Counting all, first, second;
  all.pass(1000, kIssued);
  all.pass(3000, {3000});
  first.pass(1000, kIssued);
  second.wr(kSlots, first.rd(kSlots));
  second.wr(kMetrics, first.rd(kMetrics));
  second.pass(3000, {3000});
  EXPECT_EQ(second.rd(kSlots), 4000U);
  for (unsigned n = 0; n < 8; ++n) {  // a saved share has eight bits
    const auto share = [n](Counting& t) { return static_cast<double>(t.rd(kMetrics) >> 8 * n & 0xFF); };
    EXPECT_NEAR(share(second), share(all), 1) << n;
  }
  EXPECT_EQ(all.rd(kMetrics) & 0xFF, 0xDF) << "3500 of 4000";
}

TEST(PerfMetrics, NeedTheirEnableAndFixedCounter3InThatRing) {
  Counting t;
  t.wr(kGlobal, std::uint64_t{1} << 35);
  t.pass(1000, kIssued);
  EXPECT_EQ(t.rd(kMetrics), 0U) << "GLOBAL_CTRL[48] is clear";
  t.wr(kGlobal, kOn);
  t.wr(kFixedCtrl, 0x1000);
  t.pass(1000, kIssued);
  EXPECT_EQ(t.rd(kSlots), 1000U) << "of ring 0 only";
  EXPECT_EQ(t.rd(kMetrics), 0U);
  t.pass(1000, kIssued, Ring::Kernel);
  EXPECT_NE(t.rd(kMetrics), 0U);
}

TEST(PerfMetrics, AreZeroAfterReset) {
  Counting t;
  t.pass(1000, kIssued);
  t.pmu.reset();
  EXPECT_EQ(t.rd(kMetrics), 0U);
  EXPECT_EQ(t.rd(kSlots), 0U);
}

TEST(PerfMetrics, OfIceLakeHaveFourBytesThatSoftwareMaySet) {
  TestPmu icelake{"icelake-server"}, sapphire{"sapphire-rapids"}, skylake;
  EXPECT_FALSE(icelake.write_faults(kMetrics, 0xFFFF'FFFF));
  EXPECT_TRUE(icelake.write_faults(kMetrics, std::uint64_t{1} << 32));
  EXPECT_FALSE(sapphire.write_faults(kMetrics, ~std::uint64_t{0}));
  EXPECT_TRUE(skylake.write_faults(kMetrics, 0));
}

TEST(PerfMetrics, OfIceLakeLeaveOutThePartsOfAPart) {
  Counting t{"icelake-server"};
  t.pass(1000, kIssued);
  EXPECT_EQ(t.rd(kMetrics), 0x40'26'1A'80U);
}

TEST(PerfMetrics, FixedCounter3OverflowsAndInterruptsLikeAnotherCounter) {
  Counting t;
  t.wr(kFixedCtrl, 0xB000);
  t.wr(kSlots, kWidth48);
  t.pass(1, {1});
  EXPECT_EQ(t.rd(kStatus), std::uint64_t{1} << 35);
  EXPECT_EQ(t.pmi.requested, 1);
}

TEST(PerfMetrics, ASumThatWrapsSetsBit48AndInterruptsIfFixedCounter3Does) {
  for (const bool interrupts : {false, true}) {
    Counting t;
    t.wr(kFixedCtrl, interrupts ? 0xB000 : 0x3000);
    t.pass(0, {kWidth48});
    EXPECT_EQ(t.rd(kStatus), 0U);
    t.pass(0, {1});
    EXPECT_EQ(t.rd(kStatus), std::uint64_t{1} << 48);
    EXPECT_EQ(t.pmi.requested, interrupts ? 1 : 0);
    t.wr(kOvfCtrl, std::uint64_t{1} << 48);
    EXPECT_EQ(t.rd(kStatus), 0U);
  }
}

}  // namespace
}  // namespace zs::pmu

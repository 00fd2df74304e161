#include "machine/devices/local_apic.h"

#include <gtest/gtest.h>

#include "machine/devices/pic.h"

namespace zs::machine {
namespace {

struct Pins : CpuPins {
  void interrupt_line(bool up) override { line = up; }
  void nmi() override { ++nmis; }
  void smi() override { ++smis; }
  void init() override { ++inits; }
  bool line = false;
  int nmis = 0, smis = 0, inits = 0;
};

struct LocalApicTest : testing::Test {
  void enable() { apic.write(0xF0, 0x1FF); }
  void self(unsigned vector) { apic.write(0x300, 0x40000 | vector); }
  bool enter_x2() { return apic.wrmsr(0x1B, 0xFEE00000 | 0xD00); }
  Pins pins;
  Clock clock;
  Pic pic;
  LocalApic apic{pins, clock, pic};
};

TEST_F(LocalApicTest, StartsSoftwareDisabledWithEverythingMasked) {
  EXPECT_EQ(apic.read(0xF0), 0xFFu);
  for (const std::uint32_t lvt : {0x320, 0x330, 0x340, 0x350, 0x360, 0x370}) EXPECT_EQ(apic.read(lvt), 0x10000u) << lvt;
  apic.write(0x340, 0x33);
  EXPECT_EQ(apic.read(0x340), 0x10033u) << "the mask cannot be cleared while disabled";
}

TEST_F(LocalApicTest, DeliversByPriorityClass) {
  enable();
  self(0x41);
  EXPECT_EQ(apic.acknowledge(), 0x41);
  self(0x4F);
  EXPECT_FALSE(pins.line) << "same class as what is in service";
  self(0x50);
  EXPECT_TRUE(pins.line);
  EXPECT_EQ(apic.read(0xA0), 0x40u);
  EXPECT_EQ(apic.read(0x220), 1u << 16 | 0x8000u);
  EXPECT_EQ(apic.acknowledge(), 0x50);
  apic.write(0xB0, 0);
  EXPECT_FALSE(pins.line);
  apic.write(0xB0, 0);
  EXPECT_EQ(apic.acknowledge(), 0x4F);
}

TEST_F(LocalApicTest, TaskPriorityHoldsOffItsClassAndBelow) {
  enable();
  apic.set_task_priority(5);
  self(0x5F);
  EXPECT_FALSE(pins.line);
  EXPECT_EQ(apic.read(0x80), 0x50u);
  apic.write(0x80, 0x40);
  EXPECT_TRUE(pins.line);
}

TEST_F(LocalApicTest, APmiMasksItsOwnEntryAndAMaskedOneIsForgotten) {
  enable();
  apic.write(0x340, 0x33);
  apic.request_pmi();
  EXPECT_EQ(apic.read(0x340), 0x10033u);
  EXPECT_EQ(apic.acknowledge(), 0x33);
  apic.request_pmi();
  apic.write(0x340, 0x33);
  apic.write(0xB0, 0);
  EXPECT_FALSE(pins.line);
}

// source: the kernel's handler of AMD's PMU writes its LVT entry once, that of Intel's at each PMI.
TEST_F(LocalApicTest, APmiOfAnAmdProcessorLeavesItsEntryAsItIs) {
  LocalApic amd{pins, clock, pic, {.pmi_masks = false}};
  amd.write(0xF0, 0x1FF);
  amd.write(0x340, 0x33);
  amd.request_pmi();
  EXPECT_EQ(amd.read(0x340), 0x33u);
  EXPECT_EQ(amd.acknowledge(), 0x33);
}

TEST_F(LocalApicTest, APmiInNmiModeIgnoresTheVector) {
  enable();
  apic.write(0x340, 0x400);
  apic.request_pmi();
  EXPECT_EQ(pins.nmis, 1);
  EXPECT_EQ(apic.read(0x340), 0x10400u);
  apic.write(0x340, 0x200);
  apic.request_pmi();
  EXPECT_EQ(pins.smis, 1);
}

TEST_F(LocalApicTest, AnIllegalVectorIsAnErrorAndNoInterrupt) {
  enable();
  apic.write(0x370, 0xFE);
  apic.write(0x340, 0x10003);
  apic.write(0x340, 0x3);
  EXPECT_EQ(apic.acknowledge(), 0xFE);
  apic.write(0x280, 0);
  EXPECT_EQ(apic.read(0x280), 0x40u);
  self(5);
  apic.write(0x280, 0);
  EXPECT_EQ(apic.read(0x280), 0x20u);
  apic.write(0x280, 0);
  EXPECT_EQ(apic.read(0x280), 0u);
}

TEST_F(LocalApicTest, TheTimerRunsOnceOrPeriodicallyOnTheSharedClock) {
  enable();
  apic.write(0x3E0, 0xB);  // divide by 1
  apic.write(0x320, 0x40);
  apic.write(0x380, 100);
  EXPECT_EQ(apic.deadline(), 100 * kTscTicksPerBusTick);
  clock.advance(40 * kTscTicksPerBusTick);
  EXPECT_EQ(apic.read(0x390), 60u);
  clock.advance(60 * kTscTicksPerBusTick);
  apic.clock_moved();
  EXPECT_EQ(apic.acknowledge(), 0x40);
  EXPECT_EQ(apic.read(0x390), 0u);
  EXPECT_EQ(apic.deadline(), kNever);
  apic.write(0xB0, 0);
  apic.write(0x320, 0x20041);
  apic.write(0x380, 10);
  for (int i = 0; i < 3; ++i) {
    clock.advance(apic.deadline() - clock.now());
    apic.clock_moved();
    EXPECT_EQ(apic.acknowledge(), 0x41);
    apic.write(0xB0, 0);
  }
}

TEST_F(LocalApicTest, InTscDeadlineModeTheTimerWaitsForATimeStampAndTheMsrReads0Afterwards) {
  const auto tsc_deadline = [this] {
    std::uint64_t value = ~std::uint64_t{0};
    EXPECT_TRUE(apic.rdmsr(0x6E0, value));
    return value;
  };
  enable();
  clock.advance(50);
  EXPECT_TRUE(apic.wrmsr(0x6E0, 1000));
  EXPECT_EQ(tsc_deadline(), 0u) << "ignored in the other modes";
  apic.write(0x320, 0x40040);
  apic.write(0x380, 7);
  EXPECT_EQ(apic.read(0x380), 0u) << "the initial count is ignored in this one";
  apic.tsc_written(100);
  EXPECT_TRUE(apic.wrmsr(0x6E0, 1000));
  EXPECT_EQ(tsc_deadline(), 1000u);
  EXPECT_EQ(apic.deadline(), 900u);
  clock.advance(849);
  apic.clock_moved();
  EXPECT_FALSE(pins.line);
  clock.advance(1);
  apic.clock_moved();
  EXPECT_EQ(apic.acknowledge(), 0x40);
  EXPECT_EQ(tsc_deadline(), 0u);
  EXPECT_EQ(apic.deadline(), kNever);
  apic.write(0xB0, 0);

  EXPECT_TRUE(apic.wrmsr(0x6E0, 1)) << "a time that has passed: at once";
  EXPECT_EQ(apic.acknowledge(), 0x40);
  apic.write(0xB0, 0);
  EXPECT_TRUE(apic.wrmsr(0x6E0, 2000));
  EXPECT_TRUE(apic.wrmsr(0x6E0, 0));
  EXPECT_EQ(apic.deadline(), kNever) << "0 takes it back";
  EXPECT_TRUE(apic.wrmsr(0x6E0, 2000));
  apic.write(0x320, 0x40);
  EXPECT_EQ(apic.deadline(), kNever) << "so does another mode";
  apic.write(0x320, 0x50040);
  EXPECT_TRUE(apic.wrmsr(0x6E0, 2000));
  clock.advance(2000);
  apic.write(0x320, 0x40040);
  EXPECT_FALSE(pins.line) << "it passed while masked";
  EXPECT_EQ(tsc_deadline(), 0u);
}

TEST_F(LocalApicTest, OneWithoutX2apicAndTscDeadlineRefusesTheirBitsAndMsrs) {
  LocalApic old{pins, clock, pic, {.x2apic = false, .tsc_deadline = false}};
  std::uint64_t value = 0;
  EXPECT_FALSE(old.wrmsr(0x1B, 0xFEE00D00));
  EXPECT_TRUE(old.wrmsr(0x1B, 0xFEE00900));
  EXPECT_FALSE(old.wrmsr(0x6E0, 0));
  EXPECT_FALSE(old.rdmsr(0x6E0, value));
  old.write(0xF0, 0x1FF);
  old.write(0x320, 0x40040);
  EXPECT_EQ(old.read(0x320), 0x40u);
}

TEST_F(LocalApicTest, X2apicRegistersAreMsrsAndRefuseReservedBits) {
  std::uint64_t value = 0;
  EXPECT_FALSE(apic.rdmsr(0x802, value));
  ASSERT_TRUE(enter_x2());
  EXPECT_FALSE(apic.window());
  EXPECT_TRUE(apic.rdmsr(0x802, value));
  EXPECT_FALSE(apic.wrmsr(0x80F, 0x1000));
  EXPECT_TRUE(apic.wrmsr(0x80F, 0x1FF));
  EXPECT_FALSE(apic.rdmsr(0x80E, value)) << "no DFR";
  EXPECT_FALSE(apic.wrmsr(0x80B, 1));
  EXPECT_FALSE(apic.wrmsr(0x834, 1u << 17));
  EXPECT_TRUE(apic.wrmsr(0x83F, 0x77));
  EXPECT_EQ(apic.acknowledge(), 0x77);
  EXPECT_TRUE(apic.wrmsr(0x830, 0x40078));
  EXPECT_TRUE(pins.line == false) << "0x77 is in service, same class";
  EXPECT_FALSE(apic.wrmsr(0x1B, 0xFEE00900)) << "back to xAPIC only through disabled";
  EXPECT_TRUE(apic.wrmsr(0x1B, 0xFEE00100));
  EXPECT_FALSE(enter_x2()) << "from disabled only to xAPIC";
  EXPECT_TRUE(apic.wrmsr(0x1B, 0xFEE00900));
  EXPECT_EQ(apic.window(), 0xFEE00000u);
}

TEST_F(LocalApicTest, InitAndStartUpToOthersAreHarmless) {
  enable();
  apic.write(0x300, 0xC4500);
  apic.write(0x300, 0xC4608);
  EXPECT_EQ(pins.inits, 0);
  apic.write(0x310, 1u << 24);
  apic.write(0x300, 0x4500);
  EXPECT_EQ(pins.inits, 0);
  apic.write(0x310, 0);
  apic.write(0x300, 0x4500);
  EXPECT_EQ(pins.inits, 1);
}

TEST_F(LocalApicTest, The8259ReachesTheCpuWhileDisabledOrThroughLint0) {
  pic.out(0x21, 0);
  pic.pulse(1);
  apic.update_line();
  EXPECT_TRUE(pins.line);
  enable();
  EXPECT_FALSE(pins.line);
  apic.write(0x350, 0x700);
  EXPECT_TRUE(pins.line);
  EXPECT_EQ(apic.acknowledge(), 0x09);
}

TEST_F(LocalApicTest, AmdsHasFourMoreEntriesAndOthersNone) {
  enable();
  apic.read(0x500);
  apic.write(0x280, 0);
  EXPECT_EQ(apic.read(0x280), 1u << 7) << "no such register";
  LocalApic amds(pins, clock, pic, {.extended = true});
  EXPECT_EQ(amds.read(0x30) >> 31, 1u);
  EXPECT_EQ(amds.read(0x400) >> 16, 4u);
  for (const std::uint32_t lvt : {0x500, 0x510, 0x520, 0x530}) EXPECT_EQ(amds.read(lvt), 0x10000u) << lvt;
  amds.write(0xF0, 0x1FF);
  amds.request_extended(1);
  EXPECT_EQ(pins.nmis, 0) << "it is masked";
  amds.write(0x510, 0xFFFE'0400);
  EXPECT_EQ(amds.read(0x510), 0x400u);
  amds.request_extended(1);
  EXPECT_EQ(pins.nmis, 1);
  EXPECT_EQ(amds.read(0x510), 0x400u) << "it is not masked by what it delivers";
  amds.write(0x500, 0x41);
  amds.request_extended(0);
  EXPECT_EQ(amds.acknowledge(), 0x41);
  amds.write(0xF0, 0xFF);
  EXPECT_EQ(amds.read(0x510), 0x10400u);
}

}  // namespace
}  // namespace zs::machine

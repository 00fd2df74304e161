// Registers as software finds them: widths, aliases, reserved bits, what clears what.
#include <gtest/gtest.h>

#include <string>

#include "arch/msr_map.h"
#include "pmu/fakes.h"

namespace zs::pmu {
namespace {

TEST(PmuRegisters, SignExtendA32BitCounterWriteToTheCountersWidth) {
  TestPmu t;
  t.wr(kPmc0, 0xFFFF'FFF8);
  EXPECT_EQ(t.rd(kPmc0), 0xFFFF'FFFF'FFF8U);
  t.wr(kPmc0, 0x7FFF'FFFF);
  EXPECT_EQ(t.rd(kPmc0), 0x7FFF'FFFFU);
}

// The value is kvm-unit-tests' "full-width writes" one.
TEST(PmuRegisters, IgnoreTheUpperHalfOfA32BitCounterWrite) {
  TestPmu t;
  t.wr(kPmc0, 0xFFFF'FF01'2345'6789);
  EXPECT_EQ(t.rd(kPmc0), 0x2345'6789U);
}

TEST(PmuRegisters, RefuseAFullWidthWriteBeyondTheCountersWidth) {
  TestPmu t;
  EXPECT_TRUE(t.write_faults(kFullPmc0, 0xFFFF'FF01'2345'6789));
  EXPECT_EQ(t.rd(kPmc0), 0U);
}

TEST(PmuRegisters, ReadOneCounterThroughBothAliasesAndRdpmc) {
  TestPmu t;
  t.wr(kFullPmc0, 0xFF01'2345'6789);
  std::uint64_t by_rdpmc = 0;
  ASSERT_TRUE(t.pmu.rdpmc(0, by_rdpmc));
  EXPECT_EQ(t.rd(kFullPmc0), 0xFF01'2345'6789U);
  EXPECT_EQ(t.rd(kPmc0), 0xFF01'2345'6789U);
  EXPECT_EQ(by_rdpmc, 0xFF01'2345'6789U);
}

TEST(PmuRegisters, DoNotSignExtendAFixedCounterButCutItToItsWidth) {
  TestPmu t;
  t.wr(kFixed0, 0xFFFF'FFF8);
  EXPECT_EQ(t.rd(kFixed0), 0xFFFF'FFF8U);
  t.wr(kFixed0, 0xFFFF'FFFF'FFFF'FFF8);
  EXPECT_EQ(t.rd(kFixed0), minus(8));
}

TEST(PmuRegisters, GiveRdpmcEveryCounterAndFaultBehindTheLast) {
  TestPmu t;
  std::uint64_t value = 0;
  EXPECT_TRUE(t.pmu.rdpmc(7, value));
  EXPECT_FALSE(t.pmu.rdpmc(8, value));
  t.wr(kFixed0 + 2, 77);
  EXPECT_TRUE(t.pmu.rdpmc(0x4000'0002, value));
  EXPECT_EQ(value, 77U);
  EXPECT_FALSE(t.pmu.rdpmc(0x4000'0003, value));
}

TEST(PmuRegisters, RefuseTheFastAndTheMetricsFormOfRdpmc) {
  TestPmu t;
  std::uint64_t value = 0;
  EXPECT_FALSE(t.pmu.rdpmc(0x8000'0000, value));
  EXPECT_FALSE(t.pmu.rdpmc(0x2000'0000, value));
}

// One walk over the table, with what it says of the start. The exceptions from 0 are spelt out below.
TEST(PmuRegisters, StartAsTheTableSays) {
  for (const arch::CpuModel& model : arch::cpu_models()) {
    TestPmu t{model.name};
    for (const arch::MsrFact& fact : arch::msr_facts()) {
      for (unsigned i = 0; i < fact.count(model); ++i) {
        EXPECT_EQ(t.rd(fact.address(i)), fact.reset(model)) << model.name << ' ' << fact.name << i;
      }
    }
  }
}

TEST(PmuRegisters, StartAt0ExceptForFive) {
  for (const arch::CpuModel& model : arch::cpu_models()) {
    for (const arch::MsrFact& fact : arch::msr_facts()) {
      std::uint64_t expected = 0;
      if (fact.msr == arch::Msr::GlobalCtrl) expected = arch::any_of(model.general_counters).bits;
      if (fact.msr == arch::Msr::PerfCapabilities) expected = model.capabilities.raw();
      if (fact.msr == arch::Msr::MiscEnable) expected = 0x80;  // EMON; BTS and PEBS are available
      if (fact.msr == arch::Msr::LbrDepth) expected = model.lbr_entries;
      if (fact.msr == arch::Msr::IbsControl) expected = 0x100;  // entry 0 of the extended interrupts
      EXPECT_EQ(fact.reset(model), expected) << model.name << ' ' << fact.name;
    }
  }
}

// One walk over the table: what a register takes it gives back, what it must not take leaves it as it was.
TEST(PmuRegisters, ReadBackEachWritableBitAndFaultOnEachReservedOne) {
  for (const arch::CpuModel& model : arch::cpu_models()) {
    for (const arch::MsrFact& fact : arch::msr_facts()) {
      if (fact.access != arch::MsrAccess::ReadWrite || fact.value != arch::MsrValue::Bits) continue;
      for (unsigned i = 0; i < fact.count(model); ++i) {
        TestPmu t{std::string(model.name).c_str()};
        const std::uint32_t msr = fact.address(i);
        for (unsigned bit = 0; bit < 64; ++bit) {
          const std::uint64_t value = std::uint64_t{1} << bit;
          t.wr(msr, 0);
          const bool writable = (fact.writable(model, i) >> bit & 1) != 0;
          EXPECT_EQ(t.write_faults(msr, value), !writable) << model.name << ' ' << fact.name << i << " bit " << bit;
          EXPECT_EQ(t.rd(msr), writable ? value : 0) << model.name << ' ' << fact.name << i << " bit " << bit;
        }
      }
    }
  }
}

TEST(PmuRegisters, FaultOnEveryReadOnlyRegister) {
  TestPmu t;
  EXPECT_TRUE(t.write_faults(kStatus, 0));
  EXPECT_TRUE(t.write_faults(kInUse, 0));
  EXPECT_TRUE(t.write_faults(0x345, 0x33C5));
  EXPECT_TRUE(t.write_faults(0x1A0, 0x80));
}

TEST(PmuRegisters, FaultOnAnAddressThatThePmuDoesNotHave) {
  TestPmu t;
  for (const std::uint32_t msr : {0x0U, 0x10U, 0xC0U, 0xC9U, 0x18EU, 0x30CU, 0x329U, 0x3F2U, 0x3F8U, 0x4C9U, 0x6A0U,
                                  0x6E0U, 0xDE0U, 0x14CEU, 0x1500U, 0xFFFF'FFFFU}) {
    EXPECT_TRUE(t.read_faults(msr)) << std::hex << msr;
    EXPECT_TRUE(t.write_faults(msr, 0)) << std::hex << msr;
  }
}

TEST(PmuRegisters, RefuseGlobalCtrlBitsOfCountersThatDoNotExist) {
  TestPmu skylake, haswell{"haswell"};
  EXPECT_FALSE(skylake.write_faults(kGlobal, 0x7'0000'00FF));
  EXPECT_TRUE(skylake.write_faults(kGlobal, 0x8'0000'0000));
  EXPECT_TRUE(skylake.write_faults(kGlobal, 0x100));
  EXPECT_TRUE(haswell.write_faults(kGlobal, 0x10));
}

TEST(PmuRegisters, ClearStatusThrough390HAndSetItThrough391H) {
  TestPmu t;
  t.wr(kStatusSet, 0x1'0000'0003 | kOvfBuf);
  EXPECT_EQ(t.rd(kStatus), 0x1'0000'0003 | kOvfBuf);
  EXPECT_EQ(t.rd(kStatusSet), 0U);
  t.wr(kOvfCtrl, 0x1 | kOvfBuf);
  EXPECT_EQ(t.rd(kStatus), 0x1'0000'0002U);
  EXPECT_EQ(t.rd(kOvfCtrl), 0U);
}

TEST(PmuRegisters, RefuseStatusBitsOfFacilitiesThatDoNotExist) {
  TestPmu skylake, haswell{"haswell"};
  EXPECT_TRUE(skylake.write_faults(kOvfCtrl, std::uint64_t{1} << 55)) << "no Processor Trace";
  EXPECT_TRUE(skylake.write_faults(kStatusSet, std::uint64_t{1} << 63)) << "CondChgd cannot be set";
  EXPECT_FALSE(skylake.write_faults(kOvfCtrl, kCtrFrz | kLbrFrz));
  EXPECT_TRUE(haswell.write_faults(kOvfCtrl, kCtrFrz)) << "perfmon 3";
}

TEST(PmuRegisters, ReportInUseWhatIsProgrammed) {
  TestPmu t;
  EXPECT_EQ(t.rd(kInUse), 0U);
  t.wr(kSelect1, 0xC0);  // not even enabled
  EXPECT_EQ(t.rd(kInUse), 0x2U);
  t.wr(kFixedCtrl, 0x20);
  EXPECT_EQ(t.rd(kInUse), 0x2'0000'0002U);
  t.wr(kPebsEnable, 0x1);
  EXPECT_EQ(t.rd(kInUse), 0x8000'0002'0000'0002U);
  t.wr(kPebsEnable, 0);
  t.wr(kFixedCtrl, 0x28);
  EXPECT_EQ(t.rd(kInUse), 0x8000'0002'0000'0002U);
}

TEST(PmuRegisters, SayThatBtsAndPebsAreAvailable) {
  TestPmu t;
  EXPECT_EQ(t.rd(0x1A0) >> 11 & 3, 0U);
}

TEST(PmuRegisters, LetRdpmcThroughAtCpl0OrWithPceOrInRealMode) {
  TestPmu t;
  std::uint64_t value = 0;
  EXPECT_TRUE(t.pmu.rdpmc(0, value, {.cpl = 0}));
  EXPECT_FALSE(t.pmu.rdpmc(0, value, {.cpl = 3}));
  EXPECT_TRUE(t.pmu.rdpmc(0, value, {.cpl = 3, .cr4_pce = true}));
  EXPECT_FALSE(t.pmu.rdpmc(0, value, {.cpl = 3, .protected_mode = true})) << "virtual-8086 code needs PCE";
  EXPECT_TRUE(t.pmu.rdpmc(0, value, {.cpl = 0, .protected_mode = false}));
  EXPECT_FALSE(t.pmu.rdpmc(8, value, {.cpl = 0})) << "the index counts all the same";
}

TEST(PmuRegisters, GiveTheMetricsThroughRdpmcWhereThereAreAny) {
  TestPmu t{"icelake-server"};
  t.wr(0x329, 0xFF00'FF00);
  std::uint64_t value = 0;
  ASSERT_TRUE(t.pmu.rdpmc(0x2000'0000, value));
  EXPECT_EQ(value, 0xFF00'FF00U);
  EXPECT_FALSE(t.pmu.rdpmc(0x2000'0001, value));
  EXPECT_TRUE(t.pmu.rdpmc(0x4000'0003, value)) << "the fourth fixed counter";
}

TEST(PmuRegisters, AreOfTheWidthThatCpuidSays) {
  TestPmu t{"core2"};
  t.wr(kPmc0, 0xFFFF'FFFE);
  EXPECT_EQ(t.rd(kPmc0), 0xFF'FFFF'FFFEU) << "40 bits";
  t.wr(kFixed0, ~std::uint64_t{0});
  EXPECT_EQ(t.rd(kFixed0), 0xFF'FFFF'FFFFU);
  EXPECT_TRUE(t.read_faults(kFullPmc0)) << "no full-width writes";
}

TEST(PmuRegisters, StartAgainAfterReset) {
  for (const arch::CpuModel& model : arch::cpu_models()) {
    TestPmu t{model.name};
    for (const arch::MsrFact& fact : arch::msr_facts()) {
      if (fact.access != arch::MsrAccess::ReadWrite) continue;
      for (unsigned i = 0; i < fact.count(model); ++i) {
        const std::uint64_t value = fact.value == arch::MsrValue::Bits ? fact.writable(model, i) : 8;
        t.wr(fact.address(i), value);
      }
    }
    t.pmu.reset();
    for (const arch::MsrFact& fact : arch::msr_facts()) {
      for (unsigned i = 0; i < fact.count(model); ++i) {
        EXPECT_EQ(t.rd(fact.address(i)), fact.reset(model)) << model.name << ' ' << fact.name << i;
      }
    }
  }
}

}  // namespace
}  // namespace zs::pmu

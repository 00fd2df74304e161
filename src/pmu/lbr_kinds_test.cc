// Last-branch records beyond the stack of recent cores: other depths, other registers, cycles, the last exception.
#include <gmock/gmock.h>

#include <cstdint>
#include <vector>

#include "pmu/fakes.h"

namespace zs::pmu {
namespace {

using arch::BranchKind;
using arch::TransferCause;
using ::testing::ElementsAre;

constexpr std::uint32_t kCtl = 0x14CE, kDepth = 0x14CF, kArchInfo = 0x1200, kArchFrom = 0x1500, kArchTo = 0x1600;
constexpr std::uint64_t kEverything = 0x7F'0007;

void branch(TestPmu& t, BranchKind kind, std::uint64_t to, std::uint8_t cpl_to = 3, bool mispredicted = false) {
  t.pmu.enter_branch({.from = to - 0x100, .to = to, .kind = kind, .mispredicted = mispredicted, .cpl_to = cpl_to});
}
void interrupt(TestPmu& t, std::uint64_t from, std::uint64_t to, TransferCause cause) {
  t.pmu.enter_branch({.from = from, .to = to, .kind = BranchKind::Far, .cpl_to = 0, .cause = cause});
}
/// Targets of architectural records 0, 1, ...
std::vector<std::uint64_t> targets(const TestPmu& t, unsigned count) {
  std::vector<std::uint64_t> found;
  for (unsigned n = 0; n < count; ++n) found.push_back(t.rd(kArchTo + n));
  return found;
}

TEST(ArchLbr, HasTheNewestRecordFirst) {
  TestPmu t{"sapphire-rapids"};
  t.wr(kCtl, kEverything);
  EXPECT_TRUE(t.pmu.wants_branches());
  for (std::uint64_t n = 1; n <= 40; ++n) branch(t, BranchKind::RelativeJump, 0x1000 * n);
  EXPECT_THAT(targets(t, 3), ElementsAre(0x28000, 0x27000, 0x26000));
  EXPECT_EQ(t.rd(kArchTo + 31), 0x9000U);
  EXPECT_EQ(t.rd(kArchFrom), 0x27F00U);
}

TEST(ArchLbr, ClearsItsRecordsWhenTheDepthIsWritten) {
  TestPmu t{"sapphire-rapids"};
  EXPECT_EQ(t.rd(kDepth), 32U);
  t.wr(kCtl, kEverything);
  branch(t, BranchKind::RelativeJump, 0x2000);
  t.wr(kDepth, 8);
  EXPECT_EQ(t.rd(kArchTo), 0U);
  for (std::uint64_t n = 1; n <= 10; ++n) branch(t, BranchKind::RelativeJump, 0x1000 * n);
  EXPECT_EQ(t.rd(kArchTo), 0xA000U);
  EXPECT_EQ(t.rd(kArchTo + 7), 0x3000U);
  EXPECT_EQ(t.rd(kArchTo + 8), 0U) << "deeper than the depth";
}

TEST(ArchLbr, RecordsTheKindsAndRingsThatAreEnabled) {
  constexpr std::uint64_t kUser = 4, kKernel = 2, kOn = 1;
  const struct {
    BranchKind kind;
    unsigned bit;
    std::uint64_t type;
  } rows[] = {{BranchKind::Conditional, 16, 0},  {BranchKind::RelativeJump, 17, 2}, {BranchKind::IndirectJump, 18, 1},
              {BranchKind::RelativeCall, 19, 4}, {BranchKind::IndirectCall, 20, 3}, {BranchKind::Return, 21, 5},
              {BranchKind::Far, 22, 8}};
  for (const auto& row : rows) {
    for (const bool enabled : {true, false}) {
      TestPmu t{"sapphire-rapids"};
      const std::uint64_t one = std::uint64_t{1} << row.bit;
      t.wr(kCtl, kOn | kUser | (enabled ? one : 0x7F'0000 & ~one));
      branch(t, row.kind, 0x2000);
      EXPECT_EQ(t.rd(kArchTo), enabled ? 0x2000U : 0U) << row.bit;
      EXPECT_EQ(t.rd(kArchInfo) >> 56 & 0xF, enabled ? row.type : 0U) << row.bit;
    }
  }
  TestPmu t{"sapphire-rapids"};
  t.wr(kCtl, kOn | kKernel | 0x7F'0000);
  branch(t, BranchKind::Far, 0x2000, 3);
  branch(t, BranchKind::Far, 0x3000, 0);
  EXPECT_THAT(targets(t, 2), ElementsAre(0x3000, 0));
  t.wr(kCtl, kUser | kKernel | 0x7F'0000);
  branch(t, BranchKind::Far, 0x4000, 0);
  EXPECT_EQ(t.rd(kArchTo), 0x3000U) << "LBREn is clear";
}

TEST(ArchLbr, ShiftsUpAtAReturnInCallStackMode) {
  TestPmu t{"sapphire-rapids"};
  t.wr(kCtl, 0xF | 0x38'0000);
  branch(t, BranchKind::RelativeCall, 0x1000);
  branch(t, BranchKind::IndirectCall, 0x2000);
  branch(t, BranchKind::Return, 0x1005);
  EXPECT_THAT(targets(t, 2), ElementsAre(0x1000, 0));
}

TEST(ArchLbr, IsNotTurnedOnByDebugctlAndFreezesOnAPmi) {
  TestPmu t{"sapphire-rapids"};
  t.wr(kDebugCtl, 1);
  EXPECT_FALSE(t.pmu.wants_branches());
  t.wr(kDebugCtl, 0x800);
  t.wr(kCtl, kEverything);
  t.wr(kSelect0, kCountInstructions | kInt);
  t.wr(kPmc0, 0xFFFF'FFFF);
  t.run(1);
  EXPECT_EQ(t.rd(kStatus) & kLbrFrz, kLbrFrz);
  branch(t, BranchKind::RelativeJump, 0x2000);
  EXPECT_EQ(t.rd(kArchTo), 0U);
  t.wr(kOvfCtrl, kLbrFrz);
  branch(t, BranchKind::RelativeJump, 0x2000);
  EXPECT_EQ(t.rd(kArchTo), 0x2000U);
}

TEST(LbrCycles, AreThoseSinceThePreviousRecordAndSaturate) {
  for (const char* name : {"skylake-server", "sapphire-rapids", "goldmont"}) {
    TestPmu t{*arch::find_cpu_model(name), {}, true};
    const bool architectural = t.model.lbr_kind == arch::LbrKind::Architectural;
    t.wr(architectural ? kCtl : kDebugCtl, architectural ? kEverything : 1);
    t.clock.cycles = 1000;
    branch(t, BranchKind::RelativeJump, 0x2000);
    t.clock.cycles = 1042;
    branch(t, BranchKind::RelativeJump, 0x3000, 3, true);
    t.clock.cycles = 1'000'000;
    branch(t, BranchKind::RelativeJump, 0x4000);
    if (architectural) {
      EXPECT_EQ(t.rd(kArchInfo + 1), 0x9200'0000'0000'002AU) << "mispredicted, valid, type 2, 42 cycles";
      EXPECT_EQ(t.rd(kArchInfo) & 0xFFFF, 0xFFFFU);
    } else if (t.model.lbr_format() == arch::LbrFormat::Info) {
      EXPECT_EQ(t.rd(kInfo0 + 2), 0x8000'0000'0000'002AU);
      EXPECT_EQ(t.rd(kInfo0 + 3), 0xFFFFU);
    } else {
      EXPECT_EQ(t.rd(kTo0 + 2), 0x002A'0000'0000'3000U);
      EXPECT_EQ(t.rd(kFrom0 + 2), 0x8000'0000'0000'2F00U);
      EXPECT_EQ(t.rd(kTo0 + 3), 0xFFFF'0000'0000'4000U);
    }
  }
}

TEST(LbrCycles, AreThoseThatBranchesBringWhereThePmuHasNoClock) {
  TestPmu t;
  t.wr(kDebugCtl, 1);
  const auto pass = [&t](std::uint64_t to, std::uint64_t cycle) {
    t.pmu.enter_branch({.from = to - 0x100, .to = to, .kind = BranchKind::RelativeJump, .cycle = cycle});
  };
  pass(0x2000, 1000);
  pass(0x3000, 1042);
  pass(0x4000, 0);  // not known
  pass(0x5000, 1050);
  EXPECT_EQ(t.rd(kInfo0 + 2) & 0xFFFF, 42U);
  EXPECT_EQ(t.rd(kInfo0 + 3) & 0xFFFF, 0U);
  EXPECT_EQ(t.rd(kInfo0 + 4) & 0xFFFF, 8U);
}

TEST(SmallLbr, HasFourRecordsWithoutFlagsOrFilter) {
  TestPmu t{"core2"};
  t.wr(kDebugCtl, 1);
  for (std::uint64_t n = 1; n <= 6; ++n) branch(t, BranchKind::RelativeJump, 0x1000 * n, 3, true);
  EXPECT_EQ(t.rd(kTos), 2U);
  EXPECT_EQ(t.rd(0x60 + 2), 0x6000U);
  EXPECT_EQ(t.rd(0x60 + 3), 0x3000U);
  EXPECT_EQ(t.rd(0x40 + 2), 0x5F00U) << "no mispredict flag";
  EXPECT_TRUE(t.read_faults(kLbrSelect));
}

constexpr std::uint32_t kAmdSelect = 0xC000'010E, kAmdEnable = 0xC000'010F, kAmdFrom = 0xC001'0300,
                        kAmdTo = 0xC001'0301;
constexpr std::uint64_t kValid = std::uint64_t{1} << 63, kLbrV2En = 1U << 6;

/// Targets of AMD's records 0, 1, ..., without their flags.
std::vector<std::uint64_t> amd_targets(const TestPmu& t, unsigned count) {
  std::vector<std::uint64_t> found;
  for (unsigned n = 0; n < count; ++n) found.push_back(t.rd(kAmdTo + 2 * n) & ~kValid);
  return found;
}

TEST(AmdLbr, Has16RecordsTheNewestFirst) {
  TestPmu t{"zen4"};
  EXPECT_FALSE(t.pmu.wants_branches());
  t.wr(kAmdEnable, kLbrV2En);
  EXPECT_TRUE(t.pmu.wants_branches());
  for (std::uint64_t n = 1; n <= 20; ++n) branch(t, BranchKind::RelativeJump, 0x1000 * n);
  EXPECT_EQ(t.rd(kAmdFrom), 0x13F00U);
  EXPECT_THAT(amd_targets(t, 3), ElementsAre(0x14000, 0x13000, 0x12000));
  EXPECT_EQ(t.rd(kAmdTo + 30), kValid | 0x5000);
  EXPECT_TRUE(t.read_faults(kAmdTo + 31)) << "no seventeenth";
  EXPECT_TRUE(t.read_faults(kFrom0));
  EXPECT_TRUE(t.read_faults(kTos));
  EXPECT_TRUE(t.read_faults(kLbrSelect));
}

TEST(AmdLbr, SaysOfARecordThatItIsValidWhetherItWasMispredictedAndNothingOfSpeculation) {
  TestPmu t{"zen4"};
  t.wr(kAmdEnable, kLbrV2En);
  EXPECT_EQ(t.rd(kAmdTo), 0U) << "nothing recorded";
  branch(t, BranchKind::Conditional, 0x2000, 3, true);
  EXPECT_EQ(t.rd(kAmdFrom), 0x8000'0000'0000'1F00U);
  EXPECT_EQ(t.rd(kAmdTo), 0x8000'0000'0000'2000U);
  branch(t, BranchKind::Conditional, 0x3000);
  EXPECT_EQ(t.rd(kAmdFrom), 0x2F00U);
}

TEST(AmdLbr, ExtendsTheSignOfAKernelAddressBelowTheFlags) {
  TestPmu t{"zen4"};
  t.wr(kAmdEnable, kLbrV2En);
  branch(t, BranchKind::RelativeJump, 0xFFFF'FFFF'8100'0000, 0);
  EXPECT_EQ(t.rd(kAmdFrom), 0x7FFF'FFFF'80FF'FF00U);
  EXPECT_EQ(t.rd(kAmdTo), 0x9FFF'FFFF'8100'0000U);
  EXPECT_EQ(arch::lbr_to_address(arch::LbrFormat::Amd, t.rd(kAmdTo)), 0xFFFF'FFFF'8100'0000U);
  EXPECT_EQ(arch::lbr_from_address(arch::LbrFormat::Amd, t.rd(kAmdFrom)), 0xFFFF'FFFF'80FF'FF00U);
}

TEST(AmdLbr, LeavesOutTheKindsAndRingsThatAreSuppressed) {
  const struct {
    BranchKind kind;
    unsigned bit;
  } rows[] = {{BranchKind::Conditional, 2}, {BranchKind::RelativeCall, 3}, {BranchKind::IndirectCall, 4},
              {BranchKind::Return, 5},      {BranchKind::IndirectJump, 6}, {BranchKind::RelativeJump, 7},
              {BranchKind::Far, 8}};
  for (const auto& row : rows) {
    for (const bool suppressed : {true, false}) {
      TestPmu t{"zen4"};
      t.wr(kAmdSelect, suppressed ? 1U << row.bit : 0x1FC & ~(1U << row.bit));
      t.wr(kAmdEnable, kLbrV2En);
      branch(t, row.kind, 0x2000);
      EXPECT_EQ(amd_targets(t, 1)[0], suppressed ? 0U : 0x2000U) << row.bit;
    }
  }
  TestPmu t{"zen4"};
  t.wr(kAmdEnable, kLbrV2En);
  t.wr(kAmdSelect, 1);
  branch(t, BranchKind::Far, 0x2000, 0);
  branch(t, BranchKind::Far, 0x3000, 3);
  EXPECT_THAT(amd_targets(t, 2), ElementsAre(0x3000, 0));
  t.wr(kAmdSelect, 2);
  branch(t, BranchKind::Far, 0x4000, 0);
  branch(t, BranchKind::Far, 0x5000, 3);
  EXPECT_THAT(amd_targets(t, 2), ElementsAre(0x4000, 0x3000));
}

// The masks are typed from the manual.
TEST(AmdLbr, RefusesEachReservedBit) {
  const struct {
    std::uint32_t msr;
    std::uint64_t defined;
  } rows[] = {{kAmdSelect, 0x1FF}, {kAmdEnable, 0x40}};
  for (const auto& row : rows) {
    for (unsigned bit = 0; bit < 64; ++bit) {
      TestPmu t{"zen4"};
      const std::uint64_t value = std::uint64_t{1} << bit;
      EXPECT_EQ(t.write_faults(row.msr, value), (row.defined & value) == 0) << std::hex << row.msr << " bit " << bit;
      EXPECT_EQ(t.rd(row.msr), row.defined & value) << std::hex << row.msr << " bit " << bit;
    }
  }
  TestPmu t{"zen4"};
  for (const std::uint32_t msr : {kAmdFrom, kAmdTo}) {
    t.wr(msr, kValid | 0x1234);
    EXPECT_EQ(t.rd(msr), kValid | 0x1234);
    EXPECT_TRUE(t.write_faults(msr, 0x1000'0000'0000'0000)) << "no canonical address";
  }
}

TEST(AmdLbr, IsEnabledByItsOwnRegisterAlone) {
  TestPmu t{"zen4"};
  t.wr(kDebugCtl, 1);
  branch(t, BranchKind::RelativeJump, 0x2000);
  EXPECT_EQ(t.rd(kAmdTo), 0U);
  t.wr(kAmdEnable, kLbrV2En);
  t.wr(kDebugCtl, 0);
  branch(t, BranchKind::RelativeJump, 0x3000);
  t.wr(kAmdEnable, 0);
  branch(t, BranchKind::RelativeJump, 0x4000);
  EXPECT_THAT(amd_targets(t, 2), ElementsAre(0x3000, 0));
}

TEST(AmdLbr, IsStoppedByInitAndClearedByReset) {
  TestPmu t{"zen4"};
  t.wr(kAmdEnable, kLbrV2En);
  t.wr(kAmdSelect, 4);
  branch(t, BranchKind::RelativeJump, 0x2000);
  t.pmu.init();
  EXPECT_EQ(t.rd(kAmdEnable), 0U);
  EXPECT_EQ(amd_targets(t, 1)[0], 0x2000U);
  t.pmu.reset();
  EXPECT_EQ(t.rd(kAmdTo), 0U);
  EXPECT_EQ(t.rd(kAmdSelect), 0U);
  t.wr(kAmdEnable, kLbrV2En);
  branch(t, BranchKind::Conditional, 0x3000);
  EXPECT_EQ(amd_targets(t, 1)[0], 0x3000U) << "after a RESET nothing is suppressed";
}

/// One counter at its overflow.
void overflow(TestPmu& t) {
  t.wr(0xC001'0200, 0x53'00C0);  // PERF_CTL0: ExRetInstr, user and kernel, interrupt, enable
  t.wr(0xC001'0201, 0xFFFF'FFFF'FFFF);
  t.wr(0xC000'0301, 1);
  t.run(1);
}

TEST(AmdLbr, OfThisPartIsFrozenByNoPmi) {
  TestPmu t{"zen4"};
  EXPECT_TRUE(t.write_faults(kDebugCtl, 1U << 11));
  EXPECT_TRUE(t.write_faults(kDebugCtl, 1U << 12));
  t.wr(kAmdEnable, kLbrV2En);
  overflow(t);
  ASSERT_EQ(t.pmi.requested, 1);
  EXPECT_EQ(t.rd(0xC000'0300), 1U);
  branch(t, BranchKind::RelativeJump, 0x2000);
  EXPECT_EQ(amd_targets(t, 1)[0], 0x2000U);
}

// Servers of the generation, and Zen 5. source: APM vol. 2, PerfCntrGlobalStatus; Linux.
TEST(AmdLbr, IsFrozenByAPmiUntilItsStatusIsClearedWhereThePartHasThat) {
  arch::CpuModel model = *arch::find_cpu_model("zen4");
  model.lbr_freeze = model.counter_freeze = arch::FreezeKind::Streamlined;
  TestPmu t{model, {}};
  t.wr(kDebugCtl, 1U << 11 | 1U << 12);
  t.wr(kAmdEnable, kLbrV2En);
  overflow(t);
  EXPECT_EQ(t.rd(0xC000'0300), 1U | std::uint64_t{3} << 58);
  EXPECT_EQ(t.rd(kDebugCtl), 1U << 11 | 1U << 12);
  branch(t, BranchKind::RelativeJump, 0x2000);
  EXPECT_EQ(t.rd(kAmdTo), 0U);
  t.run(5);
  EXPECT_EQ(t.rd(0xC001'0201), 0U) << "the counters stand, too";
  t.wr(0xC000'0302, 1U | std::uint64_t{3} << 58);
  EXPECT_EQ(t.rd(0xC000'0300), 0U);
  branch(t, BranchKind::RelativeJump, 0x2000);
  EXPECT_EQ(amd_targets(t, 1)[0], 0x2000U);
}

TEST(LastException, IsTheNewestRecordBeforeIt) {
  for (const char* name : {"westmere", "skylake-server", "sapphire-rapids"}) {
    TestPmu t{name};
    const bool architectural = t.model.lbr_kind == arch::LbrKind::Architectural;
    t.wr(architectural ? kCtl : kDebugCtl, architectural ? kEverything : 1);
    branch(t, BranchKind::RelativeJump, 0x2000);
    branch(t, BranchKind::RelativeJump, 0x3000);
    interrupt(t, 0x3008, 0x9000, TransferCause::Exception);
    branch(t, BranchKind::RelativeJump, 0x9100, 0);
    EXPECT_EQ(t.rd(0x1DD), 0x2F00U) << name;
    EXPECT_EQ(t.rd(0x1DE), 0x3000U) << name;
    EXPECT_EQ(t.write_faults(0x1DD, 0), !architectural) << name;
  }
}

// A debugger reads where the program came from: the handler's own branches are not in the way.
TEST(DebugException, StopsTheLbrAndClearsBtf) {
  TestPmu t;
  t.wr(kDebugCtl, 0x3);
  EXPECT_TRUE(t.pmu.debugctl().has(arch::DebugCtl::btf));
  branch(t, BranchKind::RelativeJump, 0x2000);
  t.pmu.debug_exception();
  interrupt(t, 0x2000, 0x9000, TransferCause::Exception);
  branch(t, BranchKind::RelativeJump, 0x9100, 0);
  EXPECT_EQ(t.rd(kDebugCtl), 0U);
  EXPECT_EQ(t.rd(kTos), 1U);
  EXPECT_EQ(t.rd(kTo0 + 1), 0x2000U);
  EXPECT_EQ(t.rd(0x1DE), 0x2000U) << "and it is the last branch before an exception";
}

TEST(DebugException, DoesNotKeepLaterInterruptsOutOfTheLbr) {
  TestPmu t;
  t.wr(kDebugCtl, 1);
  t.pmu.debug_exception();
  interrupt(t, 0x2000, 0x9000, TransferCause::Exception);
  t.wr(kDebugCtl, 1);
  interrupt(t, 0x3000, 0x9000, TransferCause::Interrupt);
  EXPECT_EQ(t.rd(kTos), 1U);
  EXPECT_EQ(t.rd(kFrom0 + 1), 0x3000U);
}

// ---- the processor around it

TEST(Smm, FreezesCountersAndBranchesWhereSoftwareAskedForThat) {
  for (const bool freeze : {false, true}) {
    TestPmu t;
    t.wr(kSelect0, 0x43'00C0);
    t.wr(kDebugCtl, freeze ? 0x4003 : 0x3);
    t.pmu.enter_smm();
    EXPECT_EQ(t.rd(kDebugCtl), freeze ? 0x4000U : 0x3U);
    t.run(5);
    EXPECT_EQ(t.rd(kPmc0), freeze ? 0U : 5U);
    t.pmu.leave_smm();
    EXPECT_EQ(t.rd(kDebugCtl), freeze ? 0x4003U : 0x3U);
    t.run(5);
    EXPECT_EQ(t.rd(kPmc0), freeze ? 5U : 10U);
  }
}

TEST(Smm, AndMachineChecksWriteNoPebsRecords) {
  for (const bool smm : {false, true}) {
    TestPmu t;
    t.set_up_ds(4, 5, minus(2));
    t.wr(kSelect0, kCountInstructions);
    t.wr(kPmc0, 0xFFFF'FFFF);
    t.wr(kPebsEnable, 1);
    smm ? t.pmu.enter_smm() : t.pmu.machine_check();
    t.run(3);
    EXPECT_EQ(t.records(), 0U);
    smm ? t.pmu.leave_smm() : t.wr(kPebsEnable, 1);
    t.wr(kPmc0, 0xFFFF'FFFF);
    t.run(2);
    EXPECT_EQ(t.records(), 1U);
  }
}

TEST(Init, KeepsCountersAndClearsTheRecordingEnables) {
  TestPmu t;
  t.wr(kSelect0, 0x43'00C0);
  t.wr(kPebsEnable, 1);
  t.wr(kDebugCtl, 0xC1);
  t.wr(kDsArea, TestPmu::kDs);
  t.run(3);
  t.pmu.init();
  EXPECT_EQ(t.rd(kPmc0), 3U);
  EXPECT_EQ(t.rd(kSelect0), 0x43'00C0U);
  EXPECT_EQ(t.rd(kPebsEnable), 0U);
  EXPECT_EQ(t.rd(kDebugCtl), 0U);
  EXPECT_EQ(t.rd(kDsArea), TestPmu::kDs);
}

TEST(Reset, LeavesTheLastBranchRecordsAloneWhenItIsWarm) {
  for (const bool warm : {false, true}) {
    TestPmu t;
    t.wr(kDebugCtl, 1);
    branch(t, BranchKind::RelativeJump, 0x2000);
    t.pmu.reset(warm);
    EXPECT_EQ(t.rd(kTo0 + 1), warm ? 0x2000U : 0U);
    EXPECT_EQ(t.rd(kDebugCtl), 0U);
    EXPECT_EQ(t.rd(kGlobal), 0xFFU);
  }
}

// ---- rings and time

TEST(Rings, CountInBulkAndOneByOneAlike) {
  TestPmu bulk, steps;
  for (TestPmu* t : {&bulk, &steps}) {
    t->wr(kSelect0, 0x42'00C0);  // OS
    t->wr(kSelect1, 0x43'00C0);  // both
  }
  ASSERT_EQ(bulk.pmu.accumulators(Ring::Kernel).size(), 1U);
  bulk.pmu.count(0, 5, Ring::Kernel);
  bulk.pmu.count(0, 7, Ring::User);
  for (unsigned n = 0; n < 12; ++n) {
    arch::Retired r;
    r.cpl = n < 5 ? 0 : 3;
    steps.retire(r);
  }
  for (const std::uint32_t pmc : {kPmc0, kPmc1}) EXPECT_EQ(bulk.rd(pmc), steps.rd(pmc));
  EXPECT_EQ(bulk.rd(kPmc0), 5U);
  EXPECT_EQ(bulk.rd(kPmc1), 12U);
}

TEST(Rings, ShareTheRoomOfACounterThatCountsInBoth) {
  TestPmu t;
  t.wr(kSelect0, 0x43'00C0);
  t.wr(kFullPmc0, minus(10));
  t.pmu.count(0, 4, Ring::User);
  EXPECT_EQ(t.pmu.headroom(0, Ring::Kernel), 5U);
}

TEST(Time, GoesToTheCountersOfItsClockInItsRing) {
  TestPmu t{"skylake-server"};
  t.wr(kSelect0, 0x41'003C);  // core cycles, USR
  t.wr(kSelect1, 0x42'013C);  // bus clock, OS
  t.wr(kFixedCtrl, 0x320);    // core cycles USR, reference both
  t.wr(kGlobal, 0xFF | std::uint64_t{7} << 32);
  t.pmu.advance({.core = 100, .reference = 60, .bus = 3}, Ring::User);
  t.pmu.advance({.core = 10, .reference = 6, .bus = 1}, Ring::Kernel);
  EXPECT_EQ(t.rd(kPmc0), 100U);
  EXPECT_EQ(t.rd(kPmc1), 1U);
  EXPECT_EQ(t.rd(kFixed0 + 1), 100U);
  EXPECT_EQ(t.rd(kFixed0 + 2), 66U);
}

TEST(Time, OverflowsAndInterruptsLikeAnyOtherEvent) {
  TestPmu t;
  t.wr(kSelect0, 0x51'003C);
  t.wr(kPmc0, 0xFFFF'FFF0);
  EXPECT_EQ(t.pmu.time_headroom().core, 15U);
  t.pmu.advance({.core = 15});
  EXPECT_EQ(t.pmi.requested, 0);
  t.pmu.advance({.core = 3});
  EXPECT_EQ(t.pmi.requested, 1);
  EXPECT_EQ(t.rd(kStatus), 1U);
  EXPECT_EQ(t.rd(kPmc0), 2U);
}

}  // namespace
}  // namespace zs::pmu

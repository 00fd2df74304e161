// Branch trace store: what is stored, where, when it interrupts. The vectors are measured on a Westmere Core i5; rows
// of threshold against maximum are numbered as docs of that measurement number them.
#include <gmock/gmock.h>

#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "pmu/fakes.h"

namespace zs::pmu {
namespace {

using arch::BranchKind;
using arch::Quirk;
using arch::TransferCause;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::uint64_t kTr = 0x40, kBts = 0x80, kBtint = 0x100, kOffOs = 0x200, kOffUsr = 0x400;
constexpr std::uint64_t kStart = TestPmu::kBranches, kRecord = 24;

/// The n-th of a chain of jumps, counted from 1, each at its own address.
arch::Retired jump(unsigned n, std::uint8_t cpl = 0) {
  arch::Retired r = branch_at(0x1000 + 0x10 * n, 0x1000 + 0x10 * (n + 1), BranchKind::RelativeJump);
  r.cpl = cpl;
  return r;
}
void jumps(TestPmu& t, unsigned count, unsigned first = 1) {
  for (unsigned n = 0; n < count; ++n) t.retire(jump(first + n));
}
/// Which jumps lie in the first `count` slots.
std::vector<std::uint64_t> stored(TestPmu& t, unsigned count) {
  std::vector<std::uint64_t> found;
  for (unsigned n = 0; n < count; ++n) found.push_back((t.branch(n).from - 0x1000) / 0x10);
  return found;
}
void transfer(TestPmu& t, std::uint64_t from, std::uint64_t to, std::uint8_t cpl_from, std::uint8_t cpl_to,
              TransferCause cause = TransferCause::Interrupt) {
  t.pmu.enter_branch(
      {.from = from, .to = to, .kind = BranchKind::Far, .cpl_from = cpl_from, .cpl_to = cpl_to, .cause = cause});
}

TEST(Bts, StoresTheElevenJumpsOfTheCircularExperimentAndWraps) {
  TestPmu t{"westmere"};
  t.set_up_bts(10, 11);
  t.wr(kDebugCtl, kTr | kBts);
  jumps(t, 11);
  EXPECT_EQ(t.bts_index(), kStart + kRecord) << "the experiment's 400118H";
  EXPECT_THAT(stored(t, 10), ElementsAre(11, 2, 3, 4, 5, 6, 7, 8, 9, 10));
  EXPECT_EQ(t.memory.get<std::uint8_t>(kStart + 10 * kRecord), 0xEE) << "nothing at the maximum";
  EXPECT_EQ(t.pmi.requested, 0);
  EXPECT_EQ(t.rd(kStatus), 0U) << "the Debug Store has no status bit";
}

// The manual's maximum is "a multiple of the record size plus 1".
TEST(Bts, WrapsWithTheManualsMaximumToo) {
  TestPmu t{"westmere"};
  t.set_up_bts(10, 11, 1);
  t.wr(kDebugCtl, kTr | kBts);
  jumps(t, 11);
  EXPECT_EQ(t.bts_index(), kStart + kRecord);
  EXPECT_EQ(stored(t, 1).front(), 11U);
}

struct Threshold {
  const char* row;
  std::uint64_t debugctl;
  unsigned threshold;                // in records; the maximum is 4
  std::vector<unsigned> interrupts;  // at which of ten jumps, software never rewinding
};

TEST(Bts, InterruptsAsEveryMeasuredRelationOfThresholdAndMaximum) {
  const Threshold rows[] = {
      {"1: circular, threshold above maximum: never", kTr | kBts, 5, {}},
      {"2: BTINT clear, threshold at maximum: all the same, once a round", kTr | kBts, 4, {4, 8}},
      {"3: BTINT clear, threshold below maximum: before full, and storing goes on and wraps",
       kTr | kBts,
       3,
       {3, 4, 7, 8}},
      {"4, 8: threshold at maximum: when the last is stored, and again while the index stays",
       kTr | kBts | kBtint,
       4,
       {4, 5, 6, 7, 8, 9, 10}},
      {"5: threshold below maximum", kTr | kBts | kBtint, 3, {3, 4, 5, 6, 7, 8, 9, 10}},
      {"6: one record above maximum: each branch after full", kTr | kBts | kBtint, 5, {5, 6, 7, 8, 9, 10}},
      {"7: two records above maximum: never", kTr | kBts | kBtint, 6, {}},
  };
  for (const Threshold& row : rows) {
    TestPmu t{"westmere"};
    t.set_up_bts(4, row.threshold);
    t.wr(kDebugCtl, row.debugctl);
    std::vector<unsigned> interrupts;
    for (unsigned n = 1; n <= 10; ++n) {
      const int before = t.pmi.requested;
      t.retire(jump(n));
      if (t.pmi.requested != before) interrupts.push_back(n);
    }
    EXPECT_EQ(interrupts, row.interrupts) << row.row;
    if ((row.debugctl & kBtint) != 0) {
      EXPECT_EQ(t.bts_index(), kStart + 4 * kRecord) << row.row;
      EXPECT_THAT(stored(t, 4), ElementsAre(1, 2, 3, 4)) << row.row;
    } else {
      EXPECT_EQ(t.bts_index(), kStart + 2 * kRecord) << row.row;
    }
  }
}

TEST(Bts, InterruptsAgainAfterSoftwareRewound) {
  TestPmu t;
  t.set_up_bts(4, 4);
  t.wr(kDebugCtl, kTr | kBts | kBtint);
  jumps(t, 4);
  EXPECT_EQ(t.pmi.requested, 1);
  t.set_bts_index(kStart);
  jumps(t, 3, 5);
  EXPECT_EQ(t.pmi.requested, 1);
  EXPECT_THAT(stored(t, 4), ElementsAre(5, 6, 7, 4));
}

// The counter's interrupt and the Debug Store's at the same address: seven jumps, the delivery, the handler's first
// jump, its IRET. The WRMSR that enables the counter is the first of the eight instructions it counts.
TEST(Bts, FillsUpDuringTheHandlerOfTheCounterInterrupt) {
  TestPmu t{"westmere"};
  t.set_up_bts(10, 10);
  t.wr(kDebugCtl, kTr | kBts | kBtint);
  t.wr(kGlobal, 1);
  t.wr(kPmc0, 0xFFFF'FFF8);
  EXPECT_EQ(t.rd(kPmc0), 0xFFFF'FFFF'FFF8U);
  t.wr(kSelect0, 0x53'00C0);
  arch::Retired wrmsr;
  wrmsr.ip = 0x9131;
  wrmsr.cpl = 0;
  t.retire(wrmsr);
  for (unsigned n = 0; n < 7; ++n) {
    ASSERT_EQ(t.pmi.requested, 0) << n;
    arch::Retired r = branch_at(0x9133 + 2 * n, 0x9135 + 2 * n, BranchKind::RelativeJump);
    r.cpl = 0;
    t.retire(r);
  }
  EXPECT_EQ(t.pmi.requested, 1);
  EXPECT_EQ(t.rd(kStatus), 1U);
  transfer(t, 0x9141, 0x979C, 0, 0);
  t.pmu.enter_branch({.from = 0x979C, .to = 0x97B0, .kind = BranchKind::RelativeJump, .cpl_from = 0, .cpl_to = 0});
  EXPECT_EQ(t.pmi.requested, 1);
  t.wr(kDebugCtl, 0);
  jumps(t, 5);  // the handler at work
  t.wr(kOvfCtrl, 1);
  t.wr(kDebugCtl, kTr | kBts | kBtint);
  t.pmu.enter_branch({.from = 0x9800, .to = 0x9141, .kind = BranchKind::Far, .cpl_from = 0, .cpl_to = 0});
  EXPECT_EQ(t.pmi.requested, 2) << "the IRET's record filled the buffer";
  EXPECT_EQ(t.branch(7).from, 0x9141U);
  EXPECT_EQ(t.branch(7).to, 0x979CU);
  EXPECT_EQ(t.branch(8).from, 0x979CU);
  EXPECT_EQ(t.branch(9).to, 0x9141U);
}

// DEBUGCTL = 2C0H: of a system service only its IRET to ring 3 is stored.
TEST(Bts, JudgesTheRingThatTheBranchEndsIn) {
  TestPmu t;
  t.set_up_bts(10, 11);
  t.wr(kDebugCtl, kTr | kBts | kOffOs);
  const auto far = [&](std::uint64_t from, std::uint8_t cpl_from, std::uint8_t cpl_to) {
    arch::Retired r = branch_at(from, 0x5000, BranchKind::Far);
    r.cpl = cpl_from;
    r.next_cpl = cpl_to;
    t.retire(r);
  };
  far(0x100, 3, 0);      // INT 40H
  jumps(t, 3);           // in the kernel
  far(0xE883, 0, 3);     // IRET
  t.retire(jump(7, 3));  // in user code
  EXPECT_EQ(t.bts_index(), kStart + 2 * kRecord);
  EXPECT_EQ(t.branch(0).from, 0xE883U);
  EXPECT_EQ(t.branch(1).from, 0x1070U);

  t.set_bts_index(kStart);
  t.wr(kDebugCtl, kTr | kBts | kOffUsr);
  far(0x100, 3, 0);
  jumps(t, 3);
  far(0xE883, 0, 3);
  t.retire(jump(7, 3));
  EXPECT_EQ(t.bts_index(), kStart + 4 * kRecord);
  EXPECT_EQ(t.branch(0).from, 0x100U);
}

TEST(Bts, StoresNothingUnlessBothTrAndBtsAreSetAndSomeRingIsLeft) {
  for (const std::uint64_t debugctl : {kTr, kBts, kBts | kBtint, kTr | kBts | kOffOs | kOffUsr}) {
    TestPmu t;
    t.set_up_bts(10, 1);
    t.wr(kDebugCtl, debugctl);
    EXPECT_FALSE(t.pmu.wants_branches()) << std::hex << debugctl;
    jumps(t, 3);
    EXPECT_EQ(t.bts_index(), kStart) << std::hex << debugctl;
    EXPECT_EQ(t.pmi.requested, 0) << std::hex << debugctl;
  }
}

TEST(Bts, StopsWhenTrIsCleared) {
  TestPmu t;
  t.set_up_bts(10, 11);
  t.wr(kDebugCtl, kTr | kBts);
  jumps(t, 2);
  t.wr(kDebugCtl, kBts);
  jumps(t, 2);
  EXPECT_EQ(t.bts_index(), kStart + 2 * kRecord);
}

TEST(Bts, LeavesOutBranchesThatAreNotTaken) {
  TestPmu t;
  t.set_up_bts(10, 11);
  t.wr(kDebugCtl, kTr | kBts);
  t.retire(branch_at(0x1000, 0x1002, BranchKind::Conditional, false));
  EXPECT_EQ(t.bts_index(), kStart);
}

TEST(Bts, SaysInBit4WhetherTheBranchWasPredicted) {
  TestPmu t;
  t.set_up_bts(10, 11);
  t.wr(kDebugCtl, kTr | kBts);
  t.retire(jump(1));
  arch::Retired wrong = jump(2);
  wrong.mispredicted = true;
  t.retire(wrong);
  EXPECT_EQ(t.branch(0).flags, 0x10U);
  EXPECT_EQ(t.branch(1).flags, 0U);
}

TEST(Bts, StoresOneRecordWhicheverWayABranchIsReported) {
  TestPmu t;
  t.set_up_bts(10, 11);
  t.wr(kDebugCtl, kTr | kBts);
  t.pmu.enter_branch({.from = 0x1010, .to = 0x1020, .kind = BranchKind::RelativeJump});
  arch::Retired same = jump(1);
  same.transfer_entered = true;
  t.retire(same);
  EXPECT_EQ(t.bts_index(), kStart + kRecord);
}

// A branch with a breakpoint behind it: two records, the exception's from is where its frame returns to.
TEST(Bts, StoresTheDebugExceptionThatTheLbrLeavesOut) {
  TestPmu t;
  t.set_up_bts(10, 11);
  t.wr(kDebugCtl, kTr | kBts | 1);
  t.retire(jump(1));
  t.pmu.debug_exception();
  transfer(t, 0x1020, 0x8000, 0, 0, TransferCause::Exception);
  EXPECT_EQ(t.bts_index(), kStart + 2 * kRecord);
  EXPECT_EQ(t.branch(1).to, 0x8000U);
  EXPECT_EQ(t.rd(kDebugCtl), kTr | kBts) << "LBR is cleared, TR is not";
  EXPECT_EQ(t.rd(kTos), 1U);
}

TEST(Bts, HasRecordsOf12BytesInA32BitArea) {
  TestPmu t{"westmere", {Quirk::Ds32}};
  t.pmu.set_mode({.ia32e = false, .code64 = false});
  t.set_up_bts(10, 11);
  t.wr(kDebugCtl, kTr | kBts);
  jumps(t, 11);
  EXPECT_EQ(t.bts_index(), kStart + 12);
  EXPECT_EQ(t.memory.get<arch::BtsRecord32>(kStart).from, 0x10B0U);
  EXPECT_EQ(t.memory.get<arch::BtsRecord32>(kStart + 12).from, 0x1020U);
  EXPECT_EQ(t.memory.get<arch::BtsRecord32>(kStart + 12).flags, 0x10U);
}

TEST(Bts, ChoosesTheLayoutByDtes64AndIa32e) {
  for (const auto& [quirks, ia32e, size] : {std::tuple{arch::QuirkSet{}, false, 24U},
                                            {arch::QuirkSet{}, true, 24U},
                                            {arch::QuirkSet{Quirk::Ds32}, false, 12U},
                                            {arch::QuirkSet{Quirk::Ds32}, true, 24U}}) {
    TestPmu t{"westmere", quirks};
    t.pmu.set_mode({.ia32e = ia32e, .code64 = ia32e});
    t.set_up_bts(10, 11);
    t.wr(kDebugCtl, kTr | kBts);
    t.retire(jump(1));  // in real-address mode just so
    EXPECT_EQ(t.bts_index(), kStart + size);
  }
}

TEST(Bts, RefusesAnAreaAbove4GiBWhileItsWordsHave32Bits) {
  TestPmu t{"westmere", {Quirk::Ds32}};
  t.pmu.set_mode({.ia32e = false, .code64 = false});
  EXPECT_TRUE(t.write_faults(kDsArea, 0x1'0000'0000));
  t.pmu.set_mode({});
  EXPECT_FALSE(t.write_faults(kDsArea, 0x1'0000'0000));
}

TEST(Bts, GivesAFaultToTheProcessorAndLeavesTheIndexAlone) {
  TestPmu t;
  t.set_up_bts(10, 1);
  t.set_bts_index(0x10);
  t.memory.put(TestPmu::kDs, std::uint64_t{0x10});
  t.wr(kDebugCtl, kTr | kBts);
  t.retire(jump(1));
  const auto fault = t.pmu.take_ds_fault();
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->address, 0x10U);
  EXPECT_TRUE(fault->write);
  EXPECT_EQ(t.bts_index(), 0x10U);
  EXPECT_EQ(t.pmi.requested, 0);

  t.wr(kDsArea, 0xFFFF'8000'0000'0000);
  t.retire(jump(1));
  const auto area = t.pmu.take_ds_fault();
  ASSERT_TRUE(area);
  EXPECT_EQ(area->address, 0xFFFF'8000'0000'0000U);
  EXPECT_FALSE(area->write);
}

TEST(Bts, IsOffInSmmAndAsBeforeAfterIt) {
  TestPmu t;
  t.set_up_bts(10, 11);
  t.wr(kDebugCtl, kTr | kBts);
  t.retire(jump(1));
  t.pmu.enter_smm();
  t.retire(jump(2));
  t.pmu.leave_smm();
  t.retire(jump(3));
  EXPECT_EQ(t.bts_index(), kStart + 2 * kRecord);
  EXPECT_THAT(stored(t, 2), ElementsAre(1, 3));
}

TEST(Bts, StopsAtAMachineCheckUntilSoftwareEnablesItAgain) {
  TestPmu t;
  t.set_up_bts(10, 11);
  t.wr(kDebugCtl, kTr | kBts);
  t.pmu.machine_check();
  t.retire(jump(1));
  EXPECT_EQ(t.bts_index(), kStart);
  EXPECT_EQ(t.rd(kDebugCtl), kTr | kBts);
  t.wr(kDebugCtl, kTr | kBts);
  t.retire(jump(2));
  EXPECT_EQ(t.bts_index(), kStart + kRecord);
}

TEST(Bts, EndsWithInitWhichKeepsTheAreasAddress) {
  TestPmu t;
  t.set_up_bts(10, 11);
  t.wr(kDebugCtl, kTr | kBts);
  t.pmu.init();
  t.retire(jump(1));
  EXPECT_EQ(t.bts_index(), kStart);
  EXPECT_EQ(t.rd(kDebugCtl), 0U);
  EXPECT_EQ(t.rd(kDsArea), TestPmu::kDs);
}

TEST(Bts, FreezesCountersWithTheBranchThatFilledTheBufferCounted) {
  TestPmu t;
  t.set_up_bts(4, 2);
  t.wr(kSelect0, 0x43'00C4);
  t.wr(kDebugCtl, kTr | kBts | kBtint | 0x1000);
  EXPECT_TRUE(t.pmu.needs_each());
  jumps(t, 5);
  EXPECT_EQ(t.rd(kPmc0), 2U);
  EXPECT_EQ(t.rd(kStatus), kCtrFrz);
}

/// Memory that remembers where it was written.
class Spy : public FakeMemory {
 public:
  bool write(std::uint64_t address, std::span<const std::byte> from) override {
    writes.push_back(address);
    return FakeMemory::write(address, from);
  }
  std::vector<std::uint64_t> writes;
};

TEST(Bts, ComesAfterThePebsRecordOfTheSameInstruction) {
  Spy memory;
  PmiCounter pmi;
  SteppingClock clock;
  const arch::CpuModel& model = *arch::find_cpu_model("skylake-server");
  Pmu pmu{model, memory, pmi, clock};
  arch::DsManagementArea area{};
  area.bts = {.base = kStart, .index = kStart, .maximum = kStart + 240, .threshold = kStart + 240};
  area.pebs = {.base = TestPmu::kRecords,
               .index = TestPmu::kRecords,
               .maximum = TestPmu::kRecords + 2000,
               .threshold = TestPmu::kRecords + 2000};
  memory.put(TestPmu::kDs, area);
  const std::pair<std::uint32_t, std::uint64_t> writes[] = {
      {kDsArea, TestPmu::kDs}, {kSelect0, 0x43'00C4}, {kPmc0, 0xFFFF'FFFF}, {kPebsEnable, 1}, {kDebugCtl, kTr | kBts}};
  for (const auto& [msr, value] : writes) ASSERT_TRUE(pmu.wrmsr(msr, value));
  pmu.retire(jump(1), {});
  memory.writes.clear();
  pmu.retire(jump(2), {});
  EXPECT_THAT(memory.writes, ElementsAre(TestPmu::kRecords, TestPmu::kDs + 0x28, kStart + 24, TestPmu::kDs + 0x08));
}

}  // namespace
}  // namespace zs::pmu

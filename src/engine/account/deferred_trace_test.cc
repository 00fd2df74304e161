// Overflows that are found when the core has played what ran, behind the thread's back.
#include "engine/account/deferred_trace.h"

#include <gmock/gmock.h>

#include <cstdint>
#include <vector>

#include "engine/test_core.h"
#include "engine/test_run.h"

namespace zs::engine {
namespace {

using enum arch::CoreSignal;
using testing::ElementsAre;
using testing::IsEmpty;

/// mov eax, [rdi]; inc ecx; mov edx, [rsi]; ret.
constexpr std::uint64_t kTwoLoads = 0;

/// Every second load that missed is an overflow. What an interrupt found: where the thread went on, and the
/// instructions and misses up to there.
class DeferredTraceTest : public RunTest {
 protected:
  static constexpr std::uint64_t kL1Misses = 0x41'08D1;
  struct Found {
    std::uint64_t ip, instructions, misses;
    bool operator==(const Found&) const = default;
  };

  void SetUp() override {
    code_.put(kTwoLoads, {0x8B, 0x07, 0xFF, 0xC1, 0x8B, 0x16, 0xC3});
    count(0, kInstructions, kFar);
    count(1, kL1Misses | pmu::kInt, pmu::minus(2));
    count(2, kL1Misses, kFar);
    cpu_.core = &core_;
    cpu_.wants_registers = false;
    start();
    core_.cost(kSecond)[LoadDram] = 1;
    core_.cost(kSecond)[Cycles] = 9;
    heard_.at_pmi = [this](const arch::RegisterFile& after) {
      const std::uint64_t misses = counter(1);
      if (misses >= pmu::minus(2)) return;  // a test hears of each instruction that is retired
      found_.push_back({after.ip, counter(0), misses});
      pmu_.wr(pmu::kFullPmc0 + 1, pmu::minus(2));
      pmu_.wr(pmu::kOvfCtrl, 2);
    };
  }
  void leave_loads(int times) {
    for (int i = 0; i < times; ++i) leave(end_of(made(kTwoLoads)));
    run_.indirect_target = 0x1234;
  }
  void step_first() {
    run_.thread->pc = kPc;
    run_.thread->step.first_exit = run_.translator->get(kPc, Variant::Step).first_exit;
    accountant_.steps.begin(true);
    run_.thread->pc = kPc + 2;
    accountant_.steps.retire(false);
  }
  static constexpr std::uint64_t kPc = Pages::pc(kTwoLoads), kSecond = kPc + 4;

  FakeCore core_;
  std::vector<Found> found_;
};

TEST_F(DeferredTraceTest, ThreadsRunAsWhereNothingOverflows) {
  EXPECT_TRUE(run_.counting.deferred);
  EXPECT_FALSE(run_.counting.at_once);
  EXPECT_FALSE(run_.counting.logs);
  EXPECT_EQ(accountant_.tally.allowance().records, UINT64_MAX);
}

TEST_F(DeferredTraceTest, AnOverflowIsFoundAtItsInstruction) {
  leave_loads(5);
  drain();
  EXPECT_THAT(found_, ElementsAre(Found{kPc + 6, 7, 0}, Found{kPc + 6, 15, 0}));
  EXPECT_EQ(counter(0), 20U) << "and all is counted";
  EXPECT_EQ(counter(1), pmu::minus(1));
}

TEST_F(DeferredTraceTest, WhatHasNotBeenPlayedIsCountedWhenItIs) {
  core_.waits = true;
  leave_loads(3);
  drain();
  leave_loads(2);
  drain();
  EXPECT_EQ(core_.settled, 0U);
  EXPECT_THAT(found_, IsEmpty());
  EXPECT_EQ(counter(0), 0U);
  core_.waits = false;
  leave_loads(1);
  drain();
  EXPECT_THAT(found_, ElementsAre(Found{kPc + 6, 7, 0}, Found{kPc + 6, 15, 0}, Found{kPc + 6, 23, 0}));
  EXPECT_EQ(counter(0), 24U);
}

TEST_F(DeferredTraceTest, AThreadThatEndsIsCountedWhileAnotherRuns) {
  core_.waits = true;
  leave_loads(4);
  drain();
  Thread& thread = *run_.thread;
  Thread other;
  other.process = thread.process;
  run_.thread = &other;
  accountant_.core.settle(thread);
  EXPECT_EQ(found_.size(), 2U);
  EXPECT_EQ(counter(0), 16U);
}

TEST_F(DeferredTraceTest, WhereTheProgramWentBehindTheLastInstructionIsKnown) {
  core_.cost(kSecond) = {};
  core_.cost(kPc + 6)[LoadDram] = 1;  // the return loads, too
  leave_loads(4);
  drain();
  EXPECT_THAT(found_, ElementsAre(Found{kPc, 8, 0}, Found{0x1234, 16, 0}));
}

TEST_F(DeferredTraceTest, SeveralInAPathAreAllFound) {
  core_.cost(kPc)[LoadDram] = 1;
  leave_loads(2);
  drain();
  EXPECT_THAT(found_, ElementsAre(Found{kPc + 6, 3, 0}, Found{kPc + 6, 7, 0}));
}

TEST_F(DeferredTraceTest, ThePeriodThatAnInterruptSetsHoldsForWhatComesBehind) {
  heard_.at_pmi = [this](const arch::RegisterFile& after) {
    if (counter(1) >= pmu::minus(9)) return;
    found_.push_back({after.ip, counter(0), counter(2)});
    pmu_.wr(pmu::kFullPmc0 + 1, pmu::minus(2 + found_.size()));
    pmu_.wr(pmu::kOvfCtrl, 2);
  };
  leave_loads(10);
  drain();
  EXPECT_THAT(found_, ElementsAre(Found{kPc + 6, 7, 2}, Found{kPc + 6, 19, 5}, Found{kPc + 6, 35, 9}));
}

TEST_F(DeferredTraceTest, WhatRanBeforeTheCodeWasForgottenIsStillKnown) {
  core_.waits = true;
  leave_loads(2);
  drain();
  run_.flush();
  code_.put(kTwoLoads, {0xFF, 0xC1, 0x8B, 0x06, 0x8B, 0x16, 0xC3});
  core_.waits = false;
  leave_loads(1);
  drain();
  EXPECT_THAT(found_, ElementsAre(Found{kPc + 6, 7, 0}));
  EXPECT_EQ(counter(0), 12U);
}

TEST_F(DeferredTraceTest, OfABlockThatFaultedTheFirstInstructionsAreCounted) {
  leave_loads(1);
  drain();
  accountant_.count_into(made(kTwoLoads), 3, kPc + 6);
  EXPECT_THAT(found_, ElementsAre(Found{kPc + 6, 7, 0}));
}

TEST_F(DeferredTraceTest, AnInstructionThatRanAloneIsCountedInItsPlace) {
  core_.cost(kPc)[LoadDram] = 1;
  core_.cost(kSecond) = {};
  core_.waits = true;
  leave_loads(1);
  drain();
  step_first();
  leave_loads(2);
  drain();
  EXPECT_THAT(found_, IsEmpty());
  core_.waits = false;
  step_first();
  EXPECT_THAT(found_, ElementsAre(Found{kPc + 2, 5, 0}, Found{kPc + 2, 10, 0}));
  EXPECT_EQ(counter(0), 14U);
  EXPECT_EQ(counter(1), pmu::minus(1));
  EXPECT_EQ(counter(2), 5U);
}

TEST_F(DeferredTraceTest, WhatAnInstructionAloneBringsIsCountedOnce) {
  core_.cost(kPc)[LoadDram] = 1;
  core_.cost(kSecond) = {};
  pmu_.wr(pmu::kFullPmc0 + 1, pmu::minus(100));
  heard_.at_pmi = [](const arch::RegisterFile&) {};
  step_first();
  leave_loads(1);
  drain();
  EXPECT_EQ(counter(2), 2U);
}

TEST_F(DeferredTraceTest, AProbedInstructionIsCountedAtOnce) {
  core_.waits = true;
  leave_loads(1);
  drain();
  heard_.thought_of = {{.pc = kPc, .time = ProbeTime::Before}};
  accountant_.probes.adopt();
  std::vector<std::uint64_t> at_probe;
  heard_.at_probe = [&] { at_probe.push_back(counter(0)); };
  step_first();
  EXPECT_THAT(at_probe, ElementsAre(4U)) << "what retired before it";
  EXPECT_EQ(counter(0), 5U);
  core_.waits = false;
  leave_loads(1);
  drain();
  EXPECT_THAT(found_, ElementsAre(Found{kPc + 6, 8, 0})) << "and the runs of the core are counted with it";
  EXPECT_EQ(counter(0), 9U);
  EXPECT_EQ(counter(2), 2U);
}

TEST_F(DeferredTraceTest, ClocksHaveTheTimeOfTheOverflow) {
  std::vector<std::uint64_t> cycles;
  heard_.at_pmi = [&, before = heard_.at_pmi](const arch::RegisterFile& after) {
    cycles.push_back(run_.thread->time_reported[Cycles]);
    before(after);
  };
  leave_loads(5);
  drain();
  EXPECT_THAT(cycles, ElementsAre(18U, 36U));
  EXPECT_EQ(run_.thread->time_reported[Cycles], 45U);
}

TEST_F(DeferredTraceTest, IsNotForAllThatCanBeSampled) {
  const auto deferred = [this] { return CountingMode(cpu_).deferred; };
  EXPECT_TRUE(deferred());
  cpu_.wants_registers = true;
  EXPECT_FALSE(deferred());
  cpu_.wants_registers = false;
  cpu_.stops_at_pmi = true;
  EXPECT_FALSE(deferred());
  cpu_.stops_at_pmi = false;
  count(0, kInstructions | pmu::kInt, pmu::minus(1000));
  EXPECT_FALSE(deferred()) << "of what is counted exactly, an overflow needs no core";
  count(0, kInstructions, kFar);
  EXPECT_TRUE(deferred());
  count(0, 0x41'003C | pmu::kInt, pmu::minus(1000));
  EXPECT_FALSE(deferred()) << "time belongs to no instruction";
  count(0, kInstructions, kFar);
  constexpr std::uint64_t kRetireSlots = 0x41'02C2;
  count(1, kRetireSlots | pmu::kInt, pmu::minus(1000));
  EXPECT_FALSE(deferred()) << "nor do slots";
}

}  // namespace
}  // namespace zs::engine

// Overflows inside a trace: the instruction at which one was is retired as if the thread had stopped there.
#include "engine/account/logged_trace.h"

#include <gmock/gmock.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "engine/test_core.h"
#include "engine/test_run.h"

namespace zs::engine {
namespace {

using enum arch::CoreSignal;
using testing::ElementsAre;
using testing::IsEmpty;

/// mov eax, [rdi]; lea rdi, [rdi + 4]; mov edx, [rsi]; inc ecx; ret. A REP string.
constexpr std::uint64_t kBody = 0, kRepString = 1;
constexpr std::uint64_t kPc = Pages::pc(kBody), kFirstLoad = kPc, kSecondLoad = kPc + 6, kInc = kPc + 8,
                        kReturn = kPc + 10;

class LoggedTraceTest : public RunTest {
 protected:
  static constexpr std::uint64_t kL1Misses = 0x41'08D1;
  struct Interrupt {
    std::uint64_t ip, ax, dx, di, instructions;
    bool operator==(const Interrupt&) const = default;
  };

  void SetUp() override {
    code_.put(kBody, {0x8B, 0x07, 0x48, 0x8D, 0x7F, 0x04, 0x8B, 0x16, 0xFF, 0xC1, 0xC3});
    code_.put(kRepString, {0xF3, 0xA4, 0xC3});
    cpu_.core = &core_;
    cpu_.pmi_requested = &pmi_requested_;
    heard_.at_pmi = [this](const arch::RegisterFile& at) {
      if (pmu_.pmi.requested == 0) return;
      pmu_.pmi.requested = 0;
      EXPECT_EQ(counter(0), 0U) << "it has just wrapped";
      interrupts_.push_back({at.ip, at.ax, at.dx, at.di, counter(1)});
      pmu_.wr(pmu::kFullPmc0, pmu::minus(period_));
      pmu_.wr(pmu::kOvfCtrl, 1);
    };
  }
  /// Each so many misses of the first-level cache there is an interrupt.
  void sample(std::uint64_t period) {
    period_ = period;
    count(0, kL1Misses | pmu::kInt, pmu::minus(period));
    count(1, kInstructions, kFar);
    start();
    ASSERT_TRUE(accountant_.logged.possible());
    run_.thread->pc = kPc;
    run_.gpr(kRdi) = 0x1000;
    ASSERT_NE(accountant_.logged.enter(kNone), 0U);
    block_ = blocks().at(kPc, Variant::Logged);
    run_.context.trace_pointer = run_.trace_start = run_.trace().begin();  // more room than it begins with
  }
  /// The body has run so often: what it loads are the numbers of its rounds.
  void run(unsigned times) {
    for (unsigned i = 0; i < times; ++i) {
      ++rounds_;
      log(5);
      leave(end_of(block_));
    }
    run_.indirect_target = kPc;
  }
  /// What so many instructions of it store beside the trace, and do.
  void log(unsigned instructions) {
    auto* const slots =
        const_cast<std::uint64_t*>(run_.trace().slots()) + run_.trace().slot_number_at(run_.context.trace_pointer);
    std::memcpy(slots, run_.context.gpr, sizeof run_.context.gpr);
    slots[AddressSlots::kLoggedFlags] = run_.context.flags;
    const auto path = run_.translator->replay().path_into(blocks().block(block_), instructions);
    for (unsigned i = 0; i < instructions; ++i) {
      switch (i) {
        case 0: run_.gpr(kRax) = rounds_; break;
        case 1: run_.gpr(kRdi) += 4; break;
        case 2: run_.gpr(kRdx) = 100 + rounds_; break;
        case 3: ++run_.gpr(kRcx); break;
        default: run_.gpr(kRsp) += 8; break;
      }
      const InsnSlots& insn = *path[i].slots;
      for (unsigned n = 0; n < insn.stores_after; ++n) slots[insn.after[n].slot] = run_.context.gpr[insn.after[n].reg];
      if (insn.flags != AddressTerm::kNoSlot) slots[insn.flags] = run_.context.flags;
    }
  }

  FakeCore core_;
  std::uint64_t period_ = 0, rounds_ = 0;
  std::uint32_t block_ = kNone;
  std::vector<Interrupt> interrupts_;
};

TEST_F(LoggedTraceTest, WhatOverflowsIsRetiredWithTheRegistersThatItLeft) {
  core_.cost(kSecondLoad)[LoadDram] = 1;
  sample(3);
  run(7);
  drain();
  EXPECT_THAT(interrupts_, ElementsAre(Interrupt{kInc, 3, 103, 0x1000 + 3 * 4, 2 * 5 + 3},
                                       Interrupt{kInc, 6, 106, 0x1000 + 6 * 4, 5 * 5 + 3}));
  EXPECT_EQ(counter(0), pmu::minus(2));
  EXPECT_EQ(counter(1), 35U);
}

TEST_F(LoggedTraceTest, TheThreadIsWhereItWasWhenTheTraceHasBeenRead) {
  core_.cost(kSecondLoad)[LoadDram] = 1;
  sample(3);
  run(7);
  run_.thread->pc = 0x1234;
  run_.context.flags = 0x246;
  drain();
  EXPECT_EQ(run_.gpr(kRax), 7U);
  EXPECT_EQ(run_.gpr(kRcx), 7U);
  EXPECT_EQ(run_.thread->pc, 0x1234U);
  EXPECT_EQ(run_.context.flags, 0x246U);
}

TEST_F(LoggedTraceTest, TwoInOneBlockAreTwo) {
  core_.cost(kFirstLoad)[LoadDram] = core_.cost(kSecondLoad)[LoadDram] = 1;
  sample(1);
  run(2);
  drain();
  EXPECT_THAT(interrupts_, ElementsAre(Interrupt{kPc + 2, 1, 0, 0x1000, 1}, Interrupt{kInc, 1, 101, 0x1004, 3},
                                       Interrupt{kPc + 2, 2, 101, 0x1004, 6}, Interrupt{kInc, 2, 102, 0x1008, 8}));
}

// A block that was left by its last instruction goes on where the next one begins.
TEST_F(LoggedTraceTest, TheLastInstructionOfABlockLeadsToTheNext) {
  core_.cost(kReturn)[LoadDram] = 1;
  sample(2);
  run(3);
  run_.indirect_target = 0x7777;
  drain();
  ASSERT_EQ(interrupts_.size(), 1U);
  EXPECT_EQ(interrupts_[0].ip, kPc);
  EXPECT_EQ(interrupts_[0].instructions, 10U);
}

TEST_F(LoggedTraceTest, ABlockThatFaultedIsGoneThroughUpToThere) {
  core_.cost(kFirstLoad)[LoadDram] = 1;
  sample(1);
  ++rounds_;
  log(2);
  accountant_.count_into(block_, 2, kSecondLoad);
  EXPECT_THAT(interrupts_, ElementsAre(Interrupt{kPc + 2, 1, 0, 0x1000, 1}));
  EXPECT_EQ(counter(1), 2U);
  EXPECT_EQ(counter(0), pmu::minus(1));
}

/// The plain twin: a core that cannot be watched, so each instruction of a record in question is a step.
class LoggedTraceTwins : public LoggedTraceTest, public testing::WithParamInterface<std::uint64_t> {};

TEST_P(LoggedTraceTwins, WatchedOrInStepsOverflowsAreTheSame) {
  core_.cost(kFirstLoad)[LoadDram] = core_.cost(kInc)[LoadDram] = 1;
  sample(GetParam());
  run(50);
  drain();
  const auto watched = std::exchange(interrupts_, {});
  const std::uint64_t misses = counter(0), instructions = counter(1);
  core_.can_be_watched = false;
  pmu_.wr(pmu::kFullPmc0, pmu::minus(period_));
  pmu_.wr(pmu::kFullPmc1, 0);
  rounds_ = 0;
  run_.gpr(kRdx) = 0;
  run_.gpr(kRdi) = 0x1000;
  run(50);
  drain();
  EXPECT_EQ(interrupts_, watched);
  EXPECT_EQ(watched.size(), 100 / GetParam());
  EXPECT_EQ(counter(0), misses);
  EXPECT_EQ(counter(1), instructions);
}

INSTANTIATE_TEST_SUITE_P(Periods, LoggedTraceTwins, testing::Values(1, 2, 3, 7, 40, 99, 1000));

// At first one is short; each that follows at once is twice as long.
TEST_F(LoggedTraceTest, GrowsWhileNothingElseRuns) {
  sample(1000);  // which has entered the first
  const auto bytes = [this] { return run_.trace().end() - run_.context.trace_pointer; };
  accountant_.logged.enter(kNone);
  EXPECT_EQ(bytes(), 1024U);
  accountant_.logged.begin_short();
  accountant_.logged.enter(kNone);
  EXPECT_EQ(bytes(), 512U);
  for (int i = 0; i < 20; ++i) accountant_.logged.enter(kNone);
  EXPECT_EQ(bytes(), 64U << 10);
}

TEST_F(LoggedTraceTest, StaysShortWithOtherThreads) {
  sample(1000);
  run_.threads.push_back(std::make_unique<Thread>());
  for (int i = 0; i < 20; ++i) accountant_.logged.enter(kNone);
  EXPECT_EQ(run_.trace().end() - run_.context.trace_pointer, 4U << 10);
}

TEST_F(LoggedTraceTest, IsNoneWhereAnInstructionHasToRunAlone) {
  sample(1000);
  accountant_.logged.leave();
  run_.thread->pc = Pages::pc(kRepString);
  EXPECT_EQ(accountant_.logged.enter(kNone), 0U);
  EXPECT_FALSE(accountant_.logged.running());
}

TEST_F(LoggedTraceTest, IsNoneAmongProbes) {
  sample(1000);
  code_.put(2, {0xFF, 0xC0, 0xC3});
  heard_.thought_of = {{.pc = Pages::pc(2), .time = ProbeTime::Before}};
  accountant_.probes.adopt();
  run_.thread->pc = Pages::pc(2);
  EXPECT_EQ(accountant_.logged.enter(kNone), 0U) << "it was found just now";
  EXPECT_FALSE(accountant_.logged.possible());
}

TEST_F(LoggedTraceTest, ABlockIsFoundByTheIndirectBranchThatLedToIt) {
  sample(1000);
  run_.thread->pc = kPc;
  run_.wants_indirect_entry = true;
  const std::uint64_t at = accountant_.logged.enter(kNone);
  EXPECT_EQ(at, blocks().block(block_).entry);
  EXPECT_NE(blocks().block(block_).hashed_entry, 0U);
}

}  // namespace
}  // namespace zs::engine

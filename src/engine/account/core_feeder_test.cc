// What a core is told of a trace, and what becomes of what it says.
#include "engine/account/core_feeder.h"

#include <gmock/gmock.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "engine/test_core.h"
#include "engine/test_run.h"

namespace zs::engine {
namespace {

using enum arch::CoreSignal;
using testing::ElementsAre;
using testing::IsEmpty;

/// inc eax; ret. jmp to page 0. rep movsb; ret.
constexpr std::uint64_t kReturns = 0, kJumps = 1, kAlone = 2;

class CoreFeederTest : public RunTest {
 protected:
  static constexpr std::uint64_t kL1Misses = 0x41'08D1, kCycles = 0x41'003C, kBusCycles = 0x41'013C;

  void SetUp() override {
    code_.put(kReturns, {0xFF, 0xC0, 0xC3});
    code_.put(kJumps, {0xE9, 0xFB, 0xEF, 0xFF, 0xFF, 0xCC});
    code_.put(kAlone, {0xF3, 0xA4, 0xC3});
    count(0, kInstructions, kFar);
    count(1, kL1Misses, kFar);
    count(2, kCycles, kFar);
    count(3, kBusCycles, kFar);
    cpu_.core = &core_;
    start();
  }
  static FakeCore::Told told(std::vector<std::uint64_t> pcs, std::uint64_t next) { return {std::move(pcs), next}; }
  static constexpr std::uint64_t kPc = Pages::pc(kReturns);

  FakeCore core_;
};

TEST_F(CoreFeederTest, APathIsDescribedOnce) {
  const std::uint32_t exit = end_of(made(kReturns));
  for (int i = 0; i < 10; ++i) leave(exit);
  drain();
  leave(exit);
  drain();
  EXPECT_EQ(core_.described, 1U);
  EXPECT_EQ(core_.told.size(), 11U);
  EXPECT_EQ(counter(0), 22U);
}

TEST_F(CoreFeederTest, WhereAnIndirectBranchWentIsWhatRanBehindIt) {
  const std::uint32_t returns = end_of(made(kReturns)), alone = end_of(made(kAlone));
  ASSERT_EQ(blocks().block(made(kAlone)).instructions, 0U);
  for (const std::uint32_t exit : {returns, returns, alone}) leave(exit);
  run_.indirect_target = 0x1234;
  drain();
  EXPECT_THAT(core_.told, ElementsAre(told({kPc, kPc + 2}, kPc), told({kPc, kPc + 2}, Pages::pc(kAlone))))
      << "of a block without instructions nothing is told but that it was led to";
}

TEST_F(CoreFeederTest, WhereTheLastIndirectBranchWentIsWhereTheThreadIs) {
  leave(end_of(made(kReturns)));
  run_.indirect_target = 0x1234;
  drain();
  EXPECT_THAT(core_.told, ElementsAre(told({kPc, kPc + 2}, 0x1234)));
}

TEST_F(CoreFeederTest, PathsAreDescribedAnewWhenTheirNumbersNameOthers) {
  leave(end_of(made(kReturns)));
  drain();
  run_.flush();
  code_.put(kReturns, {0xFF, 0xC1, 0xFF, 0xC1, 0xC3});
  leave(end_of(made(kReturns)));
  drain();
  EXPECT_EQ(core_.described, 2U);
  EXPECT_THAT(core_.told.back().pcs, ElementsAre(kPc, kPc + 2, kPc + 4));
}

TEST_F(CoreFeederTest, WhatFaultedInTheMiddleIsToldUpToThere) {
  accountant_.count_into(made(kReturns), 1, kPc + 2);
  EXPECT_THAT(core_.told, ElementsAre(told({kPc}, kPc + 2)));
  EXPECT_EQ(counter(0), 1U);
}

TEST_F(CoreFeederTest, ModelledEventsAreWhatItsSignalsHaveChangedBy) {
  core_.cost(kPc)[LoadDram] = 3;
  const std::uint32_t exit = end_of(made(kReturns));
  for (int i = 0; i < 10; ++i) leave(exit);
  drain();
  leave(exit);
  drain();
  EXPECT_EQ(counter(1), 33U);
}

TEST_F(CoreFeederTest, TimeIsWhatItsCyclesHaveChangedBy) {
  core_.cost(kPc)[Cycles] = 7;
  const std::uint32_t exit = end_of(made(kReturns));
  for (int i = 0; i < 10; ++i) {
    leave(exit);
    drain();
  }
  EXPECT_EQ(counter(2), 70U);
  EXPECT_EQ(counter(3), 70U / 24) << "of parts of a tick nothing is lost";
}

TEST_F(CoreFeederTest, OfWhatIsModelledBesideUnitsTheCountersHearNothing) {
  const Phase warm_up = Phase::WarmUp;
  run_.thread->cpu.phase = &warm_up;
  run_.phased = true;
  core_.cost(kPc)[LoadDram] = 1;
  core_.cost(kPc)[Cycles] = 7;
  leave(end_of(made(kReturns)));
  drain();
  EXPECT_EQ(counter(1), 0U);
  EXPECT_EQ(counter(2), 0U);
  run_.phased = false;
  leave(end_of(made(kReturns)));
  drain();
  EXPECT_EQ(counter(1), 1U) << "nor later";
  EXPECT_EQ(counter(2), 7U);
}

TEST_F(CoreFeederTest, AThreadThatEndsIsCountedWhileAnotherRuns) {
  Thread& thread = *run_.thread;
  Thread other;
  other.process = thread.process;
  run_.thread = &other;
  core_.signal(LoadDram) = 5;
  core_.now = 99;
  accountant_.core.settle(thread);
  EXPECT_EQ(counter(1), 5U);
  EXPECT_EQ(thread.core_time, 99U);
  EXPECT_EQ(run_.thread, &other);
}

TEST_F(CoreFeederTest, PagesThatGoAreWholeOnes) {
  accountant_.core.unmapped(0x1001, 1);
  EXPECT_EQ(core_.unmapped_from, 0x1000U);
  EXPECT_EQ(core_.unmapped_to, 0x2000U);
  core_.unmapped_from = 1;
  accountant_.core.unmapped(0x5000, 0);
  EXPECT_EQ(core_.unmapped_from, 1U);
}

/// With others that wait for their turn.
class CoreFeederOfThreads : public CoreFeederTest {
 protected:
  void SetUp() override {
    CoreFeederTest::SetUp();
    for (unsigned i = 0; i < 2; ++i) {
      others_[i].process = run_.thread->process;
      others_[i].cpu.core = &cores_[i];
      run_.lock.give_place(others_[i]);
    }
  }
  void at(std::uint64_t own, std::uint64_t first, std::uint64_t second) {
    core_.now = own;
    cores_[0].now = first;
    cores_[1].now = second;
  }
  FakeCore cores_[2];
  Thread others_[2];
};

TEST_F(CoreFeederOfThreads, WhoIsBehindIsNext) {
  at(10, 9, 8);
  EXPECT_EQ(accountant_.core.next_by_time(), &others_[1]);
  at(10, 8, 8);
  EXPECT_EQ(accountant_.core.next_by_time(), &others_[0]) << "the first of equals";
}

TEST_F(CoreFeederOfThreads, WhoRunsGoesOnWhileItIsBehind) {
  at(7, 9, 8);
  EXPECT_EQ(accountant_.core.next_by_time(), nullptr);
}

TEST_F(CoreFeederOfThreads, WhoseCoreHasSomethingLeftToReplayIsNotNext) {
  at(10, 9, 1);
  cores_[1].left_to_play = 1;
  EXPECT_EQ(accountant_.core.next_by_time(), &others_[0]);
}

TEST_F(CoreFeederOfThreads, WhatIsLeftIsReplayedWhereAllHaveSome) {
  at(10, 9, 8);
  core_.left_to_play = 3;
  cores_[0].left_to_play = cores_[1].left_to_play = 1;
  EXPECT_EQ(accountant_.core.next_by_time(), nullptr);
  EXPECT_EQ(core_.left_to_play, 0U);
}

TEST_F(CoreFeederOfThreads, WhoIsWokenGoesOnBehindWhoWokeIt) {
  at(10, 9, 8);
  accountant_.core.runs_after_this(others_[0]);
  EXPECT_EQ(cores_[0].waits_until, 10U);
  EXPECT_EQ(others_[0].core_time, 10U);
  EXPECT_EQ(core_.settled, 1U);
}

/// What only the processor knows of an instruction: where its elements are.
class CoreFeederOfElements : public CoreFeederTest {
 protected:
  std::byte* area() { return reinterpret_cast<std::byte*>(&run_.context) + kXsaveOffset; }
  void set_xmm(unsigned number, const std::array<std::uint32_t, 4>& value) {
    std::memcpy(area() + 160 + 16 * number, value.data(), sizeof value);
  }
  void saved(std::uint64_t components) { std::memcpy(area() + 512, &components, sizeof components); }
  const std::vector<std::uint64_t>& run(const Bytes& bytes) {
    code_.put(4, bytes);
    run_.thread->pc = Pages::pc(4);
    const Block& step = run_.translator->get(Pages::pc(4), Variant::Step);
    run_.thread->step.first_exit = step.first_exit;
    accountant_.steps.begin(true);
    set_xmm(2, {});  // as the instruction leaves it
    run_.thread->pc += bytes.size();
    accountant_.steps.retire(false);
    return core_.listed;
  }
  /// vpgatherdd xmm0, [rax + xmm1 * 4], xmm2
  const Bytes gather_{0xC4, 0xE2, 0x69, 0x90, 0x04, 0x88};
};

TEST_F(CoreFeederOfElements, OfAGatherThoseWhoseMaskIsSetAreListed) {
  constexpr std::uint32_t kSet = 0x8000'0000, kNotSet = 0x7FFF'FFFF;
  saved(2);
  run_.gpr(kRax) = 0x10'0000;
  set_xmm(1, {1, 2, 0xFFFF'FFFF, 0x100});
  set_xmm(2, {kSet, kNotSet, kSet, kSet});
  EXPECT_THAT(run(gather_), ElementsAre(3U, 0x10'0004U, 0x0F'FFFCU, 0x10'0400U));
}

TEST_F(CoreFeederOfElements, RegistersThatWereNotSavedAreZero) {
  saved(0);
  set_xmm(2, {0x8000'0000, 0, 0, 0});
  EXPECT_THAT(run(gather_), ElementsAre(0U));
}

TEST_F(CoreFeederOfElements, OfAStateAreaItsLinesAreListed) {
  run_.gpr(kRax) = 0x10'0000;
  EXPECT_THAT(run({0x0F, 0xAE, 0x00}), ElementsAre(8U, 0x10'0000U, 0x10'0040U, 0x10'0080U, 0x10'00C0U, 0x10'0100U,
                                                   0x10'0140U, 0x10'0180U, 0x10'01C0U))
      << "fxsave [rax]";
}

/// Where no counter waits for it, an instruction alone is counted with the others; else at once.
TEST_F(CoreFeederTest, AnInstructionAloneIsToldAsAPathOfItsOwn) {
  run_.thread->pc = kPc;
  run_.thread->step.first_exit = run_.translator->get(kPc, Variant::Step).first_exit;
  accountant_.steps.begin(true);
  run_.thread->pc = kPc + 2;
  accountant_.steps.retire(false);
  EXPECT_THAT(core_.told, ElementsAre(told({kPc}, kPc + 2)));
  EXPECT_EQ(counter(0), 1U);
}

/// Windows of three instructions, what was told of at each one's end, and what a modelled counter held when its signals
/// were counted.
class CoreFeederOfWindows : public RunTest {
 protected:
  static constexpr std::uint64_t kL1Misses = 0x41'08D1, kPlain = 0, kReturns = 1;

  void SetUp() override {
    code_.put(kPlain, {0xFF, 0xC1, 0xFF, 0xC1, 0xFF, 0xC1, 0xFF, 0xC1, 0xC3});
    code_.put(kReturns, {0xFF, 0xC0, 0xC3});
    cpu_.core = &core_;
    cpu_.late_interrupts = true;
    count(0, kInstructions | pmu::kInt, pmu::minus(3));
    count(1, kL1Misses, kFar);
    start();
    ASSERT_TRUE(run_.counting.splits);
    ASSERT_FALSE(run_.counting.at_once);
    core_.cost(kPc)[LoadDram] = 5;
    heard_.at_pmi = [this](const arch::RegisterFile&) {
      ++ends_;
      pmu_.wr(pmu::kFullPmc0, pmu::minus(3));
      pmu_.wr(pmu::kOvfCtrl, 1);
    };
    heard_.at_counted = [this] { misses_.push_back(counter(1)); };
  }
  void leave_returns(int times) {
    for (int i = 0; i < times; ++i) leave(end_of(made(kReturns)));
    run_.indirect_target = 0x1234;
  }
  static FakeCore::Told told(std::vector<std::uint64_t> pcs, std::uint64_t next) { return {std::move(pcs), next}; }
  static constexpr std::uint64_t kPc = Pages::pc(kReturns), kFirst = Pages::pc(kPlain);

  FakeCore core_;
  int ends_ = 0;
  std::vector<std::uint64_t> misses_;
};

TEST_F(CoreFeederOfWindows, APathInWhichOneEndsIsToldInPieces) {
  leave_returns(4);
  drain();
  EXPECT_EQ(ends_, 2);
  EXPECT_THAT(core_.told, ElementsAre(told({kPc, kPc + 2}, kPc), told({kPc}, kPc + 2), told({kPc + 2}, kPc),
                                      told({kPc, kPc + 2}, kPc), told({kPc, kPc + 2}, 0x1234)));
  EXPECT_THAT(misses_, ElementsAre(10U, 15U));
  EXPECT_EQ(counter(1), 20U);
}

TEST_F(CoreFeederOfWindows, PiecesAreDescribedOnce) {
  for (int i = 0; i < 20; ++i) {
    leave_returns(3);
    drain();
  }
  EXPECT_EQ(ends_, 40);
  EXPECT_EQ(core_.described, 3U) << "the path, and its two instructions alone";
  run_.flush();
  leave_returns(3);
  drain();
  EXPECT_EQ(core_.described, 6U);
}

TEST_F(CoreFeederOfWindows, WhatHasNotBeenPlayedIsCountedWhenItIs) {
  core_.waits = true;
  leave_returns(4);
  drain();
  EXPECT_EQ(ends_, 2);
  EXPECT_EQ(core_.settled, 0U) << "an end of a window does not have the model play what waits";
  EXPECT_THAT(misses_, IsEmpty());
  EXPECT_EQ(counter(1), 0U);
  accountant_.core.settle(*run_.thread);
  EXPECT_THAT(misses_, ElementsAre(10U, 15U));
  EXPECT_EQ(counter(1), 20U);
}

TEST_F(CoreFeederOfWindows, OfABlockThatFaultedAPieceEndsWithTheWindow) {
  accountant_.count_into(made(kPlain), 4, kFirst + 8);
  EXPECT_EQ(ends_, 1);
  EXPECT_THAT(core_.told,
              ElementsAre(told({kFirst, kFirst + 2, kFirst + 4}, kFirst + 6), told({kFirst + 6}, kFirst + 8)));
  EXPECT_EQ(counter(0), pmu::minus(2));
  EXPECT_THAT(misses_, ElementsAre(0U));
}

}  // namespace
}  // namespace zs::engine

// A trace that is drained is counted, each record once, and beside it what it does not say.
#include "engine/account/accountant.h"

#include <gmock/gmock.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "engine/test_core.h"
#include "engine/test_run.h"

namespace zs::engine {
namespace {

using testing::ElementsAre;

/// mov eax, [rdi]; add [rsi], eax; ret. rep movsb; ret.
constexpr std::uint64_t kAccesses = 0, kRep = 1;

class AccountantTest : public RunTest {
 protected:
  void SetUp() override {
    code_.put(kAccesses, {0x8B, 0x07, 0x01, 0x06, 0xC3});
    code_.put(kRep, {0xF3, 0xA4, 0xC3});
  }
};

TEST_F(AccountantTest, CountsEachRecordOnce) {
  count(0, kInstructions, kFar);
  count(1, kBranches, kFar);
  start();
  const std::uint32_t exit = end_of(made(kAccesses));
  for (int i = 0; i < 5; ++i) leave(exit);
  drain();
  leave(exit);
  drain();
  drain();
  EXPECT_EQ(counter(0), 18U);
  EXPECT_EQ(counter(1), 6U);
}

TEST_F(AccountantTest, CountsTheRecordThatWasNotStored) {
  count(0, kInstructions, kFar);
  count(1, kBranches, kFar);
  start();
  leave(end_of(made(kAccesses)));
  accountant_.drain(end_of(made(kAccesses)));
  EXPECT_EQ(counter(0), 6U);
}

// Records of different widths, read from the newest on.
TEST_F(AccountantTest, ReadsASpacedTraceBackwards) {
  count(0, kBranches | pmu::kInt, pmu::minus(1'000'000));
  count(1, kInstructions, kFar);
  count(2, pmu::kCountStores | pmu::kInt, pmu::minus(1'000'000));
  start();
  ASSERT_EQ(run_.counting.form, TraceForm::Spaced);
  const std::uint32_t exit = end_of(made(kAccesses));
  for (int i = 0; i < 1000; ++i) leave(exit);
  drain();
  EXPECT_EQ(counter(1), 3000U);
  EXPECT_EQ(counter(0), pmu::minus(999'000));
  EXPECT_EQ(counter(2), pmu::minus(999'000));
}

// The guard was hit: the pointer has moved, the store has faulted.
TEST_F(AccountantTest, OfASpacedTraceTheRecordThatWasNotStoredIsTheLast) {
  count(0, kBranches | pmu::kInt, pmu::minus(1'000'000));
  count(1, kInstructions, kFar);
  start();
  const std::uint32_t exit = end_of(made(kAccesses));
  for (int i = 0; i < 10; ++i) leave(exit);
  put(run_.context.trace_pointer, 0xFFFF'FFFF);
  accountant_.drain(exit);
  EXPECT_EQ(counter(1), 30U);
}

TEST_F(AccountantTest, OfABudgetTraceThePointerIsTheCount) {
  count(0, kInstructions, kFar);
  start();
  const std::uint32_t exit = end_of(made(kAccesses));
  for (int i = 0; i < 10; ++i) leave(exit);
  drain();
  EXPECT_EQ(counter(0), 30U);
}

TEST_F(AccountantTest, WhatRanIsPartOfTheTurn) {
  count(0, kInstructions, kFar);
  count(1, kBranches, kFar);
  start();
  const std::uint32_t exit = end_of(made(kAccesses));
  for (int i = 0; i < 10; ++i) leave(exit);
  drain();
  EXPECT_EQ(run_.ran, 40U);
}

/// Accesses are counted, one for each element of a REP string instruction.
class AccountantOfElements : public AccountantTest {
 protected:
  void SetUp() override {
    AccountantTest::SetUp();
    count(0, kInstructions, kFar);
    count(1, kLoads, kFar);
    count(2, pmu::kCountStores, kFar);
    start();
    ASSERT_TRUE(run_.counting.count_elements);
  }
};

TEST_F(AccountantOfElements, CountsThemByWhatOneDoes) {
  leave(end_of(made(kRep)));
  run_.context.elements[kRepLoads1] = 1;
  run_.context.elements[kRepLoads2] = 10;
  run_.context.elements[kRepStores1] = 100;
  run_.context.elements[kRepMoves] = 1000;
  drain();
  const std::uint64_t of_return = 1;
  EXPECT_EQ(counter(0), 2U);
  EXPECT_EQ(counter(1), 1 + 2 * 10 + 1000 + of_return);
  EXPECT_EQ(counter(2), 100 + 1000U);
}

TEST_F(AccountantOfElements, CountsThemOnce) {
  leave(end_of(made(kRep)));
  run_.context.elements[kRepMoves] = 1000;
  drain();
  leave(end_of(made(kRep)));
  drain();
  EXPECT_EQ(counter(2), 1000U);
}

TEST_F(AccountantOfElements, CountsMoreThanOneSumHolds) {
  constexpr std::uint64_t kMany = (std::uint64_t{5} << 30) + 7;
  leave(end_of(made(kRep)));
  run_.context.elements[kRepStores1] = kMany;
  drain();
  EXPECT_EQ(counter(2), kMany);
}

TEST_F(AccountantOfElements, OfABlockThatFaultedTheInstructionsBeforeAreCounted) {
  const std::uint32_t block = made(kAccesses);
  accountant_.count_into(block, 1, Pages::pc(kAccesses) + 2);
  EXPECT_EQ(counter(0), 1U);
  EXPECT_EQ(counter(1), 1U);
  EXPECT_EQ(counter(2), 0U);
  accountant_.count_into(block, 2, Pages::pc(kAccesses) + 4);
  EXPECT_EQ(counter(0), 3U);
  EXPECT_EQ(counter(1), 3U);
  EXPECT_EQ(counter(2), 1U);
}

/// Between units, where the core is told of some lines and of nothing else, and probes are noted among these.
class AccountantOfLines : public AccountantTest {
 protected:
  class ToldOfLines final : public FakeCore {
   public:
    void accessed(std::span<const std::uint64_t> told_now) override {
      lines.insert(lines.end(), told_now.begin(), told_now.end());
    }
    std::vector<std::uint64_t> lines;
  };

  void SetUp() override {
    AccountantTest::SetUp();
    count(0, kInstructions, kFar);
    count(1, 0x41'08D1, kFar);  // MEM_LOAD_RETIRED.L1_MISS
    cpu_.core = &core_;
    cpu_.phase = &phase_;
    start();
    ASSERT_EQ(run_.counting.form, TraceForm::Budget);
  }
  /// As LineWatch does it.
  void note(std::uint64_t line) {
    std::memcpy(reinterpret_cast<void*>(run_.context.probe_note), &line, sizeof line);
    run_.context.probe_note += sizeof line;
  }

  ToldOfLines core_;
  Phase phase_ = Phase::FastForward;
};

TEST_F(AccountantOfLines, TellsTheCoreOfEachOnce) {
  for (const std::uint64_t line : {7, 5, 7}) note(line);
  drain();
  EXPECT_THAT(core_.lines, ElementsAre(7, 5, 7));
  drain();
  EXPECT_THAT(core_.lines, ElementsAre(7, 5, 7));
  note(9);
  drain();
  EXPECT_THAT(core_.lines, ElementsAre(7, 5, 7, 9));
}

TEST_F(AccountantOfLines, TakesNoProbeForALineAndNoLineForAProbe) {
  constexpr std::uint64_t kLastLine = (std::uint64_t{1} << 58) - 1;
  heard_.thought_of = {{.pc = Pages::pc(kAccesses), .time = ProbeTime::Before}};
  accountant_.probes.adopt();
  const std::uint32_t exit = end_of(made(kAccesses));
  note(kLastLine);
  leave(exit);
  note(5);
  leave(exit);
  drain();
  EXPECT_THAT(core_.lines, ElementsAre(kLastLine, 5));
  EXPECT_THAT(heard_.visits,
              ElementsAre(Heard::Visit{Pages::pc(kAccesses), {0, 0}}, Heard::Visit{Pages::pc(kAccesses), {3, 0}}));
  EXPECT_EQ(counter(0), 6U);
}

}  // namespace
}  // namespace zs::engine

// How far a thread runs before C++ looks again, and in which code (QuietStretches).
#include "engine/stretches.h"

#include <gmock/gmock.h>

#include <cstdint>
#include <memory>

#include "engine/quiet_stretches.h"
#include "engine/test_run.h"

namespace zs::engine {
namespace {

/// inc ecx, twelve times; ret. inc ecx; mov [rdi], eax; ret. mov [rdi], eax; ret.
constexpr std::uint64_t kPlain = 0, kStoresSoon = 1, kStoresOnly = 2;

class StretchesTest : public RunTest {
 protected:
  void SetUp() override {
    Bytes plain;
    for (int i = 0; i < 12; ++i) plain.insert(plain.end(), {0xFF, 0xC1});
    plain.push_back(0xC3);
    code_.put(kPlain, plain);
    code_.put(kStoresSoon, {0xFF, 0xC1, 0x89, 0x07, 0xC3});
    code_.put(kStoresOnly, {0x89, 0x07, 0xC3});
  }
  void TearDown() override { run_.lock.abandon(other_); }
  /// Of the trace, from where the next stretch begins to the guard.
  std::uint64_t bytes(const Allowance& allowed) { return run_.trace().end() - stretches_.begin(allowed); }
  void another_waits() {
    other_.process = run_.thread->process;
    run_.lock.give_place(other_);
  }

  Stretches stretches_{run_, accountant_};
  Thread other_;
};

class StretchesOfRecords : public StretchesTest {
 protected:
  void SetUp() override {
    StretchesTest::SetUp();
    count(0, kInstructions, kFar);
    count(1, kBranches, kFar);
    start();
  }
};

TEST_F(StretchesOfRecords, EndWhereACounterMayOverflow) {
  EXPECT_EQ(bytes({.records = 100}), 400U);
  EXPECT_EQ(bytes({}), run_.trace().room());
}

TEST_F(StretchesOfRecords, EndWithTheTurnOfWhoHasRunForItsLength) {
  run_.ran = stretches_.turn_bytes() - 5000;
  EXPECT_EQ(bytes({}), run_.trace().room()) << "nobody waits";
  another_waits();
  EXPECT_EQ(bytes({}), 5000U);
  EXPECT_EQ(bytes({.records = 100}), 400U);
  run_.ran = 2 * stretches_.turn_bytes();
  EXPECT_LT(bytes({}), 1000U);
  EXPECT_GT(bytes({}), 0U) << "and yet something runs";
}

TEST_F(StretchesOfRecords, CallsArePartOfATurnThatOthersWaitFor) {
  for (int i = 0; i < 10'000; ++i) ASSERT_FALSE(stretches_.call_ends_turn());
  another_waits();
  run_.ran = 0;
  int calls = 1;
  for (; !stretches_.call_ends_turn(); ++calls) ASSERT_LT(calls, 10'000);
  EXPECT_EQ(calls, 128) << "of some thousand instructions each";
}

TEST_F(StretchesTest, OfABudgetAreNoLongerAmongThreadsThanTheFirstTrace) {
  count(0, kInstructions, kFar);
  start();
  while (run_.trace().room() < 2 * TraceBuffer::kBytes) run_.trace().grow_budget_view();
  EXPECT_EQ(bytes({}), 2 * TraceBuffer::kBytes);
  run_.threads.push_back(std::make_unique<Thread>());
  EXPECT_EQ(bytes({}), TraceBuffer::kBytes);
}

/// Each period's last instruction writes a record, and does nothing else.
class StretchesThatPass : public StretchesTest {
 protected:
  static constexpr std::uint64_t kPeriod = 1000, kRecords = 10;

  void SetUp() override {
    StretchesTest::SetUp();
    pmu_.set_up_ds(kRecords, kRecords, pmu::minus(kPeriod));
    pmu_.wr(pmu::kPebsEnable, 2);
    count(1, pmu::kCountPrecDist, pmu::minus(kPeriod));
    start();
    ASSERT_EQ(run_.counting.form, TraceForm::Budget);
    if (!has_lahf()) GTEST_SKIP() << "this processor has no LAHF";
  }
  void begin() { stretches_.begin(accountant_.tally.allowance()); }
};

TEST_F(StretchesThatPass, PassTheStopsBeforeTheRecordThatInterrupts) {
  begin();
  EXPECT_EQ(run_.context.passes_left, kRecords - 1);
  EXPECT_EQ(run_.context.period_start, run_.translator->near_end() - (kPeriod - 1));
}

TEST_F(StretchesThatPass, PassNoneWhileAnotherThreadWaits) {
  another_waits();
  begin();
  EXPECT_EQ(run_.context.passes_left, 0U);
}

TEST_F(StretchesThatPass, PassNoneWhereThePhaseMayEnd) {
  run_.phased = true;
  begin();
  EXPECT_EQ(run_.context.passes_left, 0U);
}

TEST_F(StretchesThatPass, PassNoneOfPeriodsThatAreNoStretch) {
  pmu_.set_up_ds(kRecords, kRecords, pmu::minus(100));
  begin();
  EXPECT_EQ(run_.context.passes_left, 0U);
}

TEST_F(StretchesThatPass, PassNoneWhereTheTurnEndsFirst) {
  Allowance far = accountant_.tally.allowance();
  far.budget = run_.trace().room() + 1;
  stretches_.begin(far);
  EXPECT_EQ(run_.context.passes_left, 0U);
}

/// A few stores are left, and instructions enough.
class QuietStretchesTest : public StretchesTest {
 protected:
  void SetUp() override {
    StretchesTest::SetUp();
    count(0, pmu::kCountStores | pmu::kInt, pmu::minus(5));
    count(1, kInstructions, kFar);
    start();
    ASSERT_EQ(run_.counting.form, TraceForm::Spaced);
  }
  /// At that code.
  std::uint64_t enter(std::uint64_t page, const Allowance& allowed) {
    run_.thread->pc = Pages::pc(page);
    return quiet_.enter(allowed, kNone);
  }
  std::uint64_t enter(std::uint64_t page) { return enter(page, accountant_.tally.allowance()); }
  const Block* quiet(std::uint64_t page) const { return blocks().find(Pages::pc(page), Variant::Quiet); }

  QuietStretches quiet_{run_, accountant_, stretches_};
};

TEST_F(QuietStretchesTest, RunWhereAnOverflowIsNearThatFewInstructionsBringCloser) {
  const std::uint64_t at = enter(kPlain);
  ASSERT_NE(at, 0U);
  EXPECT_EQ(at, quiet(kPlain)->entry);
  EXPECT_EQ(run_.context.trace_pointer, stretches_.begin(accountant_.tally.quiet_allowance()));
  EXPECT_EQ(run_.trace_start, run_.context.trace_pointer);
}

TEST_F(QuietStretchesTest, DoNotBeginWithAnInstructionThatBringsItCloser) { EXPECT_EQ(enter(kStoresOnly), 0U); }

TEST_F(QuietStretchesTest, AreNotWorthItWhereOneComesSoonAndSeveralMayRunOnce) {
  Allowance several;
  several.records = 0;
  several.instructions = 8;
  EXPECT_EQ(enter(kStoresSoon, several), 0U);
  several.instructions = 7;
  EXPECT_NE(enter(kStoresSoon, several), 0U);
}

TEST_F(QuietStretchesTest, WholeBlocksRunWhereTheOverflowIsNotNear) {
  EXPECT_EQ(enter(kPlain, {.records = 500, .instructions = 500}), 0U);
}

// Whether the last stretch brought the overflow closer by a quarter of what ran.
TEST_F(QuietStretchesTest, RunThoughTheOverflowIsNotNearWhereTheLastStretchBroughtItHardlyCloser) {
  const auto after = [this](std::uint64_t words, std::uint64_t closer) {
    run_.context.trace_pointer = run_.trace_start = run_.trace().begin();
    quiet_.begin_others({.records = 1000});
    run_.trace_start += 4 * words;
    return enter(kPlain, {.records = 1000 - closer, .instructions = 500});
  };
  EXPECT_EQ(after(100, 25), 0U);
  EXPECT_NE(after(100, 24), 0U);
  EXPECT_EQ(after(100, 25), 0U);
  EXPECT_EQ(after(7, 0), 0U) << "too short to tell";
}

TEST_F(QuietStretchesTest, AreNoneFarAway) {
  const auto after_a_long_one = [this](std::uint64_t left) {
    run_.context.trace_pointer = run_.trace_start = run_.trace().begin();
    quiet_.begin_others({.records = left});
    run_.trace_start += 4000;
    return enter(kPlain, {.records = left, .instructions = left});
  };
  EXPECT_NE(after_a_long_one(4095), 0U);
  EXPECT_EQ(after_a_long_one(4096), 0U);
}

TEST_F(QuietStretchesTest, ABlockIsFoundByTheIndirectBranchThatLedToIt) {
  run_.wants_indirect_entry = true;
  enter(kPlain);
  EXPECT_NE(quiet(kPlain)->hashed_entry, 0U);
}

TEST_F(StretchesTest, NothingIsQuietWhereOnlyThePointerCounts) {
  count(0, kInstructions | pmu::kInt, pmu::minus(5));
  start();
  QuietStretches quiet(run_, accountant_, stretches_);
  EXPECT_EQ(quiet.enter(accountant_.tally.allowance(), kNone), 0U);
}

}  // namespace
}  // namespace zs::engine

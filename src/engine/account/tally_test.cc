// How far the program may run before a counter overflows, and where in a trace one has.
#include "engine/account/tally.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "engine/test_run.h"

namespace zs::engine {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// test eax, eax; jz to the next page; inc ecx; jmp rcx. inc ecx, five times; ret. jmp over two bytes; inc ecx; ret.
constexpr std::uint64_t kBranchy = 0, kPlain = 2, kFollowed = 3;

class TallyTest : public RunTest {
 protected:
  void SetUp() override {
    code_.put(kBranchy, {0x85, 0xC0, 0x0F, 0x84, 0xF8, 0x0F, 0x00, 0x00, 0xFF, 0xC1, 0xFF, 0xE1});
    code_.put(kPlain, {0xFF, 0xC1, 0xFF, 0xC1, 0xFF, 0xC1, 0xFF, 0xC1, 0xFF, 0xC1, 0xC3});
    code_.put(kFollowed, {0xEB, 0x02, 0x90, 0x90, 0xFF, 0xC1, 0xC3});
  }
  void start() {
    RunTest::start();
    const std::uint32_t branchy = made(kBranchy);
    whole_ = end_of(branchy);
    side_ = side_exit_of(branchy);
    plain_ = end_of(made(kPlain));
  }
  std::uint64_t ran() const { return run_.context.trace_pointer - run_.trace_start; }

  std::uint32_t whole_ = 0, side_ = 0, plain_ = 0;  // exits
};

// Where the guard stands so many bytes behind the beginning, the append that meets it is of a block that has run.
TEST_F(TallyTest, OfASpacedTraceNothingOverflowsUpToTheGuardWhateverRuns) {
  count(0, kBranches | pmu::kInt, pmu::minus(100'000));
  start();
  ASSERT_EQ(run_.counting.form, TraceForm::Spaced);
  std::uint64_t farthest = 0;
  for (std::uint64_t left = 1; left < 300; ++left) {
    pmu_.wr(pmu::kFullPmc0, pmu::minus(left));
    const std::uint64_t words = accountant_.tally.allowance().records;
    farthest = std::max(farthest, words);
    if (words == 0) continue;
    run_.context.trace_pointer = run_.trace_start = run_.trace().begin();
    while (ran() < 4 * words) leave(whole_);
    drain();
    ASSERT_GE(counter(0), pmu::minus(left)) << "of " << left << " none has overflowed";
    ASSERT_LT(counter(0), std::uint64_t{1} << 48);
  }
  EXPECT_GT(farthest, 64U) << "and yet far enough";
  EXPECT_THAT(pmis_, IsEmpty());
}

TEST_F(TallyTest, OfABudgetTraceNothingOverflowsUpToTheGuardWhateverRuns) {
  count(0, kInstructions | pmu::kInt, pmu::minus(100'000));
  start();
  ASSERT_EQ(run_.counting.form, TraceForm::Budget);
  for (std::uint64_t left = 1; left < 300; ++left) {
    pmu_.wr(pmu::kFullPmc0, pmu::minus(left));
    const std::uint64_t headroom = left - 1, budget = accountant_.tally.allowance().budget;
    ASSERT_LE(budget == 0 ? 0 : budget + run_.translator->most_unbraked(), headroom) << left;
  }
  EXPECT_EQ(accountant_.tally.allowance().budget, 298 - run_.translator->most_unbraked());
}

TEST_F(TallyTest, SoManyInstructionsMayRunUnobservedAsEachHasTheEvent) {
  count(0, kLoads | pmu::kInt, pmu::minus(100));
  start();
  ASSERT_EQ(run_.counting.per_instruction[0], 2U);
  EXPECT_EQ(accountant_.tally.allowance().instructions, 49U);
}

TEST_F(TallyTest, WhereOverflowsAreFoundInTheTraceNothingIsNear) {
  cpu_.late_interrupts = true;
  count(0, kBranches | pmu::kInt, pmu::minus(3));
  start();
  EXPECT_EQ(accountant_.tally.allowance().records, UINT64_MAX);
}

TEST_F(TallyTest, OfCodeWithoutARareEventOnlyWhatEveryInstructionCountsIsBounded) {
  count(0, kBranches | pmu::kInt, pmu::minus(3));
  count(1, kInstructions | pmu::kInt, pmu::minus(10'001));
  start();
  ASSERT_NE(run_.counting.units[1], 0U);
  EXPECT_EQ(accountant_.tally.allowance().records, 0U);
  const std::uint64_t words = 10'000 / run_.counting.units[1];
  EXPECT_EQ(accountant_.tally.quiet_allowance().records, words - blocks().counts().most_words());
}

TEST_F(TallyTest, OfCodeWithoutARareEventWhatIsFarIsBoundedAsInAnyBlock) {
  count(0, kBranches | pmu::kInt, pmu::minus(3));
  count(1, kInstructions, pmu::minus((std::uint64_t{1} << 47)));
  start();
  ASSERT_EQ(run_.counting.units[1], 0U);
  EXPECT_EQ(accountant_.tally.quiet_allowance().records,
            ((std::uint64_t{1} << 47) - 1) / blocks().counts().most(1) - blocks().counts().most_words());
}

TEST_F(TallyTest, NothingQuietRunsBeforeTheInstructionThatIsToBeRecorded) {
  pmu_.set_up_ds(10, 10, pmu::minus(5));
  pmu_.wr(pmu::kPebsEnable, 1);
  count(0, kBranches, pmu::minus(1));
  start();
  EXPECT_NE(accountant_.tally.quiet_allowance().records, 0U);
  pmu_.set_up_bts(10, 10);
  pmu_.wr(pmu::kDebugCtl, 0x11C0);  // branches to memory, with an interrupt that freezes the counters
  ASSERT_TRUE(pmu_.pmu.needs_each());
  EXPECT_EQ(accountant_.tally.quiet_allowance().records, 0U);
}

/// Windows of so many branches, and what all instructions were at each one's end.
class TallyOfWindows : public TallyTest {
 protected:
  static constexpr std::uint64_t kBranchesOfAWindow = 3;

  void SetUp() override {
    TallyTest::SetUp();
    cpu_.late_interrupts = true;
    count(0, kBranches | pmu::kInt, pmu::minus(kBranchesOfAWindow));
    count(1, kInstructions, kFar);
    start();
    ASSERT_TRUE(run_.counting.splits);
    heard_.at_pmi = [this](const arch::RegisterFile&) {
      ends_.push_back(counter(1));
      EXPECT_EQ(counter(0), 0U);
      pmu_.wr(pmu::kFullPmc0, pmu::minus(kBranchesOfAWindow));
      pmu_.wr(pmu::kOvfCtrl, 1);
    };
  }
  std::vector<std::uint64_t> ends_;
};

TEST_F(TallyOfWindows, AnEndLiesBehindTheVeryInstructionInTheMiddleOfABlock) {
  for (const std::uint32_t exit : {whole_, whole_, side_, whole_}) leave(exit);
  drain();
  EXPECT_THAT(ends_, ElementsAre(6U, 12U));
  EXPECT_EQ(counter(1), 14U);
  EXPECT_EQ(counter(0), pmu::minus(2));
}

TEST_F(TallyOfWindows, SeveralEndInOneTrace) {
  for (int i = 0; i < 300; ++i) leave(whole_);
  drain();
  ASSERT_EQ(ends_.size(), 200U);
  for (std::size_t i = 0; i < ends_.size(); ++i) ASSERT_EQ(ends_[i], i % 2 == 0 ? 6 + 6 * i : 6 * i + 6) << i;
  EXPECT_EQ(counter(1), 1200U);
}

TEST_F(TallyOfWindows, OneEndsInTheMiddleOfABlockThatFaulted) {
  for (const std::uint32_t exit : {whole_, side_}) leave(exit);
  drain();
  EXPECT_THAT(ends_, ElementsAre(6U));
  for (int i = 0; i < 2; ++i) accountant_.count_into(made(kBranchy), 3, 0);
  EXPECT_EQ(counter(0), pmu::minus(1));
  accountant_.count_into(made(kBranchy), 3, 0);
  EXPECT_THAT(ends_, ElementsAre(6U, 14U));
  EXPECT_EQ(counter(1), 15U);
}

TEST_F(TallyTest, WindowsOfInstructionsEndAtTheVeryOneInABudget) {
  cpu_.late_interrupts = true;
  count(0, kInstructions | pmu::kInt, pmu::minus(10));
  start();
  std::vector<std::uint64_t> ends;
  std::uint64_t all = 0;
  heard_.at_pmi = [&](const arch::RegisterFile&) {
    ends.push_back(all += 10);
    EXPECT_EQ(counter(0), 0U);
    pmu_.wr(pmu::kFullPmc0, pmu::minus(10));
    pmu_.wr(pmu::kOvfCtrl, 1);
  };
  for (int i = 0; i < 6; ++i) leave(whole_);
  drain();
  EXPECT_THAT(ends, ElementsAre(10U, 20U));
  EXPECT_EQ(counter(0), pmu::minus(6));
}

/// The newest branches are kept.
class TallyOfBranches : public TallyTest {
 protected:
  void SetUp() override {
    TallyTest::SetUp();
    count(0, kInstructions, kFar);
    pmu_.wr(pmu::kDebugCtl, 1);
    start();
  }
  /// So many before the newest: from, to.
  std::pair<std::uint64_t, std::uint64_t> branch(unsigned back) const {
    const std::uint64_t at = (pmu_.rd(pmu::kTos) - back) & (pmu_.model.lbr_entries - 1U);
    return {pmu_.rd(pmu::kFrom0 + static_cast<std::uint32_t>(at)), pmu_.rd(pmu::kTo0 + static_cast<std::uint32_t>(at))};
  }
  static std::pair<std::uint64_t, std::uint64_t> from_to(std::uint64_t from, std::uint64_t to) { return {from, to}; }
  static constexpr std::uint64_t kJump = Pages::pc(kBranchy) + 10, kJcc = Pages::pc(kBranchy) + 2,
                                 kReturn = Pages::pc(kPlain) + 10;
};

TEST_F(TallyOfBranches, AreThoseOnTheWayToEachExitInTheirOrder) {
  for (const std::uint32_t exit : {whole_, whole_, side_}) leave(exit);
  drain();
  EXPECT_EQ(branch(0), from_to(kJcc, Pages::pc(1)));
  EXPECT_EQ(branch(1), from_to(kJump, Pages::pc(kBranchy)));
  EXPECT_EQ(branch(2), from_to(kJump, Pages::pc(kBranchy)));
}

TEST_F(TallyOfBranches, AnIndirectOneLedToWhatRanNext) {
  for (const std::uint32_t exit : {plain_, whole_, plain_}) leave(exit);
  run_.indirect_target = 0x1234;
  drain();
  EXPECT_EQ(branch(0), from_to(kReturn, 0x1234));
  EXPECT_EQ(branch(1), from_to(kJump, Pages::pc(kPlain)));
  EXPECT_EQ(branch(2), from_to(kReturn, Pages::pc(kBranchy)));
}

TEST_F(TallyOfBranches, TheNewestOfManyAreKept) {
  leave(side_);
  for (int i = 0; i < 1000; ++i) leave(whole_);
  run_.indirect_target = Pages::pc(kBranchy);
  drain();
  for (unsigned back = 0; back < pmu_.model.lbr_entries; ++back)
    ASSERT_EQ(branch(back), from_to(kJump, Pages::pc(kBranchy))) << back;
}

// With all others filtered out the newest of these may be far behind.
TEST_F(TallyOfBranches, TheNewestThatTheFilterLetsThroughAreKept) {
  pmu_.wr(pmu::kLbrSelect, 0x40);  // no indirect jumps
  for (int i = 0; i < 20; ++i) leave(side_);
  for (int i = 0; i < 1000; ++i) leave(whole_);
  drain();
  for (unsigned back = 0; back < pmu_.model.lbr_entries; ++back)
    ASSERT_EQ(branch(back), from_to(kJcc, Pages::pc(1))) << back;
}

TEST_F(TallyOfBranches, OfABlockThatFaultedAreThoseBeforeTheFault) {
  const std::uint32_t block = made(kFollowed);
  accountant_.count_into(block, 2, Pages::pc(kFollowed) + 6);
  EXPECT_EQ(branch(0), from_to(Pages::pc(kFollowed), Pages::pc(kFollowed) + 4));
  EXPECT_EQ(branch(1).first, 0U);
  EXPECT_EQ(counter(0), 2U);
}

}  // namespace
}  // namespace zs::engine

// What an observer hears of probes: where the thread was, and what had retired before.
#include "engine/account/probes.h"

#include <gmock/gmock.h>

#include "engine/test_run.h"

namespace zs::engine {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

/// inc eax; inc eax; ret. The same with a probe at its beginning. inc eax, probed; ret.
constexpr std::uint64_t kThree = 0, kProbed = 1, kProbedBehind = 2;
/// nop dword [rip + 0x10]; ret
constexpr std::uint64_t kMarker = 3;

class ProbesTest : public RunTest {
 protected:
  void SetUp() override {
    const Bytes three{0xFF, 0xC0, 0xFF, 0xC0, 0xC3};
    for (const std::uint64_t page : {kThree, kProbed, kProbedBehind}) code_.put(page, three);
    code_.put(kMarker, {0x0F, 0x1F, 0x05, 0x10, 0, 0, 0, 0xC3});
    heard_.thought_of = {{.pc = Pages::pc(kProbed), .time = ProbeTime::Before},
                         {.pc = Pages::pc(kProbedBehind), .time = ProbeTime::After}};
  }
  void start() {
    RunTest::start();
    accountant_.probes.adopt();
    three_ = end_of(made(kThree));
    probed_ = end_of(made(kProbed));
    probed_behind_ = end_of(made(kProbedBehind));
  }
  static Heard::Visit visit(std::uint64_t page, std::vector<std::uint32_t> uncounted) {
    return {Pages::pc(page), std::move(uncounted)};
  }

  std::uint32_t three_ = 0, probed_ = 0, probed_behind_ = 0;  // exits
};

/// Several events, none sampled: one word an exit.
class ProbesInRecords : public ProbesTest {
 protected:
  void SetUp() override {
    ProbesTest::SetUp();
    count(0, kInstructions, kFar);
    count(1, kBranches, kFar);
    start();
    ASSERT_EQ(run_.counting.form, TraceForm::Records);
  }
};

TEST_F(ProbesInRecords, AreToldTogetherWithWhatRetiredBeforeEach) {
  for (const std::uint32_t exit : {three_, probed_, three_, three_, probed_}) leave(exit);
  heard_.at_probe = [this] { EXPECT_EQ(counter(0), 0U) << "the PMUs count when all have been told"; };
  drain();
  EXPECT_THAT(heard_.visits, ElementsAre(visit(kProbed, {3, 1}), visit(kProbed, {12, 4})));
  EXPECT_THAT(heard_.told, ElementsAre(2U));
  EXPECT_EQ(counter(0), 15U);
  EXPECT_EQ(counter(1), 5U);
}

TEST_F(ProbesInRecords, BehindTheirInstructionAreToldWithIt) {
  for (const std::uint32_t exit : {three_, probed_behind_, three_}) leave(exit);
  drain();
  EXPECT_THAT(heard_.visits, ElementsAre(visit(kProbedBehind, {4, 1})));
  EXPECT_EQ(counter(0), 7U);
}

TEST_F(ProbesInRecords, AreAllToldWhereThereAreMany) {
  constexpr std::size_t kMany = 1000;
  for (std::size_t i = 0; i < kMany; ++i) leave(probed_);
  drain();
  ASSERT_THAT(heard_.visits, SizeIs(kMany));
  for (std::uint32_t i = 0; i < kMany; ++i) ASSERT_EQ(heard_.visits[i], visit(kProbed, {3 * i, i}));
  EXPECT_EQ(counter(0), 3 * kMany);
}

// The record at which the guard was hit.
TEST_F(ProbesInRecords, AreToldOfTheRecordThatWasNotStored) {
  leave(three_);
  accountant_.drain(probed_);
  EXPECT_THAT(heard_.visits, ElementsAre(visit(kProbed, {3, 1})));
  EXPECT_EQ(counter(0), 6U);
}

TEST_F(ProbesInRecords, AreToldAmongManyRecordsThatAreNone) {
  for (int i = 0; i < 100; ++i) leave(i == 37 || i == 38 || i == 99 ? probed_ : three_);
  drain();
  EXPECT_THAT(heard_.visits,
              ElementsAre(visit(kProbed, {111, 37}), visit(kProbed, {114, 38}), visit(kProbed, {297, 99})));
}

/// Where each branch goes to memory: what an observer asks for must be there.
TEST_F(ProbesInRecords, AreToldOneByOneWhereBranchesAreStored) {
  pmu_.set_up_bts(100, 100);
  pmu_.wr(pmu::kDebugCtl, 0xC0);  // TR, BTS
  for (const std::uint32_t exit : {three_, probed_, three_, probed_}) leave(exit);
  std::vector<std::uint64_t> counts, branches;
  heard_.at_probe = [&] {
    counts.push_back(counter(0));
    branches.push_back((pmu_.bts_index() - pmu::TestPmu::kBranches) / 24);
  };
  drain();
  EXPECT_THAT(counts, ElementsAre(3U, 9U));
  EXPECT_THAT(branches, ElementsAre(1U, 3U));
  EXPECT_THAT(heard_.visits, ElementsAre(visit(kProbed, {}), visit(kProbed, {})));
  EXPECT_EQ(counter(0), 12U);
}

TEST_F(ProbesInRecords, BehindTheirInstructionAreToldWithTheRecordThatWasNotStoredWhereBranchesAreStored) {
  pmu_.set_up_bts(100, 100);
  pmu_.wr(pmu::kDebugCtl, 0xC0);
  leave(three_);
  std::uint64_t count = 0;
  heard_.at_probe = [&] { count = counter(0); };
  accountant_.drain(probed_behind_);
  EXPECT_EQ(count, 4U);
  EXPECT_EQ(counter(0), 4U);
}

/// Instructions alone: the pointer counts, and probes are noted beside the trace.
class ProbesInABudget : public ProbesTest {
 protected:
  void SetUp() override {
    ProbesTest::SetUp();
    count(0, kInstructions, kFar);
    start();
    ASSERT_EQ(run_.counting.form, TraceForm::Budget);
  }
};

TEST_F(ProbesInABudget, AreToldWithWhatRetiredBeforeEach) {
  for (const std::uint32_t exit : {three_, probed_, three_, probed_behind_, probed_}) leave(exit);
  drain();
  EXPECT_THAT(heard_.visits, ElementsAre(visit(kProbed, {3}), visit(kProbedBehind, {10}), visit(kProbed, {10})));
  EXPECT_EQ(counter(0), 13U);
}

TEST_F(ProbesInABudget, AreToldOnce) {
  leave(probed_);
  drain();
  leave(three_);
  drain();
  EXPECT_THAT(heard_.visits, SizeIs(1));
  EXPECT_EQ(counter(0), 6U);
}

TEST_F(ProbesInABudget, AreAllToldWhereThereAreMany) {
  constexpr std::size_t kMany = 1000;
  for (std::size_t i = 0; i < kMany; ++i) leave(probed_);
  drain();
  ASSERT_THAT(heard_.visits, SizeIs(kMany));
  for (std::uint32_t i = 0; i < kMany; ++i) ASSERT_EQ(heard_.visits[i], visit(kProbed, {3 * i}));
}

/// Windows end in the trace.
class ProbesAmongWindows : public ProbesTest {
 protected:
  void SetUp() override {
    ProbesTest::SetUp();
    cpu_.late_interrupts = true;
    heard_.at_pmi = [this](const arch::RegisterFile&) { windows_.push_back(heard_.visits.size()); };
    heard_.at_probe = [this] { counts_.push_back(counter(0)); };
  }
  void expect_reached_in(TraceForm form) {
    count(0, kInstructions | pmu::kInt, pmu::minus(4));
    start();
    ASSERT_EQ(run_.counting.form, form);
    for (const std::uint32_t exit : {probed_, three_, probed_}) leave(exit);
    drain();
    EXPECT_THAT(windows_, ElementsAre(1U));
    EXPECT_THAT(counts_, ElementsAre(pmu::minus(4), 2U));
    EXPECT_EQ(counter(0), 5U);
  }

  std::vector<std::size_t> windows_;   // how many probes had been reached at the end of each
  std::vector<std::uint64_t> counts_;  // at each probe
};

TEST_F(ProbesAmongWindows, AreReachedInTheirWindow) { expect_reached_in(TraceForm::Budget); }

TEST_F(ProbesAmongWindows, AreReachedInTheirWindowOfRecords) {
  count(1, kBranches, kFar);
  expect_reached_in(TraceForm::Records);
}

TEST_F(ProbesInRecords, OfTheSourceAreAskedForOnceUntilTheirCodeChanges) {
  heard_.answer = ProbeTime::Before;
  leave(end_of(made(kMarker)));
  run_.flush();
  leave(end_of(made(kMarker)));
  EXPECT_THAT(heard_.markers, ElementsAre(Pages::pc(kMarker) + 7 + 0x10));
  accountant_.probes.code_changed();
  run_.flush();
  made(kMarker);
  EXPECT_THAT(heard_.markers, SizeIs(2));
}

TEST_F(ProbesInRecords, OfTheSourceAreNoOtherNops) {
  heard_.answer = ProbeTime::Before;
  code_.put(4, {0x66, 0x0F, 0x1F, 0x05, 0x10, 0, 0, 0, 0xC3});  // a prefix
  code_.put(5, {0x0F, 0x1F, 0x84, 0x00, 0x10, 0, 0, 0, 0xC3});  // nop dword [rax + rax + 16]
  code_.put(6, {0x0F, 0x1F, 0x04, 0x25, 0x10, 0, 0, 0, 0xC3});  // nop dword [16]
  for (const std::uint64_t page : {4, 5, 6}) EXPECT_EQ(blocks().probe_of(end_of(made(page))), ProbeTime::None);
  EXPECT_THAT(heard_.markers, IsEmpty());
}

TEST_F(ProbesInRecords, ThatAreNewEndTheTranslationsOfTheirCode) {
  const std::uint32_t block = made(kThree);
  heard_.thought_of = {{.pc = Pages::pc(kThree) + 2, .time = ProbeTime::Before}};
  accountant_.probes.adopt();
  EXPECT_TRUE(blocks().block(block).dead);
  EXPECT_EQ(blocks().block(made(kThree)).instructions, 1U) << "the probe begins a block of its own";
}

TEST_F(ProbesInRecords, ThatWantRegistersAreSteppedAndAskForMore) {
  heard_.thought_of = {{.pc = Pages::pc(kThree), .time = ProbeTime::Before, .with_registers = true}};
  accountant_.probes.adopt();
  EXPECT_EQ(blocks().block(made(kThree)).instructions, 0U);
  made(kThree, Variant::Step);
  run_.gpr(kRax) = 7;
  run_.thread->pc = Pages::pc(kThree);
  accountant_.steps.begin(true);
  run_.gpr(kRax) = 8;
  run_.thread->pc += 2;
  heard_.thought_of = {{.pc = Pages::pc(kThree) + 4, .time = ProbeTime::Before}};
  accountant_.steps.retire(false);
  ASSERT_THAT(heard_.registers_at_probes, SizeIs(1));
  EXPECT_EQ(heard_.registers_at_probes[0].ax, 7U);
  EXPECT_THAT(heard_.thought_of, IsEmpty());
}

// A trace does not say between which records the elements were counted.
TEST_F(ProbesTest, EndTheCountingOfElementsOnce) {
  count(0, kInstructions, kFar);
  count(1, kLoads, kFar);
  RunTest::start();
  ASSERT_TRUE(run_.counting.count_elements);
  EXPECT_FALSE(accountant_.probes.stop_counting_elements());
  accountant_.probes.adopt();
  made(kProbed);
  EXPECT_TRUE(accountant_.probes.stop_counting_elements());
  EXPECT_FALSE(run_.counting.count_elements);
  EXPECT_FALSE(accountant_.probes.stop_counting_elements());
}

}  // namespace
}  // namespace zs::engine

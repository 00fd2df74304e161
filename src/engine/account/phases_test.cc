// Which translation runs in which phase of a run, and what the core hears at their ends.
#include "engine/account/phases.h"

#include <gmock/gmock.h>

#include <cstdint>
#include <vector>

#include "arch/reported_in_full.h"
#include "engine/test_core.h"
#include "engine/test_run.h"
#include "engine/translate/line_watch.h"

namespace zs::engine {
namespace {

using testing::ElementsAre;

class SkippingCore final : public FakeCore {
 public:
  void skipped(bool sampled) override { skips.push_back(sampled); }
  std::vector<std::uint64_t> beyond_l2() override { return matter; }

  std::vector<bool> skips;
  std::vector<std::uint64_t> matter;
};

class PhasesTest : public RunTest {
 protected:
  /// mov eax, [rbx]; ret
  static constexpr std::uint64_t kLoads = 0;

  void SetUp() override {
    code_.put(kLoads, {0x8B, 0x03, 0xC3});
    count(0, kInstructions, kFar);
    count(1, 0x41'08D1, kFar);  // MEM_LOAD_RETIRED.L1_MISS
    cpu_.core = &core_;
    cpu_.phase = &phase_;
  }
  void begin(Phase phase) {
    phase_ = phase;
    start();
  }
  bool follow(Phase next) {
    phase_ = next;
    return accountant_.phases.follow();
  }
  const arch::CoreFeed* core_of_thread() const { return run_.thread->cpu.core; }

  SkippingCore core_;
  Phase phase_ = Phase::FastForward;
};

TEST_F(PhasesTest, BetweenUnitsOnlyCountsAreKept) {
  begin(Phase::FastForward);
  EXPECT_FALSE(run_.counting.models);
  EXPECT_EQ(core_of_thread(), nullptr);
  EXPECT_TRUE(follow(Phase::WarmUp));
  EXPECT_TRUE(run_.counting.models);
  EXPECT_EQ(core_of_thread(), &core_);
  EXPECT_TRUE(follow(Phase::FastForward));
  EXPECT_FALSE(run_.counting.models);
  EXPECT_EQ(core_of_thread(), nullptr);
}

TEST_F(PhasesTest, AWarmUpAndItsUnitAreOneTranslation) {
  begin(Phase::WarmUp);
  const Translator* const modelled = run_.translator.get();
  EXPECT_FALSE(follow(Phase::Unit));
  EXPECT_EQ(run_.translator.get(), modelled);
  EXPECT_EQ(run_.phase, Phase::Unit);
  EXPECT_EQ(core_of_thread(), &core_);
  EXPECT_FALSE(follow(Phase::Unit));
}

TEST_F(PhasesTest, EachTranslationIsKeptWhileTheOtherRuns) {
  begin(Phase::FastForward);
  const Translator* const counted = run_.translator.get();
  made(kLoads);
  const std::size_t before = blocks().size();
  follow(Phase::WarmUp);
  const Translator* const modelled = run_.translator.get();
  EXPECT_NE(modelled, counted);
  EXPECT_EQ(blocks().size(), 1U);  // the first is none
  follow(Phase::FastForward);
  EXPECT_EQ(run_.translator.get(), counted);
  EXPECT_EQ(blocks().size(), before);
  follow(Phase::Unit);
  EXPECT_EQ(run_.translator.get(), modelled);
}

TEST_F(PhasesTest, CodeIsOfAnotherGenerationInEachStretch) {
  begin(Phase::FastForward);
  const std::uint64_t first = run_.code_generation();
  follow(Phase::WarmUp);
  const std::uint64_t second = run_.code_generation();
  EXPECT_GT(second, first);
  follow(Phase::Unit);
  EXPECT_EQ(run_.code_generation(), second);
  follow(Phase::FastForward);
  EXPECT_GT(run_.code_generation(), second);
}

TEST_F(PhasesTest, TheCoreHearsThatItWasLeftOut) {
  begin(Phase::WarmUp);
  follow(Phase::Unit);
  follow(Phase::FastForward);
  EXPECT_THAT(core_.skips, ElementsAre());
  follow(Phase::WarmUp);
  EXPECT_THAT(core_.skips, ElementsAre(can_watch_lines()));
  follow(Phase::Unit);
  EXPECT_EQ(core_.skips.size(), 1U);
}

TEST_F(PhasesTest, AThreadThatBeginsBetweenUnitsHasNoCoreYet) {
  begin(Phase::FastForward);
  Thread other;
  other.cpu = cpu_;
  other.core = &core_;
  accountant_.phases.place(other);
  EXPECT_EQ(other.cpu.core, nullptr);
  follow(Phase::Unit);
  accountant_.phases.place(other);
  EXPECT_EQ(other.cpu.core, &core_);
}

TEST_F(PhasesTest, WatchesWhatMattersBeyondL2WhenAllHasBeenWatchedForLong) {
  if (!can_watch_lines()) GTEST_SKIP() << "the processor has no BMI2";
  begin(Phase::FastForward);
  for (std::uint64_t stretch = 1; stretch < arch::kStretchesReportedInFull; ++stretch) {
    follow(Phase::Unit);
    EXPECT_TRUE(follow(Phase::FastForward));
    ASSERT_TRUE(run_.watched.all()) << stretch;
  }
  core_.matter = {Pages::pc(kLoads)};
  follow(Phase::Unit);
  follow(Phase::FastForward);
  EXPECT_FALSE(run_.watched.all());
  EXPECT_TRUE(run_.watched.contains(Pages::pc(kLoads)));
  EXPECT_FALSE(run_.watched.contains(Pages::pc(kLoads) + 2));
  follow(Phase::Unit);
  follow(Phase::FastForward);  // once is enough
  EXPECT_FALSE(run_.watched.all());
}

TEST_F(PhasesTest, WhatIsFoundToMatterIsTranslatedAnew) {
  if (!can_watch_lines()) GTEST_SKIP() << "the processor has no BMI2";
  begin(Phase::FastForward);
  for (std::uint64_t stretch = 0; stretch < arch::kStretchesReportedInFull; ++stretch) {
    follow(Phase::Unit);
    follow(Phase::FastForward);
  }
  const std::uint32_t plain = blocks().block(made(kLoads)).code_bytes;
  core_.matter = {Pages::pc(kLoads)};
  follow(Phase::Unit);
  follow(Phase::FastForward);
  EXPECT_GT(blocks().block(made(kLoads)).code_bytes, plain);  // it looks at the line
}

TEST_F(PhasesTest, ARunWithoutPhasesHasOneTranslation) {
  cpu_.phase = nullptr;
  start();
  EXPECT_FALSE(run_.phased);
  EXPECT_FALSE(accountant_.phases.follow());
  EXPECT_TRUE(run_.counting.models);
  EXPECT_EQ(core_of_thread(), &core_);
  EXPECT_FALSE(run_.watched.all());
}

}  // namespace
}  // namespace zs::engine

// Which form of the trace a run gets: what it costs between units depends on that alone, and nothing else shows it.
#include "engine/run/counting_mode.h"

#include <gtest/gtest.h>

#include <array>

#include "engine/translate/line_watch.h"
#include "pmu/fakes.h"

namespace zs::engine {
namespace {

constexpr std::uint64_t kSelectInstructions = 0x41'00C0, kSelectBranches = 0x41'00C4, kSelectStores = 0x41'82D0,
                        kL1Misses = 0x41'08D1;
constexpr std::uint64_t kInterrupt = 0x10'0000;
constexpr std::uint64_t kFarFromItsOverflow = 0, kThousandLeft = 0xFFFF'FFFF'FC18;

class NoCore final : public arch::CoreFeed {
 public:
  void describe(std::uint32_t, const arch::PathDescription&) override {}
  void run(std::span<const arch::PathRun>, const arch::SlotValues&) override {}
  const arch::CoreSignals& signals() const override { return signals_; }
  arch::AccessOutcome last_load() const override { return {}; }
  arch::AccessOutcome last_store() const override { return {}; }
  bool last_mispredicted() const override { return false; }
  void set_latency_threshold(std::uint32_t) override {}
  std::uint32_t most_per_instruction(arch::CoreSignal) const override { return 4; }
  void unmapped(std::uint64_t, std::uint64_t) override {}

 private:
  arch::CoreSignals signals_;
};

/// A sampled run: one PMU counts what was asked for, another one the instructions up to the phase's end.
class SampledRun : public ::testing::Test {
 protected:
  SampledRun() {
    clock_.wr(pmu::kSelect0, kSelectInstructions | kInterrupt);
    clock_.wr(pmu::kFullPmc0, kThousandLeft);
    clock_.wr(pmu::kGlobal, 1);
    cpu_.pmus = pmus_;
    cpu_.core = &core_;
    cpu_.phase = &phase_;
  }
  void count(std::uint32_t counter, std::uint64_t select, std::uint64_t value) {
    counters_.wr(pmu::kSelect0 + counter, select);
    counters_.wr(pmu::kFullPmc0 + counter, value);
    enabled_ |= 1U << counter;
    counters_.wr(pmu::kGlobal, enabled_);
  }
  CountingMode between_units() const { return CountingMode(cpu_, true); }
  CountingMode in_units() const { return CountingMode(cpu_, false); }

  pmu::TestPmu counters_{pmu::TestPmu::kCountsAccesses}, clock_;
  VirtualCpu cpu_;

 private:
  NoCore core_;
  Phase phase_ = Phase::FastForward;
  std::array<pmu::Pmu*, 2> pmus_{&counters_.pmu, &clock_.pmu};
  std::uint64_t enabled_ = 0;
};

TEST_F(SampledRun, TakesTheBudgetFormBetweenUnitsWhereInstructionsAreAllThatIsCounted) {
  count(0, kSelectInstructions, kFarFromItsOverflow);
  count(1, kL1Misses, kThousandLeft);
  EXPECT_EQ(between_units().form, TraceForm::Budget);
  EXPECT_EQ(between_units().watches_lines, can_watch_lines());
  EXPECT_EQ(in_units().form, TraceForm::Spaced);
}

TEST_F(SampledRun, TakesItWithProbesToo) {
  count(0, kSelectInstructions, kFarFromItsOverflow);
  count(1, kL1Misses, kFarFromItsOverflow);
  cpu_.probes = true;
  EXPECT_EQ(between_units().form, TraceForm::Budget);
  EXPECT_EQ(between_units().watches_lines, can_watch_lines());
}

TEST_F(SampledRun, TakesAnotherFormWhereSomethingElseIsCounted) {
  count(0, kSelectBranches, kFarFromItsOverflow);
  EXPECT_EQ(between_units().form, TraceForm::Spaced);
}

TEST_F(SampledRun, DoesNotLookAtWhatSleepsBetweenUnitsAndSamplesItInThem) {
  count(0, kSelectStores | kInterrupt, kThousandLeft);
  EXPECT_EQ(between_units().form, TraceForm::Spaced);
  EXPECT_TRUE(between_units().accumulators->any_memory());
  counters_.pmu.let_sleep(arch::only(0));
  EXPECT_EQ(between_units().form, TraceForm::Budget);
  EXPECT_FALSE(between_units().accumulators->any_memory()) << "REP strings need not run alone";
  EXPECT_TRUE(in_units().accumulators->any_memory()) << "made in the warm-up, where it sleeps too";
  EXPECT_NE(in_units().units[0], 0U);
}

TEST_F(SampledRun, ACounterOfBusTicksMayOverflowAsOthersOfTimeMay) {
  cpu_.phase = nullptr;
  constexpr std::uint64_t kSelectBusTicks = 0x41'013C;
  count(0, kSelectBusTicks, kFarFromItsOverflow);
  EXPECT_FALSE(CountingMode(cpu_).time_is_near);
  count(0, kSelectBusTicks | kInterrupt, kThousandLeft);
  EXPECT_TRUE(CountingMode(cpu_).time_is_near);
  EXPECT_TRUE(CountingMode(cpu_).at_once);
  EXPECT_EQ(nearest_time(counters_.pmu), 998 * kCyclesPerBusTick);
}

TEST_F(SampledRun, OutsideOfOneNoStopIsPassedAmongProbes) {
  cpu_.core = nullptr;
  cpu_.phase = nullptr;
  EXPECT_EQ(CountingMode(cpu_).form, TraceForm::Budget);
  cpu_.probes = true;
  EXPECT_EQ(CountingMode(cpu_).form, TraceForm::Spaced);
}

}  // namespace
}  // namespace zs::engine

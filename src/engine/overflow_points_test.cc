// The last stretch before an overflow, and what is told of stops that code has passed by itself.
#include "engine/overflow_points.h"

#include <gmock/gmock.h>

#include <cstdint>
#include <vector>

#include "engine/kernel/kernel_parts.h"
#include "engine/test_run.h"

namespace zs::engine {
namespace {

using testing::ElementsAre;

/// mov eax, [rdi]; mov edx, [rsi]; inc ecx; ret. inc ecx, probed; ret.
constexpr std::uint64_t kBody = 0, kProbed = 1;
constexpr std::uint64_t kPc = Pages::pc(kBody);

class OverflowPointsTest : public RunTest {
 protected:
  static constexpr std::uint64_t kPeriod = 1000;

  void SetUp() override {
    if (!has_lahf()) GTEST_SKIP() << "this processor has no LAHF";
    code_.put(kBody, {0x8B, 0x07, 0x8B, 0x16, 0xFF, 0xC1, 0xC3});
    code_.put(kProbed, {0xFF, 0xC1, 0xC3});
    count(0, kInstructions | pmu::kInt, pmu::minus(kPeriod));
    heard_.at_pmi = [this](const arch::RegisterFile& at) {
      if (pmu_.pmi.requested == 0) return;
      pmu_.pmi.requested = 0;
      samples_.push_back(at);
      pmu_.wr(pmu::kFullPmc0, pmu::minus(kPeriod));
      pmu_.wr(pmu::kOvfCtrl, 1);
    };
    start();
    ASSERT_TRUE(run_.translator->has_near());
    near_ = made(kBody, Variant::Near);
  }
  const Block& near() const { return blocks().block(near_); }
  /// So many instructions before the overflow code has been entered, and has stopped.
  void stop(std::uint64_t distance, std::uint16_t index, StopKind kind) {
    pmu_.wr(pmu::kFullPmc0, pmu::minus(distance + 1));
    run_.context.trace_pointer = run_.trace_start = run_.translator->near_end() - distance;
    run_.context.stop_block = near_;
    run_.context.stop_index = index;
    run_.context.stop_kind = kind;
    points_.leave_stop();
  }
  PassedStop& passed(std::uint32_t number) {
    const std::uint64_t at = reinterpret_cast<std::uint64_t>(&run_.context) + kPassedOffset;
    run_.context.passed = number + 1;
    PassedStop& stop = reinterpret_cast<PassedStop*>(at)[number];
    stop = {};
    stop.block = near_;
    return stop;
  }

  KernelParts parts_{run_, accountant_};
  Stretches stretches_{run_, accountant_};
  OverflowPoints points_{run_, accountant_, parts_.code, stretches_};
  std::uint32_t near_ = kNone;
  std::vector<arch::RegisterFile> samples_;
};

TEST_F(OverflowPointsTest, AreApproachedInCodeWhosePointerTellsTheDistance) {
  EXPECT_EQ(points_.approach(7, kNone), near().entry);
  EXPECT_EQ(run_.context.trace_pointer, run_.translator->near_end() - 7);
  EXPECT_EQ(run_.trace_start, run_.context.trace_pointer);
}

TEST_F(OverflowPointsTest, AreNotApproachedBeyondTheTrace) {
  EXPECT_EQ(points_.approach(2 * run_.trace().room(), kNone), near().entry);
  EXPECT_EQ(run_.context.trace_pointer, run_.translator->near_end() - run_.trace().room());
}

TEST_F(OverflowPointsTest, AreNotApproachedByWhatHasToRunAlone) {
  EXPECT_EQ(points_.approach(0, kNone), 0U) << "the overflow is next";
  heard_.thought_of = {{.pc = Pages::pc(kProbed), .time = ProbeTime::Before}};
  accountant_.probes.adopt();
  run_.thread->pc = Pages::pc(kProbed);
  EXPECT_EQ(points_.approach(7, kNone), 0U);
}

TEST_F(OverflowPointsTest, BehindTheInstructionThatOverflowsItIsRetiredWithTheRegistersThere) {
  run_.gpr(kRdx) = 77;
  stop(1, 2, StopKind::Behind);
  ASSERT_EQ(samples_.size(), 1U);
  EXPECT_EQ(samples_[0].ip, kPc + 4);
  EXPECT_EQ(samples_[0].dx, 77U);
  EXPECT_EQ(run_.thread->pc, kPc + 4);
  EXPECT_EQ(counter(0), pmu::minus(kPeriod));
}

TEST_F(OverflowPointsTest, BeforeItWhatLiesBeforeIsCounted) {
  stop(2, 2, StopKind::Before);
  EXPECT_TRUE(samples_.empty());
  EXPECT_EQ(run_.thread->pc, kPc + 4);
  EXPECT_EQ(counter(0), pmu::minus(1));
}

TEST_F(OverflowPointsTest, AfterASampleTheRestOfItsBlockGoesOn) {
  stop(1, 2, StopKind::Behind);
  const std::uint64_t at = points_.leave_near({});
  EXPECT_EQ(at, near().entry + blocks().meta(near(), 2).code_offset);
  EXPECT_EQ(run_.context.past_stop, 1U);
  EXPECT_EQ(run_.context.trace_pointer, run_.translator->near_end() - 2 + kPastStops)
      << "what its exit adds counts only what is left";
  EXPECT_NE(run_.context.restart, 0U);
  EXPECT_EQ(points_.leave_near({}), 0U) << "once";
}

TEST_F(OverflowPointsTest, AfterASampleWhatIsThereAlreadyRuns) {
  stop(1, 2, StopKind::Behind);
  run_.translator->get(kPc + 4, Variant::Full);
  EXPECT_EQ(points_.leave_near({}), 0U);
}

TEST_F(OverflowPointsTest, TheRestOfABlockThatIsGoneDoesNotGoOn) {
  stop(1, 2, StopKind::Behind);
  run_.invalidate(kPc, kPc + 1);
  EXPECT_EQ(points_.leave_near({}), 0U);
}

TEST_F(OverflowPointsTest, TheRestOfABlockGoesOnOnlyWhereTheThreadIsThere) {
  stop(1, 2, StopKind::Behind);
  run_.thread->pc = kPc;
  EXPECT_EQ(points_.leave_near({}), 0U);
  run_.thread->pc = kPc + 4;
  EXPECT_EQ(points_.leave_near({}), 0U) << "nor later";
}

TEST_F(OverflowPointsTest, ThatWerePassedAreToldInTheirOrderWithTheirRegistersAndTimes) {
  for (std::uint32_t i = 0; i < 3; ++i) {
    PassedStop& stop = passed(i);
    stop.index = 1;
    stop.kind = StopKind::Behind;
    stop.gpr[kRax] = 10 + i;
    stop.host_ticks = 100 + i;
  }
  points_.retire_deferred();
  ASSERT_EQ(samples_.size(), 3U);
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(samples_[i].ax, 10 + i);
    EXPECT_EQ(samples_[i].ip, kPc + 2);
  }
  EXPECT_THAT(heard_.late, ElementsAre(100U, 101U, 102U, 0U));
  EXPECT_EQ(run_.visits.passed, 3U);
  EXPECT_EQ(run_.ran, 3 * (kPeriod - 1));
  EXPECT_EQ(run_.trace_start, run_.translator->near_end());
}

TEST_F(OverflowPointsTest, ThatWerePassedAreToldOnce) {
  run_.context.passes_left = 9;
  PassedStop& stop = passed(0);
  stop.index = 1;
  stop.kind = StopKind::Behind;
  points_.retire_deferred();
  points_.retire_deferred();
  EXPECT_EQ(samples_.size(), 1U);
  EXPECT_EQ(run_.context.passes_left, 0U) << "and none is passed until it is allowed anew";
}

TEST_F(OverflowPointsTest, BehindTheLastThatWasPassedTheTraceBeginsWhereThePeriodDid) {
  PassedStop& stop = passed(0);
  stop.index = 1;
  stop.kind = StopKind::Behind;
  run_.context.restarted = 0x1234;
  points_.retire_deferred();
  EXPECT_EQ(run_.trace_start, 0x1234U);
  EXPECT_EQ(run_.context.restarted, 0U);
}

}  // namespace
}  // namespace zs::engine

#include "pmu/lbr_stack.h"

#include <gmock/gmock.h>

#include <array>
#include <vector>

#include "pmu/fakes.h"

namespace zs::pmu {
namespace {

using arch::BranchKind;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Targets of the entries that are not empty, newest first.
std::vector<std::uint64_t> targets(const TestPmu& t) {
  std::vector<std::uint64_t> found;
  const unsigned depth = t.model.lbr_entries;
  const auto tos = static_cast<unsigned>(t.rd(kTos));
  for (unsigned i = 0; i < depth; ++i) {
    const std::uint64_t to = t.rd(kTo0 + ((tos - i) & (depth - 1)));
    if (to != 0) found.push_back(to);
  }
  return found;
}

void branch(TestPmu& t, BranchKind kind, std::uint64_t to, std::uint8_t cpl_to = 3) {
  t.pmu.enter_branch({.from = to - 0x100, .to = to, .kind = kind, .cpl_from = 3, .cpl_to = cpl_to});
}

constexpr std::array kKinds = {BranchKind::Conditional, BranchKind::RelativeCall, BranchKind::IndirectCall,
                               BranchKind::Return,      BranchKind::IndirectJump, BranchKind::RelativeJump,
                               BranchKind::Far};  // in the order of LBR_SELECT, from bit 2

TEST(LbrStack, RecordsNothingUntilDebugctlSaysSo) {
  TestPmu t;
  EXPECT_FALSE(t.pmu.wants_branches());
  branch(t, BranchKind::RelativeJump, 0x2000);
  EXPECT_THAT(targets(t), IsEmpty());
  t.wr(kDebugCtl, 1);
  EXPECT_TRUE(t.pmu.wants_branches());
  branch(t, BranchKind::RelativeJump, 0x2000);
  EXPECT_THAT(targets(t), ElementsAre(0x2000));
}

TEST(LbrStack, PointsTosAtTheNewestEntry) {
  TestPmu t;
  t.wr(kDebugCtl, 1);
  branch(t, BranchKind::RelativeJump, 0x2000);
  EXPECT_EQ(t.rd(kTos), 1U);
  EXPECT_EQ(t.rd(kFrom0 + 1), 0x1F00U);
  EXPECT_EQ(t.rd(kTo0 + 1), 0x2000U);
  branch(t, BranchKind::RelativeJump, 0x3000);
  EXPECT_EQ(t.rd(kTos), 2U);
}

TEST(LbrStack, KeepsAsManyBranchesAsItIsDeep) {
  for (const char* model : {"skylake-server", "haswell", "westmere"}) {
    TestPmu t{model};
    t.wr(kDebugCtl, 1);
    const unsigned depth = t.model.lbr_entries;
    for (unsigned i = 1; i <= depth + 5; ++i) branch(t, BranchKind::RelativeJump, 0x1000 * i);
    const auto found = targets(t);
    ASSERT_EQ(found.size(), depth) << model;
    EXPECT_EQ(found.front(), 0x1000U * (depth + 5)) << model;
    EXPECT_EQ(found.back(), 0x1000U * 6) << model;
  }
}

// kvm-unit-tests: FROM and TO are writable up to the depth, and the index behind it faults.
TEST(LbrStack, HasRegistersUpToItsDepthOnly) {
  TestPmu t{"haswell"};
  EXPECT_FALSE(t.write_faults(kFrom0 + 15, 0x1000));
  EXPECT_FALSE(t.write_faults(kTo0 + 15, 0x1000));
  EXPECT_EQ(t.rd(kFrom0 + 15), 0x1000U);
  EXPECT_TRUE(t.write_faults(kFrom0 + 16, 0x1000));
  EXPECT_TRUE(t.write_faults(kTo0 + 16, 0x1000));
  EXPECT_TRUE(t.write_faults(kTos, 16));
}

TEST(LbrStack, LeavesOutTheKindThatItsSelectBitNames) {
  for (unsigned suppressed = 0; suppressed < kKinds.size(); ++suppressed) {
    TestPmu t;
    t.wr(kDebugCtl, 1);
    t.wr(kLbrSelect, std::uint64_t{1} << (2 + suppressed));
    std::vector<std::uint64_t> expected;
    for (unsigned i = 0; i < kKinds.size(); ++i) {
      branch(t, kKinds[i], 0x1000 * (i + 1));
      if (i != suppressed) expected.insert(expected.begin(), 0x1000 * (i + 1));
    }
    EXPECT_EQ(targets(t), expected) << "LBR_SELECT bit " << 2 + suppressed;
  }
}

TEST(LbrStack, JudgesTheRingByTheBranchsTarget) {
  TestPmu t;
  t.wr(kDebugCtl, 1);
  t.wr(kLbrSelect, 1);
  branch(t, BranchKind::Far, 0x1000, 0);
  branch(t, BranchKind::Far, 0x2000, 3);
  EXPECT_THAT(targets(t), ElementsAre(0x2000));
  t.wr(kLbrSelect, 2);
  branch(t, BranchKind::Far, 0x3000, 0);
  branch(t, BranchKind::Far, 0x4000, 3);
  EXPECT_THAT(targets(t), ElementsAre(0x3000, 0x2000));
}

constexpr std::uint64_t kCallStackMode = 0x3C4;  // EN_CALLSTACK; without conditionals, jumps and far branches

TEST(LbrCallStack, HoldsTheCallsThatHaveNotReturned) {
  TestPmu t;
  t.wr(kDebugCtl, 1);
  t.wr(kLbrSelect, kCallStackMode);
  branch(t, BranchKind::RelativeCall, 0xA000);
  branch(t, BranchKind::IndirectCall, 0xB000);
  branch(t, BranchKind::Conditional, 0xC000);
  branch(t, BranchKind::RelativeCall, 0xD000);
  EXPECT_THAT(targets(t), ElementsAre(0xD000, 0xB000, 0xA000));
  branch(t, BranchKind::Return, 0xB010);
  EXPECT_THAT(targets(t), ElementsAre(0xB000, 0xA000));
  branch(t, BranchKind::RelativeCall, 0xE000);
  EXPECT_THAT(targets(t), ElementsAre(0xE000, 0xB000, 0xA000));
}

TEST(LbrCallStack, IsEmptyAfterAsManyReturnsAsCalls) {
  TestPmu t;
  t.wr(kDebugCtl, 1);
  t.wr(kLbrSelect, kCallStackMode);
  for (unsigned i = 1; i <= 10; ++i) branch(t, BranchKind::RelativeCall, 0x1000 * i);
  for (unsigned i = 1; i <= 10; ++i) branch(t, BranchKind::Return, 0x9000);
  EXPECT_THAT(targets(t), IsEmpty());
  EXPECT_EQ(t.rd(kTos), 0U);
}

TEST(LbrFormat, PutsTheMispredictFlagIntoFromOrIntoInfo) {
  for (const char* model : {"westmere", "haswell", "skylake-server"}) {
    TestPmu t{model};
    t.wr(kDebugCtl, 1);
    t.pmu.enter_branch({.from = 0x1000, .to = 0x2000, .kind = BranchKind::Conditional, .mispredicted = true});
    const bool in_info = t.model.lbr_format() == arch::LbrFormat::Info;
    EXPECT_EQ(t.rd(kFrom0 + 1), in_info ? 0x1000U : 0x8000'0000'0000'1000U) << model;
    EXPECT_EQ(t.rd(kTo0 + 1), 0x2000U) << model;
    if (in_info) {
      EXPECT_EQ(t.rd(kInfo0 + 1), 0x8000'0000'0000'0000U);
    }
  }
}

TEST(LbrFormat, LeavesFlagBitsOfAKernelAddress0WhereFlagsAre) {
  struct {
    const char* model;
    std::uint64_t from;
  } const expected[] = {{"westmere", 0x7FFF'FFFF'8100'0000},
                        {"haswell", 0x1FFF'FFFF'8100'0000},
                        {"skylake-server", 0xFFFF'FFFF'8100'0000}};
  for (const auto& row : expected) {
    TestPmu t{row.model};
    t.wr(kDebugCtl, 1);
    t.pmu.enter_branch(
        {.from = 0xFFFF'FFFF'8100'0000, .to = 0x2000, .kind = BranchKind::Far, .cpl_from = 0, .cpl_to = 3});
    EXPECT_EQ(t.rd(kFrom0 + 1), row.from) << row.model;
  }
}

TEST(LbrStack, TakesTheBranchOfAnInstructionThatRetires) {
  TestPmu t;
  t.wr(kDebugCtl, 1);
  t.retire(branch_at(0x1000, 0x2000, BranchKind::Conditional));
  t.retire(branch_at(0x2000, 0x2004, BranchKind::Conditional, false));
  EXPECT_THAT(targets(t), ElementsAre(0x2000));
}

TEST(LbrFreeze, StreamlinedSetsLbrFrzAndStopsRecordingUntilItIsCleared) {
  TestPmu t;
  t.wr(kDebugCtl, 0x801);
  t.wr(kSelect0, kCountBranches | kInt);
  t.wr(kPmc0, 0xFFFF'FFFF);
  t.retire(branch_at(0x1000, 0x2000, BranchKind::RelativeJump));
  t.retire(branch_at(0x2000, 0x3000, BranchKind::RelativeJump));
  EXPECT_THAT(targets(t), ElementsAre(0x2000)) << "the branch that overflowed is the newest one";
  EXPECT_EQ(t.rd(kStatus), 1 | kLbrFrz);
  EXPECT_EQ(t.rd(kDebugCtl), 0x801U);
  EXPECT_FALSE(t.pmu.wants_branches());
  t.wr(kOvfCtrl, 1 | kLbrFrz);
  EXPECT_TRUE(t.pmu.wants_branches());
}

TEST(LbrFreeze, LegacyClearsDebugctlLbr) {
  TestPmu t{"haswell"};
  t.wr(kDebugCtl, 0x801);
  t.wr(kSelect0, kCountBranches | kInt);
  t.wr(kPmc0, 0xFFFF'FFFF);
  t.retire(branch_at(0x1000, 0x2000, BranchKind::RelativeJump));
  EXPECT_EQ(t.rd(kDebugCtl), 0x800U);
  EXPECT_EQ(t.rd(kStatus), 1U);
}

}  // namespace
}  // namespace zs::pmu

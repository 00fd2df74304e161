// Bounds and costs of blocks against arithmetic, and the port bound against a search over all sets of ports.
#include "uarch/timing/block_timing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <vector>

#include "uarch/core_model.h"
#include "uarch/cpus/haswell.h"
#include "uarch/cpus/icelake_server.h"
#include "uarch/cpus/skylake_server.h"
#include "uarch/cpus/westmere.h"
#include "uarch/reference/code_kernels.h"
#include "uarch/reference/code_samples.h"
#include "uarch/reference/test_names.h"

namespace zs::uarch {
namespace {

using kernels::block_of;
using kernels::Bytes;
using kernels::repeated;

constexpr MemoryLimits kMemory{.load_cycles = 4};

BlockTiming timing_of(const TimingParameters& core, const Bytes& code, std::uint64_t pc = kernels::kCode) {
  return BlockTiming(core, kMemory, block_of(code, pc), 0);
}

BoundParts parts_of(const TimingParameters& core, const Bytes& code, std::uint64_t pc = kernels::kCode) {
  return bound_parts(core, kMemory, block_of(code, pc));
}

class EveryBlockTiming : public testing::TestWithParam<CoreModel> {};

TEST_P(EveryBlockTiming, KnowsTheCostOfNearlyAllThatACompilerWrites) {
  std::size_t instructions = 0, unknown = 0;
  for (const Block& block : libc_blocks(20'000)) {
    for (const InstructionCost& cost : block_costs(GetParam().timing, kMemory, block)) {
      ++instructions;
      unknown += cost.unknown ? 1 : 0;
    }
  }
  EXPECT_GT(instructions, 80'000U);
  EXPECT_LT(static_cast<double>(unknown), static_cast<double>(instructions) * 0.005);
}

// VADDPS ymm1 fills upper halves, VADDPS ymm17 and xmm1 do not, VZEROUPPER clears them; ADDPS, MOVAPS and XORPS keep
// them.
TEST(MergingShapes, WaitForTheirDestinationWithoutVexOnly) {
  const auto shape = [](const Bytes& code) { return shape_of(code).value(); };
  const RegisterSet xmm0 = reg::bit(reg::kVector);
  EXPECT_EQ(shape({0xC5, 0xF4, 0x58, 0xCA}).upper, UpperHalves::Filled);
  EXPECT_EQ(shape({0x62, 0xE1, 0x74, 0x28, 0x58, 0xCA}).upper, UpperHalves::Untouched);
  EXPECT_EQ(shape({0xC5, 0xF0, 0x58, 0xCA}).upper, UpperHalves::Untouched);
  EXPECT_EQ(shape({0xC5, 0xF8, 0x77}).upper, UpperHalves::Cleared);
  const InstructionShape copy = shape({0x0F, 0x28, 0xC1}), with_vex = shape({0xC5, 0xF8, 0x28, 0xC1});
  EXPECT_EQ(copy.copy, CopyKind::Vector);
  EXPECT_EQ(copy.reads & xmm0, 0U);
  EXPECT_EQ(merging(copy).copy, CopyKind::None);
  EXPECT_NE(merging(copy).reads & xmm0, 0U);
  EXPECT_EQ(merging(with_vex), with_vex);
  const InstructionShape zero = shape({0x0F, 0x57, 0xC0});
  EXPECT_EQ(merging(zero), zero);
}

// ---- bounds
// -----------------------------------------------------------------------------------------------------------------

TEST_P(EveryBlockTiming, BoundsPortsAsASearchOverAllSetsOfPortsDoes) {
  for (const Block& block : libc_blocks(600)) {
    std::vector<PortUse> uses;
    PortSet used = 0;
    for (const InstructionCost& cost : block_costs(GetParam().timing, kMemory, block)) {
      for (const PortUse& use : cost.uses) {
        if (use.cycles == 0) continue;
        uses.push_back(use);
        used |= use.ports;
      }
    }
    // By Hall's theorem the most loaded set of ports is the bound, whatever the schedule.
    double most = 0;
    for (unsigned set = used; set != 0; set = (set - 1) & used) {
      unsigned inside = 0;
      for (const PortUse& use : uses) inside += (use.ports & ~set) == 0 ? use.cycles : 0;
      most = std::max(most, static_cast<double>(inside) / std::popcount(set));
    }
    ASSERT_NEAR(bound_parts(GetParam().timing, kMemory, block).ports, most, 0.01);
  }
}

TEST_P(EveryBlockTiming, IsNeverFasterThanIssue) {
  for (const Block& block : libc_blocks(2000)) {
    const BlockTiming timing(GetParam().timing, kMemory, block, 0);
    const std::uint32_t issue = timing.slots() * kUnitsPerCycle / GetParam().timing.issue_width;
    for (const BlockBound& bound : {timing.decoded(), timing.cached(), timing.looped()}) {
      ASSERT_GE(bound.units, issue);
      ASSERT_EQ(bound.units % (kCauseBits + 1), 0U);
    }
  }
}

TEST(BlockTiming, JoinsACompareWithTheJumpBehindIt) {
  const Bytes compare_jump = {0x48, 0x39, 0xF7, 0x75, 0xFB};  // cmp rdi, rsi; jne
  EXPECT_EQ(timing_of(kSkylakeServerTiming, compare_jump).slots(), 1U);
  const Bytes carry = {0x48, 0xFF, 0xC9, 0x72, 0xFB};  // dec rcx; jb: dec leaves the carry alone
  EXPECT_EQ(timing_of(kSkylakeServerTiming, carry).slots(), 2U);
  const Bytes add_jump = {0x48, 0x83, 0xC7, 0x01, 0x75, 0xFA};  // add rdi, 1; jne
  EXPECT_EQ(timing_of(kHaswellTiming, add_jump).slots(), 1U);
  EXPECT_EQ(timing_of(kWestmereTiming, add_jump).slots(), 2U);
  const Bytes immediate = {0x83, 0x3F, 0x01, 0x75, 0xFB};  // cmp dword [rdi], 1; jne
  EXPECT_EQ(timing_of(kSkylakeServerTiming, immediate).slots(), 2U);
}

TEST(BlockTiming, DropsWhatRenamingDoes) {
  const Bytes copies = repeated({0x48, 0x89, 0xC8}, 8);  // mov rax, rcx
  EXPECT_EQ(parts_of(kSkylakeServerTiming, copies).ports, 0.0);
  EXPECT_GT(parts_of(kIcelakeServerTiming, copies).ports, 0.0);  // its microcode turned elimination off
  EXPECT_GT(parts_of(kWestmereTiming, copies).ports, 0.0);
  const Bytes zeros = repeated({0x31, 0xC0}, 8);
  EXPECT_EQ(parts_of(kHaswellTiming, zeros).ports, 0.0);
  EXPECT_EQ(timing_of(kHaswellTiming, zeros).slots(), 8U);
  EXPECT_NEAR(parts_of(kWestmereTiming, zeros).ports, 8 / 3.0, 0.01);
}

TEST(BlockTiming, PredecodesAlignedPiecesAndStallsForChangedLengths) {
  EXPECT_EQ(parts_of(kSkylakeServerTiming, repeated({0x90}, 16), 0x401000).predecode,
            4);                                                                            // 16 ends, 5 a cycle
  EXPECT_EQ(parts_of(kSkylakeServerTiming, repeated({0x90}, 16), 0x401008).predecode, 4);  // 8 and 8
  EXPECT_EQ(parts_of(kSkylakeServerTiming, repeated({0x90}, 10), 0x40100F).predecode, 3);  // 1 and 9
  const Bytes changed = repeated({0x66, 0x05, 0x34, 0x12}, 4);
  EXPECT_EQ(parts_of(kSkylakeServerTiming, changed).predecode, 1 + 4 * 3);
}

TEST(BlockTiming, DecodesSeveralSlotsInTheFirstDecoderOnly) {
  EXPECT_EQ(parts_of(kSkylakeServerTiming, repeated({0x48, 0x01, 0xC8}, 8)).decode, 2);  // add rax, rcx
  EXPECT_EQ(parts_of(kSkylakeServerTiming, repeated({0x48, 0x01, 0x07}, 8)).decode,
            8);  // add [rdi], rax: two slots
}

TEST(BlockTiming, NeedsACycleForABranchThatIsTaken) {
  const Block block = block_of({0x48, 0x39, 0xF7, 0x75, 0xFB});  // cmp rdi, rsi; jne: one slot
  EXPECT_EQ(BlockTiming(kSkylakeServerTiming, kMemory, block, 0, true).cached().units, kUnitsPerCycle);
  EXPECT_EQ(BlockTiming(kSkylakeServerTiming, kMemory, block, 0, false).cached().units, kUnitsPerCycle / 4);
  EXPECT_EQ(BlockTiming(kWestmereTiming, kMemory, block, 0, true).decoded().units, 2 * kUnitsPerCycle);
}

TEST(BlockTiming, CountsWhatItTakesOfTheUopCache) {
  EXPECT_EQ(timing_of(kSkylakeServerTiming, repeated({0x90}, 6), 0x401000).cache_slots(), 6U);
  EXPECT_EQ(timing_of(kSkylakeServerTiming, repeated({0x90}, 7), 0x401000).cache_slots(), 12U);
  EXPECT_EQ(timing_of(kSkylakeServerTiming, repeated({0x90}, 6), 0x40101D).cache_slots(), 12U);  // over a window's end
}

TEST(BlockTiming, GivesTheMicrocodeSequencerItsSlots) {
  const auto divide = timing_of(kSkylakeServerTiming, kernels::kDivide);
  EXPECT_EQ(divide.microcode_slots(), 10U);
  EXPECT_EQ(divide.executed().cause, SlotCause::Divider);
  EXPECT_EQ(timing_of(kIcelakeServerTiming, kernels::kDivide).microcode_slots(), 0U);
}

TEST(BlockTiming, HasALoadOnItsOwnInTheMap) {
  const auto chase = timing_of(kSkylakeServerTiming, kernels::kChase);
  ASSERT_EQ(chase.loads(), 1U);
  ASSERT_EQ(chase.branches(), 1U);
  const auto written = chase.written();
  const auto lane = 1 + static_cast<std::size_t>(std::ranges::find(written, 0) - written.begin());
  const auto inputs = chase.live_in();
  const auto row = 1 + static_cast<std::size_t>(std::ranges::find(inputs, 0) - inputs.begin());
  EXPECT_EQ(chase.results_of(row)[lane], 4 * static_cast<int>(kUnitsPerCycle));
  EXPECT_EQ(chase.events_of(row)[chase.load_lane(0) - chase.result_lanes()], 0);
  EXPECT_EQ(chase.from_load(0)[lane], 0);
  EXPECT_LT(chase.from_load(0)[chase.branch_lane(0)], 0) << "the counter does not wait for the load";
}

TEST(BlockTiming, HasCountsOfBitsWaitForTheirDestinationWhereCoresDo) {
  const auto waits = [](const TimingParameters& core, int opcode) {
    const Bytes count = {0xF3, 0x48, 0x0F, static_cast<std::uint8_t>(opcode), 0xC1};  // of rcx, into rax
    return std::ranges::count(timing_of(core, count).live_in(), 0) != 0;
  };
  for (const int opcode : {0xB8, 0xBC, 0xBD}) {  // POPCNT, TZCNT, LZCNT
    EXPECT_TRUE(waits(kHaswellTiming, opcode));
    EXPECT_EQ(waits(kSkylakeServerTiming, opcode), opcode == 0xB8);
    EXPECT_FALSE(waits(kIcelakeServerTiming, opcode));
    EXPECT_FALSE(waits(kWestmereTiming, opcode));
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, EveryBlockTiming, testing::ValuesIn(core_models()),
                         [](const auto& row) { return test_name(row.param); });

}  // namespace
}  // namespace zs::uarch

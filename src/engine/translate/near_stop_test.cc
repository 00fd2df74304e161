// Where the last block before an overflow stops, and what is put aside of a stop that is passed.
#include "engine/translate/near_stop.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace zs::engine {
namespace {

/// A Context, with room for passed stops behind it, and the table of a block of four instructions.
class NearStop : public testing::Test {
 protected:
  static constexpr std::uint32_t kEntry = 0x6010'0000, kResume = kEntry + 7, kOver = kEntry + 60, kLeave = kEntry + 80;
  static constexpr std::uint32_t kBlock = 77, kEnd = 0x5000'0000, kInstructions = 4;
  static constexpr std::uint64_t kRestart = kEnd - 1000;

  struct Table {
    NearTable head{.block = kBlock,
                   .entry = kEntry,
                   .resume = kResume,
                   .over = kOver,
                   .leave = kLeave,
                   .end = kEnd,
                   .instructions = kInstructions};
    std::uint32_t words[kInstructions] = {10, 20, 30, 40};
  };

  NearStop() {
    context_.near_table = reinterpret_cast<std::uint64_t>(&table_);
    context_.waits = &waits_;
  }
  /// So many instructions may run before the one that overflows.
  std::uint64_t choose(std::uint64_t distance) {
    context_.trace_pointer = kEnd - distance;
    return zs_choose_stop(&context_);
  }
  /// Code has stopped where choose() said, and so many more may be passed.
  std::uint64_t pass(std::uint32_t passes_left) {
    context_.passes_left = passes_left;
    return zs_pass_stop(&context_);
  }
  const PassedStop& passed(std::size_t number) const {
    return *(reinterpret_cast<const PassedStop*>(memory_.data() + kPassedOffset) + number);
  }

  alignas(64) std::array<std::byte, 0x10000> memory_{};
  Context& context_ = *reinterpret_cast<Context*>(memory_.data());
  Table table_;
  std::uint64_t waits_ = 0;
};

TEST_F(NearStop, IsBeforeTheInstructionThatOverflowsIfThatHasToRunAlone) {
  EXPECT_EQ(choose(2), kResume);
  EXPECT_EQ(context_.stop_kind, StopKind::Before);
  EXPECT_EQ(context_.stop_block, kBlock);
  EXPECT_EQ(context_.stop_index, 2u);
  EXPECT_EQ(context_.stop_at, kEntry + 30u);
}

TEST_F(NearStop, IsBehindAPlainOneThatOverflows) {
  table_.words[2] |= NearTable::kPlain;
  EXPECT_EQ(choose(2), kResume);
  EXPECT_EQ(context_.stop_kind, StopKind::Behind);
  EXPECT_EQ(context_.stop_index, 3u);
  EXPECT_EQ(context_.stop_at, kEntry + 40u);
}

TEST_F(NearStop, IsBeforeAPlainOneThatIsTheLastOfTheBlock) {
  table_.words[3] |= NearTable::kPlain;
  EXPECT_EQ(choose(3), kResume);
  EXPECT_EQ(context_.stop_kind, StopKind::Before);
  EXPECT_EQ(context_.stop_index, 3u);
}

TEST_F(NearStop, IsBeforeAJumpThatIsForeseen) {
  table_.words[3] |= NearTable::kForeseen;
  EXPECT_EQ(choose(3), kResume);
  EXPECT_EQ(context_.stop_kind, StopKind::Foreseen);
  EXPECT_EQ(context_.stop_at, kEntry + 40u);
}

TEST_F(NearStop, IsNotInABlockThatMayRunAsAWhole) {
  EXPECT_EQ(choose(kInstructions), kLeave);
  EXPECT_EQ(choose(kInstructions - 1), kResume);
}

TEST_F(NearStop, IsNotBeforeTheFirstInstructionUnlessWhatThatDoesIsKnown) {
  EXPECT_EQ(choose(0), kLeave);
  table_.words[0] |= NearTable::kPlain;
  EXPECT_EQ(choose(0), kResume);
  EXPECT_EQ(context_.stop_index, 1u);
  table_.words[0] = NearTable::kForeseen;
  EXPECT_EQ(choose(0), kResume);
  EXPECT_EQ(context_.stop_index, 0u);
}

TEST_F(NearStop, IsNotChosenWhileASignalWaits) {
  context_.tripped = 1;
  EXPECT_EQ(choose(2), kLeave);
}

TEST_F(NearStop, BehindAnotherTheNextPeriodBeginsInWholeBlocks) {
  constexpr std::uint64_t kRanOfTheRest = 3;
  context_.past_stop = 1;
  context_.restart = kRestart;
  context_.trace_pointer = kEnd + kPastStops + kRanOfTheRest;
  EXPECT_EQ(zs_choose_stop(&context_), kOver);
  EXPECT_EQ(context_.trace_pointer, kRestart + kRanOfTheRest);
  EXPECT_EQ(context_.restarted, kRestart);
  EXPECT_EQ(context_.restart, 0u);
  EXPECT_EQ(context_.past_stop, 0u);
}

TEST_F(NearStop, BehindAnotherNobodyHasSaidWhereTheNextPeriodBegins) {
  context_.past_stop = 1;
  context_.trace_pointer = kEnd + kPastStops;
  EXPECT_EQ(zs_choose_stop(&context_), kLeave);
  EXPECT_EQ(context_.past_stop, 1u);
}

/// Stops are passed that stand behind the instruction that overflows.
class PassedNearStop : public NearStop {
 protected:
  PassedNearStop() {
    table_.words[1] |= NearTable::kPlain;
    choose(1);
    context_.period_start = kRestart;
  }
};

TEST_F(PassedNearStop, IsPutAsideAsItWas) {
  for (unsigned reg = 0; reg < 16; ++reg) context_.gpr[reg] = 100 + reg;
  context_.flags = 0x246;
  context_.slot_map = 7;
  context_.slot_far = 8;
  EXPECT_EQ(pass(5), context_.stop_at);
  EXPECT_EQ(context_.passed, 1u);
  EXPECT_EQ(context_.passes_left, 4u);
  const PassedStop& stop = passed(0);
  for (unsigned reg = 0; reg < 16; ++reg) EXPECT_EQ(stop.gpr[reg], 100 + reg);
  EXPECT_EQ(stop.flags, 0x246u);
  EXPECT_EQ(stop.slot_map, 7u);
  EXPECT_EQ(stop.slot_far, 8u);
  EXPECT_EQ(stop.block, kBlock);
  EXPECT_EQ(stop.index, 2u);
  EXPECT_EQ(stop.kind, StopKind::Behind);
}

TEST_F(PassedNearStop, LiesBehindTheOneBeforeItAndIsNoEarlier) {
  context_.gpr[0] = 1;
  pass(2);
  context_.gpr[0] = 2;
  pass(1);
  EXPECT_EQ(context_.passed, 2u);
  EXPECT_EQ(passed(0).gpr[0], 1u);
  EXPECT_EQ(passed(1).gpr[0], 2u);
  EXPECT_GT(passed(0).host_ticks, 0u);
  EXPECT_LE(passed(0).host_ticks, passed(1).host_ticks);
}

// Its exit will add all instructions of the block, of which these are counted already.
TEST_F(PassedNearStop, TheRestOfItsBlockCountsOnlyItself) {
  pass(1);
  EXPECT_EQ(context_.trace_pointer + kInstructions, kEnd + kPastStops + (kInstructions - 2));
  EXPECT_EQ(context_.past_stop, 1u);
  EXPECT_EQ(context_.restart, kRestart);
  context_.forget_passed_stops();
  table_.words[1] = NearTable::kForeseen;
  choose(1);
  pass(1);
  EXPECT_EQ(context_.trace_pointer + kInstructions, kEnd + kPastStops + (kInstructions - 2)) << "the jump is told too";
}

TEST_F(PassedNearStop, GoesToTheDispatcherWhereNoneIsLeft) {
  EXPECT_EQ(pass(0), 0u);
  EXPECT_EQ(context_.passed, 0u);
}

TEST_F(PassedNearStop, GoesToTheDispatcherWhileAnotherThreadWaitsForItsTurn) {
  waits_ = 1;
  EXPECT_EQ(pass(5), 0u);
}

TEST_F(PassedNearStop, GoesToTheDispatcherWhileASignalWaits) {
  context_.tripped = 1;
  EXPECT_EQ(pass(5), 0u);
}

TEST_F(PassedNearStop, GoesToTheDispatcherIfTheNextInstructionHasToRunAlone) {
  choose(2);
  ASSERT_EQ(context_.stop_kind, StopKind::Before);
  EXPECT_EQ(pass(5), 0u);
  EXPECT_EQ(context_.passes_left, 5u);
}

}  // namespace
}  // namespace zs::engine

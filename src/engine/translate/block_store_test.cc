#include "engine/translate/block_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace zs::engine {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint64_t kBegin = 0x6000'0000, kCold = 0x6100'0000, kNear = 0x6200'0000;
constexpr std::uint64_t kPc = 0x40'1000;

/// With one accumulator, and blocks of `kCodeBytes` bytes whose instructions take four each.
class BlockStoreTest : public testing::Test {
 protected:
  static constexpr std::uint32_t kCodeBytes = 16;

  /// A block of four instructions, with exits that count so many.
  std::uint32_t add(std::uint64_t pc, Variant variant, std::uint64_t entry,
                    const std::vector<std::uint32_t>& exits = {4}) {
    Block block;
    block.pc = pc;
    block.variant = variant;
    block.entry = entry;
    block.code_bytes = kCodeBytes;
    const std::uint32_t index = store_.begin(block);
    for (std::uint16_t at = 0; at < 4; ++at) {
      InsnMeta& meta = store_.add_meta();
      meta.code_offset = static_cast<std::uint16_t>(4 * at);
      meta.pc_delta = 3 * at;
      ++block.instructions;
    }
    for (const std::uint32_t count : exits) {
      const std::uint32_t id = store_.add_exit(block, ProbeTime::None, {&count, 1}, 1);
      store_.exit(id).block = index;
    }
    store_.add(block);
    return index;
  }
  std::vector<std::uint32_t> take(std::uint64_t first, std::uint64_t last) {
    std::vector<std::uint32_t> taken;
    store_.take_pages(first, last, [&](std::uint32_t block) { taken.push_back(block); });
    return taken;
  }

  const AccumulatorSet accumulators_{std::vector<arch::EventMeaning>(1)};
  const std::vector<std::uint32_t> units_{0};
  BlockStore store_{accumulators_, units_, true, kBegin, kNear};
};

TEST_F(BlockStoreTest, FindsABlockByPcAndVariantUntilItIsBuried) {
  const std::uint32_t full = add(kPc, Variant::Full, kBegin + 64), near = add(kPc, Variant::Near, kNear);
  EXPECT_EQ(store_.at(kPc, Variant::Full), full);
  EXPECT_EQ(store_.at(kPc, Variant::Near), near);
  EXPECT_EQ(store_.at(kPc + 1, Variant::Full), kNone);
  EXPECT_EQ(store_.index_of(*store_.find(kPc, Variant::Near)), near);
  store_.bury(full);
  EXPECT_EQ(store_.find(kPc, Variant::Full), nullptr);
  EXPECT_TRUE(store_.block(full).dead);
  EXPECT_EQ(store_.at(kPc, Variant::Near), near);
}

TEST_F(BlockStoreTest, ABlockMadeAnewStaysFoundWhenTheOneBeforeIsBuried) {
  const std::uint32_t old = add(kPc, Variant::Full, kBegin + 64), anew = add(kPc, Variant::Full, kBegin + 128);
  store_.bury(old);
  EXPECT_EQ(store_.at(kPc, Variant::Full), anew);
}

TEST_F(BlockStoreTest, NumbersExitsAndMetasInTheOrderTheyAreMade) {
  const Block first = store_.block(add(kPc, Variant::Full, kBegin + 64, {4, 2}));
  const Block second = store_.block(add(kPc + 100, Variant::Full, kBegin + 128));
  EXPECT_EQ(first.first_exit, BlockStore::kFirstExit);
  EXPECT_EQ(first.exits, 2);
  EXPECT_EQ(second.first_exit, first.first_exit + 2);
  EXPECT_EQ(store_.counts().at(first.first_exit, 0), 4u);
  EXPECT_EQ(store_.counts().at(first.first_exit + 1, 0), 2u);
  EXPECT_EQ(store_.meta(second, 3).pc_delta, 9);
}

TEST_F(BlockStoreTest, LocatesTheInstructionOfACacheAddress) {
  const std::uint32_t full = add(kPc, Variant::Full, kBegin + 64), near = add(kPc + 100, Variant::Near, kNear);
  const auto is_at = [&](std::uint64_t cache_pc, std::uint32_t block, std::uint16_t instruction, std::uint64_t pc) {
    const BlockStore::Place place = store_.locate(cache_pc);
    EXPECT_EQ(place.block, block) << std::hex << cache_pc;
    EXPECT_EQ(place.instruction, instruction) << std::hex << cache_pc;
    EXPECT_EQ(place.pc, pc) << std::hex << cache_pc;
  };
  is_at(kBegin + 63, kNone, 0, 0);
  is_at(kBegin + 64, full, 0, kPc);
  is_at(kBegin + 64 + 3, full, 0, kPc);
  is_at(kBegin + 64 + 12, full, 3, kPc + 9);
  is_at(kBegin + 64 + kCodeBytes, kNone, 0, 0);
  is_at(kNear + 5, near, 1, kPc + 103);
}

TEST_F(BlockStoreTest, LocatesSideExitsByWhereThoseOfTheNextBlockBegin) {
  EXPECT_EQ(store_.locate_side_exit(kCold), kNone);
  const std::uint32_t first = add(kPc, Variant::Full, kBegin + 64),
                      second = add(kPc + 100, Variant::Full, kBegin + 128);
  store_.block(first).cold_entry = kCold;
  store_.block(second).cold_entry = kCold + 50;
  EXPECT_EQ(store_.locate_side_exit(kCold), first);
  EXPECT_EQ(store_.locate_side_exit(kCold + 49), first);
  EXPECT_EQ(store_.locate_side_exit(kCold + 50), second);
}

TEST_F(BlockStoreTest, KeepsTheProbeOfEachExit) {
  Block block;
  block.pc = kPc;
  store_.begin(block);
  const std::uint32_t count = 1;
  EXPECT_EQ(store_.probe_of(store_.add_exit(block, ProbeTime::Before, {&count, 1}, 1)), ProbeTime::Before);
  EXPECT_EQ(store_.probe_of(store_.add_exit(block, ProbeTime::None, {&count, 1}, 1)), ProbeTime::None);
}

TEST_F(BlockStoreTest, ReservedExitsCountNothingAndAreNoBlocks) {
  const std::uint32_t first = store_.reserve_exits(3);
  EXPECT_EQ(store_.exits(), first + 3);
  EXPECT_EQ(store_.counts().at(first + 2, 0), 0u);
  EXPECT_EQ(store_.block(add(kPc, Variant::Full, kBegin + 64)).first_exit, first + 3);
}

TEST_F(BlockStoreTest, TakesTheBlocksOfPagesThatAreNewThenAgain) {
  const std::uint32_t first = add(kPc, Variant::Full, kBegin + 64), second = add(kPc + 8, Variant::Full, kBegin + 128);
  for (const std::uint64_t page : {7u, 8u}) EXPECT_TRUE(store_.pages().add_page(page));
  store_.pages().add(7, first);
  store_.pages().add(7, second);
  store_.pages().add(8, second);
  EXPECT_THAT(take(7, 7), ElementsAre(second, first));
  EXPECT_THAT(take(7, 7), IsEmpty());
  EXPECT_TRUE(store_.pages().add_page(7));
  EXPECT_THAT(take(0, 100), ElementsAre(second));
}

TEST_F(BlockStoreTest, ClearedItIsAsItWasAtFirst) {
  const std::size_t empty = store_.bytes();
  const std::uint32_t first_exit = store_.block(add(kPc, Variant::Full, kBegin + 64, {1, 2, 3})).first_exit;
  store_.pages().add_page(7);
  store_.bury(1);
  EXPECT_GT(store_.bytes(), empty);
  store_.clear();
  EXPECT_EQ(store_.bytes(), empty);
  EXPECT_EQ(store_.find(kPc, Variant::Full), nullptr);
  EXPECT_EQ(store_.locate(kBegin + 64).block, kNone);
  EXPECT_TRUE(store_.pages().add_page(7));
  EXPECT_EQ(store_.block(add(kPc, Variant::Full, kBegin + 64)).first_exit, first_exit);
}

TEST_F(BlockStoreTest, IsMostlyDeadWhenMoreThanHalfOfVeryManyBlocksAre) {
  constexpr std::uint32_t kMany = 40'000;
  for (std::uint32_t i = 0; i < kMany; ++i) add(kPc + i, Variant::Full, kBegin + kCodeBytes * std::uint64_t{i + 4});
  std::uint32_t buried = 0;
  while (!store_.mostly_dead() && buried < kMany) store_.bury(++buried);
  EXPECT_EQ(buried, kMany / 2 + 1);
}

TEST(BlockStore, KeepsNoCountsWhereExitsStandForNone) {
  const AccumulatorSet accumulators{std::vector<arch::EventMeaning>(1)};
  const std::vector<std::uint32_t> units{1};
  BlockStore store{accumulators, units, false, kBegin, kNear};
  Block block;
  block.pc = kPc;
  store.begin(block);
  const std::size_t before = store.bytes();
  EXPECT_EQ(store.add_exit(block, ProbeTime::None, {}, 0), BlockStore::kFirstExit);
  EXPECT_EQ(store.bytes() - before, sizeof(Exit) + sizeof(ProbeTime));
}

}  // namespace
}  // namespace zs::engine

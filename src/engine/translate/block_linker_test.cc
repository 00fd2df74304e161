#include "engine/translate/block_linker.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "engine/translate/reserved_addresses.h"
#include "engine/translate/test_pages.h"
#include "engine/translate/translator.h"

namespace zs::engine {
namespace {

using Bytes = Pages::Bytes;

/// jmp to the page behind this one; test eax, eax and jz there; inc eax.
const Bytes kJumpOn{0xE9, 0xFB, 0x0F, 0x00, 0x00}, kBranchOn{0x85, 0xC0, 0x0F, 0x84, 0xF8, 0x0F, 0x00, 0x00},
    kReturn{0xFF, 0xC0, 0xC3};

/// With translations of two instructions at most, and without a direct table.
class BlockLinkerTest : public testing::Test {
 protected:
  std::uint32_t get(std::uint64_t page, std::uint32_t from = kNone) {
    return translator_->blocks().index_of(translator_->get(Pages::pc(page), Variant::Full, from));
  }
  void kill(std::uint64_t page) { translator_->invalidate(Pages::pc(page), Pages::pc(page) + 1); }
  const Block& block(std::uint32_t index) const { return translator_->blocks().block(index); }
  const Exit& exit(std::uint32_t id) const { return translator_->blocks().exit(id); }
  /// The end of the path, and its one side exit.
  std::uint32_t end_of(std::uint32_t index) const { return block(index).first_exit; }
  std::uint32_t side_exit_of(std::uint32_t index) const { return block(index).first_exit + 1; }
  /// Where the rel32 that ends at `after` leads.
  static std::uint64_t target(std::uint64_t after) {
    std::int32_t distance;
    std::memcpy(&distance, reinterpret_cast<const void*>(after - sizeof distance), sizeof distance);
    return after + static_cast<std::uint64_t>(std::int64_t{distance});
  }
  static std::uint8_t byte(std::uint64_t at) { return *reinterpret_cast<const std::uint8_t*>(at); }
  std::uint64_t& hashed(std::uint64_t pc) const {
    return reinterpret_cast<std::uint64_t*>(cache_.layout().hashed_tables)[pc & 0xFFFF];
  }

  /// Of an exit that counts so many instructions as records do: a store and an addition to the pointer.
  static constexpr std::uint64_t kRecordBytes = 11;

  const ReservedAddresses reserved_;
  const UntouchedEntries untouched_{ReservedAddresses::kFirstPrivateFd};
  CodeCache cache_{ReservedAddresses::kBase, ReservedAddresses::kCodeBytes, untouched_};
  Stubs stubs_ = generate_stubs(cache_, [](Context* /*context*/) { return std::uint64_t{0}; });
  Pages code_;
  const AccumulatorSet accumulators_{
      std::vector<arch::EventMeaning>{{.count = [](const arch::Retired& /*insn*/) { return 1u; }}}};  // instructions
  const std::vector<std::uint32_t> units_{0};
  std::unique_ptr<Translator> translator_ = std::make_unique<Translator>(cache_, stubs_, code_, accumulators_, units_,
                                                                         TranslationOptions{.max_instructions = 1});
};

TEST_F(BlockLinkerTest, AnExitLeadsToTheDispatcherButWhileItIsLinked) {
  code_.put(0, kJumpOn);
  code_.put(1, kReturn);
  const std::uint32_t from = get(0), to = get(1);
  const std::uint64_t after = exit(end_of(from)).patch_after;
  EXPECT_EQ(target(after), stubs_.unlinked);
  translator_->link(end_of(from), block(to));
  EXPECT_EQ(target(after), block(to).entry);
  EXPECT_EQ(exit(end_of(from)).linked_to, to);
  kill(1);
  EXPECT_EQ(target(after), stubs_.unlinked);
  EXPECT_EQ(exit(end_of(from)).linked_to, kNone);
  EXPECT_FALSE(block(from).dead);
}

TEST_F(BlockLinkerTest, TheEndOfAPathIsLinkedAsItIsMadeIfWhatItLeadsToIsThere) {
  code_.put(0, kJumpOn);
  code_.put(1, kReturn);
  const std::uint32_t to = get(1), from = get(0);
  EXPECT_EQ(target(exit(end_of(from)).patch_after), block(to).entry);
}

TEST_F(BlockLinkerTest, ABlockMadeForTheEndOfTheLastFollowsItWithoutAJump) {
  code_.put(0, kJumpOn);
  code_.put(1, kReturn);
  const std::uint32_t from = get(0), end = end_of(from), to = get(1, end);
  translator_->link(end, block(to));
  EXPECT_EQ(block(to).entry, exit(end).patch_after);
  EXPECT_EQ(byte(exit(end).patch_after - 5), 0x0F);  // a NOP
  kill(1);
  EXPECT_EQ(byte(exit(end).patch_after - 5), 0xE9);
  EXPECT_EQ(target(exit(end).patch_after), stubs_.unlinked);
}

TEST_F(BlockLinkerTest, TheRecordOfASideExitStandsAgainInFrontOfTheBlockMadeForIt) {
  code_.put(0, kBranchOn);
  code_.put(1, kReturn);
  translator_ = std::make_unique<Translator>(cache_, stubs_, code_, accumulators_, units_,
                                             TranslationOptions{.max_instructions = 2});
  const std::uint32_t from = get(0), side = side_exit_of(from);
  ASSERT_NE(exit(side).branch_after, 0u);
  EXPECT_EQ(target(exit(side).branch_after), exit(side).stub);
  const std::uint32_t to = get(1, side);
  translator_->link(side, block(to));
  EXPECT_EQ(target(exit(side).branch_after), block(to).entry - kRecordBytes);
  kill(1);
  EXPECT_EQ(target(exit(side).branch_after), exit(side).stub);
}

TEST_F(BlockLinkerTest, ASideExitToABlockThatIsThereGetsACopyBehindTheLast) {
  code_.put(0, kBranchOn);
  code_.put(1, kReturn);
  translator_ = std::make_unique<Translator>(cache_, stubs_, code_, accumulators_, units_,
                                             TranslationOptions{.max_instructions = 2});
  const std::uint32_t to = get(1), from = get(0), side = side_exit_of(from);
  translator_->link(side, block(to));
  const std::uint64_t copy = target(exit(side).branch_after);
  EXPECT_EQ(copy, block(from).entry + block(from).code_bytes);
  EXPECT_EQ(target(copy + kRecordBytes + 5), block(to).entry);
}

TEST_F(BlockLinkerTest, WhatIsKilledLeavesTheListsOfWhatItLedTo) {
  code_.put(0, kJumpOn);
  code_.put(1, kReturn);
  const std::uint32_t to = get(1), from = get(0);
  ASSERT_EQ(block(to).incoming, end_of(from));
  kill(0);
  EXPECT_EQ(block(to).incoming, kNone);
  EXPECT_TRUE(block(from).dead);
  EXPECT_EQ(translator_->blocks().find(Pages::pc(0), Variant::Full), nullptr);
}

TEST_F(BlockLinkerTest, OfAPageOnlyBlocksWithTheInstructionAreKilled) {
  code_.put(0, kBranchOn);
  code_.put(1, kReturn);
  const auto index_at = [this](std::uint64_t pc) {
    return translator_->blocks().index_of(translator_->get(pc, Variant::Full));
  };
  const std::uint32_t whole = get(0), rest = index_at(Pages::pc(0) + 2), other = get(1);
  translator_->drop_with(Pages::pc(0));
  EXPECT_TRUE(block(whole).dead);
  EXPECT_FALSE(block(rest).dead) << "which begins behind it";
  EXPECT_FALSE(block(other).dead);
  translator_->drop_with(Pages::pc(0) + 1);
  EXPECT_FALSE(block(rest).dead) << "no instruction begins there";
}

TEST_F(BlockLinkerTest, OnlyBlocksOfTheSameKindAreLinked) {
  code_.put(0, kJumpOn);
  code_.put(1, kReturn);
  const std::uint32_t from = get(0);
  translator_->link(end_of(from), translator_->get(Pages::pc(1), Variant::Step));
  EXPECT_EQ(exit(end_of(from)).linked_to, kNone);
}

// Places of the hashed table that several blocks share are chains of checks.
TEST_F(BlockLinkerTest, AHashedEntryAsksForTheOneBeforeAndAnswersNoMoreWhenItsBlockIsKilled) {
  constexpr std::uint64_t kSamePlace = 16;  // pages behind, with the same 16 bits
  for (const std::uint64_t page : {std::uint64_t{0}, kSamePlace}) code_.put(page, kReturn);
  const std::uint32_t first = get(0), second = get(kSamePlace);
  translator_->add_indirect_entry(first);
  EXPECT_EQ(hashed(Pages::pc(0)), block(first).hashed_entry);
  translator_->add_indirect_entry(second);
  EXPECT_EQ(hashed(Pages::pc(0)), block(second).hashed_entry);
  constexpr std::uint64_t kLea = 7, kJrcxz = 2, kJump = 5;
  const std::uint64_t check = block(second).hashed_entry;
  EXPECT_EQ(target(check + kLea + kJrcxz + kLea + kJump), block(first).hashed_entry);
  EXPECT_EQ(byte(check + kLea + kJrcxz - 1), kLea + kJump);  // over the way on, to the block
  kill(kSamePlace);
  EXPECT_EQ(byte(check + kLea + kJrcxz - 1), 0);
}

TEST_F(BlockLinkerTest, ATargetOfTheDirectTableIsEnteredThereWhenItWasMetFiveTimes) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "AddressSanitizer's shadow lies where the table would";
#endif
  DirectTable& table = cache_.direct_table();
  table.map({}, ReservedAddresses::kBase);
  code_.put(0, kReturn);
  const std::uint32_t index = get(0);
  const auto& entry = *reinterpret_cast<const std::uint64_t*>(table.entry_of(Pages::pc(0)));
  for (int meeting = 1; meeting < 5; ++meeting) translator_->add_indirect_entry(index);
  EXPECT_FALSE(table.leads_to(Pages::pc(0), block(index).direct_entry));
  translator_->add_indirect_entry(index);
  EXPECT_EQ(entry, block(index).direct_entry);
  EXPECT_EQ(block(index).hashed_entry, 0u);
  kill(0);
  EXPECT_EQ(entry, stubs_.direct_miss);
  table.unmap();
}

}  // namespace
}  // namespace zs::engine

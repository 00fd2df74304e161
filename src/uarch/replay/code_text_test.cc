#include "uarch/replay/code_text.h"

#include <gtest/gtest.h>

#include <bit>
#include <initializer_list>
#include <numeric>

namespace zs::uarch {
namespace {

using arch::AccessForm;
using arch::AccessKind;
using arch::PathAccess;

arch::PathInstruction told(std::initializer_list<std::uint8_t> bytes, std::uint64_t pc = 0x1000) {
  arch::PathInstruction insn{.pc = pc, .length = static_cast<std::uint8_t>(bytes.size())};
  std::ranges::copy(bytes, insn.bytes);
  return insn;
}

const arch::PathInstruction kLoad = told({0x48, 0x8B, 0x03});       // mov rax, [rbx]
const arch::PathInstruction kOtherLoad = told({0x48, 0x8B, 0x01});  // mov rax, [rcx]
constexpr PathAccess kEight{.kind = AccessKind::Load, .address = {.bytes = 8}};

TEST(CodeText, KnowsAnInstructionAgainWhereverItIs) {
  CodeText text;
  const std::uint32_t code = text.code_of(kLoad);
  EXPECT_EQ(text.code_of(told({0x48, 0x8B, 0x03}, 0x2000)), code);
  EXPECT_NE(text.code_of(kOtherLoad), code);
  EXPECT_EQ(text.shape(code), shape_of({kLoad.bytes, 3}));
}

TEST(CodeText, TellsAPrefixFromTheWholeInstruction) {
  CodeText text;
  const std::uint32_t longer = text.code_of(told({0x90, 0x00}));
  EXPECT_NE(text.code_of(told({0x90})), longer);
}

TEST(CodeText, TellsInstructionsApartByTheirAccesses) {
  CodeText text;
  const std::uint32_t code = text.code_of(kLoad);
  const std::uint32_t none = text.instruction_of(code, {});
  const std::uint32_t one = text.instruction_of(code, {&kEight, 1});
  const PathAccess two[] = {kEight, {.kind = AccessKind::Store, .address = {.bytes = 8}}};
  const std::uint32_t both = text.instruction_of(code, two);
  EXPECT_NE(none, one);
  EXPECT_NE(one, both);
  EXPECT_EQ(text.instruction_of(code, {&kEight, 1}), one);
  EXPECT_EQ(text.code(both), code);
  EXPECT_TRUE(text.accesses(none).empty());
  ASSERT_EQ(text.accesses(both).size(), 2U);
  EXPECT_EQ(text.accesses(both)[1].kind, AccessKind::Store);
}

TEST(CodeText, HasTheLengthThatIsToldOfWhatNobodyCanDecode) {
  CodeText text;
  arch::PathInstruction unknown = told({0x06, 0x06, 0x06});  // no instruction in 64-bit mode
  unknown.facts.branch = arch::BranchKind::Far;
  const InstructionShape& shape = text.shape(text.code_of(unknown));
  EXPECT_EQ(shape.length, 3);
  EXPECT_EQ(shape.branch, arch::BranchKind::Far);
}

TEST(HashIndex, FindsEachOfManyAmongThoseOfTheSameHash) {
  constexpr std::uint32_t kMany = 5000;
  const auto hash = [](std::uint32_t number) { return std::uint64_t{number / 3} << 40; };
  HashIndex index;
  for (std::uint32_t number = 0; number < kMany; ++number) index.add(hash(number), number);
  for (std::uint32_t number = 0; number < kMany; ++number) {
    ASSERT_EQ(index.find(hash(number), [&](std::uint32_t other) { return other == number; }), number);
  }
  EXPECT_EQ(index.find(hash(kMany + 3), [](std::uint32_t) { return true; }), HashIndex::kNone);
}

TEST(Arena, KeepsWhatWasPutThereAndItsAlignment) {
  struct alignas(64) Wide {
    std::uint64_t value;
  };
  Arena arena;
  std::vector<std::span<const std::uint32_t>> kept;
  std::vector<std::uint32_t> words(100'000);  // more than a piece
  std::iota(words.begin(), words.end(), 0U);
  for (std::size_t size : {1UL, 3UL, 1000UL, 100'000UL, 2UL, 70'000UL}) {
    kept.push_back(arena.keep(std::span<const std::uint32_t>(words).first(size)));
    EXPECT_EQ(std::bit_cast<std::uintptr_t>(arena.room<Wide>(1)) % alignof(Wide), 0U);
  }
  for (const auto& piece : kept) EXPECT_TRUE(std::ranges::equal(piece, std::span(words).first(piece.size())));
}

}  // namespace
}  // namespace zs::uarch

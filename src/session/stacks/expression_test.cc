#include "session/stacks/expression.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace zs::session {
namespace {

struct FakeWords final : WordSource {
  std::map<std::uint64_t, std::uint64_t> words;
  std::optional<std::uint64_t> word(std::uint64_t address) override {
    const auto found = words.find(address);
    return found == words.end() ? std::nullopt : std::optional(found->second);
  }
};

std::optional<std::uint64_t> value(std::vector<int> operations, std::optional<std::uint64_t> on_stack = std::nullopt) {
  std::vector<std::byte> bytes;
  for (const int operation : operations) bytes.push_back(static_cast<std::byte>(operation));
  arch::DwarfRegisters registers{};
  registers[arch::kDwarfBp] = 0x7000;
  registers[arch::kDwarfSp] = 0x6000;
  registers[arch::kDwarfReturnAddress] = 0x40'000D;
  FakeWords memory;
  memory.words[0x6FF8] = 0xABCD;
  return evaluate(bytes, registers, memory, on_stack);
}

TEST(Expression, FindsTheFrameOfARealignedStack) { EXPECT_EQ(value({0x76, 0x78, 0x06}), 0xABCDu); }

TEST(Expression, FindsTheFrameOfAnEntryOfThePlt) {
  // RSP + 8 + (((RIP & 15) >= 11) << 3), as linkers write it
  EXPECT_EQ(value({0x77, 8, 0x80, 0, 0x3F, 0x1A, 0x3B, 0x2A, 0x33, 0x24, 0x22}), 0x6010u);
}

TEST(Expression, BeginsWithWhatIsGiven) { EXPECT_EQ(value({0x23, 0x90, 0x01}, 0x100), 0x190u); }

TEST(Expression, Branches) {
  EXPECT_EQ(value({0x31, 0x28, 1, 0, 0x35, 0x37}), 7u);  // over the 5
  EXPECT_EQ(value({0x2F, 1, 0, 0x35, 0x37}), 7u);
  EXPECT_EQ(value({0x2F, 0xFD, 0xFF}), std::nullopt);  // for ever
}

TEST(Expression, RefusesDamageAndMemoryThatIsNotThere) {
  EXPECT_EQ(value({}), std::nullopt);
  EXPECT_EQ(value({0x22}), std::nullopt);
  EXPECT_EQ(value({0x31, 0x06}), std::nullopt);
  EXPECT_EQ(value({0x31, 0x30, 0x1B}), std::nullopt);  // by zero
  EXPECT_EQ(value({0x08}), std::nullopt);
  EXPECT_EQ(value({0x01}), std::nullopt);
}

}  // namespace
}  // namespace zs::session

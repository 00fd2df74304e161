#include "session/stacks/call_frame_info.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>

namespace zs::session {
namespace {

using Kind = RegisterRule::Kind;

std::vector<std::byte> bytes(std::initializer_list<int> values) {
  std::vector<std::byte> out;
  for (const int value : values) out.push_back(static_cast<std::byte>(value));
  return out;
}

/// As gcc writes it: the frame is 8 above RSP, the return address on top.
const std::vector<std::byte> kCommon = bytes({1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1B, 0x0C, 7, 8, 0x90, 1, 0, 0});

CommonFrameInfo common() { return *read_common(ByteReader(kCommon)); }

FrameRule rule(std::initializer_list<int> instructions, std::uint64_t pc, Expressions& expressions) {
  const std::vector<std::byte> content = bytes(instructions);
  const auto found = rule_at(common(), {.start = 0x1000, .length = 0x100, .instructions = content}, pc, expressions);
  EXPECT_TRUE(found.has_value());
  return found.value_or(FrameRule{});
}

TEST(CallFrameInfo, ReadsWhatFunctionsHaveInCommon) {
  EXPECT_EQ(common().code_unit, 1u);
  EXPECT_EQ(common().data_unit, -8);
  EXPECT_EQ(common().pointers.bits, 0x1B);
  EXPECT_TRUE(common().sized_augmentation);
  EXPECT_FALSE(common().interrupts);
}

TEST(CallFrameInfo, FindsTheFunctionRelativeToTheEntry) {
  // 32-bit distance from its own place; length; no augmentation
  const std::vector<std::byte> entry = bytes({0xF0, 0xFF, 0xFF, 0xFF, 0x20, 0, 0, 0, 0, 0x41});
  const auto function = read_function(ByteReader(entry, {}, 0x2000), common());
  ASSERT_TRUE(function.has_value());
  EXPECT_EQ(function->start, 0x1FF0u);
  EXPECT_EQ(function->length, 0x20u);
  EXPECT_EQ(function->instructions.size(), 1u);
}

TEST(CallFrameInfo, HoldsUpToTheNextAdvance) {
  Expressions expressions;
  // push rbx at 0x1000 (one byte); sub rsp, 32 at 0x1001 (four)
  const std::initializer_list<int> function = {0x41, 0x0E, 16, 0x83, 2, 0x44, 0x0E, 48};
  EXPECT_EQ(rule(function, 0x1000, expressions).frame_offset, 8);
  EXPECT_EQ(rule(function, 0x1001, expressions).frame_offset, 16);
  EXPECT_EQ(rule(function, 0x1004, expressions).frame_offset, 16);
  const FrameRule behind = rule(function, 0x1005, expressions);
  EXPECT_EQ(behind.frame_offset, 48);
  EXPECT_EQ(behind.registers[arch::kDwarfBx], (RegisterRule{Kind::AtFrame, -16}));
  EXPECT_EQ(behind.registers[arch::kDwarfReturnAddress], (RegisterRule{Kind::AtFrame, -8}));
}

TEST(CallFrameInfo, GoesBackToWhatItRemembered) {
  Expressions expressions;
  const std::initializer_list<int> function = {0x41, 0x0E, 16, 0x0A, 0x41, 0x0E, 8, 0x41, 0x0B};
  EXPECT_EQ(rule(function, 0x1002, expressions).frame_offset, 8);
  EXPECT_EQ(rule(function, 0x1003, expressions).frame_offset, 16);
}

TEST(CallFrameInfo, RefusesOffsetsThatAreTooLarge) {
  Expressions expressions;
  // 2 to the power of 61, of 8 bytes each: 0 if it were counted in 64 bits.
  const std::initializer_list<int> too_large = {0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x20};
  for (const std::initializer_list<int> before :
       {std::initializer_list<int>{0x83}, {0x05, 3}, {0x11, 3}, {0x2F, 3}, {0x14, 3}, {0x15, 3}, {0x12, 7}, {0x13}}) {
    std::vector<std::byte> content = bytes(before);
    for (const std::byte one : bytes(too_large)) content.push_back(one);
    const FunctionFrameInfo function{.start = 0x1000, .length = 0x100, .instructions = content};
    EXPECT_FALSE(rule_at(common(), function, 0x1000, expressions)) << *before.begin();
  }
}

TEST(CallFrameInfo, KeepsAnExpressionOnce) {
  Expressions expressions;
  const std::initializer_list<int> function = {0x0F, 3, 0x76, 0x78, 0x06};  // what RBP - 8 points at
  const FrameRule first = rule(function, 0x1000, expressions), second = rule(function, 0x1001, expressions);
  EXPECT_TRUE(first.by_expression);
  EXPECT_EQ(first, second);
  EXPECT_EQ(expressions[first.frame_offset].size(), 3u);
}

TEST(CallFrameInfo, RefusesDamage) {
  Expressions expressions;
  for (const std::initializer_list<int> damaged : {std::initializer_list<int>{0x0B}, {0x3F}, {0x0E}, {0x0C, 40, 8}}) {
    const std::vector<std::byte> content = bytes(damaged);
    EXPECT_FALSE(rule_at(common(), {.start = 0, .length = 9, .instructions = content}, 0, expressions).has_value());
  }
  EXPECT_FALSE(read_common(ByteReader(Bytes(kCommon).first(6))).has_value());
}

}  // namespace
}  // namespace zs::session

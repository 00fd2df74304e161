#include "session/stacks/code_rule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace zs::session {
namespace {

using Kind = RegisterRule::Kind;

constexpr std::uint64_t kText = 0x40'0000;

std::optional<FrameRule> rule(const std::vector<int>& code, std::uint64_t at = 0, int longest = 20) {
  const FetchCode fetch = [&](std::uint64_t address, std::span<std::byte> into) {
    std::size_t count = 0;
    for (; count < into.size() && address - kText + count < code.size(); ++count)
      into[count] = static_cast<std::byte>(code[address - kText + count]);
    return count;
  };
  return rule_of_code(kText + at, fetch, longest);
}

/// push rbp; mov rbp, rsp; push rbx; sub rsp, 24; lea eax, [rdi+1]; add rsp, 24; pop rbx; pop rbp; ret
const std::vector<int> kFunction = {0x55, 0x48, 0x89, 0xE5, 0x53, 0x48, 0x83, 0xEC, 24,  0x8D,
                                    0x47, 1,    0x48, 0x83, 0xC4, 24,   0x5B, 0x5D, 0xC3};

TEST(CodeRule, KnowsThePrologue) {
  for (const auto& [at, offset] : {std::pair{0, 8}, {1, 16}}) {
    const auto found = rule(kFunction, static_cast<std::uint64_t>(at));
    ASSERT_TRUE(found.has_value()) << at;
    EXPECT_EQ(found->frame_register, arch::kDwarfSp);
    EXPECT_EQ(found->frame_offset, offset) << at;
    EXPECT_EQ(found->registers[arch::kDwarfReturnAddress], (RegisterRule{Kind::AtFrame, -8}));
  }
}

TEST(CodeRule, FollowsTheStackPointerToTheReturn) {
  for (const auto& [at, offset] : {std::pair{4, 16}, {5, 24}, {9, 48}, {16, 24}, {17, 16}, {18, 8}}) {
    const auto found = rule(kFunction, static_cast<std::uint64_t>(at));
    ASSERT_TRUE(found.has_value()) << at;
    EXPECT_EQ(found->frame_register, arch::kDwarfSp) << at;
    EXPECT_EQ(found->frame_offset, offset) << at;
  }
  const auto inside = rule(kFunction, 9);
  EXPECT_EQ(inside->registers[arch::kDwarfBx], (RegisterRule{Kind::AtFrame, -24}));
  EXPECT_EQ(inside->registers[arch::kDwarfBp], (RegisterRule{Kind::AtFrame, -16}));
}

TEST(CodeRule, TakesTheFramePointerWhereTheFunctionLeavesByIt) {
  const auto found = rule({0x90, 0xC9, 0xC2, 16, 0});  // nop; leave; ret 16
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->frame_register, arch::kDwarfBp);
  EXPECT_EQ(found->frame_offset, 16);
  EXPECT_EQ(found->registers[arch::kDwarfSp], (RegisterRule{Kind::FramePlus, 16}));
}

TEST(CodeRule, FollowsAReturnAddressThatIsMoved) {
  // pop r10; push r10; ret: in between, it is in R10
  const std::vector<int> code = {0x41, 0x5A, 0x41, 0x52, 0xC3};
  EXPECT_EQ(rule(code)->registers[arch::kDwarfReturnAddress], (RegisterRule{Kind::AtFrame, -8}));
  EXPECT_EQ(rule(code, 2)->registers[arch::kDwarfReturnAddress], (RegisterRule{Kind::InRegister, 10}));
}

TEST(CodeRule, FollowsAReturnThatDropsAsManyArgumentsAsARegisterSays) {
  // pop r10; lea rsp, [rsp + rcx*8]; push r10; ret
  const std::vector<int> code = {0x41, 0x5A, 0x48, 0x8D, 0x24, 0xCC, 0x41, 0x52, 0xC3};
  for (const std::uint64_t at : {0, 8})
    EXPECT_EQ(rule(code, at)->registers[arch::kDwarfReturnAddress], (RegisterRule{Kind::AtFrame, -8})) << at;
  for (const std::uint64_t at : {2, 6})
    EXPECT_EQ(rule(code, at)->registers[arch::kDwarfReturnAddress], (RegisterRule{Kind::InRegister, 10})) << at;
  EXPECT_FALSE(rule({0x48, 0x8D, 0x24, 0xCC, 0x5B, 0xC3}).has_value());              // pop rbx behind it: from where?
  EXPECT_FALSE(rule({0x48, 0x8D, 0x24, 0xCC, 0xE8, 0, 0, 0, 0, 0xC3}).has_value());  // a call behind it: of what?
  EXPECT_TRUE(rule({0x48, 0x8D, 0x24, 0x24, 0x5B, 0xC3}).has_value());               // lea rsp, [rsp] drops nothing
}

TEST(CodeRule, GoesOnBehindCallsAndBranchesAndAlongJumps) {
  // call +0; jne +0; jmp over ud2; ret
  const auto found = rule({0xE8, 0, 0, 0, 0, 0x75, 0, 0xEB, 2, 0x0F, 0x0B, 0xC3});
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->frame_offset, 8);
}

TEST(CodeRule, SaysNothingWhereItIsNotSure) {
  EXPECT_FALSE(rule({0x48, 0x83, 0xE4, 0xF0, 0xC3}).has_value());  // and rsp, -16
  EXPECT_FALSE(rule({0xFF, 0xE0}).has_value());                    // jmp rax, in the middle of a function
  EXPECT_FALSE(rule({0x0F, 0x0B}).has_value());
  EXPECT_FALSE(rule({0xEB, 0xFE}).has_value());  // for ever
  EXPECT_FALSE(rule({}).has_value());
  EXPECT_TRUE(rule({0x5D, 0xFF, 0xE0}).has_value());  // pop rbp; jmp rax: out of it
}

}  // namespace
}  // namespace zs::session

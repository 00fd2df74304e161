#include "session/stacks/code_rule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace zs::session {
namespace {

using Kind = RegisterRule::Kind;

constexpr std::uint64_t kText = 0x40'0000;

std::optional<FrameRule> rule(const std::vector<int>& code, std::uint64_t at = 0, int longest = 20,
                              const AcceptRule& accept = {}) {
  const FetchCode fetch = [&](std::uint64_t address, std::span<std::byte> into) {
    std::size_t count = 0;
    for (; count < into.size() && address - kText + count < code.size(); ++count)
      into[count] = static_cast<std::byte>(code[address - kText + count]);
    return count;
  };
  return rule_of_code(kText + at, fetch, longest, accept);
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
  // call of something; jne +0; jmp over ud2; ret
  const auto found = rule({0xE8, 9, 0, 0, 0, 0x75, 0, 0xEB, 2, 0x0F, 0x0B, 0xC3});
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->frame_offset, 8);
}

bool any(const FrameRule&, bool) { return true; }

TEST(CodeRule, TakesEveryWayWhereTheStraightOneLeadsToNoReturn) {
  // push rbx; push r12; dec rdi; je +2; jmp back to dec; pop r12; pop rbx; ret
  const std::vector<int> loop = {0x53, 0x41, 0x54, 0x48, 0xFF, 0xCF, 0x74, 2, 0xEB, 0xF9, 0x41, 0x5C, 0x5B, 0xC3};
  EXPECT_FALSE(rule(loop, 3).has_value());
  for (const std::uint64_t at : {3, 6, 8}) {
    const auto found = rule(loop, at, 20, any);
    ASSERT_TRUE(found.has_value()) << at;
    EXPECT_EQ(found->frame_offset, 24) << at;
    EXPECT_EQ(found->registers[arch::kDwarfBx], (RegisterRule{Kind::AtFrame, -16})) << at;
  }
  // push rbx; jmp [rax*8 + table]; a case; jmp there; another case: add rsp, 0; pop rbx; ret
  const std::vector<int> table = {0x53, 0xFF, 0x24, 0xC5, 0,    0, 0,    0,   0x90,
                                  0xEB, 0xFD, 0x48, 0x83, 0xC4, 0, 0x5B, 0xC3};
  for (const std::uint64_t at : {1, 8}) EXPECT_EQ(rule(table, at, 20, any)->frame_offset, 16) << at;
}

TEST(CodeRule, TakesAnotherWayWhereWhatTheFirstFindsIsRefused) {
  // je +1; ret; pop rbx; ret: the straight way returns at once, the other one has something to pop.
  const std::vector<int> code = {0x74, 1, 0xC3, 0x5B, 0xC3};
  EXPECT_EQ(rule(code, 0, 20, any)->frame_offset, 8);
  EXPECT_EQ(rule(code, 0, 20, [](const FrameRule& one, bool) { return one.frame_offset != 8; })->frame_offset, 16);
  EXPECT_FALSE(rule(code, 0, 20, [](const FrameRule&, bool) { return false; }));
}

TEST(CodeRule, EndsWhereWaysGoInCircles) {
  // The longest function of nothing but conditional jumps, each to its beginning: its ways are many.
  std::vector<int> code;
  for (int at = 0; at < 120; at += 2) code.insert(code.end(), {0x74, (-at - 2) & 0xFF});
  code.insert(code.end(), {0xEB, 0x86});
  EXPECT_FALSE(rule(code, 0, 256, any).has_value());
}

// source: SDM vol. 2: PUSH, POP, PUSHF, POPF, ENTER, LEAVE, and what may name RSP as its operand.
TEST(CodeRule, KnowsHowFarEachInstructionMovesTheStackPointer) {
  struct Row {
    const char* text;
    std::vector<int> code;
    int by;
  };
  const std::vector<Row> rows = {
      {"push rbx", {0x53}, -8},
      {"push r9", {0x41, 0x51}, -8},
      {"push bx", {0x66, 0x53}, -2},
      {"push rbx, long", {0xFF, 0xF3}, -8},
      {"push [rdi]", {0xFF, 0x37}, -8},
      {"push word [rdi]", {0x66, 0xFF, 0x37}, -2},
      {"push [rip+0]", {0xFF, 0x35, 0, 0, 0, 0}, -8},
      {"push 5", {0x6A, 5}, -8},
      {"push 5, long", {0x68, 5, 0, 0, 0}, -8},
      {"push word 5", {0x66, 0x68, 5, 0}, -2},
      {"push fs", {0x0F, 0xA0}, -8},
      {"push gs", {0x0F, 0xA8}, -8},
      {"pushfq", {0x9C}, -8},
      {"pushf", {0x66, 0x9C}, -2},
      {"pop rbx", {0x5B}, 8},
      {"pop r9", {0x41, 0x59}, 8},
      {"pop bx", {0x66, 0x5B}, 2},
      {"pop rbx, long", {0x8F, 0xC3}, 8},
      {"pop [rdi]", {0x8F, 0x07}, 8},
      {"pop word [rdi]", {0x66, 0x8F, 0x07}, 2},
      {"pop fs", {0x0F, 0xA1}, 8},
      {"pop gs", {0x0F, 0xA9}, 8},
      {"popfq", {0x9D}, 8},
      {"popf", {0x66, 0x9D}, 2},
      {"enter 32, 0", {0xC8, 32, 0, 0}, -40},
      {"enter 32, 1", {0xC8, 32, 0, 1}, -48},
      {"enter 32, 0; leave", {0xC8, 32, 0, 0, 0xC9}, 0},
      {"call the next", {0xE8, 0, 0, 0, 0}, -8},
      {"add rsp, 16", {0x48, 0x83, 0xC4, 16}, 16},
      {"add rsp, 16, long", {0x48, 0x81, 0xC4, 16, 0, 0, 0}, 16},
      {"sub rsp, 16", {0x48, 0x83, 0xEC, 16}, -16},
      {"inc rsp", {0x48, 0xFF, 0xC4}, 1},
      {"dec rsp", {0x48, 0xFF, 0xCC}, -1},
      {"lea rsp, [rsp-16]", {0x48, 0x8D, 0x64, 0x24, 0xF0}, -16},
      {"lea rsp, [rsp-16], long", {0x48, 0x8D, 0xA4, 0x24, 0xF0, 0xFF, 0xFF, 0xFF}, -16},
      {"mov rbx, rsp; push rax; mov rsp, rbx", {0x48, 0x89, 0xE3, 0x50, 0x48, 0x89, 0xDC}, 0},
      {"mov r9, rsp; push rax; mov rsp, r9", {0x49, 0x89, 0xE1, 0x50, 0x4C, 0x89, 0xCC}, 0},
      {"mov rbx, rsp; push rax; xchg rbx, rsp", {0x48, 0x89, 0xE3, 0x50, 0x48, 0x87, 0xDC}, 0},
      {"cmp rsp, rax; test rsp, rsp; mov [rdi], rsp", {0x48, 0x39, 0xC4, 0x48, 0x85, 0xE4, 0x48, 0x89, 0x27}, 0},
  };
  for (const Row& row : rows) {
    std::vector<int> code = row.code;
    code.insert(code.end(), {0x48, 0x8D, 0x64, 0x24, -row.by & 0xFF, 0xC3});  // lea rsp, [rsp-by]; ret
    const auto found = rule(code);
    ASSERT_TRUE(found.has_value()) << row.text;
    EXPECT_EQ(found->frame_register, arch::kDwarfSp) << row.text;
    EXPECT_EQ(found->frame_offset, 8) << row.text;
  }
}

TEST(CodeRule, LosesTheStackPointerToWhatItDoesNotFollow) {
  const std::vector<std::vector<int>> codes = {
      {0x48, 0x83, 0xE4, 0xF0},        // and rsp, -16
      {0x48, 0x01, 0xC4},              // add rsp, rax
      {0x48, 0x0F, 0x44, 0xE0},        // cmove rsp, rax
      {0x83, 0xC4, 8},                 // add esp, 8
      {0x48, 0x8B, 0x27},              // mov rsp, [rdi]
      {0x5C},                          // pop rsp
      {0x66, 0x5C},                    // pop sp
      {0x66, 0xC8, 0, 0, 0},           // enter of 16 bits
      {0x48, 0xC7, 0xC4, 0, 0, 0, 0},  // mov rsp, 0
      {0x48, 0x0F, 0xB1, 0xDC},        // cmpxchg rsp, rbx
      {0x48, 0x0F, 0xC1, 0xDC},        // xadd rsp, rbx
  };
  for (std::vector<int> code : codes) {
    code.push_back(0xC3);
    EXPECT_FALSE(rule(code).has_value()) << code[0] << ' ' << code[1];
  }
}

TEST(CodeRule, LeavesByTheFramePointerHoweverTheStackWasAligned) {
  // and rsp, -32; pop back: mov rsp, rbp; pop rbp; ret. Or lea rsp, [rbp-8]; pop rbx; pop rbp; rep ret. Or leave; ret
  const std::vector<std::vector<int>> ends = {
      {0x48, 0x89, 0xEC, 0x5D, 0xC3}, {0x48, 0x8D, 0x65, 0xF8, 0x5B, 0x5D, 0xF3, 0xC3}, {0xC9, 0xC3}};
  for (const std::vector<int>& end : ends) {
    std::vector<int> code = {0x48, 0x83, 0xE4, 0xE0};
    code.insert(code.end(), end.begin(), end.end());
    const auto found = rule(code);
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->frame_register, arch::kDwarfBp);
    EXPECT_EQ(found->frame_offset, 16);
    EXPECT_EQ(found->registers[arch::kDwarfBp], (RegisterRule{Kind::AtFrame, -16}));
  }
}

TEST(CodeRule, SaysNothingWhereItIsNotSure) {
  EXPECT_FALSE(rule({0xFF, 0xE0}).has_value());  // jmp rax, in the middle of a function
  EXPECT_FALSE(rule({0x0F, 0x0B}).has_value());
  EXPECT_FALSE(rule({0xEB, 0xFE}).has_value());  // for ever
  EXPECT_FALSE(rule({}).has_value());
  EXPECT_TRUE(rule({0x5D, 0xFF, 0xE0}).has_value());  // pop rbp; jmp rax: out of it
}

}  // namespace
}  // namespace zs::session

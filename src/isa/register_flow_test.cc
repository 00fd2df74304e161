#include "isa/register_flow.h"

#include <gtest/gtest.h>

#include <vector>

namespace zs::isa {
namespace {

using Kind = RegisterFlow::Kind;

RegisterFlow flow_of(std::vector<std::uint8_t> code) {
  const auto decoded = decode_flow(0x1000, code);
  return decoded ? decoded->flow : RegisterFlow{};
}

struct Row {
  const char* text;
  std::vector<std::uint8_t> code;
  Kind kind;
  int to, from;
  std::int64_t by;
  unsigned written;
};

TEST(RegisterFlow, SaysWhatEachInstructionDoesToPointers) {
  const Row rows[] = {
      {"mov rax, rdi", {0x48, 0x89, 0xF8}, Kind::Copy, kRax, kRdi, 0, 1U << kRax},
      {"mov eax, edi", {0x89, 0xF8}, Kind::Other, -1, -1, 0, 1U << kRax},
      {"mov rax, [rdi+8]", {0x48, 0x8B, 0x47, 0x08}, Kind::Load, kRax, -1, 0, 1U << kRax},
      {"mov eax, [rdi+8]", {0x8B, 0x47, 0x08}, Kind::Other, -1, -1, 0, 1U << kRax},
      {"mov [rsp+8], rbx", {0x48, 0x89, 0x5C, 0x24, 0x08}, Kind::Store, -1, kRbx, 0, 0},
      {"lea rdx, [rax+rcx*8+16]", {0x48, 0x8D, 0x54, 0xC8, 0x10}, Kind::Address, kRdx, -1, 0, 1U << kRdx},
      {"add rax, 24", {0x48, 0x83, 0xC0, 0x18}, Kind::Add, kRax, -1, 24, 1U << kRax},
      {"sub rsp, 24", {0x48, 0x83, 0xEC, 0x18}, Kind::Add, kRsp, -1, -24, 1U << kRsp},
      {"add rax, rdx", {0x48, 0x01, 0xD0}, Kind::Join, kRax, kRdx, 0, 1U << kRax},
      {"sub rax, rdx", {0x48, 0x29, 0xD0}, Kind::Other, kRax, kRdx, 0, 1U << kRax},
      {"inc rdi", {0x48, 0xFF, 0xC7}, Kind::Add, kRdi, -1, 1, 1U << kRdi},
      {"cmove rax, rdx", {0x48, 0x0F, 0x44, 0xC2}, Kind::Choose, kRax, kRdx, 0, 1U << kRax},
      {"push rbx", {0x53}, Kind::Push, -1, kRbx, 0, 1U << kRsp},
      {"pop rbx", {0x5B}, Kind::Pop, kRbx, -1, 0, 1U << kRbx | 1U << kRsp},
      {"mul rcx", {0x48, 0xF7, 0xE1}, Kind::Other, -1, -1, 0, 1U << kRax | 1U << kRdx},
  };
  for (const Row& row : rows) {
    const RegisterFlow flow = flow_of(row.code);
    EXPECT_EQ(flow.kind, row.kind) << row.text;
    EXPECT_EQ(flow.to, row.to) << row.text;
    EXPECT_EQ(flow.from, row.from) << row.text;
    EXPECT_EQ(flow.by, row.by) << row.text;
    EXPECT_EQ(flow.written, row.written) << row.text;
  }
}

TEST(RegisterFlow, NamesTheOperandOfAnAddress) {
  const MemoryOperand memory = flow_of({0x48, 0x8D, 0x54, 0xC8, 0x10}).memory;  // lea rdx, [rax+rcx*8+16]
  EXPECT_EQ(memory.base, kRax);
  EXPECT_EQ(memory.index, kRcx);
  EXPECT_EQ(memory.scale, 8);
  EXPECT_EQ(memory.displacement, 16);
}

TEST(RegisterFlow, SaysNothingOfWhatIsNoInstruction) {
  EXPECT_FALSE(decode_flow(0x1000, std::vector<std::uint8_t>{0x48}));
}

}  // namespace
}  // namespace zs::isa

#include "isa/register_flow.h"

#include <gtest/gtest.h>

#include <map>
#include <sstream>
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
      {"push rbx", {0x53}, Kind::Push, -1, kRbx, -8, 1U << kRsp},
      {"pop rbx", {0x5B}, Kind::Pop, kRbx, -1, 8, 1U << kRbx | 1U << kRsp},
      {"push bx", {0x66, 0x53}, Kind::Push, -1, -1, -2, 1U << kRsp},
      {"push [rdi]", {0xFF, 0x37}, Kind::Push, -1, -1, -8, 1U << kRsp},
      {"popfq", {0x9D}, Kind::Pop, -1, -1, 8, 1U << kRsp},
      {"xchg rax, rsp", {0x48, 0x94}, Kind::Exchange, kRsp, kRax, 0, 1U << kRax | 1U << kRsp},
      {"enter 32, 1", {0xC8, 32, 0, 1}, Kind::Enter, kRbp, -1, -48, 1U << kRbp | 1U << kRsp},
      {"leave", {0xC9}, Kind::Leave, -1, -1, 0, 1U << kRbp | 1U << kRsp},
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

// source: SDM vol. 2, "Opcode Map", tables of one-byte and two-byte opcodes, in 64-bit mode: what moves RSP or RBP
// though no operand names it pushes, pops, calls, returns, makes or leaves a frame, or changes the ring.
TEST(RegisterFlow, KnowsEveryOpcodeThatMovesTheStackPointer) {
  constexpr unsigned kSp = 1U << kRsp, kBp = 1U << kRbp;
  std::map<unsigned, unsigned> moves = {
      {0x68, kSp},       {0x6A, kSp},       {0x8F, kSp},   {0x9C, kSp},   {0x9D, kSp},  {0xC2, kSp}, {0xC3, kSp},
      {0xC8, kSp | kBp}, {0xC9, kSp | kBp}, {0xCA, kSp},   {0xCB, kSp},   {0xCF, kSp},  {0xE8, kSp}, {0x0F34, kSp},
      {0x0F35, kSp},     {0x0FA0, kSp},     {0x0FA1, kSp}, {0x0FA8, kSp}, {0x0FA9, kSp}};
  for (unsigned push_or_pop = 0x50; push_or_pop < 0x60; ++push_or_pop) moves[push_or_pop] = kSp;
  moves[0x5D] = kSp | kBp;
  std::ostringstream wrong;
  for (unsigned opcode = 0; opcode < 0x1000; opcode += opcode == 0xFF ? 0x0F00 - opcode : 1) {
    for (unsigned reg = 0; reg < 8; ++reg) {
      std::vector<std::uint8_t> code(16);  // behind the opcode: [rax], and a register
      if (opcode > 0xFF) code[0] = 0x0F;
      code[opcode > 0xFF ? 1 : 0] = static_cast<std::uint8_t>(opcode);
      code[opcode > 0xFF ? 2 : 1] = static_cast<std::uint8_t>(reg << 3);
      const auto decoded = decode_flow(0x1000, code);
      // Where a field of the instruction names a register, 4 and 5 are RSP and RBP: the rows above have those.
      const bool by_opcode =
          (opcode >= 0x90 && opcode < 0x98) || (opcode >= 0xB0 && opcode < 0xC0) || opcode >> 3 == 0xFC8 >> 3;
      if (!decoded || by_opcode || ((reg == 4 || reg == 5) && opcode != 0xFF)) continue;
      const unsigned found = decoded->flow.written & (kSp | kBp);
      unsigned expected = moves.contains(opcode) ? moves[opcode] : 0;
      if (opcode == 0xFF && (reg == 2 || reg == 3 || reg == 6)) expected = kSp;  // CALL and PUSH
      if (found != expected) wrong << std::hex << opcode << " /" << reg << ": " << found << '\n';
    }
  }
  EXPECT_EQ(wrong.str(), "");
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

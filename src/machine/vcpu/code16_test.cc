// 16-bit code, which a 64-bit host cannot run to compare with: a table of instructions with what the manual says comes
// out.
// Registers are those of real mode after reset but for what a row sets; SP is 8000H, the code lies at 0:1000H.
// source: SDM vol. 2, the instructions' "Operation" and "Flags Affected".
#include <gtest/gtest.h>

#include <vector>

#include "machine/vcpu/test_machine.h"

namespace zs::machine {
namespace {

struct Register {
  Gpr reg;
  std::uint32_t value;
};

struct Row {
  const char* story;
  std::vector<unsigned> code;
  std::vector<Register> before, after;
  std::uint32_t flags = 0, flags_mask = 0;  // afterwards
};

constexpr std::uint32_t kCf = 1, kParityFlag = 4, kAf = 0x10, kZf = 0x40, kSignFlag = 0x80, kOf = 0x800;
constexpr std::uint32_t kArithmeticFlags = kCf | kParityFlag | kAf | kZf | kSignFlag | kOf;

const std::vector<Row>& rows() {
  static const std::vector<Row> all = {
      {"add ax, bx keeps the upper half of EAX",
       {0x01, 0xD8},
       {{kRax, 0x1234FFFF}, {kRbx, 1}},
       {{kRax, 0x12340000}},
       kCf | kParityFlag | kAf | kZf,
       kArithmeticFlags},
      {"add eax, ebx has a prefix",
       {0x66, 0x01, 0xD8},
       {{kRax, 0x7FFFFFFF}, {kRbx, 1}},
       {{kRax, 0x80000000}},
       kParityFlag | kAf | kSignFlag | kOf,
       kArithmeticFlags},
      {"sub al, ah borrows",
       {0x28, 0xE0},
       {{kRax, 0x0201}},
       {{kRax, 0x02FF}},
       kCf | kParityFlag | kAf | kSignFlag,
       kArithmeticFlags},
      {"inc ax leaves CF", {0xF9, 0x40}, {{kRax, 0xFFFF}}, {{kRax, 0}}, kCf | kZf, kCf | kZf},
      {"neg word 8000h overflows", {0xF7, 0xD8}, {{kRax, 0x8000}}, {{kRax, 0x8000}}, kCf | kOf, kCf | kOf},
      {"mul bx: DX:AX", {0xF7, 0xE3}, {{kRax, 0x8000}, {kRbx, 6}}, {{kRax, 0}, {kRdx, 3}}, kCf | kOf, kCf | kOf},
      {"imul bl: AX", {0xF6, 0xEB}, {{kRax, 0xFF}, {kRbx, 2}}, {{kRax, 0xFFFE}}, 0, kCf | kOf},
      {"div bx: quotient and remainder", {0xF7, 0xF3}, {{kRdx, 1}, {kRax, 0}, {kRbx, 10}}, {{kRax, 6553}, {kRdx, 6}}},
      {"idiv bl of a negative number", {0xF6, 0xFB}, {{kRax, 0xFFF9}, {kRbx, 2}}, {{kRax, 0xFFFD}}},
      {"cbw", {0x98}, {{kRax, 0x80}}, {{kRax, 0xFF80}}},
      {"cwd", {0x99}, {{kRax, 0x8000}}, {{kRdx, 0xFFFF}}},
      {"shl ax, cl takes five bits of CL", {0xD3, 0xE0}, {{kRax, 1}, {kRcx, 0x21}}, {{kRax, 2}}},
      {"rcr ax, 1 through CF", {0xF9, 0xD1, 0xD8}, {{kRax, 2}}, {{kRax, 0x8001}}, 0, kCf},
      {"daa", {0x27}, {{kRax, 0x9B}}, {{kRax, 0x01}}, kCf | kAf, kCf | kAf},
      {"aaa", {0x37}, {{kRax, 0x0B}}, {{kRax, 0x0101}}, kCf | kAf, kCf | kAf},
      {"aam", {0xD4, 0x0A}, {{kRax, 99}}, {{kRax, 0x0909}}},
      {"aad", {0xD5, 0x0A}, {{kRax, 0x0907}}, {{kRax, 97}}},
      {"lea wraps at 64 KiB", {0x8D, 0x40, 0x10}, {{kRbx, 0xFFF8}, {kRsi, 0x10}, {kRax, 0}}, {{kRax, 0x18}}},
      {"[bp] is in the stack segment, and so the same memory here",
       {0xC7, 0x46, 0xFE, 0x34, 0x12, 0x8B, 0x46, 0xFE},
       {{kRbp, 0x7000}},
       {{kRax, 0x1234}}},
      {"with an address prefix EBX * 4 counts",
       {0x67, 0x8D, 0x04, 0x9D, 0x01, 0x00, 0x00, 0x00},
       {{kRbx, 0x100}},
       {{kRax, 0x401}}},
      {"push and pop wrap SP at 64 KiB", {0x50, 0x5B}, {{kRax, 0x55AA}, {kRsp, 0}}, {{kRbx, 0x55AA}, {kRsp, 0}}},
      {"push sp is the old one", {0x54, 0x58}, {}, {{kRax, 0x8000}}},
      {"pusha, popa leave SP and the upper halves",
       {0x60, 0x31, 0xC0, 0x61},
       {{kRax, 0xAAAA1111}},
       {{kRax, 0xAAAA1111}, {kRsp, 0x8000}}},
      {"enter 4, 0; leave",
       {0xC8, 0x04, 0x00, 0x00, 0x89, 0xE0, 0xC9},
       {{kRbp, 0x1234}},
       {{kRax, 0x7FFA}, {kRbp, 0x1234}, {kRsp, 0x8000}}},
      {"loop counts CX, not ECX", {0x40, 0xE2, 0xFD}, {{kRcx, 0x10003}, {kRax, 0}}, {{kRax, 3}, {kRcx, 0x10000}}},
      {"jcxz looks at CX", {0xE3, 0x01, 0x40, 0x43}, {{kRcx, 0x10000}, {kRax, 0}, {kRbx, 0}}, {{kRax, 0}, {kRbx, 1}}},
      {"rep stosb counts CX and wraps DI",
       {0xF3, 0xAA},
       {{kRcx, 0x20002}, {kRdi, 0xFFFF}, {kRax, 0x5A}},
       {{kRcx, 0x20000}, {kRdi, 1}}},
      {"std; lodsw goes down",
       {0xC7, 0x06, 0x00, 0x20, 0x21, 0x43, 0xFD, 0xAD},
       {{kRsi, 0x2000}},
       {{kRax, 0x4321}, {kRsi, 0x1FFE}}},
      {"repne scasb stops behind the match",
       {0xC6, 0x06, 0x02, 0x20, 0x77, 0xF2, 0xAE},
       {{kRdi, 0x2000}, {kRcx, 9}, {kRax, 0x77}},
       {{kRdi, 0x2003}, {kRcx, 6}},
       kZf,
       kZf},
      {"call and ret of 16 bits", {0xE8, 0x01, 0x00, 0xF4, 0x40, 0xC3}, {{kRax, 0}}, {{kRax, 1}, {kRsp, 0x8000}}},
      {"xlat", {0xC6, 0x06, 0x05, 0x20, 0x99, 0xD7}, {{kRbx, 0x2000}, {kRax, 5}}, {{kRax, 0x99}}},
      {"movzx eax, bl", {0x66, 0x0F, 0xB6, 0xC3}, {{kRbx, 0xFFFFFF80}, {kRax, ~0u}}, {{kRax, 0x80}}},
      {"movsx ax, bl", {0x0F, 0xBE, 0xC3}, {{kRbx, 0x80}, {kRax, 0}}, {{kRax, 0xFF80}}},
      {"bt ax, 3", {0x0F, 0xBA, 0xE0, 0x03}, {{kRax, 8}}, {{kRax, 8}}, kCf, kCf},
      {"xchg ah, al", {0x86, 0xC4}, {{kRax, 0x1234}}, {{kRax, 0x3412}}},
      {"lahf after stc", {0xF9, 0x9F}, {{kRax, 0}}, {{kRax, 0x0300}}},
  };
  return all;
}

TEST(Code16, LeavesWhatTheManualSays) {
  for (const Row& row : rows()) {
    TestMachine m;
    m.real({});
    std::uint64_t at = TestMachine::kCode;
    for (const unsigned byte : row.code) m.put(at++, {byte});
    m.put(at, {0xF4});
    CpuState s = m.cpu->state();
    for (const Register& r : row.before) s.gpr[r.reg] = r.value;
    m.cpu->set_state(s);
    ASSERT_EQ(m.run(1000).kind, StopKind::Halted) << row.story;
    for (const Register& r : row.after) EXPECT_EQ(m.reg(r.reg), r.value) << row.story << ": register " << r.reg;
    EXPECT_EQ(m.cpu->rflags() & row.flags_mask, row.flags) << row.story;
  }
}

TEST(Code16, AJumpBehindTheSegmentsEndWrapsIp) {
  TestMachine m;
  m.real({0xE9, 0xFD, 0xEF});  // jmp 10000h
  m.put(0, {0xF4});
  EXPECT_EQ(m.run(10).kind, StopKind::Halted);
  EXPECT_EQ(m.cpu->rip(), 1u);
}

}  // namespace
}  // namespace zs::machine

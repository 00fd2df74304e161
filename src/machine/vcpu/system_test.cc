// What code asks of the processor around it: CR8, the I/O permission bitmap, FXSAVE images, instructions that it does
// not offer, and what is refused by name.
#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "machine/vcpu/test_machine.h"

namespace zs::machine {
namespace {

constexpr std::uint64_t kHandler = 0x3000;

/// A halt behind the exception, in the mode of the code.
void halt_at(TestMachine& m, unsigned vector, bool long_mode) {
  m.put(kHandler, {0xF4});
  if (long_mode) {
    m.gate64(vector, 0x18, kHandler);
  } else {
    m.gate32(vector, 8, kHandler);
  }
}

TEST(Cr8, IsTheTaskPriorityOfTheInterruptController) {
  TestMachine m;
  // mov cr8, rax; mov rbx, cr8; hlt
  m.long64({0x44, 0x0F, 0x22, 0xC0, 0x44, 0x0F, 0x20, 0xC3, 0xF4});
  CpuState s = m.cpu->state();
  s.gpr[kRax] = 9;
  m.cpu->set_state(s);
  EXPECT_EQ(m.run(10).kind, StopKind::Halted);
  EXPECT_EQ(m.interrupts.tpr, 9);
  EXPECT_EQ(m.reg(kRbx), 9u);
}

TEST(Cr8, HasFourBitsAndIsForRingZero) {
  for (const unsigned level : {0u, 3u}) {
    TestMachine m;
    m.long64({0x44, 0x0F, 0x22, 0xC0}, level);
    halt_at(m, 13, true);
    m.write<std::uint64_t>(TestMachine::kTss + 4, 0x7000);
    CpuState s = m.cpu->state();
    s.gpr[kRax] = level == 0 ? 0x10 : 1;
    m.cpu->set_state(s);
    EXPECT_EQ(m.run(10).kind, StopKind::Halted) << level;
    EXPECT_EQ(m.cpu->rip(), kHandler + 1) << level;
    EXPECT_EQ(m.interrupts.tpr, 0) << level;
  }
}

// source: SDM vol. 1, "I/O Permission Bit Map".
TEST(IoPermissions, OfRingThreeAreBitsOfTheTss) {
  struct Row {
    const char* story;
    std::array<unsigned, 3> code;
    std::uint16_t limit;  // of the TSS; the map lies at 68H
    bool allowed;
  };
  // Ports 8 to 15 are allowed but for 0AH. in al, imm: E4; in eax, imm: E5; 66 E5: in ax, imm.
  constexpr Row kRows[] = {
      {"a port whose bit is 0", {0xE4, 0x09, 0x90}, 0x6A, true},
      {"a port whose bit is 1", {0xE4, 0x0A, 0x90}, 0x6A, false},
      {"a word of two allowed ports", {0x66, 0xE5, 0x08}, 0x6A, true},
      {"a word whose second port is not", {0x66, 0xE5, 0x09}, 0x6A, false},
      {"four allowed ports", {0xE5, 0x0B, 0x90}, 0x6A, true},
      {"four ports, one of them not", {0xE5, 0x07, 0x90}, 0x6A, false},
      {"a port in the byte before", {0xE4, 0x07, 0x90}, 0x6A, false},
      {"a byte of the map that the limit leaves out", {0xE4, 0x09, 0x90}, 0x69, false},
      {"no map at all", {0xE4, 0x09, 0x90}, 0x67, false},
  };
  for (const Row& row : kRows) {
    TestMachine m;
    m.protected32({row.code[0], row.code[1], row.code[2]}, 3);
    halt_at(m, 13, false);
    m.write<std::uint32_t>(TestMachine::kTss + 4, 0x7000);
    m.write<std::uint16_t>(TestMachine::kTss + 8, 0x10);
    m.write<std::uint16_t>(TestMachine::kTss + 0x66, 0x68);
    m.write<std::uint8_t>(TestMachine::kTss + 0x68, 0xFF);
    m.write<std::uint8_t>(TestMachine::kTss + 0x69, 0x04);
    m.write<std::uint8_t>(TestMachine::kTss + 0x6A, 0xFF);
    CpuState s = m.cpu->state();
    s.segments[kTr].limit = row.limit;
    m.cpu->set_state(s);
    const Stop stop = m.run(1);
    EXPECT_EQ(stop.kind, row.allowed ? StopKind::Limit : StopKind::Halted) << row.story;
    if (row.allowed) continue;
    EXPECT_EQ(m.read<std::uint32_t>(m.reg(kRsp)), 0u) << row.story << ": the error code";
  }
}

TEST(IoPermissions, AreNotAskedWhereIoplAllows) {
  TestMachine m;
  m.protected32({0xE4, 0x0A}, 3);
  CpuState s = m.cpu->state();
  s.rflags |= 0x3000;
  m.cpu->set_state(s);
  EXPECT_EQ(m.run(1).kind, StopKind::Limit);
  EXPECT_EQ(m.cpu->rip(), TestMachine::kCode + 2);
}

// source: SDM vol. 1, table "Format of an FXSAVE Area".
TEST(Fxsave, LaysTheStateOutAsTheManualSays) {
  TestMachine m;
  // fninit; fld1; fldpi; movq xmm3, rax; fxsave [2000h]; hlt
  m.long64({0xDB, 0xE3, 0xD9, 0xE8, 0xD9, 0xEB, 0x66, 0x48, 0x0F, 0x6E,
            0xD8, 0x0F, 0xAE, 0x04, 0x25, 0x00, 0x20, 0x00, 0x00, 0xF4});
  CpuState s = m.cpu->state();
  s.gpr[kRax] = 0x1122334455667788;
  m.cpu->set_state(s);
  ASSERT_EQ(m.run(10).kind, StopKind::Halted);
  constexpr std::uint64_t kImage = 0x2000;
  EXPECT_EQ(m.read<std::uint16_t>(kImage), 0x37F) << "control word";
  EXPECT_EQ(m.read<std::uint16_t>(kImage + 2), 6 << 11) << "status word: TOP";
  EXPECT_EQ(m.read<std::uint8_t>(kImage + 4), 0xC0) << "abridged tags, by register";
  EXPECT_EQ(m.read<std::uint32_t>(kImage + 24), 0x1F80u) << "MXCSR";
  EXPECT_EQ(m.read<std::uint64_t>(kImage + 32), 0xC90FDAA22168C235u) << "ST0: pi";
  EXPECT_EQ(m.read<std::uint16_t>(kImage + 40), 0x4000);
  EXPECT_EQ(m.read<std::uint64_t>(kImage + 48), 0x8000000000000000u) << "ST1: 1";
  EXPECT_EQ(m.read<std::uint16_t>(kImage + 56), 0x3FFF);
  EXPECT_EQ(m.read<std::uint64_t>(kImage + 160 + 3 * 16), 0x1122334455667788u) << "XMM3";
}

TEST(Fxsave, WhatItSavedFxrstorBringsBack) {
  TestMachine m;
  // fninit; fldpi; movq xmm0, rax; fxsave [2000h]; fninit; pxor xmm0, xmm0; fxrstor [2000h]; movq rbx, xmm0; fstp tword
  // [2400h]; hlt
  m.long64({0xDB, 0xE3, 0xD9, 0xEB, 0x66, 0x48, 0x0F, 0x6E, 0xC0, 0x0F, 0xAE, 0x04, 0x25, 0x00, 0x20,
            0x00, 0x00, 0xDB, 0xE3, 0x66, 0x0F, 0xEF, 0xC0, 0x0F, 0xAE, 0x0C, 0x25, 0x00, 0x20, 0x00,
            0x00, 0x66, 0x48, 0x0F, 0x7E, 0xC3, 0xDB, 0x3C, 0x25, 0x00, 0x24, 0x00, 0x00, 0xF4});
  CpuState s = m.cpu->state();
  s.gpr[kRax] = 0x77;
  m.cpu->set_state(s);
  ASSERT_EQ(m.run(20).kind, StopKind::Halted);
  EXPECT_EQ(m.reg(kRbx), 0x77u);
  EXPECT_EQ(m.read<std::uint64_t>(0x2400), 0xC90FDAA22168C235u);
}

TEST(Fxsave, AnImageThatIsNotAlignedOrHasReservedMxcsrBitsFaults) {
  for (const bool aligned : {false, true}) {
    TestMachine m;
    const unsigned at = aligned ? 0x00 : 0x08;
    m.long64({0x0F, 0xAE, 0x0C, 0x25, at, 0x20, 0x00, 0x00});  // fxrstor
    halt_at(m, 13, true);
    m.write<std::uint32_t>(0x2000 + at + 24, 0x10000);
    EXPECT_EQ(m.run(10).kind, StopKind::Halted) << aligned;
    EXPECT_EQ(m.cpu->rip(), kHandler + 1) << aligned;
  }
}

TEST(NotOffered, IsUndefinedAsItsCpuidBitsSay) {
  struct Row {
    const char* name;
    std::array<unsigned, 5> code;
  };
  constexpr Row kRows[] = {{"vaddps xmm0, xmm0, xmm1", {0xC5, 0xF8, 0x58, 0xC1, 0xF4}},
                           {"vaddps ymm0, ymm0, ymm1", {0xC5, 0xFC, 0x58, 0xC1, 0xF4}},
                           {"vzeroupper", {0xC5, 0xF8, 0x77, 0xF4, 0xF4}},
                           {"andn eax, eax, ecx", {0xC4, 0xE2, 0x78, 0xF2, 0xC1}},
                           {"xgetbv", {0x0F, 0x01, 0xD0, 0xF4, 0xF4}},
                           {"xsave [rax]", {0x0F, 0xAE, 0x20, 0xF4, 0xF4}}};
  for (const Row& row : kRows) {
    TestMachine m;
    m.long64({row.code[0], row.code[1], row.code[2], row.code[3], row.code[4]});
    halt_at(m, 6, true);
    EXPECT_EQ(m.run(10).kind, StopKind::Halted) << row.name;
    EXPECT_EQ(m.cpu->rip(), kHandler + 1) << row.name;
    EXPECT_EQ(m.cpu->retired(), 1u) << row.name << ": the HLT alone";
  }
}

TEST(NotOffered, TheVexPrefixBeforeMemoryIsLdsOutsideLongMode) {
  TestMachine m;
  m.protected32({0xC5, 0x05, 0x00, 0x20, 0x00, 0x00, 0xF4});  // lds eax, [2000h]
  m.write<std::uint32_t>(0x2000, 0x12345678);
  m.write<std::uint16_t>(0x2004, 0x10);
  EXPECT_EQ(m.run(10).kind, StopKind::Halted);
  EXPECT_EQ(m.reg(kRax), 0x12345678u);
}

}  // namespace
}  // namespace zs::machine

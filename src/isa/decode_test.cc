#include "isa/decode.h"

#include <gtest/gtest.h>

#include <vector>

#include "isa/test_insns.h"

namespace zs::isa {
namespace {

using arch::BranchKind;
using arch::FpArith;

TEST(Decode, CountsTheAccessesOfAReadModifyWriteInstructionAsOneLoadAndOneStore) {
  const Insn insn = of({0x01, 0x03});  // add [rbx], eax
  EXPECT_EQ(insn.facts.loads, 1);
  EXPECT_EQ(insn.facts.stores, 1);
}

TEST(Decode, CountsHiddenStackAccesses) {
  EXPECT_EQ(of({0x50}).facts.stores, 1);              // push rax
  EXPECT_EQ(of({0xC3}).facts.loads, 1);               // ret
  EXPECT_EQ(of({0xE8, 0, 0, 0, 0}).facts.stores, 1);  // call
  EXPECT_EQ(of({0xC9}).facts.loads, 1);               // leave
  const Insn push_memory = of({0xFF, 0x33});          // push [rbx]
  EXPECT_EQ(push_memory.facts.loads, 1);
  EXPECT_EQ(push_memory.facts.stores, 1);
  const Insn call_memory = of({0xFF, 0x13});  // call [rbx]
  EXPECT_EQ(call_memory.facts.loads, 1);
  EXPECT_EQ(call_memory.facts.stores, 1);
}

TEST(Decode, CountsNoAccessOfInstructionsThatOnlyComputeOrHintAnAddress) {
  for (const auto& insn : {of({0x48, 0x8D, 0x03}),        // lea rax, [rbx]
                           of({0x0F, 0x18, 0x0B}),        // prefetcht0
                           of({0x0F, 0x1F, 0x40, 0x00}),  // nop dword [rax]
                           of({0x0F, 0xAE, 0x3B})}) {     // clflush [rbx]
    EXPECT_EQ(insn.facts.loads + insn.facts.stores, 0) << int{insn.bytes[1]};
  }
}

TEST(Decode, ReadsAndWritesOfFsAndGsAndTheirBasesAreTheEngines) {
  for (const unsigned modrm : {0xC0u, 0xC8u, 0xD0u, 0xD8u})
    EXPECT_EQ(of({0xF3, 0x48, 0x0F, 0xAE, static_cast<std::uint8_t>(modrm)}).flow, Flow::Emulated);
  EXPECT_EQ(of({0x8E, 0xE0}).flow, Flow::Emulated);        // mov fs, eax
  EXPECT_EQ(of({0x8E, 0xE8}).flow, Flow::Emulated);        // mov gs, eax
  EXPECT_EQ(of({0x8E, 0x2B}).flow, Flow::Emulated);        // mov gs, [rbx]
  EXPECT_EQ(of({0x8C, 0xE0}).flow, Flow::Emulated);        // mov eax, fs
  EXPECT_EQ(of({0x8C, 0x2B}).flow, Flow::Emulated);        // mov [rbx], gs
  EXPECT_EQ(of({0x0F, 0xA0}).flow, Flow::Emulated);        // push fs
  EXPECT_EQ(of({0x66, 0x0F, 0xA9}).flow, Flow::Emulated);  // pop gs, of 16 bits
  EXPECT_EQ(of({0x0F, 0xB5, 0x03}).flow, Flow::Emulated);  // lgs eax, [rbx]
  EXPECT_EQ(of({0x0F, 0xB2, 0x03}).flow, Flow::Plain);     // lss eax, [rbx]
  EXPECT_EQ(of({0x8E, 0xD8}).flow, Flow::Plain);           // mov ds, eax
  EXPECT_EQ(of({0x8C, 0xD8}).flow, Flow::Plain);           // mov eax, ds
  EXPECT_EQ(of({0x8B, 0x03}).flow, Flow::Plain);           // mov eax, [rbx]
  EXPECT_EQ(of({0x50}).flow, Flow::Plain);                 // push rax
}

TEST(Decode, SaysWhichSegmentPrefixCounts) {
  EXPECT_TRUE(of({0x64, 0x8B, 0x03}).fs);
  EXPECT_TRUE(of({0x65, 0x8B, 0x03}).gs);
  const Insn last = of({0x64, 0x65, 0x8B, 0x03});
  EXPECT_TRUE(last.gs && !last.fs);
  EXPECT_TRUE(of({0x64, 0x2E, 0x8B, 0x03}).fs);  // CS has no effect in 64-bit mode
}

TEST(Decode, AnAddressWithoutABaseHasNoneWhateverThePrefixes) {
  for (const Insn& insn : {of({0x8B, 0x04, 0x25, 0x10, 0x20, 0x30, 0}),                 // mov eax, [0x302010]
                           of({0x41, 0x8B, 0x04, 0x25, 0x10, 0x20, 0x30, 0}),           // REX.B
                           of({0x67, 0x8B, 0x04, 0x25, 0x10, 0x20, 0x30, 0}),           // 67h
                           of({0x67, 0x41, 0x8B, 0x04, 0x25, 0x10, 0x20, 0x30, 0})}) {  // both
    ASSERT_EQ(insn.memory_count, 1);
    EXPECT_EQ(insn.memory[0].base, -1);
    EXPECT_EQ(insn.memory[0].index, -1);
    EXPECT_EQ(insn.memory[0].displacement, 0x302010);
  }
}

TEST(Decode, TellsWhatAnAddressHasBesidesBaseIndexAndDisplacement) {
  EXPECT_EQ(of({0x4C, 0x0F, 0xA3, 0x0B}).memory[0].bit_register, kR9);    // bt [rbx], r9
  EXPECT_EQ(of({0x0F, 0xBB, 0x13}).memory[0].bit_register, kRdx);         // btc [rbx], edx
  EXPECT_EQ(of({0x0F, 0xBA, 0x23, 0x40}).memory[0].bit_register, -1);     // bt dword [rbx], 64: modulo 32
  EXPECT_EQ(of({0x01, 0x13}).memory[0].bit_register, -1);                 // add [rbx], edx
  EXPECT_TRUE(of({0xD7}).memory[0].plus_al);                              // xlatb
  EXPECT_EQ(of({0x8F, 0x44, 0x24, 0x08}).memory[0].displacement, 8 + 8);  // pop [rsp+8], as rsp is then
  EXPECT_EQ(of({0x8F, 0x43, 0x08}).memory[0].displacement, 8);            // pop [rbx+8]
}

TEST(Decode, CountsStringInstructionsPerElement) {
  const Insn cmps = of({0xF3, 0xA6});
  EXPECT_TRUE(cmps.facts.rep_string);
  EXPECT_EQ(cmps.facts.loads, 2);
  EXPECT_EQ(cmps.facts.stores, 0);
  const Insn movs = of({0xF3, 0x48, 0xA5});
  EXPECT_EQ(movs.facts.loads, 1);
  EXPECT_EQ(movs.facts.stores, 1);
  EXPECT_FALSE(of({0xA4}).facts.rep_string);
}

TEST(Decode, AFarReturnIsTheEnginesAndReadsItsFrameAtOnce) {
  const Insn iretq = of({0x48, 0xCF}), retfq = of({0x48, 0xCB});
  for (const Insn& insn : {iretq, retfq, of({0x48, 0xCA, 0x10, 0x00})}) {
    EXPECT_EQ(insn.flow, Flow::FarReturn);
    EXPECT_EQ(insn.facts.branch, BranchKind::Far);
    EXPECT_EQ(insn.facts.loads, 1);
    EXPECT_EQ(insn.memory[0].base, kRsp);
  }
  EXPECT_EQ(iretq.memory[0].bytes, 40);
  EXPECT_EQ(retfq.memory[0].bytes, 16);
  EXPECT_EQ(of({0x48, 0xCA, 0x10, 0x00}).return_pop, 16);
  EXPECT_EQ(of({0xCF}).flow, Flow::Refused);  // iretd
  EXPECT_EQ(of({0xCB}).flow, Flow::Refused);  // retf, of 32 bits
}

TEST(Decode, TellsBranchesApart) {
  EXPECT_EQ(of({0x74, 0x00}).facts.branch, BranchKind::Conditional);
  EXPECT_EQ(of({0xE2, 0x00}).facts.branch, BranchKind::Conditional);
  EXPECT_EQ(of({0xEB, 0x00}).facts.branch, BranchKind::RelativeJump);
  EXPECT_EQ(of({0xFF, 0xE0}).facts.branch, BranchKind::IndirectJump);
  EXPECT_EQ(of({0xFF, 0xD0}).facts.branch, BranchKind::IndirectCall);
  EXPECT_EQ(of({0xC2, 0x08, 0x00}).facts.branch, BranchKind::Return);
  EXPECT_EQ(of({0x0F, 0x05}).facts.branch, BranchKind::Far);
  EXPECT_EQ(of({0xFF, 0xE0}).target_register, kRax);
  EXPECT_EQ(of({0xC2, 0x08, 0x00}).return_pop, 8);
}

TEST(Decode, ClassifiesFloatingPointArithmetic) {
  EXPECT_EQ(of({0xF2, 0x0F, 0x58, 0xC1}).facts.fp, FpArith::ScalarDouble);     // addsd
  EXPECT_EQ(of({0x0F, 0x59, 0xC1}).facts.fp, FpArith::Packed128Single);        // mulps
  EXPECT_EQ(of({0xC5, 0xFD, 0x58, 0xC1}).facts.fp, FpArith::Packed256Double);  // vaddpd ymm
  const Insn fma = of({0xC4, 0xE2, 0xED, 0xB8, 0xC1});                         // vfmadd231pd ymm
  EXPECT_EQ(fma.facts.fp, FpArith::Packed256Double);
  EXPECT_EQ(fma.facts.fp_weight, 2);
  EXPECT_EQ(of({0x62, 0xF1, 0xED, 0x48, 0x58, 0xC1}).facts.fp, FpArith::Packed512Double);
  EXPECT_EQ(of({0xF2, 0x0F, 0x2A, 0xC0}).facts.fp, FpArith::None);  // cvtsi2sd
}

TEST(Decode, FindsEveryPlaceThatEncodesTheTraceRegister) {
  EXPECT_EQ(of({0x4C, 0x89, 0xD8}).trace_register_at, 1);  // mov rax, r11
  EXPECT_EQ(of({0x49, 0x89, 0xC3}).trace_register_at, 2);  // mov r11, rax
  EXPECT_EQ(of({0x41, 0x53}).trace_register_at, 32);       // push r11
  EXPECT_EQ(of({0x41, 0x53}).opcode_at, 1);
  EXPECT_EQ(of({0x49, 0xBB, 1, 0, 0, 0, 0, 0, 0, 0}).trace_register_at, 32);  // mov r11, imm64
  EXPECT_EQ(of({0x4B, 0x8B, 0x04, 0x1B}).trace_register_at, 4 | 8);           // mov rax, [r11+r11]
  EXPECT_EQ(of({0x49, 0x8B, 0x03}).trace_register_at, 2);                     // mov rax, [r11]
  const Insn andn = of({0xC4, 0xE2, 0xA0, 0xF2, 0xC1});                       // andn rax, r11, rcx
  EXPECT_EQ(andn.trace_register_at, 16);
  EXPECT_EQ(andn.vvvv_at, 2);
  EXPECT_EQ(of({0x49, 0x0F, 0xCB}).trace_register_at, 32);  // bswap r11
  EXPECT_EQ(of({0x49, 0x0F, 0xCB}).opcode_at, 2);
}

TEST(Decode, FindsThePlaceOfARipRelativeDisplacementBeforeAnImmediate) {
  const Insn insn = of({0x48, 0x81, 0x3D, 0x10, 0, 0, 0, 0x78, 0x56, 0x34, 0x12});  // cmp qword [rip+10h], imm32
  EXPECT_TRUE(insn.rip_relative);
  EXPECT_EQ(insn.disp_at, 3);
  EXPECT_EQ(insn.modrm_at, 2);
}

TEST(Decode, RefusesWhatTheEngineDoesNotRun) {
  EXPECT_EQ(of({0xCD, 0x80}).flow, Flow::Syscall);
  for (const std::uint8_t trap : {std::uint8_t{3}, std::uint8_t{4}}) EXPECT_EQ(of({0xCD, trap}).flow, Flow::Breakpoint);
  for (const std::uint8_t no_gate : std::initializer_list<std::uint8_t>{0, 1, 0x20, 0x81, 0xFF})
    EXPECT_EQ(of({0xCD, no_gate}).flow, Flow::Stop);
  EXPECT_EQ(of({0xF1}).flow, Flow::Breakpoint);
  EXPECT_EQ(of({0x0F, 0x07}).flow, Flow::Stop);
  EXPECT_EQ(of({0x0F, 0x34}).flow, Flow::Refused);
  for (const std::uint8_t of_rights : std::initializer_list<std::uint8_t>{0xEE, 0xEF})
    EXPECT_EQ(of({0x0F, 0x01, of_rights}).flow, Flow::Emulated);
  EXPECT_EQ(of({0xCB}).flow, Flow::Refused);
}

TEST(Decode, SaysNothingOfBytesThatAreNoInstruction) {
  const std::vector<std::uint8_t> code{0x06};
  EXPECT_FALSE(decode(0x1000, code).has_value());
  EXPECT_FALSE(is_truncated(code));
  const std::vector<std::uint8_t> cut{0x48, 0x8B};
  EXPECT_TRUE(is_truncated(cut));
}

}  // namespace
}  // namespace zs::isa

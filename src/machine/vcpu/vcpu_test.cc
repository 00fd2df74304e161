// The processor's first steps in each mode.
#include "machine/vcpu/vcpu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "machine/vcpu/test_machine.h"

namespace zs::machine {
namespace {

TEST(Vcpu, RunsRealModeCodeWithStringsAndPorts) {
  TestMachine m;
  m.real({0xB8, 0x34, 0x12,  // mov ax, 1234h
          0xBF, 0x00, 0x50,  // mov di, 5000h
          0xB9, 0x08, 0x00,  // mov cx, 8
          0xF3, 0xAB,        // rep stosw
          0xE6, 0x80,        // out 80h, al
          0xF4});            // hlt
  const Stop stop = m.run(100);
  EXPECT_EQ(stop.kind, StopKind::Halted);
  EXPECT_FALSE(stop.interrupts_enabled);
  EXPECT_EQ(m.cpu->retired(), 6u);
  EXPECT_EQ(m.observer.count, 6u);
  EXPECT_EQ(m.read<std::uint16_t>(0x500E), 0x1234);
  EXPECT_EQ(m.reg(kRdi), 0x5010u);
  EXPECT_EQ(m.bus.ports[0x80], 0x34u);
}

TEST(Vcpu, RemembersTheFirstInstructionThatItDoesNotOfferAndHowOftenThereWereSome) {
  TestMachine m;
  m.gate64(6, 0x18, 0x2000);
  m.put(0x2000, {0xF4});                     // hlt
  m.long64({0x90, 0xC5, 0xF4, 0x58, 0xC2});  // nop; vaddps ymm0, ymm1, ymm2
  EXPECT_EQ(m.run(100).kind, StopKind::Halted);
  const NotOffered& note = m.cpu->not_offered();
  EXPECT_STREQ(note.name, "vaddps");
  EXPECT_STREQ(note.set, "AVX");
  EXPECT_EQ(note.linear, TestMachine::kCode + 1u);
  EXPECT_EQ(note.times, 1u);
}

TEST(Vcpu, DoesNotTakeUd2ForAnInstructionThatAnotherProcessorHas) {
  TestMachine m;
  m.real({0x0F, 0x0B});
  m.put(0x2000, {0xF4});
  m.write<std::uint32_t>(6 * 4, 0x2000);
  EXPECT_EQ(m.run(100).kind, StopKind::Halted);
  EXPECT_EQ(m.cpu->not_offered().times, 0u);
}

TEST(Vcpu, TakesARealModeInterruptThroughTheVectorTableAndReturns) {
  TestMachine m;
  m.real({0xB0, 0x01, 0xCD, 0x21, 0xF4});  // mov al, 1; int 21h; hlt
  m.put(0x2000, {0xFE, 0xC0, 0xCF});       // inc al; iret
  m.write<std::uint32_t>(0x21 * 4, 0x2000);
  EXPECT_EQ(m.run(100).kind, StopKind::Halted);
  EXPECT_EQ(m.reg(kRax) & 0xFF, 2u);
  EXPECT_EQ(m.reg(kRsp), TestMachine::kStack);
}

TEST(Vcpu, GoesFromRealToProtectedToLongMode) {
  TestMachine m;
  m.make_gdt();
  m.make_long_tables();
  m.write<std::uint16_t>(0x500, 0x47);
  m.write<std::uint32_t>(0x502, TestMachine::kGdt);
  m.real({0x0F, 0x01, 0x16, 0x00, 0x05,                       // lgdt [500h]
          0x0F, 0x20, 0xC0,                                   // mov eax, cr0
          0x0C, 0x01,                                         // or al, 1
          0x0F, 0x22, 0xC0,                                   // mov cr0, eax
          0xEA, 0x00, 0x11, 0x08, 0x00});                     // jmp 8:1100h
  m.put(0x1100, {0xB8, 0x10, 0x00, 0x00, 0x00,                // mov eax, 10h
                 0x8E, 0xD8, 0x8E, 0xD0,                      // mov ds, eax; mov ss, eax
                 0x0F, 0x20, 0xE0,                            // mov eax, cr4
                 0x83, 0xC8, 0x20,                            // or eax, 20h
                 0x0F, 0x22, 0xE0,                            // mov cr4, eax
                 0xB8, 0x00, 0x00, 0x01, 0x00,                // mov eax, 10000h
                 0x0F, 0x22, 0xD8,                            // mov cr3, eax
                 0xB9, 0x80, 0x00, 0x00, 0xC0,                // mov ecx, C0000080h
                 0x0F, 0x32,                                  // rdmsr
                 0x0D, 0x00, 0x01, 0x00, 0x00,                // or eax, 100h
                 0x0F, 0x30,                                  // wrmsr
                 0x0F, 0x20, 0xC0,                            // mov eax, cr0
                 0x0D, 0x00, 0x00, 0x00, 0x80,                // or eax, 80000000h
                 0x0F, 0x22, 0xC0,                            // mov cr0, eax
                 0xEA, 0x00, 0x12, 0x00, 0x00, 0x18, 0x00});  // jmp 18h:1200h
  m.put(0x1200, {0x48, 0xB8, 1, 2, 3, 4, 5, 6, 7, 8, 0xF4});  // mov rax, ...; hlt
  EXPECT_EQ(m.run(100).kind, StopKind::Halted);
  EXPECT_EQ(m.reg(kRax), 0x0807060504030201u);
  EXPECT_EQ(m.cpu->efer(), 0x500u);
}

}  // namespace
}  // namespace zs::machine

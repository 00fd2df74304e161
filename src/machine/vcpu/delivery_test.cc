// Interrupts, exceptions, gates and returns in each mode; double and triple fault; fast system calls.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "machine/vcpu/test_machine.h"

namespace zs::machine {
namespace {

TEST(Delivery32, AFaultPushesFlagsWithRfAndTheAddressOfTheInstruction) {
  TestMachine m;
  m.protected32({0x0F, 0x0B});  // ud2
  m.put(0x3000, {0xF4});
  m.gate32(6, 8, 0x3000);
  EXPECT_EQ(m.run(10).kind, StopKind::Halted);
  EXPECT_EQ(m.reg(kRsp), TestMachine::kStack - 12);
  EXPECT_EQ(m.read<std::uint32_t>(m.reg(kRsp)), TestMachine::kCode);
  EXPECT_EQ(m.read<std::uint32_t>(m.reg(kRsp) + 4), 8u);
  EXPECT_EQ(m.read<std::uint32_t>(m.reg(kRsp) + 8), 0x10002u);
  EXPECT_EQ(m.cpu->retired(), 1u);
}

TEST(Delivery32, AnInterruptFromRingThreeTakesItsStackFromTheTssAndIretGoesBack) {
  TestMachine m;
  m.protected32({0xCD, 0x40, 0x90, 0xF4}, 3);  // int 40h; nop; hlt (#GP in ring 3)
  m.put(0x3000, {0x40, 0xCF});                 // inc eax; iret
  m.put(0x3100, {0xF4});
  m.gate32(0x40, 8, 0x3000, 0xEE);
  m.gate32(13, 8, 0x3100);
  m.write<std::uint32_t>(TestMachine::kTss + 4, 0x7000);
  m.write<std::uint16_t>(TestMachine::kTss + 8, 0x10);
  m.observer.wanted.branches = true;
  EXPECT_EQ(m.run(10).kind, StopKind::Halted);
  EXPECT_EQ(m.reg(kRax), 1u);
  ASSERT_EQ(m.observer.branches.size(), 3u);
  const auto& in = m.observer.branches[0];
  EXPECT_EQ(in.from, 0x1000u);
  EXPECT_EQ(in.to, 0x3000u);
  EXPECT_EQ(in.cpl_from, 3u);
  EXPECT_EQ(in.cpl_to, 0u);
  EXPECT_EQ(in.cause, TransferCause::Instruction);
  const auto& back = m.observer.branches[1];
  EXPECT_EQ(back.from, 0x3001u);
  EXPECT_EQ(back.to, 0x1002u);
  EXPECT_EQ(back.cpl_to, 3u);
  const auto& fault = m.observer.branches[2];
  EXPECT_EQ(fault.from, 0x1003u);
  EXPECT_EQ(fault.to, 0x3100u);
  EXPECT_EQ(fault.cause, TransferCause::Exception);
  EXPECT_EQ(m.read<std::uint32_t>(m.reg(kRsp)), 0u) << "the error code of HLT in ring 3";
  EXPECT_EQ(m.read<std::uint32_t>(m.reg(kRsp) + 16), TestMachine::kStack);
}

TEST(Delivery32, AGateThatRingThreeMayNotUseIsGeneralProtectionWithItsNumber) {
  TestMachine m;
  m.protected32({0xCD, 0x40}, 3);
  m.put(0x3000, {0xF4});
  m.gate32(0x40, 8, 0x3000, 0x8E);
  m.gate32(13, 8, 0x3000);
  m.write<std::uint32_t>(TestMachine::kTss + 4, 0x7000);
  m.write<std::uint16_t>(TestMachine::kTss + 8, 0x10);
  EXPECT_EQ(m.run(10).kind, StopKind::Halted);
  EXPECT_EQ(m.read<std::uint32_t>(m.reg(kRsp)), 0x40u * 8 + 2);
}

TEST(Delivery32, AnExceptionThatCannotBeDeliveredIsADoubleFaultAndThenShutdown) {
  TestMachine m;
  m.protected32({0x0F, 0x0B});
  m.put(0x3000, {0xF4});
  m.gate32(8, 8, 0x3000);
  m.gate32(6, 8, 0x3000,
           0x0E);  // not present: #NP while #UD is delivered, which is delivered in its place; its gate is
  EXPECT_EQ(m.run(10).kind, StopKind::Halted);  // no gate at all, so contributory on contributory: #DF
  EXPECT_EQ(m.read<std::uint32_t>(m.reg(kRsp)), 0u);
  m.gate32(8, 8, 0x3000, 0x0E);
  m.protected32({0x0F, 0x0B});
  const Stop stop = m.run(10);
  EXPECT_EQ(stop.kind, StopKind::TripleFault);
}

TEST(Delivery64, TheFrameIsAlignedAndIstPicksTheStack) {
  TestMachine m;
  m.long64({0x0F, 0x0B});
  CpuState s = m.cpu->state();
  s.gpr[kRsp] = 0x7FF9;
  m.cpu->set_state(s);
  m.put(0x3000, {0xF4});
  m.gate64(6, 0x18, 0x3000);
  EXPECT_EQ(m.run(10).kind, StopKind::Halted);
  EXPECT_EQ(m.reg(kRsp), 0x7FF0u - 40);
  EXPECT_EQ(m.read<std::uint64_t>(m.reg(kRsp) + 24), 0x7FF9u);
  m.gate64(6, 0x18, 0x3000, 0x8E, 3);
  m.write<std::uint64_t>(TestMachine::kTss + 0x24 + 16, 0x6000);
  m.cpu->set_state(s);
  EXPECT_EQ(m.run(10).kind, StopKind::Halted);
  EXPECT_EQ(m.reg(kRsp), 0x6000u - 40);
}

TEST(Delivery64, IretqReturnsToRingThreeAndSystemCallsComeBack) {
  TestMachine m;
  m.long64({0x48, 0xCF});             // iretq
  m.put(0x2000, {0x0F, 0x05, 0xF4});  // user: syscall; hlt
  m.put(0x3000, {0x48, 0x0F, 0x07});  // kernel: sysretq
  m.put(0x3100, {0xF4});
  m.gate64(13, 0x18, 0x3100);
  m.write<std::uint64_t>(TestMachine::kTss + 4, 0x7000);
  CpuState s = m.cpu->state();
  s.efer |= 1;
  s.lstar = 0x3000;
  s.star = std::uint64_t{0x18} << 48 | std::uint64_t{0x18} << 32;  // SYSRET: CS 28h, SS 20h
  const std::uint64_t frame[] = {0x2000, 0x33, 0x202, 0x6000, 0x23};
  s.gpr[kRsp] = 0x7F00;
  for (unsigned n = 0; n < 5; ++n) m.write(0x7F00 + 8 * n, frame[n]);
  m.cpu->set_state(s);
  m.observer.wanted.retirements = Watch::Retirements::Each;
  EXPECT_EQ(m.run(10).kind, StopKind::Halted);
  ASSERT_EQ(m.observer.each.size(), 4u);  // iretq, syscall, sysret, handler's hlt
  EXPECT_EQ(m.observer.each[0].retired.cpl, 0u);
  EXPECT_EQ(m.observer.each[0].retired.next_cpl, 3u);
  EXPECT_EQ(m.observer.each[1].retired.cpl, 3u);
  EXPECT_EQ(m.observer.each[1].retired.next_ip, 0x3000u);
  EXPECT_EQ(m.observer.each[2].retired.next_ip, 0x2002u);
  EXPECT_EQ(m.observer.each[2].retired.next_cpl, 3u);
  EXPECT_EQ(m.reg(kRcx), 0x2002u);
}

// source: AMD64 manual vol. 3, SYSCALL; SDM vol. 2, SYSCALL: #UD outside of 64-bit mode.
TEST(Delivery64, SyscallOfCompatibilityModeIsAmds) {
  for (const bool amd : {false, true}) {
    TestMachine m;
    if (amd) m.cpuid.vendor = TestCpuid::kAmd;
    m.long64({0x0F, 0x05}, 3);
    m.put(0x3000, {0xF4});
    m.put(0x3100, {0xF4});
    m.gate64(6, 0x18, 0x3100);
    m.write<std::uint64_t>(TestMachine::kTss + 4, 0x7000);
    CpuState s = m.cpu->state();
    s.segments[kCs] = TestMachine::flat(0x2B, 0xC0FB);
    s.efer |= 1;
    s.cstar = 0x3000;
    s.star = std::uint64_t{0x18} << 32;
    m.cpu->set_state(s);
    EXPECT_EQ(m.run(10).kind, StopKind::Halted);
    EXPECT_EQ(m.cpu->rip(), amd ? 0x3001u : 0x3101u);
    EXPECT_TRUE(m.cpu->state().segments[kCs].long_code());
    if (amd) {
      EXPECT_EQ(m.reg(kRcx), TestMachine::kCode + 2);
    }
  }
}

TEST(Delivery64, ExternalInterruptsWaitForTheFlagAndTheShadowOfSti) {
  TestMachine m;
  m.long64({0x90, 0xFB, 0x90, 0x90, 0xF4});  // nop; sti; nop; nop; hlt
  m.put(0x3000, {0xF4});
  m.gate64(0x40, 0x18, 0x3000);
  m.cpu->set_interrupt_line(true);
  m.observer.wanted.branches = true;
  EXPECT_EQ(m.run(10).kind, StopKind::Halted);
  ASSERT_EQ(m.observer.branches.size(), 1u);
  EXPECT_EQ(m.observer.branches[0].from, TestMachine::kCode + 3) << "one instruction after STI";
  EXPECT_EQ(m.observer.branches[0].cause, TransferCause::Interrupt);
  EXPECT_EQ(m.cpu->rflags() & 0x200, 0u);
}

TEST(Delivery64, AnNmiBlocksFurtherOnesUntilIret) {
  TestMachine m;
  m.long64({0x90, 0xF4});
  m.put(0x3000, {0xFF, 0xC0, 0x48, 0xCF});  // inc eax; iretq
  m.gate64(2, 0x18, 0x3000);
  m.cpu->request_nmi();
  m.run(1);
  EXPECT_EQ(m.cpu->rip(), 0x3002u);
  m.cpu->request_nmi();
  m.run(1);
  EXPECT_EQ(m.reg(kRax) & 0xFF, 1u);
  EXPECT_EQ(m.run(20).kind, StopKind::Halted);
  EXPECT_EQ(m.reg(kRax) & 0xFF, 2u);
}

TEST(Delivery32, ACallGateCopiesItsParametersToTheInnerStack) {
  TestMachine m;
  m.protected32({0x6A, 0x11, 0x6A, 0x22,  // push 11h; push 22h
                 0x9A, 0, 0, 0, 0, 0x4B, 0x00},
                3);                                                      // call 48h|3:0
  m.write<std::uint64_t>(TestMachine::kGdt + 0x48, 0x0000EC0200083000);  // gate: 8:3000h, two parameters, DPL 3
  CpuState s = m.cpu->state();
  s.gdtr.limit = 0x4F;
  m.cpu->set_state(s);
  m.put(0x3000, {0xCA, 0x08, 0x00});  // retf 8
  m.write<std::uint32_t>(TestMachine::kTss + 4, 0x7000);
  m.write<std::uint16_t>(TestMachine::kTss + 8, 0x10);
  m.run(3);
  EXPECT_EQ(m.cpu->cpl(), 0u);
  EXPECT_EQ(m.reg(kRsp), 0x7000u - 24);
  EXPECT_EQ(m.read<std::uint32_t>(0x7000 - 24), 0x100Bu);
  EXPECT_EQ(m.read<std::uint32_t>(0x7000 - 16), 0x22u);
  EXPECT_EQ(m.read<std::uint32_t>(0x7000 - 12), 0x11u);
  EXPECT_EQ(m.read<std::uint32_t>(0x7000 - 8), TestMachine::kStack - 8);
  m.run(1);
  EXPECT_EQ(m.cpu->cpl(), 3u);
  EXPECT_EQ(m.reg(kRsp), TestMachine::kStack);
}

TEST(Delivery16, SegmentLimitsAreStackOrGeneralProtectionFaults) {
  TestMachine m;
  m.protected32({0xA1, 0x00, 0x00, 0x10, 0x00});  // mov eax, [100000h]
  m.put(0x3000, {0xF4});
  m.gate32(13, 8, 0x3000);
  CpuState s = m.cpu->state();
  s.segments[kDs].limit = 0x100002;
  m.cpu->set_state(s);
  EXPECT_EQ(m.run(10).kind, StopKind::Halted);
  EXPECT_EQ(m.cpu->rip(), 0x3001u);
  s.segments[kDs].limit = 0x100003;
  m.cpu->set_state(s);
  m.put(TestMachine::kCode + 5, {0xF4});
  EXPECT_EQ(m.run(10).kind, StopKind::Halted);
  EXPECT_EQ(m.cpu->rip(), TestMachine::kCode + 6);
}

TEST(Smm, EntersAtSmbaseAndRsmGoesBack) {
  TestMachine m;
  m.long64({0x90, 0x90, 0xF4});
  m.put(0x38000, {0x0F, 0xAA});  // rsm
  m.cpu->request_smi();
  m.run(1);
  EXPECT_EQ(m.cpu->rip(), TestMachine::kCode);
  EXPECT_EQ(m.run(10).kind, StopKind::Halted);
  EXPECT_EQ(m.cpu->rip(), TestMachine::kCode + 3);
  EXPECT_EQ(m.cpu->efer() & 0x400, 0x400u);
}

}  // namespace
}  // namespace zs::machine

// Single steps, breakpoints in debug registers, and the monitor's own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "machine/vcpu/monitor.h"
#include "machine/vcpu/test_machine.h"

namespace zs::machine {
namespace {

class Debug : public ::testing::Test {
 protected:
  void start(Code code, std::uint64_t flags = 2) {
    m_.long64(code);
    m_.put(0x3000, {0xF4});
    m_.gate64(1, 0x18, 0x3000);
    state_ = m_.cpu->state();
    state_.rflags = flags;
    m_.cpu->set_state(state_);
  }
  std::uint64_t trapped_at() {
    EXPECT_EQ(m_.run(100).kind, StopKind::Halted);
    EXPECT_EQ(m_.cpu->rip(), 0x3001u);
    return m_.read<std::uint64_t>(m_.reg(kRsp));
  }
  std::uint64_t dr6() { return m_.cpu->state().dr6; }
  TestMachine m_;
  CpuState state_;
};

TEST_F(Debug, TfTrapsAfterOneInstruction) {
  start({0x90, 0x90, 0xF4}, 0x102);
  EXPECT_EQ(trapped_at(), TestMachine::kCode + 1);
  EXPECT_EQ(dr6() & 0x400F, 0x4000u);
  EXPECT_EQ(m_.observer.debug_exceptions, 1u);
}

TEST_F(Debug, ASingleStepOfHltEndsTheHalt) {
  start({0xF4, 0x90, 0xF4}, 0x102);
  EXPECT_EQ(trapped_at(), TestMachine::kCode + 1);
}

// A kernel masks TF at SYSCALL, and the program is stepped to the instruction behind it when SYSRET sets TF again.
TEST_F(Debug, SyscallAndSysretTrapAsTfIsAfterThem) {
  start({0x0F, 0x05, 0x90, 0xF4}, 0x102);
  m_.put(0x2000, {0x90, 0x48, 0x0F, 0x07});  // nop; sysretq
  m_.write<std::uint64_t>(TestMachine::kTss + 4, 0x7000);
  state_.efer |= 1;
  state_.lstar = 0x2000;
  state_.fmask = 0x100;
  state_.star = std::uint64_t{0x23} << 48 | std::uint64_t{0x18} << 32;
  m_.cpu->set_state(state_);
  EXPECT_EQ(trapped_at(), TestMachine::kCode + 2);
  EXPECT_EQ(m_.observer.debug_exceptions, 1u);
}

// source: SDM vol. 3A, "Masking Exceptions and Interrupts When Switching Stacks"; AMD's processors break there.
TEST_F(Debug, ACodeBreakpointBehindMovSsIsLostOnIntelsProcessors) {
  start({0x8E, 0xD0, 0x90, 0xF4});  // mov ss, eax; nop; hlt
  state_.gpr[kRax] = 0x10;
  state_.breakpoints[0] = TestMachine::kCode + 2;
  state_.dr7 = 0x402;
  m_.cpu->set_state(state_);
  EXPECT_EQ(m_.run(100).kind, StopKind::Halted);
  EXPECT_EQ(m_.cpu->rip(), TestMachine::kCode + 4);
  m_.cpuid.vendor = TestCpuid::kAmd;
  m_.cpu->set_state(state_);
  EXPECT_EQ(trapped_at(), TestMachine::kCode + 2);
}

TEST_F(Debug, WhatMovSsHeldBackComesWithTheTrapOfIcebp) {
  start({0x8E, 0x14, 0x25, 0x00, 0x50, 0x00, 0x00, 0xF1, 0xF4});  // mov ss, [5000h]; int1; hlt
  m_.write<std::uint16_t>(0x5000, 0x10);
  state_.breakpoints[1] = 0x5000;
  state_.dr7 = 0x400 | 1u << 2 | 0x7u << 20;  // loads and stores of two bytes
  m_.cpu->set_state(state_);
  EXPECT_EQ(trapped_at(), TestMachine::kCode + 8);
  EXPECT_EQ(dr6() & 0x400F, 2u);
  EXPECT_EQ(m_.observer.debug_exceptions, 1u);
}

TEST_F(Debug, WithBtfTfTrapsAfterATakenBranchOnly) {
  start({0x90, 0x74, 0x00, 0xEB, 0x01, 0x90, 0x90, 0xF4}, 0x102);  // nop; jz (not taken); jmp +1; nop; nop
  m_.cpu->set_debugctl(2);
  EXPECT_EQ(trapped_at(), TestMachine::kCode + 6);
}

TEST_F(Debug, ARepeatedStringInstructionTrapsAfterEachElement) {
  start({0xF3, 0xAA, 0xF4}, 0x102);  // rep stosb
  state_.gpr[kRcx] = 3;
  state_.gpr[kRdi] = 0x5000;
  m_.cpu->set_state(state_);
  EXPECT_EQ(trapped_at(), TestMachine::kCode);
  EXPECT_EQ(m_.reg(kRcx), 2u);
  EXPECT_EQ(m_.cpu->retired(), 1u) << "only the handler's HLT: the repetition goes on";
}

TEST_F(Debug, ACodeBreakpointFaultsBeforeAndRfLetsItPass) {
  start({0x90, 0x90, 0xF4});
  state_.breakpoints[2] = TestMachine::kCode + 1;
  state_.dr7 = 0x400 | 1u << 4;
  m_.cpu->set_state(state_);
  EXPECT_EQ(trapped_at(), TestMachine::kCode + 1);
  EXPECT_EQ(dr6() & 15, 4u);
  state_.rip = TestMachine::kCode + 1;
  state_.rflags |= 0x10000;
  m_.cpu->set_state(state_);
  EXPECT_EQ(m_.run(100).kind, StopKind::Halted);
  EXPECT_EQ(m_.cpu->rip(), TestMachine::kCode + 3);
}

TEST_F(Debug, ADataBreakpointTrapsAfterTheStore) {
  start({0x88, 0x04, 0x25, 0x03, 0x50, 0x00, 0x00, 0x8A, 0x04, 0x25, 0x03, 0x50, 0, 0, 0xF4});  // mov [5003h], al
  state_.breakpoints[0] = 0x5000;
  state_.dr7 = 0x400 | 1 | 0xDu << 16;  // write, four bytes
  m_.cpu->set_state(state_);
  EXPECT_EQ(trapped_at(), TestMachine::kCode + 7);
  EXPECT_EQ(dr6() & 15, 1u);
}

TEST_F(Debug, MovToADebugRegisterUnderGdFaults) {
  start({0x0F, 0x23, 0xC0, 0xF4});  // mov dr0, rax
  state_.dr7 = 0x2400;
  m_.cpu->set_state(state_);
  EXPECT_EQ(trapped_at(), TestMachine::kCode);
  EXPECT_EQ(dr6() & 0x2000, 0x2000u);
  EXPECT_EQ(m_.cpu->state().dr7 & 0x2000, 0u);
}

// source: SDM vol. 3B, "Debug Status Register (DR6)": some exceptions clear bits 0-3, none the others.
TEST_F(Debug, TheBreakpointBitsOfDr6AreOfTheLastExceptionAndTheOthersStay) {
  start({0x90, 0x90, 0xF4}, 0x102);
  state_.dr6 |= 1u << 13 | 2;  // BD and B1 of former ones
  m_.cpu->set_state(state_);
  (void)trapped_at();
  EXPECT_EQ(dr6(), 0xFFFF0FF0 | 1u << 13 | 1u << 14);
}

TEST_F(Debug, TheMonitorsBreakpointStopsBeforeAndItsWatchpointAfter) {
  start({0x90, 0xA2, 0, 0x50, 0, 0, 0, 0, 0, 0, 0x90, 0xF4});  // nop; mov [5000h], al; nop; hlt
  m_.cpu->monitor().add_breakpoint(TestMachine::kCode + 1);
  m_.cpu->monitor().add_watchpoint(0x5000, 1, WatchKind::Write);
  Stop stop = m_.run(100);
  EXPECT_EQ(stop.kind, StopKind::Breakpoint);
  EXPECT_EQ(m_.cpu->rip(), TestMachine::kCode + 1);
  EXPECT_EQ(m_.cpu->retired(), 1u);
  stop = m_.run(100);
  EXPECT_EQ(stop.kind, StopKind::Watchpoint);
  EXPECT_EQ(stop.address, 0x5000u);
  EXPECT_EQ(m_.cpu->rip(), TestMachine::kCode + 10);
  m_.cpu->monitor().remove_breakpoint(TestMachine::kCode + 1);
  EXPECT_EQ(m_.run(100).kind, StopKind::Halted);
}

}  // namespace
}  // namespace zs::machine

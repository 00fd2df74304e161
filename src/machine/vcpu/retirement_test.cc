// What the observer is told: every instruction once, in order, with its accesses; nothing of those that fault; and code
// that changes under the processor's feet.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "machine/vcpu/monitor.h"
#include "machine/vcpu/test_machine.h"

namespace zs::machine {
namespace {

constexpr Watch kEach{.retirements = Watch::Retirements::Each, .branches = true};

TEST(Retirement, SaysWhatEachInstructionDid) {
  TestMachine m;
  m.long64({0x48, 0x8B, 0x03,        // mov rax, [rbx]
            0x48, 0x01, 0x43, 0x3E,  // add [rbx+3eh], rax
            0x74, 0x02,              // jz +2 (not taken)
            0x75, 0x00,              // jnz +0
            0xF4});
  CpuState s = m.cpu->state();
  s.gpr[kRbx] = 0x5000;
  m.cpu->set_state(s);
  m.write<std::uint64_t>(0x5000, 5);
  m.observer.wanted = kEach;
  m.run(100);
  const auto& each = m.observer.each;
  ASSERT_EQ(each.size(), 5u);
  EXPECT_EQ(each[0].retired.load_count, 1u);
  EXPECT_EQ(each[0].retired.data_address, 0x5000u);
  EXPECT_EQ(each[0].after.ax, 5u);
  EXPECT_EQ(each[0].after.ip, TestMachine::kCode + 3);
  EXPECT_EQ(each[1].retired.load_count, 1u);
  EXPECT_EQ(each[1].retired.store_count, 1u);
  EXPECT_EQ(each[1].retired.split_stores, 1u);
  EXPECT_EQ(each[1].accesses.size(), 2u);
  EXPECT_EQ(each[2].retired.branch, arch::BranchKind::Conditional);
  EXPECT_FALSE(each[2].retired.taken);
  EXPECT_TRUE(each[3].retired.taken);
  ASSERT_EQ(m.observer.branches.size(), 1u);
  EXPECT_EQ(m.observer.branches[0].from, TestMachine::kCode + 9);
  EXPECT_EQ(m.observer.branches[0].to, TestMachine::kCode + 11);
}

TEST(Retirement, ARepeatedInstructionRetiresOnceWithAllItsElements) {
  for (const auto how : {Watch::Retirements::Each, Watch::Retirements::Tally}) {
    TestMachine m;
    m.long64({0xF3, 0xA4, 0xF4});  // rep movsb
    CpuState s = m.cpu->state();
    s.gpr[kRcx] = 100000;
    s.gpr[kRsi] = 0x20000;
    s.gpr[kRdi] = 0x60000;
    m.cpu->set_state(s);
    m.observer.wanted.retirements = how;
    EXPECT_EQ(m.run(10).kind, StopKind::Halted);
    EXPECT_EQ(m.cpu->retired(), 2u);
    ASSERT_GE(m.observer.each.size(), 1u);
    EXPECT_EQ(m.observer.each[0].retired.load_count, 100000u);
    EXPECT_EQ(m.observer.each[0].retired.store_count, 100000u);
    EXPECT_TRUE(m.observer.each[0].retired.rep_string);
  }
}

TEST(Retirement, TalliesEqualTheSumOfSingleRetirements) {
  const Code code = {0xB9, 0x64, 0, 0, 0, 0x8B, 0x03, 0x01, 0x43, 0x08, 0xFF, 0xC9, 0x75, 0xF7, 0xF4};
  std::uint64_t instructions = 0, loads = 0, taken = 0;
  {
    TestMachine m;
    m.long64(code);
    m.observer.wanted = {.retirements = Watch::Retirements::Each};
    m.run(10000);
    for (const auto& one : m.observer.each) {
      ++instructions;
      loads += one.retired.load_count;
      taken += one.retired.taken;
    }
  }
  TestMachine m;
  m.long64(code);
  m.observer.wanted = {.retirements = Watch::Retirements::Tally, .horizon = 7};
  m.run(10000);
  EXPECT_EQ(m.observer.tallied_instructions, instructions);
  EXPECT_EQ(m.observer.tallied_loads, loads);
  EXPECT_EQ(m.observer.tallied_taken, taken);
  EXPECT_EQ(m.observer.count, instructions);
  EXPECT_EQ(instructions, 402u);
  EXPECT_EQ(taken, 99u);
}

TEST(Retirement, TheWrmsrThatTurnsObservationOnIsSeenAndTheOneThatTurnsItOffIsNot) {
  static TestObserver* observer = nullptr;
  TestMachine m;
  m.long64({0xB9, 0xD9, 0x01, 0, 0, 0x0F, 0x30, 0x90, 0x0F, 0x30, 0x90, 0xF4});
  observer = &m.observer;
  m.msrs.on_write = [](TestMsrs&) {
    auto& how = observer->wanted.retirements;
    how = how == Watch::Retirements::Count ? Watch::Retirements::Each : Watch::Retirements::Count;
  };
  m.run(100);
  ASSERT_EQ(m.observer.each.size(), 2u);
  EXPECT_EQ(m.observer.each[0].retired.ip, TestMachine::kCode + 5);
  EXPECT_EQ(m.observer.each[0].after.ip, TestMachine::kCode + 7);
  EXPECT_EQ(m.observer.each[1].retired.ip, TestMachine::kCode + 7);
}

TEST(SelfModification, TakesEffectAtTheNextInstruction) {
  TestMachine m;
  m.real({0xC6, 0x06, 0x05, 0x10, 0x40,  // mov byte [1005h], 40h (inc ax)
          0x90,                          // becomes inc ax
          0xEB, 0xF8, 0xF4});            // jmp back
  m.run(5);
  EXPECT_EQ(m.reg(kRax), 2u);
  EXPECT_EQ(m.cpu->retired(), 5u);
}

TEST(SelfModification, RepMovsOverDecodedCodeIsSeen) {
  TestMachine m;
  m.put(0x2000, {0x40, 0xC3});                                   // inc ax; ret
  m.put(0x2100, {0x43, 0xC3});                                   // inc bx; ret
  m.real({0xE8, 0xFD, 0x0F,                                      // call 2000h
          0xBE, 0x00, 0x21, 0xBF, 0x00, 0x20, 0xB9, 0x02, 0x00,  // mov si, 2100h; mov di, 2000h; mov cx, 2
          0xF3, 0xA4,                                            // rep movsb
          0xE8, 0xEF, 0x0F, 0xF4});                              // call 2000h; hlt
  EXPECT_EQ(m.run(100).kind, StopKind::Halted);
  EXPECT_EQ(m.reg(kRax), 1u);
  EXPECT_EQ(m.reg(kRbx), 1u);
}

TEST(SelfModification, SomeoneElsesStoreIsSeenWhenTold) {
  TestMachine m;
  m.real({0x40, 0xEB, 0xFD});  // inc ax; jmp back
  m.run(10);
  EXPECT_EQ(m.reg(kRax), 5u);
  *m.at(0x1000) = std::byte{0x43};
  m.run(2);
  EXPECT_EQ(m.reg(kRax), 6u);
  m.cpu->memory_written(0x1000, 1);
  m.run(10);
  EXPECT_EQ(m.reg(kRax), 6u);
  EXPECT_EQ(m.reg(kRbx), 5u);
}

TEST(SamePage, HoldsSixteenAndThirtyTwoBitCode) {
  TestMachine m;
  // B8 34 12 66 66: mov ax, 1234h and a prefix in 16 bits; mov eax, 66661234h in 32 bits.
  m.real({0xB8, 0x34, 0x12, 0x90, 0x90, 0xF4});
  m.run(10);
  EXPECT_EQ(m.reg(kRax), 0x1234u);
  m.protected32({0xB8, 0x34, 0x12, 0x90, 0x90, 0xF4});
  m.run(10);
  EXPECT_EQ(m.reg(kRax), 0x90901234u);
}

TEST(Crossing, AnInstructionAcrossPagesSeesAChangeOfItsSecondHalf) {
  TestMachine m;
  m.long64({0x90});
  m.put(0x1FFE, {0xB8, 0x01, 0, 0, 0, 0xC3});  // mov eax, 1; ret
  CpuState s = m.cpu->state();
  s.rip = 0x1FFE;
  m.write<std::uint64_t>(0x7FF8, 0x3000);
  s.gpr[kRsp] = 0x7FF8;
  m.put(0x3000, {0xF4});
  m.cpu->set_state(s);
  m.run(10);
  EXPECT_EQ(m.reg(kRax), 1u);
  *m.at(0x2000) = std::byte{0x55};  // nobody tells: the first half was never kept
  m.cpu->set_state(s);
  m.run(10);
  EXPECT_EQ(m.reg(kRax), 0x5501u);
}

TEST(Stops, ABranchToItselfAndALimitAndArequest) {
  TestMachine m;
  m.real({0x90, 0xEB, 0xFE});
  Stop stop = m.run(1);
  EXPECT_EQ(stop.kind, StopKind::Limit);
  stop = m.run(100);
  EXPECT_EQ(stop.kind, StopKind::JumpToItself);
  EXPECT_EQ(stop.address, TestMachine::kCode + 1);
  EXPECT_EQ(m.cpu->retired(), 2u);
}

TEST(Stops, AHandlerThatFaultsAtOnceDoesNotOutrunTheLimit) {
  TestMachine m;
  m.real({0x0F, 0x0B});
  m.put(0x2000, {0x0F, 0x0B});
  m.write<std::uint32_t>(6 * 4, 0x2000);
  EXPECT_EQ(m.run(1000).kind, StopKind::Limit);
  EXPECT_EQ(m.cpu->retired(), 0u);
}

TEST(Stops, ARepetitionWithoutEndDoesNotOutrunTheLimit) {
  TestMachine m;
  m.long64({0xF3, 0xAC});  // rep lodsb, 2^64 - 1 times
  CpuState s = m.cpu->state();
  s.gpr[kRcx] = ~std::uint64_t{0};
  s.gpr[kRsi] = 0;
  m.cpu->set_state(s);
  EXPECT_EQ(m.run(100).kind, StopKind::Limit);
  EXPECT_EQ(m.cpu->retired(), 0u);
  EXPECT_EQ(m.cpu->rip(), TestMachine::kCode);
}

TEST(Services, RunBeforeTheInstructionAtTheirAddress) {
  struct Hook : ServiceHook {
    void service(Vcpu& cpu, unsigned number) override {
      cpu.set_gpr(kRax, number);
      ++calls;
    }
    int calls = 0;
  } hook;
  TestMachine m;
  m.put(0x2013, {0xCF});
  m.write<std::uint32_t>(0x13 * 4, 0x2013);
  m.real({0xCD, 0x13, 0xF4});
  m.cpu->monitor().set_service_range(0x2000, 256, &hook);
  EXPECT_EQ(m.run(10).kind, StopKind::Halted);
  EXPECT_EQ(hook.calls, 1);
  EXPECT_EQ(m.reg(kRax), 0x13u);
  EXPECT_EQ(m.cpu->retired(), 3u);
}

}  // namespace
}  // namespace zs::machine

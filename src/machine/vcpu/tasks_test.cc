// Hardware task switches and virtual-8086 mode, one rule of the manual after the other.
#include <gtest/gtest.h>

#include "machine/vcpu/test_machine.h"

namespace zs::machine {
namespace {

using U16 = std::uint16_t;
using U32 = std::uint32_t;
using U64 = std::uint64_t;

constexpr U64 kVm = 1 << 17, kNt = 1 << 14, kIopl = 3 << 12;
constexpr U64 kHandlers = 0x3000, kOtherCode = 0x4000, kOtherStack = 0x6000, kOtherTss = 0xC000, kOtherLdt = 0xD000;
constexpr U16 kOther = 0x48, kGate = 0x50, kLdt = 0x58;

/// Two tasks of ring 0: the one that runs, with its TSS at kTss, and another at kOtherTss, which may be of 16 bits.
class Tasks : public TestMachine {
 public:
  void begin(Code code, bool wide = true) {
    put(kCode, code);
    CpuState s = protected_state(0);
    s.gdtr.limit = 0x5F;
    s.segments[kTr].attributes = 0x8B;
    write<U64>(kGdt + 0x38, 0x00008B00B0000067);  // busy, as LTR left it
    write<U64>(kGdt + kOther, wide ? 0x00008900C0000067 : 0x00008100C000002B);
    write<U64>(kGdt + kGate, U64{0x8500} << 32 | U64{kOther} << 16);
    write<U64>(kGdt + kLdt, 0x00008200D0000007);
    for (unsigned n = 0; n < 0x68; n += 4) write<U32>(kOtherTss + n, 0);
    if (wide) {
      write<U32>(kOtherTss + 0x20, kOtherCode);
      write<U32>(kOtherTss + 0x24, 2);
      write<U32>(kOtherTss + 0x28, 0x11223344);  // EAX
      write<U32>(kOtherTss + 0x38, kOtherStack);
      for (const auto& [at, selector] : {std::pair{0x48, 0x10}, {0x4C, 8}, {0x50, 0x10}, {0x54, 0x10}})
        write<U32>(kOtherTss + static_cast<U64>(at), static_cast<U32>(selector));
    } else {
      write<U16>(kOtherTss + 0x0E, kOtherCode);
      write<U16>(kOtherTss + 0x10, 2);
      write<U16>(kOtherTss + 0x12, 0x3344);
      write<U16>(kOtherTss + 0x1A, kOtherStack);
      for (const auto& [at, selector] : {std::pair{0x22, 0x10}, {0x24, 8}, {0x26, 0x10}, {0x28, 0x10}})
        write<U16>(kOtherTss + static_cast<U64>(at), static_cast<U16>(selector));
    }
    cpu->set_state(s);
  }
  unsigned type_of(U16 selector) { return std::to_integer<unsigned>(*at(kGdt + selector + 5)) & 15; }
};

TEST(TaskSwitch, AJumpSavesTheOldTaskLoadsTheNewOneAndComesBack) {
  Tasks m;
  m.begin({0xEA, 0, 0, 0, 0, kOther, 0, 0xF4});       // jmp 48h:0; hlt
  m.put(kOtherCode, {0xEA, 0, 0, 0, 0, 0x38, 0x00});  // jmp 38h:0
  m.run(1);
  EXPECT_EQ(m.cpu->rip(), kOtherCode);
  EXPECT_EQ(m.reg(kRax), 0x11223344u);
  EXPECT_EQ(m.reg(kRsp), kOtherStack);
  EXPECT_EQ(m.cpu->state().rflags & kNt, 0u);
  EXPECT_EQ(m.cpu->state().cr0 & 8, 8u) << "TS";
  EXPECT_EQ(m.cpu->state().segments[kFs].selector, 0u);
  EXPECT_FALSE(m.cpu->state().segments[kFs].present());
  EXPECT_EQ(m.read<U32>(TestMachine::kTss + 0x20), TestMachine::kCode + 7);
  EXPECT_EQ(m.read<U32>(TestMachine::kTss + 0x38), TestMachine::kStack);
  EXPECT_EQ(m.read<U32>(TestMachine::kTss + 0x4C), 8u);
  EXPECT_EQ(m.type_of(0x38), 9u) << "available";
  EXPECT_EQ(m.type_of(kOther), 11u) << "busy";
  EXPECT_EQ(m.run(10).kind, StopKind::Halted);
  EXPECT_EQ(m.cpu->rip(), TestMachine::kCode + 8);
  EXPECT_EQ(m.reg(kRsp), TestMachine::kStack);
  EXPECT_EQ(m.type_of(kOther), 9u);
}

TEST(TaskSwitch, ACallThroughATaskGateNestsAndIretReturns) {
  for (const bool wide : {true, false}) {
    Tasks m;
    m.begin({0x9A, 0, 0, 0, 0, kGate, 0, 0xF4}, wide);  // call 50h:0; hlt
    m.put(kOtherCode, {0xCF});                          // iret
    m.run(1);
    EXPECT_EQ(m.cpu->rip(), kOtherCode);
    EXPECT_EQ(m.reg(kRax), wide ? 0x11223344u : 0xFFFF3344u);
    EXPECT_EQ(m.cpu->state().rflags & kNt, kNt);
    EXPECT_EQ(m.read<U16>(kOtherTss), 0x38u) << "the link";
    EXPECT_EQ(m.type_of(0x38), 11u) << "still busy";
    EXPECT_EQ(m.run(10).kind, StopKind::Halted);
    EXPECT_EQ(m.cpu->rip(), TestMachine::kCode + 8);
    EXPECT_EQ(m.cpu->state().rflags & kNt, 0u);
    EXPECT_EQ(m.type_of(kOther), wide ? 9u : 1u);
    if (!wide) continue;
    EXPECT_EQ(m.read<U32>(kOtherTss + 0x20), kOtherCode + 1) << "a handler's loop goes on behind its IRET";
    EXPECT_EQ(m.read<U32>(kOtherTss + 0x24) & kNt, 0u);
  }
}

TEST(TaskSwitch, AnExceptionThroughATaskGatePushesItsErrorCodeOnTheNewStack) {
  Tasks m;
  m.begin({0xB8, 0x00, 0x01, 0, 0, 0x8E, 0xD8});  // mov eax, 100h; mov ds, ax: #GP(100h)
  m.put(kOtherCode, {0x58, 0xF4});                // pop eax; hlt
  m.gate32(13, kOther, 0, 0x85);
  EXPECT_EQ(m.run(10).kind, StopKind::Halted);
  EXPECT_EQ(m.reg(kRax), 0x100u);
  EXPECT_EQ(m.reg(kRsp), kOtherStack);
  EXPECT_EQ(m.read<U32>(TestMachine::kTss + 0x20), TestMachine::kCode + 5) << "the instruction that faulted";
  EXPECT_EQ(m.read<U32>(TestMachine::kTss + 0x24) & 0x10000, 0x10000u) << "RF";
}

TEST(TaskSwitch, WhatIsWrongBeforeItFaultsInTheOldTask) {
  struct Row {
    const char* what;
    void (*spoil)(Tasks& m);
    unsigned vector, error;
  };
  const Row rows[] = {
      {"a busy task", [](Tasks& m) { m.write<U64>(Tasks::kGdt + kOther, 0x00008B00C0000067); }, 13, kOther},
      {"a task that is not present", [](Tasks& m) { m.write<U64>(Tasks::kGdt + kOther, 0x00000900C0000067); }, 11,
       kOther},
      {"a TSS that is too short", [](Tasks& m) { m.write<U64>(Tasks::kGdt + kOther, 0x00008900C0000066); }, 10, kOther},
      {"a selector beyond the GDT", [](Tasks& m) { m.put(Tasks::kCode + 5, {0x60}); }, 13, 0x60},
      {"what is no TSS", [](Tasks& m) { m.put(Tasks::kCode + 5, {kLdt}); }, 13, kLdt},
  };
  for (const Row& row : rows) {
    Tasks m;
    m.begin({0xEA, 0, 0, 0, 0, kOther, 0});
    row.spoil(m);
    for (const unsigned vector : {10, 11, 12, 13}) {
      m.gate32(vector, 8, kHandlers + 16 * vector);
      m.put(kHandlers + 16 * vector, {0xF4});
    }
    EXPECT_EQ(m.run(10).kind, StopKind::Halted) << row.what;
    EXPECT_EQ(m.cpu->rip(), kHandlers + 16 * row.vector + 1) << row.what;
    EXPECT_EQ(m.read<U32>(m.reg(kRsp)), row.error) << row.what;
    EXPECT_EQ(m.read<U32>(m.reg(kRsp) + 4), TestMachine::kCode) << row.what;
    EXPECT_EQ(m.cpu->state().segments[kTr].selector, 0x38u) << row.what;
  }
}

TEST(TaskSwitch, WhatTheNewTasksSelectorsNameFaultsInTheNewTask) {
  struct Row {
    const char* what;
    unsigned offset, value, vector, error;
  };
  const Row rows[] = {
      {"CS that is data", 0x4C, 0x10, 10, 0x10},     {"CS null", 0x4C, 0, 10, 0},
      {"SS of another ring", 0x50, 0x20, 10, 0x20},  {"SS null", 0x50, 0, 10, 0},
      {"DS beyond the GDT", 0x54, 0x100, 10, 0x100}, {"an LDT that is none", 0x60, 0x10, 10, 0x10},
  };
  for (const Row& row : rows) {
    Tasks m;
    m.begin({0xEA, 0, 0, 0, 0, kOther, 0});
    m.write<U32>(kOtherTss + row.offset, row.value);
    // The handler is a task of its own, as what the new one holds cannot take a frame.
    m.write<U64>(Tasks::kGdt + kGate, 0x00008900E0000067);
    for (unsigned n = 0; n < 0x68; n += 4) m.write<U32>(0xE000 + n, m.read<U32>(kOtherTss + n));
    m.write<U32>(0xE020, kHandlers);
    for (const auto& [at, selector] : {std::pair{0x48, 0x10}, {0x4C, 8}, {0x50, 0x10}, {0x54, 0x10}, {0x60, 0}})
      m.write<U32>(0xE000 + static_cast<U64>(at), static_cast<U32>(selector));
    m.put(kHandlers, {0x58, 0xF4});  // pop eax; hlt
    m.gate32(row.vector, kGate, 0, 0x85);
    EXPECT_EQ(m.run(10).kind, StopKind::Halted) << row.what;
    EXPECT_EQ(m.reg(kRax), row.error) << row.what;
    EXPECT_EQ(m.read<U16>(0xE000), kOther) << row.what << ": the link names the new task";
    EXPECT_EQ(m.read<U32>(kOtherTss + 0x20), kOtherCode) << row.what << ": at its first instruction";
  }
}

TEST(TaskSwitch, TheTrapBitOfATssIsADebugExceptionBeforeTheFirstInstruction) {
  Tasks m;
  m.begin({0xEA, 0, 0, 0, 0, kOther, 0});
  m.write<U32>(kOtherTss + 0x64, 1);
  m.put(kHandlers, {0xF4});
  m.gate32(1, 8, kHandlers);
  EXPECT_EQ(m.run(10).kind, StopKind::Halted);
  EXPECT_EQ(m.cpu->rip(), kHandlers + 1);
  EXPECT_EQ(m.read<U32>(m.reg(kRsp)), kOtherCode);
  EXPECT_EQ(m.cpu->state().dr6 & 0x8000, 0x8000u);
}

TEST(TaskSwitch, TheNewTaskHasItsLdtItsFlagsAndNoLocalBreakpoints) {
  Tasks m;
  m.begin({0xEA, 0, 0, 0, 0, kOther, 0});
  m.write<U32>(kOtherTss + 0x60, kLdt);
  m.write<U32>(kOtherTss + 0x54, 4);  // the first descriptor of the LDT
  m.write<U32>(kOtherTss + 0x24, 2 | 0x200 | kNt);
  m.write<U64>(kOtherLdt, 0x00CF93000000FFFF);
  CpuState s = m.cpu->state();
  s.dr7 = 0x403;
  m.cpu->set_state(s);
  m.run(1);
  const CpuState after = m.cpu->state();
  EXPECT_EQ(after.segments[kLdtr].base, kOtherLdt);
  EXPECT_EQ(after.segments[kDs].selector, 4u);
  EXPECT_TRUE(after.segments[kDs].present());
  EXPECT_EQ(after.rflags & (0x200 | kNt), 0x200 | kNt);
  EXPECT_EQ(after.dr7, 0x402u);
}

/// Code of virtual-8086 mode at 1000H (100H:0), its stack at 200H:100H; exceptions end at kHandlers + 16 * vector.
class Virtual8086 : public TestMachine {
 public:
  static constexpr U64 kInner = 0x7000;
  void begin(Code code, U64 flags = kVm | 2) {
    put(kCode, code);
    put(0x800, {0xCF});  // iretd
    CpuState s = protected_state(0);
    s.rip = 0x800;
    s.gpr[kRsp] = 0x5000;
    const U32 frame[] = {0, 0x100, static_cast<U32>(flags), 0x100, 0x200, 0x1111, 0x2222, 0x3333, 0x4444};
    for (unsigned n = 0; n < std::size(frame); ++n) write<U32>(0x5000 + 4 * n, frame[n]);
    write<U32>(kTss + 4, kInner);
    write<U16>(kTss + 8, 0x10);
    for (unsigned vector = 0; vector < 32; ++vector) {
      gate32(vector, 8, kHandlers + 16 * vector, 0xEE);
      put(kHandlers + 16 * vector, {0xF4});
    }
    cpu->set_state(s);
    run(1);
  }
  void expect_fault(unsigned vector, U64 ip, const char* what) {
    EXPECT_EQ(run(10).kind, StopKind::Halted) << what;
    EXPECT_EQ(cpu->rip(), kHandlers + 16 * vector + 1) << what;
    EXPECT_EQ(read<U32>(reg(kRsp) + 4), ip) << what;
  }
};

TEST(Virtual8086Mode, IretEntersItAndAnExceptionLeavesItWithAllSegmentsOnTheStack) {
  Virtual8086 m;
  m.begin({0x8C, 0xC0, 0x0F, 0x0B});  // mov ax, es; ud2
  const CpuState s = m.cpu->state();
  EXPECT_EQ(m.cpu->cpl(), 3u);
  EXPECT_EQ(s.segments[kDs].base, 0x22220u);
  EXPECT_EQ(s.segments[kDs].limit, 0xFFFFu);
  EXPECT_EQ(s.rip, 0u);
  EXPECT_EQ(m.run(10).kind, StopKind::Halted);
  EXPECT_EQ(m.cpu->rip(), kHandlers + 16 * 6 + 1);
  EXPECT_EQ(m.cpu->cpl(), 0u);
  EXPECT_EQ(m.reg(kRax) & 0xFFFF, 0x1111u);
  EXPECT_EQ(m.reg(kRsp), Virtual8086::kInner - 36);
  const U32 expected[] = {2, 0x100, static_cast<U32>(kVm | 0x10002), 0x100, 0x200, 0x1111, 0x2222, 0x3333, 0x4444};
  for (unsigned n = 0; n < std::size(expected); ++n) EXPECT_EQ(m.read<U32>(m.reg(kRsp) + 4 * n), expected[n]) << n;
  const CpuState after = m.cpu->state();
  EXPECT_EQ(after.rflags & kVm, 0u);
  EXPECT_EQ(after.segments[kDs].selector, 0u);
  EXPECT_FALSE(after.segments[kDs].present());
}

TEST(Virtual8086Mode, WhatTouchesTheInterruptFlagNeedsIopl3) {
  const struct {
    const char* what;
    unsigned code;
  } rows[] = {{"cli", 0xFA}, {"sti", 0xFB}, {"pushf", 0x9C}, {"popf", 0x9D}, {"iret", 0xCF}};
  for (const auto& row : rows) {
    Virtual8086 m;
    m.begin({row.code, 0x0F, 0x0B});
    m.expect_fault(13, 0, row.what);
    EXPECT_EQ(m.read<U32>(m.reg(kRsp)), 0u);
  }
  Virtual8086 m;
  m.begin({0xCD, 0x05});
  m.expect_fault(13, 0, "int 5");
  m.begin({0xCC});
  EXPECT_EQ(m.run(10).kind, StopKind::Halted);
  EXPECT_EQ(m.cpu->rip(), kHandlers + 16 * 3 + 1) << "int3 does not";
}

TEST(Virtual8086Mode, WithIopl3ItRunsAsRealModeDoes) {
  Virtual8086 m;
  // sti; pushf; pop ax; cli; push ax; popf; call 100h:20h
  m.begin({0xFB, 0x9C, 0x58, 0xFA, 0x50, 0x9D, 0x9A, 0x20, 0x00, 0x00, 0x01, 0x0F, 0x0B}, kVm | kIopl | 2);
  m.put(TestMachine::kCode + 0x20, {0x68, 0x02, 0x00, 0x68, 0x00, 0x01, 0x68, 0x30, 0x00, 0xCF});  // iret to 100h:30h
  m.put(TestMachine::kCode + 0x30, {0xCB});                                                        // retf
  m.run(6);
  EXPECT_EQ(m.reg(kRax) & 0x3200, 0x3200u);
  EXPECT_EQ(m.cpu->state().rflags & (kVm | kIopl | 0x200), kVm | kIopl | 0x200);
  m.run(1);
  EXPECT_EQ(m.cpu->rip(), 0x20u);
  EXPECT_EQ(m.read<U16>(0x2000 + m.reg(kRsp)), 11u);
  m.run(4);
  EXPECT_EQ(m.cpu->rip(), 0x30u);
  EXPECT_EQ(m.cpu->state().rflags & (kVm | kIopl), kVm | kIopl) << "IRET leaves VM and IOPL";
  m.run(1);
  EXPECT_EQ(m.cpu->rip(), 11u);
  EXPECT_EQ(m.reg(kRsp), 0x100u);
}

TEST(Virtual8086Mode, PortsAreThoseOfTheTssWhateverIopl) {
  Virtual8086 m;
  m.bus.ports[0x20] = 0x5A;
  m.begin({0xE4, 0x20, 0xE4, 0x21}, kVm | kIopl | 2);  // in al, 20h; in al, 21h
  CpuState s = m.cpu->state();
  s.segments[kTr].limit = 0x68 + 5;
  m.cpu->set_state(s);
  m.write<U16>(TestMachine::kTss + 0x66, 0x68);
  for (unsigned n = 0; n < 6; ++n) m.write<std::uint8_t>(TestMachine::kTss + 0x68 + n, n == 4 ? 0xFE : 0xFF);
  m.run(1);
  EXPECT_EQ(m.reg(kRax) & 0xFF, 0x5Au);
  m.expect_fault(13, 2, "a port that the map denies");
}

TEST(Virtual8086Mode, InstructionsOfProtectedModeAndOfRingZeroFault) {
  const struct {
    const char* what;
    std::vector<unsigned> code;
    unsigned vector;
  } rows[] = {{"str ax", {0x0F, 0x00, 0xC8}, 6},
              {"lar ax, ax", {0x0F, 0x02, 0xC0}, 6},
              {"hlt", {0xF4}, 13},
              {"mov eax, cr0", {0x0F, 0x20, 0xC0}, 13},
              {"lgdt [0]", {0x0F, 0x01, 0x16, 0, 0}, 13}};
  for (const auto& row : rows) {
    Virtual8086 m;
    m.begin({});
    for (std::size_t n = 0; n < row.code.size(); ++n) m.put(TestMachine::kCode + n, {row.code[n]});
    EXPECT_EQ(m.run(10).kind, StopKind::Halted) << row.what;
    EXPECT_EQ(m.cpu->rip(), kHandlers + 16 * row.vector + 1) << row.what;
  }
}

TEST(Virtual8086Mode, AGateToAnotherRingThanZeroIsGeneralProtection) {
  Virtual8086 m;
  m.begin({0xCC});
  m.gate32(3, 0x28 | 3, 0x3333, 0xEE);
  m.expect_fault(13, 0, "int3 through a gate to ring 3");
  EXPECT_EQ(m.read<U32>(m.reg(kRsp)), 0x28u);
}

TEST(Virtual8086Mode, ATaskMayBeOfIt) {
  Tasks m;
  m.begin({0xEA, 0, 0, 0, 0, kOther, 0});
  m.write<U32>(kOtherTss + 0x20, 0x10);
  m.write<U32>(kOtherTss + 0x24, kVm | 2);
  m.write<U32>(kOtherTss + 0x4C, 0x400);
  m.run(1);
  EXPECT_EQ(m.cpu->cpl(), 3u);
  EXPECT_EQ(m.cpu->state().segments[kCs].base, 0x4000u);
  EXPECT_EQ(m.cpu->rip(), 0x10u);
}

}  // namespace
}  // namespace zs::machine

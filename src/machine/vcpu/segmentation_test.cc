// What segment registers hold between the modes and between the rings: what real mode loaded stays usable in protected
// mode, a null selector of protected mode does not, and FS and GS keep the base that MSRs gave them.
// source: SDM vol. 3A, "Switching to Protected Mode", "Segment Loading Instructions in IA-32e Mode"; vol. 2,
// "Operation" of IRET and RET.
#include <gtest/gtest.h>

#include "machine/vcpu/test_machine.h"

namespace zs::machine {
namespace {

using Access = std::initializer_list<unsigned>;

/// Code in real mode with every selector 0: mov cr0, eax, then `access`, both of 16 bits; then HLT.
void enter_protected_mode(TestMachine& m, Access access) {
  m.real({0x0F, 0x22, 0xC0});
  m.put(TestMachine::kCode + 3, access);
  m.put(TestMachine::kCode + 3 + access.size(), {0xF4});
  CpuState s = m.cpu->state();
  s.gpr[kRax] = s.cr0 | 1;
  s.gpr[kRbx] = 0x2000;
  m.cpu->set_state(s);
}

TEST(Segments, OfRealModeWithSelectorZeroServeInProtectedModeUntilTheyAreLoaded) {
  const Access kAccesses[] = {
      {0x6A, 0x10},        // push 10h
      {0x58},              // pop ax
      {0xE8, 0x00, 0x00},  // call
      {0x8B, 0x07},        // mov ax, [bx]
      {0x89, 0x07},        // mov [bx], ax
      {0x26, 0x89, 0x07},  // mov [es:bx], ax
      {0x64, 0x89, 0x07},  // mov [fs:bx], ax
      {0x65, 0x01, 0x07},  // add [gs:bx], ax
      {0xA4},              // movsb
      {0x0F, 0x01, 0x07},  // sgdt [bx]
  };
  for (const Access& access : kAccesses) {
    TestMachine m;
    enter_protected_mode(m, access);
    EXPECT_EQ(m.run(3).kind, StopKind::Halted) << std::hex << *access.begin();
    EXPECT_EQ(m.cpu->rip(), TestMachine::kCode + 4 + access.size()) << std::hex << *access.begin();
  }
}

TEST(Segments, ANullSelectorOfProtectedModeAllowsNoAccess) {
  TestMachine m;
  // mov ds, cx; mov ax, [bx]
  enter_protected_mode(m, {0x8E, 0xD9, 0x8B, 0x07});
  EXPECT_EQ(m.run(10).kind, StopKind::TripleFault);
  EXPECT_EQ(m.cpu->rip(), TestMachine::kCode + 5);
}

TEST(Segments, BackInRealModeALoadMakesASegmentOfANullSelector) {
  TestMachine m;
  // mov ds, cx; and in real mode again: mov cr0, edx; mov ds, cx; and with PE again: mov cr0, eax; mov [bx], ax
  enter_protected_mode(m, {0x8E, 0xD9, 0x0F, 0x22, 0xC2, 0x8E, 0xD9, 0x0F, 0x22, 0xC0, 0x89, 0x07});
  CpuState s = m.cpu->state();
  s.gpr[kRdx] = s.cr0;
  m.cpu->set_state(s);
  EXPECT_EQ(m.run(10).kind, StopKind::Halted);
}

/// IRETQ of ring 0 to 64-bit code of ring 3 that loads RAX from FS:[0] and RBX from GS:[0].
CpuState return_outwards(TestMachine& m) {
  m.long64({0x48, 0xCF});
  m.put(0x2000, {0x64, 0x48, 0x8B, 0x04, 0x25, 0, 0, 0, 0, 0x65, 0x48, 0x8B, 0x1C, 0x25, 0, 0, 0, 0});
  const std::uint64_t frame[] = {0x2000, 0x33, 2, 0x6000, 0x23};
  for (unsigned n = 0; n < 5; ++n) m.write(0x7F00 + 8 * n, frame[n]);
  m.write<std::uint64_t>(0x5000, 0x7071);
  m.write<std::uint64_t>(0, 0x6061);
  CpuState s = m.cpu->state();
  s.gpr[kRsp] = 0x7F00;
  return s;
}

TEST(Segments, FsAndGsKeepTheirBaseOnAReturnOutwardsThatTakesTheirSelector) {
  for (const std::uint16_t selector : std::initializer_list<std::uint16_t>{0, 1, 3, 0x10}) {
    TestMachine m;
    CpuState s = return_outwards(m);
    for (const Seg seg : {kFs, kGs}) {
      // 10H is data of ring 0, which ring 3 may not have.
      s.segments[seg] = {.selector = selector,
                         .attributes = static_cast<std::uint16_t>(selector < 4 ? 0 : 0xC093),
                         .limit = 0,
                         .base = 0x5000};
    }
    m.cpu->set_state(s);
    m.run(3);
    EXPECT_EQ(m.reg(kRax), 0x7071u) << selector;
    EXPECT_EQ(m.reg(kRbx), 0x7071u) << selector;
    EXPECT_EQ(m.cpu->state().segments[kFs].selector, 0) << "the return clears the selector, a null one's level too";
  }
}

TEST(Segments, LoadedWithZeroInRealModeAreNotForRingThree) {
  TestMachine m;
  m.protected32({0xCF});  // iret
  const std::uint32_t frame[] = {0x2000, 0x2B, 2, 0x6000, 0x23};
  for (unsigned n = 0; n < 5; ++n) m.write(0x7F00 + 4 * n, frame[n]);
  CpuState s = m.cpu->state();
  s.gpr[kRsp] = 0x7F00;
  s.segments[kDs] = {.selector = 0, .attributes = 0x93, .limit = 0xFFFF, .base = 0};
  m.cpu->set_state(s);
  m.run(1);
  EXPECT_FALSE(m.cpu->state().segments[kDs].present());
}

}  // namespace
}  // namespace zs::machine

// Page tables of three shapes, their faults with error codes, and the bits the processor sets in them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "machine/vcpu/test_machine.h"

namespace zs::machine {
namespace {

constexpr std::uint64_t kP = 1, kRw = 2, kUs = 4, kA = 32, kD = 64, kPs = 128, kNx = std::uint64_t{1} << 63;

/// A #PF handler that halts; the error code is then on top of the stack.
struct Faulted {
  std::uint64_t error = 0, address = 0;
  bool operator==(const Faulted&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Faulted& f) {
  return out << "error " << f.error << " at " << std::hex << f.address;
}

class Paging64 : public ::testing::Test {
 protected:
  /// 4 KiB pages of the third 2 MiB (400000H..) with the given PTEs; everything else is mapped as TestMachine does.
  void map(std::initializer_list<std::uint64_t> ptes) {
    std::uint64_t at = kPt;
    for (const std::uint64_t pte : ptes) m_.write<std::uint64_t>(at, pte), at += 8;
    m_.write<std::uint64_t>(TestMachine::kTables + 0x2000 + 8 * 2, kPt + 7);
  }
  void start(Code code, unsigned level) {
    m_.put(TestMachine::kCode, code);
    m_.put(0x3000, {0xF4});
    CpuState s = m_.long_state(level);
    m_.gate64(14, 0x18, 0x3000);
    m_.write<std::uint64_t>(TestMachine::kTss + 4, 0x7000);
    m_.cpu->set_state(s);
  }
  Faulted fault() {
    EXPECT_EQ(m_.run(100).kind, StopKind::Halted);
    return {m_.read<std::uint64_t>(m_.reg(kRsp)), m_.cpu->cr(2)};
  }
  static constexpr std::uint64_t kPt = 0x14000;
  TestMachine m_{0x800000};
};

TEST_F(Paging64, AMissingPageFaultsWithTheAccessInTheErrorCode) {
  start({0x8B, 0x04, 0x25, 0x04, 0x00, 0x40, 0x00}, 0);  // mov eax, [400004h]
  map({0});
  EXPECT_EQ(fault(), (Faulted{0, 0x400004}));
  start({0x89, 0x04, 0x25, 0x04, 0x00, 0x40, 0x00}, 0);  // mov [400004h], eax
  map({0});
  EXPECT_EQ(fault(), (Faulted{2, 0x400004}));
  start({0x89, 0x04, 0x25, 0x04, 0x00, 0x40, 0x00}, 3);
  map({0});
  EXPECT_EQ(fault(), (Faulted{6, 0x400004}));
  EXPECT_EQ(m_.observer.count, 2u + 1) << "the faulting instructions did not retire, three HLTs did";
}

TEST_F(Paging64, UserCodeMayNotTouchSupervisorPagesNorWriteReadOnlyOnes) {
  start({0x8B, 0x04, 0x25, 0x00, 0x00, 0x40, 0x00}, 3);
  map({0x100000 | kP | kRw});
  EXPECT_EQ(fault(), (Faulted{5, 0x400000}));
  start({0x89, 0x04, 0x25, 0x00, 0x00, 0x40, 0x00}, 3);
  map({0x100000 | kP | kUs});
  EXPECT_EQ(fault(), (Faulted{7, 0x400000}));
}

TEST_F(Paging64, RingZeroWritesReadOnlyPagesUnlessCr0WpIsSet) {
  start({0x89, 0x04, 0x25, 0x00, 0x00, 0x40, 0x00, 0xF4}, 0);
  map({0x100000 | kP});
  EXPECT_EQ(m_.run(100).kind, StopKind::Halted);
  EXPECT_EQ(m_.cpu->rip(), TestMachine::kCode + 8);
  EXPECT_EQ(m_.read<std::uint64_t>(kPt), 0x100000 | kP | kA | kD);
  start({0x89, 0x04, 0x25, 0x00, 0x00, 0x40, 0x00, 0xF4}, 0);
  map({0x100000 | kP});
  CpuState s = m_.cpu->state();
  s.cr0 |= 0x10000;
  m_.cpu->set_state(s);
  EXPECT_EQ(fault(), (Faulted{3, 0x400000}));
  EXPECT_EQ(m_.read<std::uint64_t>(kPt), 0x100000 | kP) << "a faulting access sets neither A nor D";
}

TEST_F(Paging64, FetchesFromNxPagesFaultAsInstructionFetches) {
  start({0xFF, 0xE0}, 0);  // jmp rax
  map({0x100000 | kP | kRw | kNx});
  CpuState s = m_.cpu->state();
  s.gpr[kRax] = 0x400000;
  m_.cpu->set_state(s);
  EXPECT_EQ(fault(), (Faulted{0x11, 0x400000}));
}

TEST_F(Paging64, WithoutNxeTheNxBitIsReserved) {
  start({0x8B, 0x04, 0x25, 0x00, 0x00, 0x40, 0x00}, 0);
  map({0x100000 | kP | kNx});
  CpuState s = m_.cpu->state();
  s.efer &= ~0x800u;
  m_.cpu->set_state(s);
  EXPECT_EQ(fault(), (Faulted{9, 0x400000}));
}

TEST_F(Paging64, ALoadSetsOnlyAAndALaterStoreSetsD) {
  start({0x8B, 0x04, 0x25, 0x00, 0x00, 0x40, 0x00, 0x89, 0x04, 0x25, 0x00, 0x10, 0x40, 0x00, 0xF4}, 0);
  map({0x100000 | kP | kRw, 0x101000 | kP | kRw, 0x102000 | kP | kRw});
  m_.run(100);
  EXPECT_EQ(m_.read<std::uint64_t>(kPt), 0x100000 | kP | kRw | kA);
  EXPECT_EQ(m_.read<std::uint64_t>(kPt + 8), 0x101000 | kP | kRw | kA | kD);
  EXPECT_EQ(m_.read<std::uint64_t>(kPt + 16), 0x102000 | kP | kRw) << "no page is walked before it is used";
}

// mov eax, [LOADED]; mov [ENTRY], rbx; invlpg [FLUSHED]; mov edx, [LOADED]; hlt
TEST_F(Paging64, InvlpgForgetsThePageWhateverItsSize) {
  const auto changes = [this](std::uint64_t was, std::uint32_t loaded, std::uint32_t entry, std::uint32_t flushed,
                              std::uint64_t changed) {
    start({0xF4}, 0);
    map({0x100000 | kP | kRw});
    m_.write<std::uint64_t>(entry, was);
    std::uint64_t at = TestMachine::kCode;
    const auto put = [&](Code opcode, std::uint32_t address) {
      for (const unsigned byte : opcode) m_.write<std::uint8_t>(at++, static_cast<std::uint8_t>(byte));
      m_.write<std::uint32_t>(at, address);
      at += 4;
    };
    put({0x8B, 0x04, 0x25}, loaded);
    put({0x48, 0x89, 0x1C, 0x25}, entry);
    put({0x0F, 0x01, 0x3C, 0x25}, flushed);
    put({0x8B, 0x14, 0x25}, loaded);
    m_.write<std::uint8_t>(at, 0xF4);
    m_.cpu->memory_written(TestMachine::kCode, at + 1 - TestMachine::kCode);
    CpuState s = m_.cpu->state();
    s.gpr[kRbx] = changed;
    m_.cpu->set_state(s);
    EXPECT_EQ(m_.run(10).kind, StopKind::Halted);
    EXPECT_EQ(m_.cpu->rip(), at + 1);
    EXPECT_EQ(m_.reg(kRax), 1u);
    EXPECT_EQ(m_.reg(kRdx), 2u);
  };
  for (const std::uint64_t at : {0x100000, 0x401000}) m_.write<std::uint32_t>(at, 1);
  for (const std::uint64_t at : {0x101000, 0x601000}) m_.write<std::uint32_t>(at, 2);
  changes(0x100000 | kP | kRw, 0x400000, kPt, 0x400FFF, 0x101000 | kP | kRw);
  constexpr std::uint32_t kEntry = TestMachine::kTables + 0x2000 + 8 * 2;
  changes(0x400000 | kP | kRw | kPs, 0x401000, kEntry, 0x5FF000, 0x600000 | kP | kRw | kPs);
}

TEST_F(Paging64, AStoreAcrossPagesFaultsBeforeItWritesAnything) {
  start({0x48, 0x89, 0x04, 0x25, 0xFC, 0x0F, 0x40, 0x00}, 0);  // mov [400FFCh], rax
  map({0x100000 | kP | kRw, 0});
  m_.write<std::uint32_t>(0x100FFC, 0x55555555);
  EXPECT_EQ(fault(), (Faulted{2, 0x401000}));
  EXPECT_EQ(m_.read<std::uint32_t>(0x100FFC), 0x55555555u);
}

TEST_F(Paging64, AddressesThatAreNotCanonicalAreGeneralProtectionOrStackFaults) {
  start({0x8B, 0x00}, 0);  // mov eax, [rax]
  m_.gate64(13, 0x18, 0x3000);
  CpuState s = m_.cpu->state();
  s.gpr[kRax] = 0x8000000000000000;
  m_.cpu->set_state(s);
  EXPECT_EQ(m_.run(10).kind, StopKind::Halted);
  start({0x8B, 0x45, 0x00}, 0);  // mov eax, [rbp]
  m_.gate64(12, 0x18, 0x3000);
  s = m_.cpu->state();
  s.gpr[kRbp] = 0x8000000000000000;
  m_.cpu->set_state(s);
  EXPECT_EQ(m_.run(10).kind, StopKind::Halted);
}

TEST_F(Paging64, SmepAndSmapKeepRingZeroFromUserPages) {
  start({0xFF, 0xE0}, 0);
  map({0x100000 | kP | kRw | kUs});
  // The code itself runs from supervisor pages.
  m_.write<std::uint64_t>(TestMachine::kTables + 0x2000, 0x83);
  CpuState s = m_.cpu->state();
  s.cr4 |= 1u << 20;
  s.gpr[kRax] = 0x400000;
  m_.cpu->set_state(s);
  EXPECT_EQ(fault(), (Faulted{0x11, 0x400000}));
  start({0x8B, 0x00, 0xF4}, 0);
  map({0x100000 | kP | kRw | kUs});
  m_.write<std::uint64_t>(TestMachine::kTables + 0x2000, 0x83);
  s = m_.cpu->state();
  s.cr4 |= 1u << 21;
  s.gpr[kRax] = 0x400000;
  m_.cpu->set_state(s);
  EXPECT_EQ(fault(), (Faulted{1, 0x400000}));
  s.rflags |= 1u << 18;  // AC lets it through
  m_.cpu->set_state(s);
  EXPECT_EQ(m_.run(10).kind, StopKind::Halted);
  EXPECT_EQ(m_.cpu->rip(), TestMachine::kCode + 3);
}

TEST(Paging32, FourMegabytePagesAndTheirReservedBit) {
  TestMachine m{0x800000};
  m.protected32({0xA1, 0x00, 0x00, 0x40, 0x00, 0xF4});  // mov eax, [400000h]; hlt
  m.write<std::uint32_t>(0x10000, kP | kRw | kPs);
  m.write<std::uint32_t>(0x10004, 0x400000 | kP | kRw | kPs);
  m.write<std::uint32_t>(0x400000, 0x12345678);
  m.put(0x3000, {0xF4});
  m.gate32(14, 8, 0x3000);
  CpuState s = m.cpu->state();
  s.cr0 |= 0x80000000;
  s.cr3 = 0x10000;
  s.cr4 = 0x10;
  m.cpu->set_state(s);
  EXPECT_EQ(m.run(10).kind, StopKind::Halted);
  EXPECT_EQ(m.reg(kRax), 0x12345678u);
  EXPECT_EQ(m.read<std::uint32_t>(0x10004), 0x400000 | kP | kRw | kPs | kA);
  m.write<std::uint32_t>(0x10004, 0x600000 | kP | kRw | kPs);
  m.cpu->set_state(s);
  EXPECT_EQ(m.run(10).kind, StopKind::Halted);
  EXPECT_EQ(m.read<std::uint32_t>(m.reg(kRsp)), 9u);
}

TEST(PagingPae, WalksThreeLevelsAndCachesThePdptes) {
  TestMachine m{0x800000};
  m.protected32({0xA1, 0x00, 0x00, 0x40, 0x00, 0xF4});
  m.write<std::uint64_t>(0x10000, 0x11000 | kP);
  m.write<std::uint64_t>(0x11000, kP | kRw | kPs);
  m.write<std::uint64_t>(0x11010, 0x12000 | kP | kRw);
  m.write<std::uint64_t>(0x12000, 0x600000 | kP | kRw);
  m.write<std::uint32_t>(0x600000, 77);
  CpuState s = m.cpu->state();
  s.cr0 |= 0x80000000;
  s.cr3 = 0x10000;
  s.cr4 = 0x20;
  m.cpu->set_state(s);
  m.write<std::uint64_t>(0x10000, 0);  // too late: it was loaded with CR3
  EXPECT_EQ(m.run(10).kind, StopKind::Halted);
  EXPECT_EQ(m.reg(kRax), 77u);
}

}  // namespace
}  // namespace zs::machine

// Everything software can know of one logical processor's state, as plain data: what RESET sets, what a loader sets up,
// what a debugger reads and writes.
#pragma once

#include <array>
#include <cstdint>

#include "isa/registers.h"

namespace zs::machine {

using isa::Gpr;
using enum isa::Gpr;

/// Segment registers by encoding number; LDTR and TR have the same shape.
enum Seg : std::uint8_t { kEs, kCs, kSs, kDs, kFs, kGs, kLdtr, kTr, kSegments };

/// A segment register with its hidden part.
struct Segment {
  std::uint16_t selector = 0;
  /// Bits 8..23 of a descriptor's second word, moved down: type 3..0, S 4, DPL 6..5, P 7, AVL 12, L 13, D/B 14, G 15.
  std::uint16_t attributes = 0;
  std::uint32_t limit = 0;  // in bytes, inclusive
  std::uint64_t base = 0;

  unsigned type() const { return attributes & 15u; }
  bool code_or_data() const { return (attributes >> 4 & 1) != 0; }
  unsigned dpl() const { return attributes >> 5 & 3u; }
  bool present() const { return (attributes >> 7 & 1) != 0; }
  bool long_code() const { return (attributes >> 13 & 1) != 0; }
  bool big() const { return (attributes >> 14 & 1) != 0; }
  bool operator==(const Segment&) const = default;
};

struct TableRegister {
  std::uint64_t base = 0;
  std::uint16_t limit = 0;
  bool operator==(const TableRegister&) const = default;
};

/// One 128-bit register as two halves.
struct Xmm {
  std::uint64_t low = 0, high = 0;
  bool operator==(const Xmm&) const = default;
};

/// x87 state. Registers are in physical order R0..R7 of ST(i) = registers[(top + i) & 7], 80 bits each.
struct X87 {
  std::uint16_t control = 0x37F, status = 0;  // TOP is in status
  std::uint8_t valid = 0;                     // bit i: register i is not empty
  std::uint16_t opcode = 0;
  std::uint64_t instruction = 0, data = 0;
  struct Register {
    std::uint64_t mantissa = 0;
    std::uint16_t sign_exponent = 0;
    bool operator==(const Register&) const = default;
  };
  std::array<Register, 8> registers{};
  bool operator==(const X87&) const = default;
};

/// What the interpreter, too, keeps as software sees it.
struct SystemState {
  std::array<Segment, kSegments> segments{};
  TableRegister gdtr, idtr;
  std::uint64_t cr0 = 0, cr2 = 0, cr3 = 0, cr4 = 0;
  std::array<std::uint64_t, 4> breakpoints{};  // DR0..DR3
  std::uint64_t dr6 = 0xFFFF0FF0, dr7 = 0x400;
  std::uint64_t efer = 0, star = 0, lstar = 0, cstar = 0, fmask = 0, kernel_gs_base = 0, tsc_aux = 0;
  std::uint64_t sysenter_cs = 0, sysenter_esp = 0, sysenter_eip = 0;
  std::array<Xmm, 16> xmm{};
  std::uint32_t mxcsr = 0x1F80;
  std::uint64_t smbase = 0x30000;
  bool halted = false, in_smm = false, nmi_blocked = false;
  bool operator==(const SystemState&) const = default;
};

struct CpuState : SystemState {
  std::array<std::uint64_t, 16> gpr{};
  std::uint64_t rip = 0;
  std::uint64_t rflags = 2;
  X87 x87;
  bool operator==(const CpuState&) const = default;

  /// After RESET: real mode, CS = F000 with base FFFF0000H, IP = FFF0H. EDX, the processor's signature, Vcpu::reset
  /// fills in. source: SDM vol. 3A, table "IA-32 and Intel 64 Processor States Following Power-up, Reset, or INIT".
  static CpuState after_reset();
};

}  // namespace zs::machine

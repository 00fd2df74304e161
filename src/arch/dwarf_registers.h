// The general registers by DWARF number, as unwind tables name them.
// source: System V ABI, AMD64 supplement, figure "DWARF Register Number Mapping".
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "arch/retired.h"

namespace zs::arch {

enum DwarfRegister : std::uint8_t {
  kDwarfAx,
  kDwarfDx,
  kDwarfCx,
  kDwarfBx,
  kDwarfSi,
  kDwarfDi,
  kDwarfBp,
  kDwarfSp,
  kDwarfR8,  // and on to R15
  kDwarfR15 = 15,
  kDwarfReturnAddress = 16,
};
inline constexpr std::size_t kDwarfRegisters = 17;

/// The return address is that of the frame itself: RegisterFile::ip.
using DwarfRegisters = std::array<std::uint64_t, kDwarfRegisters>;

constexpr DwarfRegisters dwarf_registers(const RegisterFile& from) {
  return {from.ax, from.dx,  from.cx,  from.bx,  from.si,  from.di,  from.bp,  from.sp, from.r8,
          from.r9, from.r10, from.r11, from.r12, from.r13, from.r14, from.r15, from.ip};
}

}  // namespace zs::arch

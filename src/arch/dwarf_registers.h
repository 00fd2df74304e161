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

/// By the number that instructions have for a general register, its DWARF number; and back.
/// source: SDM vol. 2, table 2-2
inline constexpr std::array<std::uint8_t, 16> kDwarfByEncoding = {
    kDwarfAx, kDwarfCx, kDwarfDx, kDwarfBx, kDwarfSp, kDwarfBp, kDwarfSi, kDwarfDi, 8, 9, 10, 11, 12, 13, 14, 15};
inline constexpr std::array<std::uint8_t, 16> kEncodingByDwarf = [] {
  std::array<std::uint8_t, 16> encodings{};
  for (std::uint8_t i = 0; i < encodings.size(); ++i) encodings[kDwarfByEncoding[i]] = i;
  return encodings;
}();

/// The return address is that of the frame itself: RegisterFile::ip.
using DwarfRegisters = std::array<std::uint64_t, kDwarfRegisters>;

constexpr DwarfRegisters dwarf_registers(const RegisterFile& from) {
  return {from.ax, from.dx,  from.cx,  from.bx,  from.si,  from.di,  from.bp,  from.sp, from.r8,
          from.r9, from.r10, from.r11, from.r12, from.r13, from.r14, from.r15, from.ip};
}

}  // namespace zs::arch

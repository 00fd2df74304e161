// Writes the few instruction forms of the engine's glue in place. None of them writes flags, except where its name
// says so. Guest instructions are copied as bytes by the translator. A general assembler was tried on paper and left out: a dozen
// forms, all rip-relative or fixed, are shorter to read than calls through one.
#pragma once

#include <cstdint>
#include <cstring>

#include "base/check.h"
#include "engine/translate/context.h"

namespace zs::engine {

class Emitter {
 public:
  /// Writes from `at`, never past `end`; both are also the addresses the code runs at.
  Emitter(std::uint64_t at, std::uint64_t end, std::uint64_t context) : at_(at), end_(end), context_(context) {}

  std::uint64_t here() const { return at_; }

  /// CHECKs that so many bytes can follow. Asked once for a stretch of code, not for every byte of it.
  void need(std::size_t bytes) const { CHECK(at_ + bytes <= end_, at_, bytes, end_); }

  void bytes(const void* data, std::size_t size) {
    need(size);
    std::memcpy(reinterpret_cast<void*>(at_), data, size);
    at_ += size;
  }
  /// An instruction of the program; all 16 bytes are written, `length` of them count.
  void instruction(const std::uint8_t (&code)[16], std::size_t length) {
    std::memcpy(reinterpret_cast<void*>(at_), code, sizeof code);
    at_ += length;
  }
  void u8(unsigned value) { put(static_cast<std::uint8_t>(value)); }
  void u32(std::uint32_t value) { put(value); }
  void u64(std::uint64_t value) { put(value); }

  /// mov [context+offset], reg
  void store(std::size_t offset, Gpr reg) { context_operand(0x89, reg, offset); }
  /// mov reg, [context+offset]
  void load(Gpr reg, std::size_t offset) { context_operand(0x8B, reg, offset); }
  /// mov [base*2 + disp], reg; base other than rsp
  void store_scaled(Gpr base, std::int32_t disp, Gpr reg) {
    u8(0x48u | (reg >= 8 ? 4u : 0u) | (base >= 8 ? 2u : 0u));
    u8(0x89);
    u8(0x04u | ((reg & 7u) << 3));
    u8(0x45u | ((base & 7u) << 3));
    u32(static_cast<std::uint32_t>(disp));
  }
  /// pushfq to [base*2 + disp]; base other than rsp, which is in [context+scratch] meanwhile
  void store_flags_scaled(Gpr base, std::int32_t disp, std::size_t scratch) {
    store(scratch, kRsp);
    u8(0x48u | (base >= 8 ? 2u : 0u));  // lea rsp, [base*2 + disp + 8]
    u8(0x8D);
    u8(0x04u | (kRsp << 3));
    u8(0x45u | ((base & 7u) << 3));
    u32(static_cast<std::uint32_t>(disp + 8));
    u8(0x9C);
    load(kRsp, scratch);
  }
  /// mov dword [context+offset], imm32
  void store_imm32(std::size_t offset, std::uint32_t value) {
    u8(0xC7);
    u8(0x05);
    rip_disp32(context_ + offset, 4);
    u32(value);
  }
  /// mov reg, imm64 (or the shorter zero-extending form)
  void mov_imm(Gpr reg, std::uint64_t value) {
    if (value <= UINT32_MAX) {
      if (reg >= 8) u8(0x41);
      u8(0xB8u + (reg & 7u));
      u32(static_cast<std::uint32_t>(value));
    } else {
      u8(0x48u | (reg >= 8 ? 1u : 0u));
      u8(0xB8u + (reg & 7u));
      u64(value);
    }
  }
  /// mov to, from
  void mov(Gpr to, Gpr from) {
    u8(0x48u | (from >= 8 ? 4u : 0u) | (to >= 8 ? 1u : 0u));
    u8(0x89);
    u8(0xC0u | ((from & 7u) << 3) | (to & 7u));
  }
  /// lea reg, [reg + disp]; reg other than rsp, r12
  void add_disp(Gpr reg, std::int32_t disp) {
    u8(0x48u | (reg >= 8 ? 5u : 0u));
    u8(0x8D);
    if (disp >= -128 && disp <= 127) {
      u8(0x40u | ((reg & 7u) << 3) | (reg & 7u));
      u8(static_cast<std::uint8_t>(disp));
    } else {
      u8(0x80u | ((reg & 7u) << 3) | (reg & 7u));
      u32(static_cast<std::uint32_t>(disp));
    }
  }
  /// xchg a, b
  void exchange(Gpr a, Gpr b) {
    u8(0x48u | (a >= 8 ? 4u : 0u) | (b >= 8 ? 1u : 0u));
    u8(0x87);
    u8(0xC0u | ((a & 7u) << 3) | (b & 7u));
  }
  /// jrcxz to a place at most 128 bytes away
  void jrcxz(std::uint64_t to) {
    const auto distance = static_cast<std::int64_t>(to - (at_ + 2));
    CHECK(distance >= INT8_MIN && distance <= INT8_MAX, distance);
    u8(0xE3);
    u8(static_cast<std::uint8_t>(distance));
  }
  /// lea reg, [reg + other + disp8]; neither is rsp, r12 or an extended register
  void add_registers(Gpr reg, Gpr other, std::int8_t disp) {
    u8(0x48);
    u8(0x8D);
    u8(0x44u | (reg << 3));
    u8((static_cast<unsigned>(other) << 3) | reg);
    u8(static_cast<std::uint8_t>(disp));
  }
  /// pext rcx, rcx, [context+offset]
  /// source: SDM vol. 2, PEXT, VEX.LZ.F3.0F38.W1 F5 /r
  void extract_bits_of_rcx(std::size_t offset) {
    for (const unsigned byte : {0xC4, 0xE2, 0xF2, 0xF5, 0x0D}) u8(byte);
    rip_disp32(context_ + offset, 0);
  }
  /// not reg; leaves flags alone
  void complement(Gpr reg) {
    u8(0x48u | (reg >= 8 ? 1u : 0u));
    u8(0xF7);
    u8(0xD0u | (reg & 7u));
  }
  /// lea rsp, [rsp + disp32]
  void add_rsp(std::int32_t disp) {
    u8(0x48);
    u8(0x8D);
    u8(0xA4);
    u8(0x24);
    u32(static_cast<std::uint32_t>(disp));
  }
  void pop(Gpr reg) {
    if (reg >= 8) u8(0x41);
    u8(0x58u + (reg & 7u));
  }
  /// push of a 64-bit value that sign-extends from 32 bits
  void push_imm32(std::uint32_t value) {
    u8(0x68);
    u32(value);
  }
  /// push qword [rip -> literal_at]
  void push_literal(std::uint64_t literal_at) {
    u8(0xFF);
    u8(0x35);
    rip_disp32(literal_at, 0);
  }

  /// prefetcht0 [rip -> address], where that is in reach.
  void prefetch_if_near(std::uint64_t address) {
    constexpr unsigned kLength = 7;
    const std::uint64_t distance = address - (at_ + kLength);
    if (static_cast<std::int64_t>(distance) != static_cast<std::int32_t>(distance)) return;
    for (const unsigned byte : {0x0F, 0x18, 0x0D}) u8(byte);
    rip_disp32(address, 0);
  }

  void jmp(std::uint64_t to) {
    u8(0xE9);
    u32(relative(to, at_ + 4));
  }
  /// jmp rel32, passed over by a jrcxz where rcx is 0
  void jmp_unless_rcx_is_0(std::uint64_t to) {
    u8(0xE3);
    u8(5);
    jmp(to);
  }
  /// jmp [rip -> slot]
  void jmp_slot(std::size_t offset) {
    u8(0xFF);
    u8(0x25);
    rip_disp32(context_ + offset, 0);
  }
  /// jcc rel32; `condition` is the low opcode nibble
  void jcc(unsigned condition, std::uint64_t to) {
    u8(0x0F);
    u8(0x80u | condition);
    u32(relative(to, at_ + 4));
  }

  /// cmp reg32, imm32: writes flags. reg is r8 to r15
  void compare32(Gpr reg, std::uint32_t value) {
    u8(0x41);
    u8(0x81);
    u8(0xF8u | (reg & 7u));
    u32(value);
  }
  /// add reg64, imm8: writes flags. reg is r8 to r15
  void add_imm8(Gpr reg, std::int8_t value) {
    u8(0x49);
    u8(0x83);
    u8(0xC0u | (reg & 7u));
    u8(static_cast<std::uint8_t>(value));
  }
  /// lahf; seto al: the six status flags into ax
  void flags_to_ax() {
    for (const unsigned byte : {0x9F, 0x0F, 0x90, 0xC0}) u8(byte);
  }
  /// add al, 7Fh; sahf: and back
  void ax_to_flags() {
    for (const unsigned byte : {0x04, 0x7F, 0x9E}) u8(byte);
  }

  /// Points the rel32 that ends at `after` to `to`.
  static void patch_rel32(std::uint64_t after, std::uint64_t to) {
    const std::uint32_t rel = relative(to, after);
    std::memcpy(reinterpret_cast<void*>(after - 4), &rel, 4);
  }
  static std::uint32_t relative(std::uint64_t to, std::uint64_t after) {
    const auto distance = static_cast<std::int64_t>(to - after);
    CHECK(distance == static_cast<std::int32_t>(distance));
    return static_cast<std::uint32_t>(distance);
  }

 private:
  template <typename T>
  void put(T value) {
    std::memcpy(reinterpret_cast<void*>(at_), &value, sizeof value);
    at_ += sizeof value;
  }
  void rip_disp32(std::uint64_t target, unsigned immediate_bytes) { u32(relative(target, at_ + 4 + immediate_bytes)); }
  void context_operand(unsigned opcode, Gpr reg, std::size_t offset) {
    u8(0x48u | (reg >= 8 ? 4u : 0u));
    u8(opcode);
    u8(0x05u | ((reg & 7u) << 3));
    rip_disp32(context_ + offset, 0);
  }

  std::uint64_t at_, end_, context_;
};

}  // namespace zs::engine

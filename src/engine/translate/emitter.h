// Writes the few instruction forms of the engine's glue in place, with isa::Assembler. None of them writes flags,
// except where its name says so. Operands are rip-relative (the context, literals) or fixed, so most have one argument
// or two. Guest instructions are copied as bytes by the translator.
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>

#include "base/check.h"
#include "engine/translate/context.h"
#include "isa/assembler.h"

namespace zs::engine {

class Emitter {
 public:
  /// Writes from `at`, never past `end`; both are also the addresses the code runs at.
  Emitter(std::uint64_t at, std::uint64_t end, std::uint64_t context)
      : code_(reinterpret_cast<std::uint8_t*>(at)), end_(end), context_(context) {}

  std::uint64_t here() const { return reinterpret_cast<std::uint64_t>(code_.here()); }

  /// CHECKs that so many bytes can follow. Asked once for a stretch of code, not for every byte of it.
  void need(std::size_t bytes) const { CHECK(here() + bytes <= end_, here(), bytes, end_); }

  void bytes(const void* data, std::size_t size) {
    need(size);
    code_.copy_bytes(data, size);
  }
  /// An instruction of the program; all 16 bytes are written, `length` of them count.
  void instruction(const std::uint8_t (&code)[16], std::size_t length) { code_.instruction(code, length); }
  void u8(unsigned value) { code_.byte(value); }
  void code(std::initializer_list<unsigned> bytes) {
    for (const unsigned byte : bytes) u8(byte);
  }
  void u32(std::uint32_t value) { code_.put(value); }
  void u64(std::uint64_t value) { code_.put(value); }

  /// mov [context+offset], reg
  void store(std::size_t offset, Gpr reg) { code_.store(in_context(offset), reg); }
  /// mov reg, [context+offset]
  void load(Gpr reg, std::size_t offset) { code_.load(reg, in_context(offset)); }
  /// mov [base*2 + disp], reg; base other than rsp
  void store_scaled(Gpr base, std::int32_t disp, Gpr reg) {
    code({0x48u | (reg >= 8 ? 4u : 0u) | (base >= 8 ? 2u : 0u), 0x89, 0x04u | ((reg & 7u) << 3),
          0x45u | ((base & 7u) << 3)});
    u32(static_cast<std::uint32_t>(disp));
  }
  /// pushfq to [base*2 + disp]; base other than rsp, which is in [context+scratch] meanwhile
  void store_flags_scaled(Gpr base, std::int32_t disp, std::size_t scratch) {
    store(scratch, kRsp);
    // lea rsp, [base*2 + disp + 8]
    code({0x48u | (base >= 8 ? 2u : 0u), 0x8D, 0x04u | (kRsp << 3), 0x45u | ((base & 7u) << 3)});
    u32(static_cast<std::uint32_t>(disp + 8));
    u8(0x9C);
    load(kRsp, scratch);
  }
  /// mov dword [context+offset], imm32
  void store_imm32(std::size_t offset, std::uint32_t value) { code_.store_constant_dword(in_context(offset), value); }
  /// mov reg, imm64 (or the shorter zero-extending form)
  void mov_imm(Gpr reg, std::uint64_t value) { code_.constant(reg, value); }
  /// mov to, from
  void mov(Gpr to, Gpr from) { code_.copy(to, from); }
  /// lea reg, [reg + disp]; reg other than rsp, r12
  void add_disp(Gpr reg, std::int32_t disp) { code_.address(reg, {reg, disp}); }
  /// xchg a, b
  void exchange(Gpr a, Gpr b) { code_.exchange(a, b); }
  /// jrcxz to a place at most 128 bytes away
  void jrcxz(std::uint64_t to) {
    const auto distance = static_cast<std::int64_t>(to - (here() + 2));
    CHECK(distance >= INT8_MIN && distance <= INT8_MAX, distance);
    code({0xE3, static_cast<std::uint8_t>(distance)});
  }
  /// lea reg, [reg + other + disp8]; neither is rsp, r12 or an extended register
  void add_registers(Gpr reg, Gpr other, std::int8_t disp) { code_.address(reg, {reg, disp, other}); }
  /// pext rcx, rcx, [context+offset]
  /// source: SDM vol. 2, PEXT, VEX.LZ.F3.0F38.W1 F5 /r
  void extract_bits_of_rcx(std::size_t offset) {
    code({0xC4, 0xE2, 0xF2, 0xF5, 0x0D});
    code_.put_distance(in_context(offset));
  }
  /// shrx rax, rax, rcx
  /// source: SDM vol. 2, SARX/SHLX/SHRX, VEX.LZ.F2.0F38.W1 F7 /r
  void shift_rax_right_by_rcx() { code({0xC4, 0xE2, 0xF3, 0xF7, 0xC0}); }
  /// not reg; leaves flags alone
  void complement(Gpr reg) { code_.complement(reg); }
  /// lea rsp, [rsp + disp32]
  void add_rsp(std::int32_t disp) {
    code({0x48, 0x8D, 0xA4, 0x24});
    u32(static_cast<std::uint32_t>(disp));
  }
  void pop(Gpr reg) { code_.pop(reg); }
  /// push of a 64-bit value that sign-extends from 32 bits
  void push_imm32(std::uint32_t value) { code_.push_constant(value); }
  /// push qword [rip -> literal_at]
  void push_literal(std::uint64_t literal_at) { code_.push(isa::Literal{literal_at}); }

  /// prefetcht0 [rip -> address], where that is in reach.
  void prefetch_if_near(std::uint64_t address) {
    constexpr unsigned kLength = 7;
    const std::uint64_t distance = address - (here() + kLength);
    if (static_cast<std::int64_t>(distance) != static_cast<std::int32_t>(distance)) return;
    code({0x0F, 0x18, 0x0D});
    code_.put_distance({address});
  }

  void jmp(std::uint64_t to) { code_.jump(reinterpret_cast<const std::uint8_t*>(to)); }
  /// jmp rel32, passed over by a jrcxz where rcx is 0
  void jmp_unless_rcx_is_0(std::uint64_t to) {
    code({0xE3, 5});
    jmp(to);
  }
  /// jmp [rip -> slot]
  void jmp_slot(std::size_t offset) { code_.jump(in_context(offset)); }
  /// jcc rel32; `condition` is the low opcode nibble
  void jcc(unsigned condition, std::uint64_t to) {
    code_.jump_if(static_cast<isa::Assembler::Condition>(condition), reinterpret_cast<const std::uint8_t*>(to));
  }

  /// cmp reg32, imm32: writes flags. reg is r8 to r15
  void compare32(Gpr reg, std::uint32_t value) {
    code({0x41, 0x81, 0xF8u | (reg & 7u)});
    u32(value);
  }
  /// add reg64, imm8: writes flags. reg is r8 to r15
  void add_imm8(Gpr reg, std::int8_t value) { code_.operate(isa::Assembler::kAdd, reg, value); }
  /// lahf; seto al: the six status flags into ax
  void flags_to_ax() { code({0x9F, 0x0F, 0x90, 0xC0}); }
  /// add al, 7Fh; sahf: and back
  void ax_to_flags() { code({0x04, 0x7F, 0x9E}); }

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
  isa::Literal in_context(std::size_t offset) const { return {context_ + offset}; }

  isa::Assembler code_;
  std::uint64_t end_, context_;
};

}  // namespace zs::engine

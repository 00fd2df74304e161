// From bytes to a record: Zydis decodes, and a table by mnemonic says which handler executes it. Each group of
// instructions (alu.cc, moves.cc, ...) brings its rows; a mnemonic nobody names is #UD, as on a processor without it.
#pragma once

#include <Zydis/Zydis.h>

#include <cstdint>
#include <span>

#include "machine/vcpu/core.h"
#include "machine/vcpu/insn.h"

namespace zs::machine::vcpu {

/// What Zydis said, and the record being made. Rows' functions fill `insn.run` and what their handler reads beyond the
/// usual: the memory operand, registers of the first two operands (dst, src), the last immediate (imm).
struct Decoded {
  Core& core;
  const ZydisDecodedInstruction& raw;
  const ZydisDecodedOperand* operands;
  Mode mode;
  Insn insn;

  const ZydisDecodedOperand& operand(unsigned n) const { return operands[n]; }
  unsigned visible() const { return raw.operand_count_visible; }
  bool is_register(unsigned n) const { return n < visible() && operands[n].type == ZYDIS_OPERAND_TYPE_REGISTER; }
  bool is_memory(unsigned n) const { return n < visible() && operands[n].type == ZYDIS_OPERAND_TYPE_MEMORY; }
  bool is_immediate(unsigned n) const { return n < visible() && operands[n].type == ZYDIS_OPERAND_TYPE_IMMEDIATE; }
  unsigned bytes(unsigned n) const { return operands[n].size / 8u; }
  std::uint64_t immediate(unsigned n) const {
    return operands[n].imm.is_signed ? static_cast<std::uint64_t>(operands[n].imm.value.s) : operands[n].imm.value.u;
  }
  ZydisRegisterClass register_class(unsigned n) const { return ZydisRegisterGetClass(operands[n].reg.value); }
  /// Of a general register its byte offset in Core::regs, of others their number within their class.
  std::uint8_t register_number(unsigned n) const;
  /// Address size and segment of the operand that a name implies, at RSI, RDI or RBX; DS if there is none.
  void use_implicit_memory(ZydisRegister base);
  /// Operand size attribute in bytes: 2, 4 or 8.
  unsigned operand_bytes() const { return raw.operand_width / 8u; }
  bool real_mode() const { return mode == Mode::Real16; }
  bool long64() const { return mode == Mode::Long64; }
};

using LowerFunction = void (*)(Decoded&);
struct LowerRow {
  ZydisMnemonic mnemonic;
  LowerFunction lower;
};

std::span<const LowerRow> alu_rows();
std::span<const LowerRow> shift_rows();
std::span<const LowerRow> multiply_rows();
std::span<const LowerRow> decimal_rows();
std::span<const LowerRow> bit_rows();
std::span<const LowerRow> move_rows();
std::span<const LowerRow> stack_rows();
std::span<const LowerRow> branch_rows();
std::span<const LowerRow> far_rows();
std::span<const LowerRow> segment_rows();
std::span<const LowerRow> system_rows();
std::span<const LowerRow> exchange_rows();
std::span<const LowerRow> x87_rows();
std::span<const LowerRow> sse_rows();

// Of mnemonics that have no row, by opcode.
void lower_jcc(Decoded& d);
void lower_string(Decoded& d);
void lower_setcc(Decoded& d);
void lower_cmov(Decoded& d);
void lower_x87(Decoded& d);
void lower_sse(Decoded& d);
// Rows that a mnemonic shares with another group.
void lower_far_jump(Decoded& d);
void lower_far_call(Decoded& d);
void lower_far_return(Decoded& d);
void lower_push_segment(Decoded& d);
void lower_pop_segment(Decoded& d);
void lower_mov_system(Decoded& d);
void lower_mov_debug(Decoded& d);
Handler general_mov(Decoded& d);

struct Lowered {
  enum class Outcome : std::uint8_t { Done, Incomplete };
  Outcome outcome = Outcome::Done;
  Insn insn;  // of invalid bytes: one that raises #UD
};
Lowered lower(Core& core, std::span<const std::uint8_t> bytes, Mode mode);

/// The row of Core::facts for what the instruction is (facts.cc).
std::uint16_t intern_facts(Core& core, const ZydisDecodedInstruction& raw, const ZydisDecodedOperand* operands);

/// A row's function: nothing but a handler.
template <Handler Run, std::uint8_t Detail = 0>
void plain(Decoded& d) {
  d.insn.detail = Detail;
  d.insn.run = Run;
}

/// Picks one of four instantiations by operand size.
template <typename Pick>
Handler by_size(unsigned bytes, Pick pick) {
  switch (bytes) {
    case 1: return pick(std::uint8_t{});
    case 2: return pick(std::uint16_t{});
    case 4: return pick(std::uint32_t{});
    default: return pick(std::uint64_t{});
  }
}
/// Likewise, of what has no form for bytes.
template <typename Pick>
Handler by_width(unsigned bytes, Pick pick) {
  return bytes == 8 ? pick(std::uint64_t{}) : bytes == 4 ? pick(std::uint32_t{}) : pick(std::uint16_t{});
}

// A row's function: the handler HANDLER<T, ...> of the first operand's type, or of the operand size attribute's.
#define ZS_SIZED(HANDLER, ...)                                                                                  \
  [](Decoded& d) {                                                                                              \
    d.insn.run =                                                                                                \
        by_size(d.bytes(0), [](auto t) -> Handler { return HANDLER<decltype(t) __VA_OPT__(, ) __VA_ARGS__>; }); \
  }
#define ZS_WIDE(HANDLER, ...)                                                                                 \
  [](Decoded& d) {                                                                                            \
    d.insn.run = by_width(d.operand_bytes(),                                                                  \
                          [](auto t) -> Handler { return HANDLER<decltype(t) __VA_OPT__(, ) __VA_ARGS__>; }); \
  }

}  // namespace zs::machine::vcpu

// Handlers over the usual operand forms. An operation is a type with a static apply(); a form says where its operands
// are.
#pragma once

#include <type_traits>

#include "machine/vcpu/lower.h"

namespace zs::machine::vcpu {

enum class Form : std::uint8_t { RegReg, RegMem, MemReg, RegImm, MemImm };

/// dst = Op(dst, src) with flags: ADD, CMP, TEST, ...
template <typename T, typename Op, Form F>
void binary(Core& c, const Insn& i) {
  if constexpr (F == Form::RegReg || F == Form::RegMem || F == Form::RegImm) {
    T b;
    if constexpr (F == Form::RegReg) b = c.reg<T>(i.src);
    if constexpr (F == Form::RegMem) b = c.load<T>(i.segment, c.effective_address(i));
    if constexpr (F == Form::RegImm) b = static_cast<T>(i.imm);
    const T result = Op::template apply<T>(c.status, c.reg<T>(i.dst), b);
    if constexpr (Op::kWrites) c.set_reg<T>(i.dst, result);
  } else {
    T b;
    if constexpr (F == Form::MemReg) b = c.reg<T>(i.src);
    if constexpr (F == Form::MemImm) b = static_cast<T>(i.imm);
    if constexpr (Op::kWrites) {
      c.modify<T>(i.segment, c.effective_address(i), [&](T a) { return Op::template apply<T>(c.status, a, b); });
    } else {
      Op::template apply<T>(c.status, c.load<T>(i.segment, c.effective_address(i)), b);
    }
  }
}

/// Picks one of five instantiations by where the two operands are.
template <typename Pick>
Handler by_form(const Decoded& d, Pick pick) {
  const bool constant = d.is_immediate(1);
  if (d.is_memory(0) && constant) return pick(std::integral_constant<Form, Form::MemImm>{});
  if (d.is_memory(0)) return pick(std::integral_constant<Form, Form::MemReg>{});
  if (d.is_memory(1)) return pick(std::integral_constant<Form, Form::RegMem>{});
  if (constant) return pick(std::integral_constant<Form, Form::RegImm>{});
  return pick(std::integral_constant<Form, Form::RegReg>{});
}

/// dst = Op(dst) with flags: INC, NEG, ...
template <typename T, typename Op, bool Memory>
void unary(Core& c, const Insn& i) {
  if constexpr (Memory) {
    c.modify<T>(i.segment, c.effective_address(i), [&](T a) { return Op::template apply<T>(c.status, a); });
  } else {
    c.set_reg<T>(i.dst, Op::template apply<T>(c.status, c.reg<T>(i.dst)));
  }
}

/// The one register-or-memory operand that an instruction reads.
template <typename T>
T read_operand(Core& c, const Insn& i, unsigned reg, bool memory) {
  return memory ? c.load<T>(i.segment, c.effective_address(i)) : c.reg<T>(reg);
}

}  // namespace zs::machine::vcpu

// Handlers over the usual operand forms. An operation is a type with a static apply(); a form says where its operands
// are.
#pragma once

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

template <typename T, typename Op>
Handler binary_form(Form form) {
  switch (form) {
    case Form::RegReg: return binary<T, Op, Form::RegReg>;
    case Form::RegMem: return binary<T, Op, Form::RegMem>;
    case Form::MemReg: return binary<T, Op, Form::MemReg>;
    case Form::RegImm: return binary<T, Op, Form::RegImm>;
    default: return binary<T, Op, Form::MemImm>;
  }
}

/// What form a two-operand instruction has.
inline Form form_of(const Decoded& d) {
  const bool constant = d.is_immediate(1);
  if (d.is_memory(0)) return constant ? Form::MemImm : Form::MemReg;
  return d.is_memory(1) ? Form::RegMem : constant ? Form::RegImm : Form::RegReg;
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

// PUSH and POP of general operands and flags, PUSHA POPA, ENTER LEAVE.
#include "machine/vcpu/operands.h"

namespace zs::machine::vcpu {
namespace {

using U16 = std::uint16_t;
using U32 = std::uint32_t;
using U64 = std::uint64_t;

template <typename T>
void push_reg(Core& c, const Insn& i) {
  c.push<T>(c.reg<T>(i.dst));
}
template <typename T>
void push_imm(Core& c, const Insn& i) {
  c.push<T>(static_cast<T>(i.imm));
}
template <typename T>
void push_mem(Core& c, const Insn& i) {
  c.push<T>(c.load<T>(i.segment, c.effective_address(i)));
}
template <typename T>
void pop_reg(Core& c, const Insn& i) {
  const T value = c.top_of_stack<T>();
  c.set_stack_pointer(c.regs[kRsp] + sizeof(T));
  c.set_reg<T>(i.dst, value);
}
/// An address that uses the stack pointer uses it as it is after the pop.
template <typename T>
void pop_mem(Core& c, const Insn& i) {
  const T value = c.top_of_stack<T>();
  const U64 before = c.regs[kRsp];
  c.set_stack_pointer(before + sizeof(T));
  const U64 after = c.regs[kRsp];
  const U64 address = c.effective_address(i);
  c.regs[kRsp] = before;
  c.store<T>(i.segment, address, value);
  c.regs[kRsp] = after;
}

void lower_push(Decoded& d) {
  if (d.is_register(0) && d.register_class(0) == ZYDIS_REGCLASS_SEGMENT) return lower_push_segment(d);
  d.insn.run = by_width(d.operand_bytes(), [&](auto t) -> Handler {
    using T = decltype(t);
    return d.is_immediate(0) ? push_imm<T> : d.is_memory(0) ? push_mem<T> : push_reg<T>;
  });
}

void lower_pop(Decoded& d) {
  if (d.is_register(0) && d.register_class(0) == ZYDIS_REGCLASS_SEGMENT) return lower_pop_segment(d);
  d.insn.run = by_width(d.operand_bytes(), [&](auto t) -> Handler {
    return d.is_memory(0) ? pop_mem<decltype(t)> : pop_reg<decltype(t)>;
  });
}

template <typename T>
void push_flags(Core& c, const Insn&) {
  c.require_iopl_in_virtual8086();
  c.push<T>(static_cast<T>(c.rflags() & ~(flag::rf | flag::vm)));
}

template <typename T>
void pop_flags(Core& c, const Insn&) {
  c.require_iopl_in_virtual8086();
  const U64 value = c.top_of_stack<T>();
  U64 mask = flag::arithmetic | flag::tf | flag::df | flag::nt | flag::ac | flag::id | flag::rf;
  if (c.cpl == 0) mask |= flag::iopl;
  if (c.cpl <= c.iopl()) mask |= flag::interrupt;
  if (sizeof(T) == 2) mask &= 0xFFFF;
  c.set_stack_pointer(c.regs[kRsp] + sizeof(T));
  c.write_flags(value & ~flag::rf, mask);
}

/// The stack pointer that is pushed is the one before.
template <typename T>
void push_all(Core& c, const Insn&) {
  const U64 sp = c.regs[kRsp];
  for (unsigned n = 1; n <= 8; ++n) c.probe_store(kSs, (sp - n * sizeof(T)) & c.stack_mask, sizeof(T));
  for (unsigned n = 0; n < 8; ++n) {
    const T value = n == kRsp ? static_cast<T>(sp) : c.reg<T>(8 * n);
    c.store<T>(kSs, (sp - (n + 1) * sizeof(T)) & c.stack_mask, value);
  }
  c.set_stack_pointer(sp - 8 * sizeof(T));
}

template <typename T>
void pop_all(Core& c, const Insn&) {
  T values[8];
  for (unsigned n = 0; n < 8; ++n) values[n] = c.top_of_stack<T>(n * sizeof(T));
  for (unsigned n = 0; n < 8; ++n) {
    if (7 - n != kRsp) c.set_reg<T>(8 * (7 - n), values[n]);
  }
  c.set_stack_pointer(c.regs[kRsp] + 8 * sizeof(T));
}

template <typename T>
void enter(Core& c, const Insn& i) {
  const auto locals = static_cast<U16>(i.imm);
  const unsigned level = i.detail & 31u;
  U64 sp = c.regs[kRsp] - sizeof(T);
  const U64 frame = sp;
  const T old_bp = c.reg<T>(8 * kRbp);
  // Every place is checked before anything is written; then pointers are copied one by one, as frames may overlap.
  const U64 old_frame = c.regs[kRbp];
  const auto outer = [&](unsigned n) { return c.load<T>(kSs, (old_frame - n * sizeof(T)) & c.stack_mask); };
  for (unsigned n = 1; n < level; ++n) outer(n);
  c.access_count = 0;
  const unsigned pushes = 1 + level;
  for (unsigned n = 0; n < pushes; ++n) c.probe_store(kSs, (frame - n * sizeof(T)) & c.stack_mask, sizeof(T));
  const U64 end = frame - level * sizeof(T) - locals;
  c.probe_store(kSs, end & c.stack_mask, sizeof(T));
  c.store<T>(kSs, sp & c.stack_mask, old_bp);
  for (unsigned n = 1; n < level; ++n) c.store<T>(kSs, (sp -= sizeof(T)) & c.stack_mask, outer(n));
  if (level > 0) c.store<T>(kSs, (sp -= sizeof(T)) & c.stack_mask, static_cast<T>(frame));
  c.set_stack_pointer(end);
  // The frame pointer has the width of the stack.
  c.regs[kRbp] = (c.regs[kRbp] & c.stack_keep) | (frame & c.stack_mask);
}

template <typename T>
void leave(Core& c, const Insn&) {
  const U64 frame = c.regs[kRbp] & c.stack_mask;
  const T value = c.load<T>(kSs, frame);
  c.set_stack_pointer(frame + sizeof(T));
  c.set_reg<T>(8 * kRbp, value);
}

void lower_enter(Decoded& d) {
  d.insn.imm = d.immediate(0);
  d.insn.detail = static_cast<std::uint8_t>(d.immediate(1));
  d.insn.run = by_width(d.operand_bytes(), [](auto t) -> Handler { return enter<decltype(t)>; });
}

constexpr LowerRow kStackRows[] = {
    {ZYDIS_MNEMONIC_PUSH, lower_push},
    {ZYDIS_MNEMONIC_POP, lower_pop},
    {ZYDIS_MNEMONIC_PUSHF, ZS_WIDE(push_flags)},
    {ZYDIS_MNEMONIC_PUSHFD, ZS_WIDE(push_flags)},
    {ZYDIS_MNEMONIC_PUSHFQ, ZS_WIDE(push_flags)},
    {ZYDIS_MNEMONIC_POPF, ZS_WIDE(pop_flags)},
    {ZYDIS_MNEMONIC_POPFD, ZS_WIDE(pop_flags)},
    {ZYDIS_MNEMONIC_POPFQ, ZS_WIDE(pop_flags)},
    {ZYDIS_MNEMONIC_PUSHA, ZS_WIDE(push_all)},
    {ZYDIS_MNEMONIC_PUSHAD, ZS_WIDE(push_all)},
    {ZYDIS_MNEMONIC_POPA, ZS_WIDE(pop_all)},
    {ZYDIS_MNEMONIC_POPAD, ZS_WIDE(pop_all)},
    {ZYDIS_MNEMONIC_ENTER, lower_enter},
    {ZYDIS_MNEMONIC_LEAVE, ZS_WIDE(leave)},
};

}  // namespace

std::span<const LowerRow> stack_rows() { return kStackRows; }

}  // namespace zs::machine::vcpu

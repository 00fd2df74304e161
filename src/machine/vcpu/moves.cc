// MOV in its forms without segment and control registers, MOVZX MOVSX MOVSXD, LEA, XLAT, NOP and hints.
#include <algorithm>
#include <type_traits>

#include "machine/vcpu/operands.h"

namespace zs::machine::vcpu {
namespace {

template <typename T, Form F>
void mov(Core& c, const Insn& i) {
  if constexpr (F == Form::RegReg) c.set_reg<T>(i.dst, c.reg<T>(i.src));
  if constexpr (F == Form::RegMem) c.set_reg<T>(i.dst, c.load<T>(i.segment, c.effective_address(i)));
  if constexpr (F == Form::MemReg) c.store<T>(i.segment, c.effective_address(i), c.reg<T>(i.src));
  if constexpr (F == Form::RegImm) c.set_reg<T>(i.dst, static_cast<T>(i.imm));
  if constexpr (F == Form::MemImm) c.store<T>(i.segment, c.effective_address(i), static_cast<T>(i.imm));
}

template <typename From, typename To, bool Signed, bool Memory>
void extend(Core& c, const Insn& i) {
  const From value = Memory ? c.load<From>(i.segment, c.effective_address(i)) : c.reg<From>(i.src);
  using Extended = std::conditional_t<Signed, std::make_signed_t<From>, From>;
  c.set_reg<To>(i.dst, static_cast<To>(static_cast<Extended>(value)));
}

template <bool Signed>
void lower_extend(Decoded& d) {
  d.insn.run = by_width(d.bytes(0), [&](auto to) {
    using To = decltype(to);
    const auto from = [&](auto t) -> Handler {
      using From = decltype(t);
      return d.is_memory(1) ? extend<From, To, Signed, true> : extend<From, To, Signed, false>;
    };
    // MOVSXD from 32 to 16 bits reads 16.
    return d.bytes(1) == 1 ? from(std::uint8_t{}) : by_width(std::min(d.bytes(1), d.bytes(0)), from);
  });
}

template <typename T>
void lea(Core& c, const Insn& i) {
  c.set_reg<T>(i.dst, static_cast<T>(c.effective_address(i)));
}

/// AL = [BX + AL] in the width of the address size.
void xlat(Core& c, const Insn& i) {
  const std::uint64_t sum = c.regs[kRbx] + c.reg<std::uint8_t>(0);
  c.set_reg<std::uint8_t>(0, c.load<std::uint8_t>(i.segment, sum << i.address_shift >> i.address_shift));
}
void lower_xlat(Decoded& d) {
  d.use_implicit_memory(ZYDIS_REGISTER_RBX);
  d.insn.run = xlat;
}

void nop(Core&, const Insn&) {}

}  // namespace

Handler general_mov(Decoded& d) {
  return by_size(d.bytes(0), [&](auto t) {
    return by_form(d, [](auto form) -> Handler { return mov<decltype(t), decltype(form)::value>; });
  });
}

namespace {

constexpr LowerRow kMoveRows[] = {
    {ZYDIS_MNEMONIC_MOVZX, lower_extend<false>}, {ZYDIS_MNEMONIC_MOVSX, lower_extend<true>},
    {ZYDIS_MNEMONIC_MOVSXD, lower_extend<true>}, {ZYDIS_MNEMONIC_LEA, ZS_WIDE(lea)},
    {ZYDIS_MNEMONIC_XLAT, lower_xlat},           {ZYDIS_MNEMONIC_NOP, plain<nop>},
    {ZYDIS_MNEMONIC_PREFETCH, plain<nop>},       {ZYDIS_MNEMONIC_PREFETCHW, plain<nop>},
    {ZYDIS_MNEMONIC_PREFETCHT0, plain<nop>},     {ZYDIS_MNEMONIC_PREFETCHT1, plain<nop>},
    {ZYDIS_MNEMONIC_PREFETCHT2, plain<nop>},     {ZYDIS_MNEMONIC_PREFETCHNTA, plain<nop>},
    {ZYDIS_MNEMONIC_LFENCE, plain<nop>},         {ZYDIS_MNEMONIC_SFENCE, plain<nop>},
    {ZYDIS_MNEMONIC_MFENCE, plain<nop>},
};

}  // namespace

std::span<const LowerRow> move_rows() { return kMoveRows; }

}  // namespace zs::machine::vcpu

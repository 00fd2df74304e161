// MOV in its forms without segment and control registers, MOVZX MOVSX MOVSXD, LEA, XLAT, NOP and hints.
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

template <typename T>
Handler mov_form(Form form) {
  switch (form) {
    case Form::RegReg: return mov<T, Form::RegReg>;
    case Form::RegMem: return mov<T, Form::RegMem>;
    case Form::MemReg: return mov<T, Form::MemReg>;
    case Form::RegImm: return mov<T, Form::RegImm>;
    default: return mov<T, Form::MemImm>;
  }
}

template <typename From, typename To, bool Memory>
void extend(Core& c, const Insn& i) {
  const From value = Memory ? c.load<From>(i.segment, c.effective_address(i)) : c.reg<From>(i.src);
  c.set_reg<To>(i.dst, static_cast<To>(value));
}
template <typename From, typename To, bool Memory>
void extend_sign(Core& c, const Insn& i) {
  const From value = Memory ? c.load<From>(i.segment, c.effective_address(i)) : c.reg<From>(i.src);
  using SignedFrom = std::make_signed_t<From>;
  using SignedTo = std::make_signed_t<To>;
  c.set_reg<To>(i.dst, static_cast<To>(static_cast<SignedTo>(static_cast<SignedFrom>(value))));
}

template <typename From, typename To, bool Signed>
Handler extension(bool memory) {
  if constexpr (Signed) return memory ? extend_sign<From, To, true> : extend_sign<From, To, false>;
  return memory ? extend<From, To, true> : extend<From, To, false>;
}

template <bool Signed>
void lower_extend(Decoded& d) {
  d.insn.dst = d.general(0);
  const bool memory = d.is_memory(1);
  if (!memory) d.insn.src = d.general(1);
  using U8 = std::uint8_t;
  using U16 = std::uint16_t;
  using U32 = std::uint32_t;
  using U64 = std::uint64_t;
  const unsigned to = d.bytes(0);
  switch (d.bytes(1)) {
    case 1:
      d.insn.run = to == 2   ? extension<U8, U16, Signed>(memory)
                   : to == 4 ? extension<U8, U32, Signed>(memory)
                             : extension<U8, U64, Signed>(memory);
      break;
    case 2:
      d.insn.run = to == 2   ? extension<U16, U16, Signed>(memory)
                   : to == 4 ? extension<U16, U32, Signed>(memory)
                             : extension<U16, U64, Signed>(memory);
      break;
    default:
      d.insn.run = to == 2   ? extension<U16, U16, Signed>(memory)
                   : to == 4 ? extension<U32, U32, Signed>(memory)
                             : extension<U32, U64, Signed>(memory);
      break;
  }
}

template <typename T>
void lea(Core& c, const Insn& i) {
  c.set_reg<T>(i.dst, static_cast<T>(c.effective_address(i)));
}
void lower_lea(Decoded& d) {
  d.insn.dst = d.general(0);
  const unsigned bytes = d.bytes(0);
  d.insn.run = bytes == 8 ? lea<std::uint64_t> : bytes == 4 ? lea<std::uint32_t> : lea<std::uint16_t>;
}

/// AL = [BX + AL] in the width of the address size.
void xlat(Core& c, const Insn& i) {
  const std::uint64_t sum = c.regs[kRbx] + c.reg<std::uint8_t>(0);
  c.set_reg<std::uint8_t>(0, c.load<std::uint8_t>(i.segment, sum << i.address_shift >> i.address_shift));
}
void lower_xlat(Decoded& d) {
  d.insn.address_shift = static_cast<std::uint8_t>(64 - d.raw.address_width);
  d.insn.segment = kDs;
  for (unsigned n = 0; n < d.raw.operand_count; ++n) {
    if (d.operands[n].type != ZYDIS_OPERAND_TYPE_MEMORY) continue;
    const ZydisRegister segment = d.operands[n].mem.segment;
    if (ZydisRegisterGetClass(segment) == ZYDIS_REGCLASS_SEGMENT)
      d.insn.segment = static_cast<std::uint8_t>(ZydisRegisterGetId(segment));
  }
  d.insn.run = xlat;
}

void nop(Core&, const Insn&) {}
void lower_nop(Decoded& d) { d.insn.run = nop; }

}  // namespace

Handler general_mov(Decoded& d) {
  const Form form = two_operands(d);
  return by_size(d.bytes(0), [&](auto t) { return mov_form<decltype(t)>(form); });
}

namespace {

constexpr LowerRow kMoveRows[] = {
    {ZYDIS_MNEMONIC_MOVZX, lower_extend<false>}, {ZYDIS_MNEMONIC_MOVSX, lower_extend<true>},
    {ZYDIS_MNEMONIC_MOVSXD, lower_extend<true>}, {ZYDIS_MNEMONIC_LEA, lower_lea},
    {ZYDIS_MNEMONIC_XLAT, lower_xlat},           {ZYDIS_MNEMONIC_NOP, lower_nop},
    {ZYDIS_MNEMONIC_PREFETCH, lower_nop},        {ZYDIS_MNEMONIC_PREFETCHW, lower_nop},
    {ZYDIS_MNEMONIC_PREFETCHT0, lower_nop},      {ZYDIS_MNEMONIC_PREFETCHT1, lower_nop},
    {ZYDIS_MNEMONIC_PREFETCHT2, lower_nop},      {ZYDIS_MNEMONIC_PREFETCHNTA, lower_nop},
    {ZYDIS_MNEMONIC_LFENCE, lower_nop},          {ZYDIS_MNEMONIC_SFENCE, lower_nop},
    {ZYDIS_MNEMONIC_MFENCE, lower_nop},
};

}  // namespace

std::span<const LowerRow> move_rows() { return kMoveRows; }

}  // namespace zs::machine::vcpu

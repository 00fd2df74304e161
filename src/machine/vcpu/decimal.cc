// DAA DAS AAA AAS AAM AAD, which the host's 64-bit mode does not have.
// source: SDM vol. 2, "Operation" of each. OF is undefined and comes out clear.
#include "machine/vcpu/lower.h"

namespace zs::machine::vcpu {
namespace {

Status parity_sign_zero(std::uint8_t value) {
  Status s = 0x200;
  if (value == 0) s |= status::zf;
  if ((value & 0x80) != 0) s |= status::sf;
  if (__builtin_parity(value) == 0) s |= status::pf;
  return s;
}

template <bool Subtract>
void decimal_adjust(Core& c, const Insn&) {
  const std::uint8_t old = c.reg<std::uint8_t>(0);
  const bool old_carry = (c.status & status::cf) != 0;
  unsigned al = old;
  bool carry = false, aux = false;
  if ((old & 15) > 9 || (c.status & status::af) != 0) {
    al = Subtract ? al - 6 : al + 6;
    carry = old_carry || al > 0xFF;
    aux = true;
  }
  if (old > 0x99 || old_carry) {
    al = Subtract ? al - 0x60 : al + 0x60;
    carry = true;
  } else if (!Subtract) {
    carry = false;
  }
  const auto result = static_cast<std::uint8_t>(al);
  c.set_reg<std::uint8_t>(0, result);
  c.status = static_cast<Status>(parity_sign_zero(result) | (carry ? status::cf : 0) | (aux ? status::af : 0));
}

template <bool Subtract>
void ascii_adjust(Core& c, const Insn&) {
  auto ax = c.reg<std::uint16_t>(0);
  const bool adjust = (ax & 15) > 9 || (c.status & status::af) != 0;
  if (adjust) ax = static_cast<std::uint16_t>(Subtract ? ax - 0x106 : ax + 0x106);
  ax &= 0xFF0F;
  c.set_reg<std::uint16_t>(0, ax);
  c.status =
      static_cast<Status>(parity_sign_zero(static_cast<std::uint8_t>(ax)) | (adjust ? status::cf | status::af : 0));
}

void aam(Core& c, const Insn& i) {
  const auto base = static_cast<std::uint8_t>(i.imm);
  if (base == 0) throw Fault{kDivideError, false, 0};
  const std::uint8_t al = c.reg<std::uint8_t>(0);
  c.set_reg<std::uint8_t>(1, static_cast<std::uint8_t>(al / base));
  c.set_reg<std::uint8_t>(0, static_cast<std::uint8_t>(al % base));
  c.status = parity_sign_zero(static_cast<std::uint8_t>(al % base));
}

void aad(Core& c, const Insn& i) {
  const auto al =
      static_cast<std::uint8_t>(c.reg<std::uint8_t>(0) + c.reg<std::uint8_t>(1) * static_cast<std::uint8_t>(i.imm));
  c.set_reg<std::uint16_t>(0, al);
  c.status = parity_sign_zero(al);
}

constexpr LowerRow kDecimalRows[] = {
    {ZYDIS_MNEMONIC_DAA, plain<decimal_adjust<false>>},
    {ZYDIS_MNEMONIC_DAS, plain<decimal_adjust<true>>},
    {ZYDIS_MNEMONIC_AAA, plain<ascii_adjust<false>>},
    {ZYDIS_MNEMONIC_AAS, plain<ascii_adjust<true>>},
    {ZYDIS_MNEMONIC_AAM, plain<aam>},
    {ZYDIS_MNEMONIC_AAD, plain<aad>},
};

}  // namespace

std::span<const LowerRow> decimal_rows() { return kDecimalRows; }

}  // namespace zs::machine::vcpu

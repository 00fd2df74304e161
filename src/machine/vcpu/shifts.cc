// Shifts and rotations, by a constant, by CL and by one; SHLD and SHRD.
#include "machine/vcpu/operands.h"

namespace zs::machine::vcpu {
namespace {

constexpr unsigned kCl = 8 * kRcx;

template <typename T, typename Op, bool Memory, bool ByCl>
void shift(Core& c, const Insn& i) {
  const auto count = ByCl ? c.reg<std::uint8_t>(kCl) : static_cast<std::uint8_t>(i.imm);
  const auto change = [&](T a) { return Op::template apply<T>(c.status, a, count); };
  if constexpr (Memory) {
    c.modify<T>(i.segment, c.effective_address(i), change);
  } else {
    c.set_reg<T>(i.dst, change(c.reg<T>(i.dst)));
  }
}

template <typename Op>
void lower_shift(Decoded& d) {
  const bool memory = d.is_memory(0), by_cl = d.is_register(1);
  if (!d.is_immediate(1)) d.insn.imm = 1;
  d.insn.run = by_size(d.bytes(0), [&](auto t) -> Handler {
    using T = decltype(t);
    if (memory) return by_cl ? shift<T, Op, true, true> : shift<T, Op, true, false>;
    return by_cl ? shift<T, Op, false, true> : shift<T, Op, false, false>;
  });
}

template <typename T, typename Op>
void double_shift(Core& c, const Insn& i) {
  const auto count = i.detail != 0 ? c.reg<std::uint8_t>(kCl) : static_cast<std::uint8_t>(i.imm);
  const auto change = [&](T a) { return Op::template apply<T>(c.status, a, c.reg<T>(i.src), count); };
  if (i.to_memory) {
    c.modify<T>(i.segment, c.effective_address(i), change);
  } else {
    c.set_reg<T>(i.dst, change(c.reg<T>(i.dst)));
  }
}

template <typename Op>
void lower_double(Decoded& d) {
  d.insn.detail = d.is_register(2);
  d.insn.run = by_width(d.bytes(0), [](auto t) -> Handler { return double_shift<decltype(t), Op>; });
}

constexpr LowerRow kShiftRows[] = {
    {ZYDIS_MNEMONIC_SHL, lower_shift<Shl>},    {ZYDIS_MNEMONIC_SHR, lower_shift<Shr>},
    {ZYDIS_MNEMONIC_SAR, lower_shift<Sar>},    {ZYDIS_MNEMONIC_ROL, lower_shift<Rol>},
    {ZYDIS_MNEMONIC_ROR, lower_shift<Ror>},    {ZYDIS_MNEMONIC_RCL, lower_shift<Rcl>},
    {ZYDIS_MNEMONIC_RCR, lower_shift<Rcr>},    {ZYDIS_MNEMONIC_SHLD, lower_double<Shld>},
    {ZYDIS_MNEMONIC_SHRD, lower_double<Shrd>},
};

}  // namespace

std::span<const LowerRow> shift_rows() { return kShiftRows; }

}  // namespace zs::machine::vcpu

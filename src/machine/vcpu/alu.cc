// ADD OR ADC SBB AND SUB XOR CMP TEST, INC DEC NEG NOT, and the flag instructions.
#include "machine/vcpu/operands.h"

namespace zs::machine::vcpu {
namespace {

template <typename Op>
void lower_binary(Decoded& d) {
  d.insn.run = by_size(d.bytes(0), [&](auto t) {
    return by_form(d, [](auto form) -> Handler { return binary<decltype(t), Op, decltype(form)::value>; });
  });
}

template <typename Op>
void lower_unary(Decoded& d) {
  const bool memory = d.is_memory(0);
  d.insn.run = by_size(d.bytes(0), [&](auto t) -> Handler {
    return memory ? unary<decltype(t), Op, true> : unary<decltype(t), Op, false>;
  });
}

void clc(Core& c, const Insn&) { c.status = static_cast<Status>(c.status & ~status::cf); }
void stc(Core& c, const Insn&) { c.status = static_cast<Status>(c.status | status::cf); }
void cmc(Core& c, const Insn&) { c.status = static_cast<Status>(c.status ^ status::cf); }
void clear_direction(Core& c, const Insn&) { c.system_flags &= ~flag::df; }
void set_direction(Core& c, const Insn&) { c.system_flags |= flag::df; }
void lahf(Core& c, const Insn&) { c.set_reg<std::uint8_t>(1, static_cast<std::uint8_t>(to_flags(c.status) | 2)); }
void sahf(Core& c, const Insn&) { c.status = to_status((to_flags(c.status) & flag::of) | c.reg<std::uint8_t>(1)); }
void salc(Core& c, const Insn&) { c.set_reg<std::uint8_t>(0, (c.status & status::cf) != 0 ? 0xFF : 0); }

// clang-format off
constexpr LowerRow kAluRows[] = {
    {ZYDIS_MNEMONIC_ADD, lower_binary<Add>}, {ZYDIS_MNEMONIC_OR, lower_binary<Or>},
    {ZYDIS_MNEMONIC_ADC, lower_binary<Adc>}, {ZYDIS_MNEMONIC_SBB, lower_binary<Sbb>},
    {ZYDIS_MNEMONIC_AND, lower_binary<And>}, {ZYDIS_MNEMONIC_SUB, lower_binary<Sub>},
    {ZYDIS_MNEMONIC_XOR, lower_binary<Xor>}, {ZYDIS_MNEMONIC_CMP, lower_binary<Cmp>},
    {ZYDIS_MNEMONIC_TEST, lower_binary<Test>},
    {ZYDIS_MNEMONIC_INC, lower_unary<Inc>}, {ZYDIS_MNEMONIC_DEC, lower_unary<Dec>},
    {ZYDIS_MNEMONIC_NEG, lower_unary<Neg>}, {ZYDIS_MNEMONIC_NOT, lower_unary<Not>},
    {ZYDIS_MNEMONIC_CLC, plain<clc>}, {ZYDIS_MNEMONIC_STC, plain<stc>}, {ZYDIS_MNEMONIC_CMC, plain<cmc>},
    {ZYDIS_MNEMONIC_CLD, plain<clear_direction>}, {ZYDIS_MNEMONIC_STD, plain<set_direction>},
    {ZYDIS_MNEMONIC_LAHF, plain<lahf>}, {ZYDIS_MNEMONIC_SAHF, plain<sahf>}, {ZYDIS_MNEMONIC_SALC, plain<salc>},
};
// clang-format on

}  // namespace

std::span<const LowerRow> alu_rows() { return kAluRows; }

}  // namespace zs::machine::vcpu

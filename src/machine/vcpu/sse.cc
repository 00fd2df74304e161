// SSE, SSE2 and SSE3, and MMX, as compilers use them: moves, merges and shuffles by constant here, arithmetic on the
// host (host_sse.h). Not played, and #UD as on a processor without them: SSSE3, SSE4, AES, everything with VEX or EVEX.
#include <cstring>

#include "machine/vcpu/host_sse.h"
#include "machine/vcpu/lower.h"
#include "machine/vcpu/x87_image.h"

namespace zs::machine::vcpu {
namespace {

using U8 = std::uint8_t;
using U16 = std::uint16_t;
using U32 = std::uint32_t;
using U64 = std::uint64_t;

void check_sse(const Core& c) {
  if ((c.cr0 & cr0::em) != 0 || (c.cr4 & cr4::osfxsr) == 0) raise_ud();
  if ((c.cr0 & cr0::ts) != 0) throw Fault{kDeviceNotAvailable, false, 0};
}
void check_mmx(const Core& c) {
  if ((c.cr0 & cr0::em) != 0) raise_ud();
  if ((c.cr0 & cr0::ts) != 0) throw Fault{kDeviceNotAvailable, false, 0};
  check_x87_pending(c);
}

void check_aligned(const Core& c, const Insn& i, U64 address, unsigned bytes) {
  if (((c.views[i.segment].base + address) & (bytes - 1)) != 0) raise_gp();
}

// ---- moves of the whole register

void load_whole(Core& c, const Insn& i) {
  check_sse(c);
  const U64 address = c.effective_address(i);
  if (i.detail != 0) check_aligned(c, i, address, 16);
  if (const void* place = c.fast_load_place(i.segment, address, 16)) {
    std::memcpy(&c.xmm[i.dst], place, 16);
    return;
  }
  Xmm value;
  c.load_bytes(i.segment, address, &value, 16);
  c.xmm[i.dst] = value;
}
void store_whole(Core& c, const Insn& i) {
  check_sse(c);
  const U64 address = c.effective_address(i);
  if (i.detail != 0) check_aligned(c, i, address, 16);
  if (void* place = c.fast_store_place(i.segment, address, 16)) {
    std::memcpy(place, &c.xmm[i.src], 16);
    return;
  }
  c.store_bytes(i.segment, address, &c.xmm[i.src], 16);
}
void copy_whole(Core& c, const Insn& i) {
  check_sse(c);
  c.xmm[i.dst] = c.xmm[i.src];
}

/// `Aligned`: a memory operand must be.
template <bool Aligned>
void lower_whole(Decoded& d) {
  d.insn.detail = Aligned;
  d.insn.run = d.is_memory(0) ? store_whole : d.is_memory(1) ? load_whole : copy_whole;
}

// ---- moves of a part: a load clears the rest (MOVSS, MOVSD, MOVQ), a copy between registers keeps it (MOVSS, MOVSD)

template <typename T>
void copy_low(Core& c, const Insn& i) {
  check_sse(c);
  const U64 from = c.xmm[i.src].low;
  std::memcpy(&c.xmm[i.dst].low, &from, sizeof(T));
}
template <typename T>
void load_low(Core& c, const Insn& i) {
  check_sse(c);
  c.xmm[i.dst] = Xmm{c.load<T>(i.segment, c.effective_address(i)), 0};
}
template <typename T>
void store_low(Core& c, const Insn& i) {
  check_sse(c);
  c.store<T>(i.segment, c.effective_address(i), static_cast<T>(c.xmm[i.src].low));
}

template <typename T>
void lower_scalar(Decoded& d) {
  d.insn.run = d.is_memory(0) ? store_low<T> : d.is_memory(1) ? load_low<T> : copy_low<T>;
}

/// MOVLPS MOVHPS MOVLPD MOVHPD: one half to or from memory, the other half stays.
template <U64 Xmm::*Half>
void load_half(Core& c, const Insn& i) {
  check_sse(c);
  c.xmm[i.dst].*Half = c.load<U64>(i.segment, c.effective_address(i));
}
template <U64 Xmm::*Half>
void store_half(Core& c, const Insn& i) {
  check_sse(c);
  c.store<U64>(i.segment, c.effective_address(i), c.xmm[i.src].*Half);
}
template <U64 Xmm::*Half>
void lower_half(Decoded& d) {
  d.insn.run = d.is_memory(0) ? store_half<Half> : load_half<Half>;
}

// ---- MOVD and MOVQ among general registers, memory, MMX and XMM registers

enum class Place : U8 { General, Memory, Mmx, Xmm };

template <typename T>
void move_low(Core& c, const Insn& i) {
  const auto from = static_cast<Place>(i.detail & 15), to = static_cast<Place>(i.detail >> 4);
  const bool mmx = from == Place::Mmx || to == Place::Mmx;
  mmx ? check_mmx(c) : check_sse(c);
  T value = 0;
  if (from == Place::General) value = c.reg<T>(i.src);
  if (from == Place::Memory) value = c.load<T>(i.segment, c.effective_address(i));
  if (from == Place::Mmx) value = static_cast<T>(mmx_register_after_entry(c.fx, i.src));
  if (from == Place::Xmm) value = static_cast<T>(c.xmm[i.src].low);
  if (to == Place::Memory) c.store<T>(i.segment, c.effective_address(i), value);
  if (mmx) enter_mmx(c.fx);
  if (to == Place::General) c.set_reg<T>(i.dst, value);
  if (to == Place::Mmx) set_mmx_register(c.fx, i.dst, value);
  if (to == Place::Xmm) c.xmm[i.dst] = Xmm{value, 0};
}

Place place_of(const Decoded& d, unsigned n) {
  if (d.is_memory(n)) return Place::Memory;
  switch (d.register_class(n)) {
    case ZYDIS_REGCLASS_XMM: return Place::Xmm;
    case ZYDIS_REGCLASS_MMX: return Place::Mmx;
    default: return Place::General;
  }
}

template <typename T>
void lower_low(Decoded& d) {
  const Place to = place_of(d, 0), from = place_of(d, 1);
  d.insn.detail = static_cast<U8>(static_cast<unsigned>(to) << 4 | static_cast<unsigned>(from));
  d.insn.run = move_low<T>;
}

void lower_movnti(Decoded& d) { d.insn.run = general_mov(d); }

// ---- shuffles by constant

U32 dword(const Xmm& x, unsigned n) { return static_cast<U32>((n & 2 ? x.high : x.low) >> (32 * (n & 1))); }
U64 words(U64 from, unsigned order) {
  U64 made = 0;
  for (unsigned n = 0; n < 4; ++n) made |= (from >> (16 * (order >> (2 * n) & 3)) & 0xFFFF) << (16 * n);
  return made;
}
Xmm dwords(U32 a, U32 b, U32 d, U32 e) { return {a | static_cast<U64>(b) << 32, d | static_cast<U64>(e) << 32}; }

Xmm source_xmm(Core& c, const Insn& i) {
  if (!i.from_memory) return c.xmm[i.src];
  const U64 address = c.effective_address(i);
  check_aligned(c, i, address, 16);
  Xmm value;
  c.load_bytes(i.segment, address, &value, 16);
  return value;
}

enum class Shuffle : U8 { Pshufd, Pshuflw, Pshufhw, Shufps, Shufpd, Pslldq, Psrldq };

template <Shuffle Which>
void shuffle(Core& c, const Insn& i) {
  check_sse(c);
  Xmm& dst = c.xmm[i.dst];
  const auto o = static_cast<unsigned>(i.imm & 255);
  if constexpr (Which == Shuffle::Pslldq || Which == Shuffle::Psrldq) {
    U8 from[16], to[16] = {};
    std::memcpy(from, &dst, 16);
    for (unsigned n = 0; n + o < 16; ++n)
      (Which == Shuffle::Pslldq ? to[n + o] : to[n]) = from[Which == Shuffle::Pslldq ? n : n + o];
    std::memcpy(&dst, to, 16);
    return;
  }
  const Xmm s = source_xmm(c, i);
  const unsigned f0 = o & 3, f1 = o >> 2 & 3, f2 = o >> 4 & 3, f3 = o >> 6 & 3;
  if constexpr (Which == Shuffle::Pshufd) dst = dwords(dword(s, f0), dword(s, f1), dword(s, f2), dword(s, f3));
  if constexpr (Which == Shuffle::Pshuflw) dst = {words(s.low, o), s.high};
  if constexpr (Which == Shuffle::Pshufhw) dst = {s.low, words(s.high, o)};
  if constexpr (Which == Shuffle::Shufps) dst = dwords(dword(dst, f0), dword(dst, f1), dword(s, f2), dword(s, f3));
  if constexpr (Which == Shuffle::Shufpd) dst = {o & 1 ? dst.high : dst.low, o & 2 ? s.high : s.low};
}
void pshufw(Core& c, const Insn& i) {
  check_mmx(c);
  const U64 s = i.from_memory ? c.load<U64>(i.segment, c.effective_address(i)) : mmx_register_after_entry(c.fx, i.src);
  enter_mmx(c.fx);
  set_mmx_register(c.fx, i.dst, words(s, static_cast<unsigned>(i.imm & 255)));
}

// ---- PINSRW, PEXTRW

void pinsrw(Core& c, const Insn& i) {
  i.detail != 0 ? check_mmx(c) : check_sse(c);
  const U16 value = i.from_memory ? c.load<U16>(i.segment, c.effective_address(i)) : c.reg<U16>(i.src);
  if (i.detail != 0) {
    enter_mmx(c.fx);
    U64 whole = mmx_register(c.fx, i.dst);
    const unsigned shift = 16 * static_cast<unsigned>(i.imm & 3);
    whole = (whole & ~(U64{0xFFFF} << shift)) | static_cast<U64>(value) << shift;
    set_mmx_register(c.fx, i.dst, whole);
  } else {
    std::memcpy(reinterpret_cast<char*>(&c.xmm[i.dst]) + 2 * (i.imm & 7), &value, 2);
  }
}
void lower_pinsrw(Decoded& d) {
  d.insn.detail = d.register_class(0) == ZYDIS_REGCLASS_MMX;
  d.insn.run = pinsrw;
}
void pextrw(Core& c, const Insn& i) {
  i.detail != 0 ? check_mmx(c) : check_sse(c);
  U16 value = 0;
  if (i.detail != 0) {
    enter_mmx(c.fx);
    value = static_cast<U16>(mmx_register(c.fx, i.src) >> (16 * (i.imm & 3)));
  } else {
    std::memcpy(&value, reinterpret_cast<const char*>(&c.xmm[i.src]) + 2 * (i.imm & 7), 2);
  }
  c.set_reg<U32>(i.dst, value);
}
void lower_pextrw(Decoded& d) {
  if (d.is_memory(0) || d.raw.opcode_map != ZYDIS_OPCODE_MAP_0F) return;  // SSE4.1
  d.insn.detail = d.register_class(1) == ZYDIS_REGCLASS_MMX;
  d.insn.run = pextrw;
}

// ---- MXCSR, EMMS, masked stores

void ldmxcsr(Core& c, const Insn& i) {
  check_sse(c);
  const auto value = c.load<U32>(i.segment, c.effective_address(i));
  if ((value & ~0xFFFFu) != 0) raise_gp();
  c.mxcsr = value;
}
void stmxcsr(Core& c, const Insn& i) {
  check_sse(c);
  c.store<U32>(i.segment, c.effective_address(i), c.mxcsr);
}
void emms(Core& c, const Insn&) {
  check_mmx(c);
  enter_mmx(c.fx);
  empty_x87(c.fx);
}

void masked_store(Core& c, const Insn& i) {
  const bool mmx = i.detail != 0;
  mmx ? check_mmx(c) : check_sse(c);
  const U64 address = c.regs[kRdi] << i.address_shift >> i.address_shift;
  const unsigned bytes = mmx ? 8 : 16;
  U8 data[16] = {}, mask[16] = {}, memory[16] = {};
  if (mmx) {
    enter_mmx(c.fx);
    const U64 d = mmx_register(c.fx, i.dst), m = mmx_register(c.fx, i.src);
    std::memcpy(data, &d, 8);
    std::memcpy(mask, &m, 8);
  } else {
    std::memcpy(data, &c.xmm[i.dst], 16);
    std::memcpy(mask, &c.xmm[i.src], 16);
  }
  bool any = false;
  for (const U8 m : mask) any = any || (m & 0x80) != 0;
  if (!any) return;
  c.probe_store(i.segment, address, bytes);
  c.load_bytes(i.segment, address, memory, bytes);
  for (unsigned n = 0; n < bytes; ++n) memory[n] = (mask[n] & 0x80) != 0 ? data[n] : memory[n];
  c.store_bytes(i.segment, address, memory, bytes);
}
void lower_masked(Decoded& d) {
  d.use_implicit_memory(ZYDIS_REGISTER_RDI);
  d.insn.detail = d.register_class(0) == ZYDIS_REGCLASS_MMX;
  d.insn.run = masked_store;
}

// ---- everything else, on the host

namespace how {
constexpr U16 floating = 1, sets_flags = 2, unaligned = 4, constant_shift = 16, destination_kept = 32;
constexpr U16 wide_result = 64;
}  // namespace how

void raise_simd(const Core& c) {
  if ((c.cr4 & cr4::osxmmexcpt) == 0) raise_ud();
  throw Fault{kSimdError, false, 0};
}

void on_host(Core& c, const Insn& i) {
  const auto to = static_cast<Place>(i.detail >> 4), from = static_cast<Place>(i.detail & 15);
  const bool mmx = (to == Place::Mmx || from == Place::Mmx);
  if (mmx) {
    if (to == Place::Xmm || from == Place::Xmm) check_sse(c);
    check_mmx(c);
  } else {
    check_sse(c);
  }
  SseRegisters r;
  const auto source = static_cast<Place>(i.imm >> 8 & 15);  // what kind of register the encoding would have
  if (from == Place::Memory) {
    const U64 address = c.effective_address(i);
    if (i.bytes == 16 && (i.selector & how::unaligned) == 0) check_aligned(c, i, address, 16);
    U64 halves[2] = {};
    if (i.bytes == 8) {
      halves[0] = c.load<U64>(i.segment, address);
    } else if (i.bytes == 4) {
      halves[0] = c.load<U32>(i.segment, address);
    } else {
      c.load_bytes(i.segment, address, halves, i.bytes);
    }
    if (source == Place::Xmm) r.xmm1 = {halves[0], halves[1]};
    if (source == Place::Mmx) r.mm1 = halves[0];
    if (source == Place::General) r.rcx = halves[0];
  } else if (from == Place::Xmm) {
    r.xmm1 = c.xmm[i.src];
  } else if (from == Place::General) {
    r.rcx = c.reg<U64>(i.src);
  }
  if ((i.selector & how::constant_shift) != 0) {
    r.xmm1 = {i.imm & 255, 0};
    r.mm1 = i.imm & 255;
  }
  FxImage entered;
  if (mmx) {
    entered = c.fx;
    enter_mmx(entered);
    if (from == Place::Mmx && (i.selector & how::constant_shift) == 0) r.mm1 = mmx_register(entered, i.src);
    if (to == Place::Mmx) r.mm0 = mmx_register(entered, i.dst);
  }
  if (to == Place::Xmm) r.xmm0 = c.xmm[i.dst];
  if (to == Place::General) r.rax = c.reg<U64>(i.dst);

  const bool floating = (i.selector & how::floating) != 0;
  r.mxcsr = (c.mxcsr & ~0x3Fu) | 0x1F80;
  if (mmx || source == Place::Mmx) {
    run_mmx(i.code, r);
  } else if (floating) {
    run_sse_fp(i.code, r);
  } else {
    run_sse(i.code, r);
  }
  if (floating) {
    const U32 raised = r.mxcsr & 0x3F;
    c.mxcsr |= raised;
    if ((raised & ~(c.mxcsr >> 7) & 0x3F) != 0) raise_simd(c);
  }
  if (mmx) c.fx = entered;
  if ((i.selector & how::sets_flags) != 0) c.status = r.status;
  if ((i.selector & how::destination_kept) != 0) return;
  if (to == Place::Xmm) c.xmm[i.dst] = r.xmm0;
  if (to == Place::Mmx) set_mmx_register(c.fx, i.dst, r.mm0);
  if (to == Place::General)
    (i.selector & how::wide_result) != 0 ? c.set_reg<U64>(i.dst, r.rax)
                                         : c.set_reg<U32>(i.dst, static_cast<U32>(r.rax));
}

SsePrefix prefix_of(const Decoded& d) {
  for (unsigned n = 0; n < d.raw.raw.prefix_count; ++n) {
    const auto& prefix = d.raw.raw.prefixes[n];
    if (prefix.type != ZYDIS_PREFIX_TYPE_MANDATORY) continue;
    if (prefix.value == 0x66) return SsePrefix::P66;
    if (prefix.value == 0xF3) return SsePrefix::PF3;
    if (prefix.value == 0xF2) return SsePrefix::PF2;
  }
  return SsePrefix::None;
}

bool is_floating(unsigned opcode) {
  if (opcode == 0x54 || opcode == 0x55 || opcode == 0x56 || opcode == 0x57) return false;
  if (opcode >= 0x51 && opcode <= 0x5F) return true;
  if (opcode >= 0x2A && opcode <= 0x2F) return true;
  return opcode == 0xC2 || opcode == 0xE6 || opcode == 0xD0 || opcode == 0x7C || opcode == 0x7D;
}

/// The opcode with a count in a register that does what a shift by constant does.
unsigned shift_opcode(unsigned opcode, unsigned extension) {
  const unsigned row = extension == 2 ? 0xD0 : extension == 4 ? 0xE0 : 0xF0;
  return row + (opcode - 0x70);
}

}  // namespace

void lower_sse(Decoded& d) {
  const ZydisDecodedInstruction& raw = d.raw;
  // MOVSD and CMPSD share their names with string instructions.
  if (raw.mnemonic == ZYDIS_MNEMONIC_MOVSD) return lower_scalar<U64>(d);
  if (raw.opcode_map != ZYDIS_OPCODE_MAP_0F) return;
  unsigned opcode = raw.opcode;
  const SsePrefix prefix = prefix_of(d);
  const Place to = place_of(d, 0);
  if (to == Place::Memory) return;
  Place from = to;
  const bool wide = raw.operand_width == 64 && raw.raw.rex.W != 0;
  d.insn.selector = 0;
  if (opcode >= 0x71 && opcode <= 0x73) {
    opcode = shift_opcode(opcode, raw.raw.modrm.reg);
    d.insn.selector |= how::constant_shift;
  } else if (d.visible() >= 2) {
    from = place_of(d, 1);
    if (from == Place::Memory) d.insn.bytes = static_cast<U8>(d.bytes(1));
  }
  // What a memory operand stands for, by the opcodes whose two operands are of different kinds.
  Place source = to == Place::General ? Place::Xmm : to;
  if (opcode == 0x2A) source = prefix == SsePrefix::PF3 || prefix == SsePrefix::PF2 ? Place::General : Place::Mmx;
  if (opcode == 0x2C || opcode == 0x2D) source = Place::Xmm;
  d.insn.imm = (d.insn.imm & 255) | static_cast<U64>(source) << 8;
  if (is_floating(opcode)) d.insn.selector |= how::floating;
  if (opcode == 0x2E || opcode == 0x2F) d.insn.selector |= how::sets_flags | how::destination_kept;
  if (opcode == 0xF0) d.insn.selector |= how::unaligned;
  d.insn.detail = static_cast<U8>(static_cast<unsigned>(to) << 4 | static_cast<unsigned>(from));
  d.insn.code = sse_code(prefix, wide, opcode);
  if (opcode == 0xC2) d.insn.code = sse_compare_code(prefix, static_cast<unsigned>(d.immediate(2)));
  if (to == Place::General && wide) d.insn.selector |= how::wide_result;
  if (from == Place::Mmx && to == Place::Xmm) d.insn.selector |= how::floating;
  d.insn.run = on_host;
}

namespace {

// clang-format off
constexpr LowerRow kSseRows[] = {
    {ZYDIS_MNEMONIC_MOVAPS, lower_whole<true>}, {ZYDIS_MNEMONIC_MOVAPD, lower_whole<true>},
    {ZYDIS_MNEMONIC_MOVDQA, lower_whole<true>}, {ZYDIS_MNEMONIC_MOVUPS, lower_whole<false>},
    {ZYDIS_MNEMONIC_MOVUPD, lower_whole<false>}, {ZYDIS_MNEMONIC_MOVDQU, lower_whole<false>},
    {ZYDIS_MNEMONIC_LDDQU, lower_whole<false>},
    {ZYDIS_MNEMONIC_MOVNTPS, lower_whole<true>}, {ZYDIS_MNEMONIC_MOVNTPD, lower_whole<true>},
    {ZYDIS_MNEMONIC_MOVNTDQ, lower_whole<true>}, {ZYDIS_MNEMONIC_MOVSS, lower_scalar<U32>},
    {ZYDIS_MNEMONIC_MOVLPS, lower_half<&Xmm::low>}, {ZYDIS_MNEMONIC_MOVLPD, lower_half<&Xmm::low>},
    {ZYDIS_MNEMONIC_MOVHPS, lower_half<&Xmm::high>}, {ZYDIS_MNEMONIC_MOVHPD, lower_half<&Xmm::high>},
    {ZYDIS_MNEMONIC_MOVD, lower_low<U32>}, {ZYDIS_MNEMONIC_MOVQ, lower_low<U64>},
    {ZYDIS_MNEMONIC_MOVNTQ, lower_low<U64>}, {ZYDIS_MNEMONIC_MOVQ2DQ, lower_low<U64>},
    {ZYDIS_MNEMONIC_MOVDQ2Q, lower_low<U64>}, {ZYDIS_MNEMONIC_MOVNTI, lower_movnti},
    {ZYDIS_MNEMONIC_PSHUFD, plain<shuffle<Shuffle::Pshufd>>}, {ZYDIS_MNEMONIC_PSHUFLW, plain<shuffle<Shuffle::Pshuflw>>},
    {ZYDIS_MNEMONIC_PSHUFHW, plain<shuffle<Shuffle::Pshufhw>>}, {ZYDIS_MNEMONIC_SHUFPS, plain<shuffle<Shuffle::Shufps>>},
    {ZYDIS_MNEMONIC_SHUFPD, plain<shuffle<Shuffle::Shufpd>>}, {ZYDIS_MNEMONIC_PSLLDQ, plain<shuffle<Shuffle::Pslldq>>},
    {ZYDIS_MNEMONIC_PSRLDQ, plain<shuffle<Shuffle::Psrldq>>}, {ZYDIS_MNEMONIC_PSHUFW, plain<pshufw>},
    {ZYDIS_MNEMONIC_PINSRW, lower_pinsrw}, {ZYDIS_MNEMONIC_PEXTRW, lower_pextrw},
    {ZYDIS_MNEMONIC_LDMXCSR, plain<ldmxcsr>}, {ZYDIS_MNEMONIC_STMXCSR, plain<stmxcsr>}, {ZYDIS_MNEMONIC_EMMS, plain<emms>},
    {ZYDIS_MNEMONIC_MASKMOVDQU, lower_masked}, {ZYDIS_MNEMONIC_MASKMOVQ, lower_masked},
};
// clang-format on

}  // namespace

std::span<const LowerRow> sse_rows() { return kSseRows; }

}  // namespace zs::machine::vcpu

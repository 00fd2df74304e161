// The x87 unit: checks, operands, and the environment formats; arithmetic is the host's (host_x87.h).
// source: SDM vol. 1, "x87 FPU Environment"; figures of the FSTENV/FSAVE images in protected and real-address mode.
// Simplification: FIP, FDP and FOP are those of the last non-control instruction whether or not it raised an exception,
// and with CR0.NE clear an error is #MF all the same (there is no FERR# line to IRQ 13).
#include <cstring>

#include "machine/vcpu/lower.h"
#include "machine/vcpu/x87_image.h"

namespace zs::machine::vcpu {
namespace {

using U8 = std::uint8_t;
using U16 = std::uint16_t;
using U32 = std::uint32_t;
using U64 = std::uint64_t;

template <typename T>
T field(const FxImage& fx, unsigned at) {
  T value;
  std::memcpy(&value, fx.bytes.data() + at, sizeof value);
  return value;
}
template <typename T>
void set_field(FxImage& fx, unsigned at, T value) {
  std::memcpy(fx.bytes.data() + at, &value, sizeof value);
}
constexpr unsigned kControl = 0, kStatus = 2, kTag = 4, kOpcode = 6, kInstruction = 8, kData = 16, kRegisters = 32;

unsigned top(const FxImage& fx) { return field<U16>(fx, kStatus) >> 11 & 7u; }

void check_available(const Core& c) {
  if ((c.cr0 & (cr0::em | cr0::ts)) != 0) throw Fault{kDeviceNotAvailable, false, 0};
}
/// Waiting instructions report an exception that an earlier one left.
void check_pending(const Core& c) {
  const U16 unmasked = static_cast<U16>(field<U16>(c.fx, kStatus) & ~field<U16>(c.fx, kControl) & 0x3F);
  if (unmasked != 0) throw Fault{kX87Error, false, 0};
}

namespace x87_how {
constexpr U8 waits = 1, control = 2, sets_flags = 4, sets_ax = 8, reads = 16, writes = 32;
}

void remember(Core& c, const Insn& i, bool memory, U64 address) {
  if ((i.detail & x87_how::control) != 0) return;
  set_field<U16>(c.fx, kOpcode, i.selector);
  set_field<U64>(c.fx, kInstruction, c.regs[kIp]);
  if (memory) set_field<U64>(c.fx, kData, address);
}

void x87_register(Core& c, const Insn& i) {
  check_available(c);
  if ((i.detail & x87_how::waits) != 0) check_pending(c);
  const X87Result r = run_x87(i.code, c.fx, nullptr, c.status);
  if ((i.detail & x87_how::sets_flags) != 0) c.status = r.status;
  if ((i.detail & x87_how::sets_ax) != 0) c.set_reg<U16>(0, r.ax);
  remember(c, i, false, 0);
}

void x87_memory(Core& c, const Insn& i) {
  check_available(c);
  if ((i.detail & x87_how::waits) != 0) check_pending(c);
  const U64 address = c.effective_address(i);
  alignas(16) U8 operand[16];
  std::memset(operand, 0xA5, sizeof operand);
  if ((i.detail & x87_how::writes) != 0) c.probe_store(i.segment, address, i.bytes);
  if ((i.detail & x87_how::reads) != 0) c.load_bytes(i.segment, address, operand, i.bytes);
  const U16 before = field<U16>(c.fx, kStatus);
  run_x87(i.code, c.fx, operand, c.status);
  remember(c, i, true, address);
  if ((i.detail & x87_how::writes) == 0) return;
  // An unmasked exception before the result exists leaves memory as it was.
  const U16 raised = static_cast<U16>(field<U16>(c.fx, kStatus) & ~before & ~field<U16>(c.fx, kControl) & 0x3F);
  U8 untouched[16];
  std::memset(untouched, 0xA5, sizeof untouched);
  if (raised != 0 && std::memcmp(operand, untouched, i.bytes) == 0) return;
  c.store_bytes(i.segment, address, operand, i.bytes);
}

// ---- environments

/// Full two-bit tags of the physical registers, from the abridged ones and the values.
U16 full_tags(const FxImage& fx) {
  unsigned tags = 0;
  for (unsigned r = 0; r < 8; ++r) {
    unsigned tag = 3;
    if ((field<U8>(fx, kTag) >> r & 1) != 0) {
      const unsigned slot = kRegisters + 16 * ((r - top(fx)) & 7);
      const U64 mantissa = field<U64>(fx, slot);
      const unsigned exponent = field<U16>(fx, slot + 8) & 0x7FFFu;
      const bool integer_bit = mantissa >> 63 != 0;
      if (exponent == 0 && mantissa == 0) {
        tag = 1;
      } else {
        tag = exponent == 0 || exponent == 0x7FFF || !integer_bit ? 2 : 0;
      }
    }
    tags |= tag << (2 * r);
  }
  return static_cast<U16>(tags);
}
U8 abridged_tags(U16 full) {
  unsigned tags = 0;
  for (unsigned r = 0; r < 8; ++r) tags |= (full >> (2 * r) & 3) != 3 ? 1u << r : 0u;
  return static_cast<U8>(tags);
}

/// 14 bytes with a 16-bit operand size, else 28; addresses are linear in real mode, offsets otherwise.
unsigned make_environment(const Core& c, bool wide, U8* out) {
  const FxImage& fx = c.fx;
  const U64 ip = field<U64>(fx, kInstruction), data = field<U64>(fx, kData);
  const auto opcode = static_cast<U32>(field<U16>(fx, kOpcode) & 0x7FF);
  U32 words[7] = {field<U16>(fx, kControl), field<U16>(fx, kStatus), full_tags(fx), 0, 0, 0, 0};
  if (!c.real_addressing()) {
    words[3] = static_cast<U32>(ip);
    words[4] = opcode << 16;
    words[5] = static_cast<U32>(data);
  } else {
    words[3] = static_cast<U32>(ip & 0xFFFF);
    words[4] = static_cast<U32>(ip >> 16 & 0xFFFF) << 12 | opcode;
    words[5] = static_cast<U32>(data & 0xFFFF);
    words[6] = static_cast<U32>(data >> 16 & 0xFFFF) << 12;
  }
  if (wide) {
    for (unsigned n = 0; n < 3; ++n) words[n] |= 0xFFFF0000;
    std::memcpy(out, words, 28);
    return 28;
  }
  for (unsigned n = 0; n < 7; ++n) {
    const auto half = static_cast<U16>(words[n]);
    std::memcpy(out + 2 * n, &half, 2);
  }
  return 14;
}

void take_environment(Core& c, bool wide, const U8* in) {
  U32 words[7] = {};
  for (unsigned n = 0; n < 7; ++n) std::memcpy(&words[n], in + (wide ? 4 : 2) * n, wide ? 4 : 2);
  // The image keeps registers by their distance from the top: a new top moves them.
  std::array<std::array<U8, 16>, 8> physical{};
  for (unsigned r = 0; r < 8; ++r)
    std::memcpy(physical[r].data(), c.fx.bytes.data() + kRegisters + 16 * ((r - top(c.fx)) & 7), 16);
  set_field<U16>(c.fx, kControl, static_cast<U16>((words[0] & 0x1F3F) | 0x40));
  set_field<U16>(c.fx, kStatus, static_cast<U16>(words[1]));
  set_field<U8>(c.fx, kTag, abridged_tags(static_cast<U16>(words[2])));
  for (unsigned r = 0; r < 8; ++r)
    std::memcpy(c.fx.bytes.data() + kRegisters + 16 * ((r - top(c.fx)) & 7), physical[r].data(), 16);
  set_field<U16>(c.fx, kOpcode, static_cast<U16>((c.real_addressing() ? words[4] : words[4] >> 16) & 0x7FF));
  set_field<U64>(c.fx, kInstruction, words[3]);
  set_field<U64>(c.fx, kData, words[5]);
  fix_summary(c.fx);
}

void fnstenv(Core& c, const Insn& i) {
  check_available(c);
  U8 image[28];
  const unsigned bytes = make_environment(c, i.bytes != 2, image);
  c.store_bytes(i.segment, c.effective_address(i), image, bytes);
  set_field<U16>(c.fx, kControl, static_cast<U16>(field<U16>(c.fx, kControl) | 0x3F));
  fix_summary(c.fx);
}
void fldenv(Core& c, const Insn& i) {
  check_available(c);
  check_pending(c);
  U8 image[28];
  c.load_bytes(i.segment, c.effective_address(i), image, i.bytes == 2 ? 14 : 28);
  take_environment(c, i.bytes != 2, image);
}
void fnsave(Core& c, const Insn& i) {
  check_available(c);
  U8 image[108];
  const unsigned bytes = make_environment(c, i.bytes != 2, image);
  for (unsigned n = 0; n < 8; ++n) std::memcpy(image + bytes + 10 * n, c.fx.bytes.data() + kRegisters + 16 * n, 10);
  c.store_bytes(i.segment, c.effective_address(i), image, bytes + 80);
  run_x87(x87_register_code(3, 0x23), c.fx, nullptr, 0);  // FNINIT
  set_field<U16>(c.fx, kOpcode, 0);
  set_field<U64>(c.fx, kInstruction, 0);
  set_field<U64>(c.fx, kData, 0);
}
void frstor(Core& c, const Insn& i) {
  check_available(c);
  check_pending(c);
  U8 image[108];
  const unsigned bytes = i.bytes == 2 ? 14 : 28;
  c.load_bytes(i.segment, c.effective_address(i), image, bytes + 80);
  take_environment(c, i.bytes != 2, image);
  for (unsigned n = 0; n < 8; ++n) {
    std::memcpy(c.fx.bytes.data() + kRegisters + 16 * n, image + bytes + 10 * n, 10);
    std::memset(c.fx.bytes.data() + kRegisters + 16 * n + 10, 0, 6);
  }
}

void fninit(Core& c, const Insn& i) {
  x87_register(c, i);
  set_field<U16>(c.fx, kOpcode, 0);
  set_field<U64>(c.fx, kInstruction, 0);
  set_field<U64>(c.fx, kData, 0);
}

void fwait(Core& c, const Insn&) {
  if ((c.cr0 & (cr0::mp | cr0::ts)) == (cr0::mp | cr0::ts)) throw Fault{kDeviceNotAvailable, false, 0};
  check_pending(c);
}

// ---- FXSAVE, FXRSTOR

void fxsave(Core& c, const Insn& i) {
  check_available(c);
  const U64 address = c.effective_address(i);
  if (((c.views[i.segment].base + address) & 15) != 0) raise_gp();
  FxImage image = c.fx;
  std::memset(image.bytes.data() + 160, 0, 352);
  set_field<U8>(image, 5, 0);
  set_field<U32>(image, 24, c.mxcsr);
  set_field<U32>(image, 28, 0xFFFF);
  for (unsigned n = 0; n < (c.code64 ? 16u : 8u); ++n) std::memcpy(image.bytes.data() + 160 + 16 * n, &c.xmm[n], 16);
  if (i.detail == 0) {  // not FXSAVE64: selectors where its upper halves are
    set_field<U32>(image, kInstruction + 4, 0);
    set_field<U32>(image, kData + 4, 0);
  }
  c.store_bytes(i.segment, address, image.bytes.data(), 512);
}
void fxrstor(Core& c, const Insn& i) {
  check_available(c);
  const U64 address = c.effective_address(i);
  if (((c.views[i.segment].base + address) & 15) != 0) raise_gp();
  FxImage image;
  c.load_bytes(i.segment, address, image.bytes.data(), 512);
  const U32 mxcsr = field<U32>(image, 24);
  if ((mxcsr & ~0xFFFFu) != 0) raise_gp();
  c.mxcsr = mxcsr;
  for (unsigned n = 0; n < (c.code64 ? 16u : 8u); ++n) std::memcpy(&c.xmm[n], image.bytes.data() + 160 + 16 * n, 16);
  if (i.detail == 0) {
    set_field<U32>(image, kInstruction + 4, 0);
    set_field<U32>(image, kData + 4, 0);
  }
  std::memset(image.bytes.data() + 160, 0, 352);
  set_field<U8>(image, 5, 0);
  set_field<U16>(image, kControl, static_cast<U16>((field<U16>(image, kControl) & 0x1F3F) | 0x40));
  for (unsigned n = 0; n < 8; ++n) std::memset(image.bytes.data() + kRegisters + 16 * n + 10, 0, 6);
  c.fx = image;
  fix_summary(c.fx);
}

// ---- lowering

bool waits(ZydisMnemonic m) {
  switch (m) {
    case ZYDIS_MNEMONIC_FNSTCW:
    case ZYDIS_MNEMONIC_FNSTSW:
    case ZYDIS_MNEMONIC_FNCLEX:
    case ZYDIS_MNEMONIC_FNINIT:
    case ZYDIS_MNEMONIC_FENI8087_NOP:
    case ZYDIS_MNEMONIC_FDISI8087_NOP:
    case ZYDIS_MNEMONIC_FSETPM287_NOP: return false;
    default: return true;
  }
}
bool is_control(ZydisMnemonic m) {
  switch (m) {
    case ZYDIS_MNEMONIC_FNINIT:
    case ZYDIS_MNEMONIC_FNCLEX:
    case ZYDIS_MNEMONIC_FLDCW:
    case ZYDIS_MNEMONIC_FNSTCW:
    case ZYDIS_MNEMONIC_FNSTSW: return true;
    default: return false;
  }
}
bool sets_flags(ZydisMnemonic m) {
  return m == ZYDIS_MNEMONIC_FCOMI || m == ZYDIS_MNEMONIC_FCOMIP || m == ZYDIS_MNEMONIC_FUCOMI ||
         m == ZYDIS_MNEMONIC_FUCOMIP;
}

/// The operand size attribute, which is 32 bits in 64-bit mode too.
template <Handler Run>
void lower_environment(Decoded& d) {
  d.insn.bytes = d.operand_bytes() == 2 ? 2 : 4;
  d.insn.run = Run;
}

// clang-format off
constexpr LowerRow kX87Rows[] = {
    {ZYDIS_MNEMONIC_FNSTENV, lower_environment<fnstenv>}, {ZYDIS_MNEMONIC_FLDENV, lower_environment<fldenv>},
    {ZYDIS_MNEMONIC_FNSAVE, lower_environment<fnsave>}, {ZYDIS_MNEMONIC_FRSTOR, lower_environment<frstor>},
    {ZYDIS_MNEMONIC_FWAIT, plain<fwait>},
    {ZYDIS_MNEMONIC_FXSAVE, plain<fxsave>}, {ZYDIS_MNEMONIC_FXSAVE64, plain<fxsave, 1>},
    {ZYDIS_MNEMONIC_FXRSTOR, plain<fxrstor>}, {ZYDIS_MNEMONIC_FXRSTOR64, plain<fxrstor, 1>},
};
// clang-format on

}  // namespace

void lower_x87(Decoded& d) {
  const ZydisDecodedInstruction& raw = d.raw;
  const unsigned escape = raw.opcode & 7u,
                 modrm = static_cast<unsigned>(raw.raw.modrm.mod) << 6 | raw.raw.modrm.reg << 3 | raw.raw.modrm.rm;
  d.insn.selector = static_cast<U16>(escape << 8 | modrm);
  d.insn.detail = 0;
  if (waits(raw.mnemonic)) d.insn.detail |= x87_how::waits;
  if (is_control(raw.mnemonic)) d.insn.detail |= x87_how::control;
  if (raw.raw.modrm.mod == 3) {
    if (sets_flags(raw.mnemonic)) d.insn.detail |= x87_how::sets_flags;
    if (raw.mnemonic == ZYDIS_MNEMONIC_FNSTSW) d.insn.detail |= x87_how::sets_ax;
    d.insn.code = x87_register_code(escape, modrm & 63);
    d.insn.run = raw.mnemonic == ZYDIS_MNEMONIC_FNINIT ? fninit : x87_register;
    return;
  }
  for (unsigned n = 0; n < raw.operand_count; ++n) {
    const ZydisDecodedOperand& operand = d.operands[n];
    if (operand.type != ZYDIS_OPERAND_TYPE_MEMORY) continue;
    d.insn.bytes = static_cast<U8>(operand.size / 8);
    if ((operand.actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0) d.insn.detail |= x87_how::reads;
    if ((operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0) d.insn.detail |= x87_how::writes;
  }
  d.insn.code = x87_memory_code(escape, raw.raw.modrm.reg);
  d.insn.run = x87_memory;
}

/// ES and B say whether an unmasked exception is pending.
void fix_summary(FxImage& fx) {
  U16 status = field<U16>(fx, kStatus);
  const bool pending = (status & ~field<U16>(fx, kControl) & 0x3F) != 0;
  status = static_cast<U16>((status & 0x7F7F) | (pending ? 0x8080 : 0));
  set_field(fx, kStatus, status);
}

void check_x87_pending(const Core& c) { check_pending(c); }

X87 x87_state(const FxImage& fx) {
  X87 s;
  s.control = field<U16>(fx, kControl);
  s.status = field<U16>(fx, kStatus);
  s.valid = field<U8>(fx, kTag);
  s.opcode = field<U16>(fx, kOpcode);
  s.instruction = field<U64>(fx, kInstruction);
  s.data = field<U64>(fx, kData);
  for (unsigned r = 0; r < 8; ++r) {
    const unsigned slot = kRegisters + 16 * ((r - top(fx)) & 7);
    s.registers[r] = {field<U64>(fx, slot), field<U16>(fx, slot + 8)};
  }
  return s;
}

FxImage x87_image(const X87& s) {
  FxImage fx;
  set_field<U16>(fx, kControl, static_cast<U16>((s.control & 0x1F3F) | 0x40));
  set_field<U16>(fx, kStatus, s.status);
  set_field<U8>(fx, kTag, s.valid);
  set_field<U16>(fx, kOpcode, s.opcode);
  set_field<U64>(fx, kInstruction, s.instruction);
  set_field<U64>(fx, kData, s.data);
  for (unsigned r = 0; r < 8; ++r) {
    const unsigned slot = kRegisters + 16 * ((r - top(fx)) & 7);
    set_field<U64>(fx, slot, s.registers[r].mantissa);
    set_field<U16>(fx, slot + 8, s.registers[r].sign_exponent);
  }
  fix_summary(fx);
  return fx;
}

void enter_mmx(FxImage& fx) {
  if (top(fx) != 0) {
    X87 s = x87_state(fx);
    s.status = static_cast<U16>(s.status & ~0x3800);
    fx = x87_image(s);
  }
  set_field<U8>(fx, kTag, 0xFF);
}
U64 mmx_register(const FxImage& fx, unsigned number) { return field<U64>(fx, kRegisters + 16 * (number & 7)); }
U64 mmx_register_after_entry(const FxImage& fx, unsigned number) {
  return field<U64>(fx, kRegisters + 16 * (((number & 7) - top(fx)) & 7));
}
void set_mmx_register(FxImage& fx, unsigned number, U64 value) {
  set_field<U64>(fx, kRegisters + 16 * (number & 7), value);
  set_field<U16>(fx, kRegisters + 16 * (number & 7) + 8, 0xFFFF);
}
void empty_x87(FxImage& fx) { set_field<U8>(fx, kTag, 0); }

std::span<const LowerRow> x87_rows() { return kX87Rows; }

}  // namespace zs::machine::vcpu

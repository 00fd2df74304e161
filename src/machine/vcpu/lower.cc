#include "machine/vcpu/lower.h"

#include <array>
#include <utility>

namespace zs::machine::vcpu {
namespace {

const ZydisDecoder& decoder(Mode mode) {
  static const std::array<ZydisDecoder, kModes> all = [] {
    constexpr std::array<std::pair<ZydisMachineMode, ZydisStackWidth>, kModes> kinds{{
        {ZYDIS_MACHINE_MODE_REAL_16, ZYDIS_STACK_WIDTH_16},
        {ZYDIS_MACHINE_MODE_LEGACY_16, ZYDIS_STACK_WIDTH_16},
        {ZYDIS_MACHINE_MODE_LEGACY_32, ZYDIS_STACK_WIDTH_32},
        {ZYDIS_MACHINE_MODE_LONG_COMPAT_16, ZYDIS_STACK_WIDTH_16},
        {ZYDIS_MACHINE_MODE_LONG_COMPAT_32, ZYDIS_STACK_WIDTH_32},
        {ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64},
    }};
    std::array<ZydisDecoder, kModes> made{};
    for (unsigned n = 0; n < kModes; ++n) {
      ZydisDecoderInit(&made[n], kinds[n].first, kinds[n].second);
      // What this CPU is older than: the bytes mean what they meant before (NOP, BSF, BSR, WBINVD), or nothing.
      for (const ZydisDecoderMode off : {ZYDIS_DECODER_MODE_MPX, ZYDIS_DECODER_MODE_CET, ZYDIS_DECODER_MODE_CLDEMOTE,
                                         ZYDIS_DECODER_MODE_KNC, ZYDIS_DECODER_MODE_WBNOINVD})
        ZydisDecoderEnableMode(&made[n], off, ZYAN_FALSE);
    }
    return made;
  }();
  return all[static_cast<unsigned>(mode)];
}

void undefined(Core&, const Insn&) { raise_ud(); }
void too_long(Core&, const Insn&) { raise_gp(); }

/// An instruction of a set that CPUID does not offer: #UD as on a processor without it, and the monitor can say which.
void not_offered(Core& core, const Insn& insn) {
  NotOffered& note = core.not_offered;
  if (note.times++ == 0) {
    note.name = ZydisMnemonicGetString(static_cast<ZydisMnemonic>(insn.selector));
    note.set = ZydisISAExtGetString(static_cast<ZydisISAExt>(insn.detail));
    note.linear = core.linear_ip();
  }
  raise_ud();
}
static_assert(ZYDIS_ISA_EXT_MAX_VALUE <= 0xFF && ZYDIS_MNEMONIC_MAX_VALUE <= 0xFFFF);

bool undefined_by_name(ZydisMnemonic mnemonic) {
  return mnemonic == ZYDIS_MNEMONIC_UD0 || mnemonic == ZYDIS_MNEMONIC_UD1 || mnemonic == ZYDIS_MNEMONIC_UD2;
}

using Table = std::array<LowerFunction, ZYDIS_MNEMONIC_MAX_VALUE + 1>;
const Table& table() {
  static const Table made = [] {
    Table t{};
    for (const auto& rows :
         {alu_rows(), shift_rows(), multiply_rows(), decimal_rows(), bit_rows(), move_rows(), stack_rows(),
          branch_rows(), far_rows(), segment_rows(), system_rows(), exchange_rows(), x87_rows(), sse_rows()}) {
      for (const LowerRow& row : rows) t[row.mnemonic] = row.lower;
    }
    return t;
  }();
  return made;
}

/// Of mnemonics that have no row: what their opcodes have in common.
LowerFunction family_of(const ZydisDecodedInstruction& raw) {
  const unsigned row = raw.opcode >> 4;
  if (raw.opcode_map == ZYDIS_OPCODE_MAP_DEFAULT) {
    if (row == 7) return lower_jcc;
    if (row == 0x6 || row == 0xA) return lower_string;
    return row == 0xD ? lower_x87 : nullptr;
  }
  if (raw.opcode_map != ZYDIS_OPCODE_MAP_0F) return nullptr;
  if (row == 4) return lower_cmov;
  if (row == 8) return lower_jcc;
  if (row == 9) return lower_setcc;
  switch (raw.meta.isa_set) {
    case ZYDIS_ISA_SET_PENTIUMMMX:
    case ZYDIS_ISA_SET_SSE:
    case ZYDIS_ISA_SET_SSE2:
    case ZYDIS_ISA_SET_SSE2MMX:
    case ZYDIS_ISA_SET_SSE3: return lower_sse;
    default: return nullptr;
  }
}

/// Encoding numbers of general registers of every width, kIp for the instruction pointer.
std::uint8_t address_register(ZydisRegister reg) {
  if (reg == ZYDIS_REGISTER_NONE) return kNoRegister;
  if (reg == ZYDIS_REGISTER_RIP || reg == ZYDIS_REGISTER_EIP || reg == ZYDIS_REGISTER_IP) return kIp;
  return static_cast<std::uint8_t>(ZydisRegisterGetId(reg));
}

std::uint8_t segment_number(ZydisRegister reg) {
  switch (reg) {
    case ZYDIS_REGISTER_ES: return kEs;
    case ZYDIS_REGISTER_CS: return kCs;
    case ZYDIS_REGISTER_SS: return kSs;
    case ZYDIS_REGISTER_FS: return kFs;
    case ZYDIS_REGISTER_GS: return kGs;
    default: return kDs;
  }
}

bool has_no_base(const ZydisDecodedInstruction& raw) {
  return (raw.attributes & ZYDIS_ATTRIB_HAS_SIB) != 0 && raw.raw.modrm.mod == 0 && raw.raw.sib.base == 5;
}

void lower_memory(const Decoded& d, Insn& insn) {
  for (unsigned n = 0; n < d.raw.operand_count; ++n) {
    const ZydisDecodedOperand& operand = d.operands[n];
    if (operand.type != ZYDIS_OPERAND_TYPE_MEMORY) continue;
    if (operand.visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN) continue;
    insn.base = address_register(operand.mem.base);
    insn.index = address_register(operand.mem.index);
    for (unsigned s = operand.mem.scale; s > 1; s /= 2) ++insn.scale;
    if (operand.mem.disp.has_displacement) insn.disp = static_cast<std::uint64_t>(operand.mem.disp.value);
    if (has_no_base(d.raw)) {  // Zydis 4.0 says "R13D, no displacement" where 32-bit addressing has REX.B as well
      insn.base = kNoRegister;
      insn.disp = static_cast<std::uint64_t>(d.raw.raw.disp.value);
    }
    if (insn.base == kIp) insn.disp += d.raw.length;
    insn.segment = segment_number(operand.mem.segment);
    insn.address_shift = static_cast<std::uint8_t>(64 - d.raw.address_width);
    if (n == 0) insn.to_memory = true;
    if (n == 1) insn.from_memory = true;
    return;
  }
}

void lower_operands(Decoded& d) {
  if (d.is_register(0)) d.insn.dst = d.register_number(0);
  if (d.is_register(1)) d.insn.src = d.register_number(1);
  for (unsigned n = 0; n < d.visible(); ++n) {
    if (d.is_immediate(n)) d.insn.imm = d.immediate(n);
  }
}

}  // namespace

std::uint8_t Decoded::register_number(unsigned n) const {
  const ZydisRegister reg = operands[n].reg.value;
  switch (reg) {
    case ZYDIS_REGISTER_AH: return 0 * 8 + 1;
    case ZYDIS_REGISTER_CH: return 1 * 8 + 1;
    case ZYDIS_REGISTER_DH: return 2 * 8 + 1;
    case ZYDIS_REGISTER_BH: return 3 * 8 + 1;
    default: break;
  }
  switch (register_class(n)) {
    case ZYDIS_REGCLASS_GPR8:
    case ZYDIS_REGCLASS_GPR16:
    case ZYDIS_REGCLASS_GPR32:
    case ZYDIS_REGCLASS_GPR64: break;
    default: return static_cast<std::uint8_t>(ZydisRegisterGetId(reg));
  }
  const ZydisRegister full = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
  return static_cast<std::uint8_t>(ZydisRegisterGetId(full) * 8);
}

void Decoded::use_implicit_memory(ZydisRegister base) {
  insn.address_shift = static_cast<std::uint8_t>(64 - raw.address_width);
  insn.segment = kDs;
  for (const ZydisDecodedOperand& operand : std::span(operands, raw.operand_count)) {
    if (operand.type == ZYDIS_OPERAND_TYPE_MEMORY &&
        ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, operand.mem.base) == base)
      insn.segment = segment_number(operand.mem.segment);
  }
}

Lowered lower(Core& core, std::span<const std::uint8_t> bytes, Mode mode) {
  ZydisDecodedInstruction raw;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
  const ZyanStatus status = ZydisDecoderDecodeFull(&decoder(mode), bytes.data(), bytes.size(), &raw, operands);
  Lowered result;
  if (status == ZYDIS_STATUS_NO_MORE_DATA) {
    result.outcome = Lowered::Outcome::Incomplete;
    return result;
  }
  result.insn.length = 1;
  result.insn.run = undefined;
  result.insn.facts = 2;
  if (status == ZYDIS_STATUS_INSTRUCTION_TOO_LONG) {
    result.insn.run = too_long;
    return result;
  }
  if (!ZYAN_SUCCESS(status)) return result;

  Decoded d{core, raw, operands, mode, {}};
  d.insn.length = raw.length;
  d.insn.bytes = static_cast<std::uint8_t>(raw.operand_width / 8);
  d.insn.locked = (raw.attributes & ZYDIS_ATTRIB_HAS_LOCK) != 0;
  if ((raw.attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE)) != 0) d.insn.rep = Rep::RepOrRepe;
  if ((raw.attributes & ZYDIS_ATTRIB_HAS_REPNE) != 0) d.insn.rep = Rep::Repne;
  d.insn.run = undefined;
  lower_memory(d, d.insn);
  lower_operands(d);
  const bool legacy = raw.encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY;
  LowerFunction row = legacy ? table()[raw.mnemonic] : nullptr;
  if (row == nullptr && legacy) row = family_of(raw);
  if (row != nullptr) {
    row(d);
  } else if (!undefined_by_name(raw.mnemonic)) {
    d.insn.run = not_offered;
    d.insn.selector = static_cast<std::uint16_t>(raw.mnemonic);
    d.insn.detail = static_cast<std::uint8_t>(raw.meta.isa_ext);
  }
  d.insn.facts = intern_facts(core, raw, operands);
  if (raw.mnemonic == ZYDIS_MNEMONIC_WRMSR) {  // reports its own retirement, by the rules it has just made
    d.insn.selector = d.insn.facts;
    d.insn.facts = 0;
  }
  result.insn = d.insn;
  return result;
}

}  // namespace zs::machine::vcpu

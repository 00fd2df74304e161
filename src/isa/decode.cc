#include "isa/decode.h"

#include <Zydis/Zydis.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "isa/fast_decode.h"
#include "isa/level.h"
#include "isa/zydis_decode.h"

namespace zs::isa {
namespace {

using arch::BranchKind;
using arch::FpArith;

// ---- FP_ARITH_INST_RETIRED ------------------------------------------------------------------------------------
// source: SDM vol. 3B, performance-monitoring events, FP_ARITH_INST_RETIRED: ADD SUB HADD HSUB ADDSUB MUL DIV MIN MAX
// SQRT, and for single precision RCP RSQRT, count once; DPP and fused multiply-add count twice.

struct FpForm {
  std::uint8_t weight = 0;
  bool packed = false;
  bool is_double = false;
};

FpForm fp_form_of(std::string_view name) {
  if (name.size() > 1 && name[0] == 'v') name.remove_prefix(1);
  if (name.size() < 4) return {};
  const std::string_view suffix = name.substr(name.size() - 2);
  const std::string_view stem = name.substr(0, name.size() - 2);
  FpForm form;
  if (suffix == "sd" || suffix == "ss")
    form.packed = false;
  else if (suffix == "pd" || suffix == "ps")
    form.packed = true;
  else
    return {};
  form.is_double = suffix[1] == 'd';
  static constexpr std::string_view once[] = {"add",  "sub",    "mul", "div",   "min",   "max",     "sqrt",  "hadd",
                                              "hsub", "addsub", "rcp", "rsqrt", "rcp14", "rsqrt14", "rcp28", "rsqrt28"};
  if (std::find(std::begin(once), std::end(once), stem) != std::end(once)) {
    form.weight = 1;
  } else if (stem == "dp") {
    form.weight = 2;
  } else if (stem.starts_with("fmadd") || stem.starts_with("fmsub") || stem.starts_with("fnmadd") ||
             stem.starts_with("fnmsub")) {
    form.weight = 2;
  } else {
    return {};
  }
  return form;
}

class FpTable {
 public:
  FpTable() {
    for (unsigned i = 0; i <= ZYDIS_MNEMONIC_MAX_VALUE; ++i) {
      if (const char* name = ZydisMnemonicGetString(static_cast<ZydisMnemonic>(i))) forms_[i] = fp_form_of(name);
    }
  }
  FpForm of(ZydisMnemonic mnemonic) const { return forms_[mnemonic]; }

 private:
  std::array<FpForm, ZYDIS_MNEMONIC_MAX_VALUE + 1> forms_{};
};

}  // namespace

void classify_fp(const ZydisDecodedInstruction& raw, const ZydisDecodedOperand* operands, arch::InsnFacts& facts) {
  static const FpTable table;
  const FpForm form = table.of(raw.mnemonic);
  if (form.weight == 0) return;
  facts.fp_weight = form.weight;
  if (!form.packed) {
    facts.fp = form.is_double ? FpArith::ScalarDouble : FpArith::ScalarSingle;
    return;
  }
  unsigned width = 128;
  for (unsigned i = 0; i < raw.operand_count_visible; ++i) {
    if (operands[i].type == ZYDIS_OPERAND_TYPE_REGISTER) width = std::max<unsigned>(width, operands[i].size);
  }
  if (width >= 512)
    facts.fp = form.is_double ? FpArith::Packed512Double : FpArith::Packed512Single;
  else if (width >= 256)
    facts.fp = form.is_double ? FpArith::Packed256Double : FpArith::Packed256Single;
  else
    facts.fp = form.is_double ? FpArith::Packed128Double : FpArith::Packed128Single;
}

namespace {

// ---- memory operands ------------------------------------------------------------------------------------------

/// Encoding numbers of the general registers of every width; -1 for other registers.
class GprTable {
 public:
  GprTable() {
    for (unsigned i = 0; i <= ZYDIS_REGISTER_MAX_VALUE; ++i) {
      const ZydisRegister full =
          ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, static_cast<ZydisRegister>(i));
      const bool general = ZydisRegisterGetClass(full) == ZYDIS_REGCLASS_GPR64;
      numbers_[i] = general ? static_cast<std::int8_t>(ZydisRegisterGetId(full)) : std::int8_t{-1};
    }
  }
  int of(ZydisRegister reg) const { return numbers_[reg]; }

 private:
  std::array<std::int8_t, ZYDIS_REGISTER_MAX_VALUE + 1> numbers_{};
};

}  // namespace

int gpr_number(ZydisRegister reg) {
  static const GprTable table;
  return table.of(reg);
}

bool accesses_nothing(const ZydisDecodedInstruction& raw) {
  switch (raw.meta.category) {
    case ZYDIS_CATEGORY_NOP:
    case ZYDIS_CATEGORY_WIDENOP:
    case ZYDIS_CATEGORY_PREFETCH:
    case ZYDIS_CATEGORY_PREFETCHWT1:
    case ZYDIS_CATEGORY_CLDEMOTE: return true;
    default: break;
  }
  switch (raw.mnemonic) {
    case ZYDIS_MNEMONIC_CLFLUSH:
    case ZYDIS_MNEMONIC_CLFLUSHOPT:
    case ZYDIS_MNEMONIC_CLWB:
    case ZYDIS_MNEMONIC_INVLPG:
    case ZYDIS_MNEMONIC_NOP: return true;
    default: return false;
  }
}

namespace {

bool is_prefetch(ZydisMnemonic mnemonic) {
  switch (mnemonic) {
    case ZYDIS_MNEMONIC_PREFETCH:
    case ZYDIS_MNEMONIC_PREFETCHNTA:
    case ZYDIS_MNEMONIC_PREFETCHT0:
    case ZYDIS_MNEMONIC_PREFETCHT1:
    case ZYDIS_MNEMONIC_PREFETCHT2:
    case ZYDIS_MNEMONIC_PREFETCHW:
    case ZYDIS_MNEMONIC_PREFETCHWT1: return true;
    default: return false;
  }
}

enum class StateArea { No, Saves, Restores };

StateArea state_area(ZydisMnemonic mnemonic) {
  switch (mnemonic) {
    case ZYDIS_MNEMONIC_XSAVE:
    case ZYDIS_MNEMONIC_XSAVE64:
    case ZYDIS_MNEMONIC_XSAVEC:
    case ZYDIS_MNEMONIC_XSAVEC64:
    case ZYDIS_MNEMONIC_XSAVEOPT:
    case ZYDIS_MNEMONIC_XSAVEOPT64:
    case ZYDIS_MNEMONIC_FXSAVE:
    case ZYDIS_MNEMONIC_FXSAVE64: return StateArea::Saves;
    case ZYDIS_MNEMONIC_XRSTOR:
    case ZYDIS_MNEMONIC_XRSTOR64:
    case ZYDIS_MNEMONIC_FXRSTOR:
    case ZYDIS_MNEMONIC_FXRSTOR64: return StateArea::Restores;
    default: return StateArea::No;
  }
}

bool is_bit_test(ZydisMnemonic mnemonic) {
  return mnemonic == ZYDIS_MNEMONIC_BT || mnemonic == ZYDIS_MNEMONIC_BTS || mnemonic == ZYDIS_MNEMONIC_BTR ||
         mnemonic == ZYDIS_MNEMONIC_BTC;
}

}  // namespace

MemoryOperand memory_operand(const ZydisDecodedInstruction& raw, const ZydisDecodedOperand* operands,
                             const ZydisDecodedOperand& operand) {
  MemoryOperand memory;
  memory.read = (operand.actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0;
  memory.write = (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
  const StateArea area = state_area(raw.mnemonic);
  if (area == StateArea::Saves) {
    memory.read = false;
    memory.write = true;
  }
  if (area == StateArea::Restores) {
    memory.read = true;
    memory.write = false;
  }
  memory.rip_relative = operand.mem.base == ZYDIS_REGISTER_RIP || operand.mem.base == ZYDIS_REGISTER_EIP;
  memory.base = memory.rip_relative ? std::int8_t{-1} : static_cast<std::int8_t>(gpr_number(operand.mem.base));
  memory.index = static_cast<std::int8_t>(gpr_number(operand.mem.index));
  memory.vector_index = operand.mem.type == ZYDIS_MEMOP_TYPE_VSIB;
  memory.plus_al = raw.mnemonic == ZYDIS_MNEMONIC_XLAT;
  if (is_bit_test(raw.mnemonic) && operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER) {
    memory.bit_register = static_cast<std::int8_t>(gpr_number(operands[1].reg.value));
  }
  memory.scale = operand.mem.scale;
  memory.displacement = operand.mem.disp.has_displacement ? operand.mem.disp.value : 0;
  // With 67h and REX.B Zydis 4.0 takes a SIB byte without a base for one whose base is r13d, and drops the
  // displacement.
  const bool no_base = (raw.attributes & ZYDIS_ATTRIB_HAS_SIB) != 0 && raw.raw.modrm.mod == 0 && raw.raw.sib.base == 5;
  if (no_base && operand.encoding == ZYDIS_OPERAND_ENCODING_MODRM_RM && memory.base >= 0) {
    memory.base = -1;
    memory.displacement = raw.raw.disp.value;
  }
  memory.fs = operand.mem.segment == ZYDIS_REGISTER_FS;
  memory.gs = operand.mem.segment == ZYDIS_REGISTER_GS;
  memory.address32 = raw.address_width == 32;
  memory.bytes = operand.size / 8u;
  // Hidden stack operands name rsp without the displacement a push applies first.
  if (operand.visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN && memory.write && memory.base == kRsp) {
    memory.displacement = -static_cast<std::int64_t>(memory.bytes);
  }
  // POP [rsp+n] addresses memory with the stack pointer that it leaves behind.
  if (raw.mnemonic == ZYDIS_MNEMONIC_POP && operand.encoding == ZYDIS_OPERAND_ENCODING_MODRM_RM &&
      memory.base == kRsp) {
    memory.displacement += memory.bytes;
  }
  return memory;
}

BranchKind branch_kind(const ZydisDecodedInstruction& raw, const ZydisDecodedOperand* operands) {
  const bool is_far = raw.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR;
  const bool immediate = raw.operand_count_visible > 0 && operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
  switch (raw.meta.category) {
    case ZYDIS_CATEGORY_COND_BR:
      return raw.mnemonic == ZYDIS_MNEMONIC_XBEGIN ? BranchKind::None : BranchKind::Conditional;
    case ZYDIS_CATEGORY_UNCOND_BR:
      if (raw.mnemonic != ZYDIS_MNEMONIC_JMP) return BranchKind::None;  // XABORT
      return is_far ? BranchKind::Far : immediate ? BranchKind::RelativeJump : BranchKind::IndirectJump;
    case ZYDIS_CATEGORY_CALL:
      return is_far ? BranchKind::Far : immediate ? BranchKind::RelativeCall : BranchKind::IndirectCall;
    case ZYDIS_CATEGORY_RET:
      return is_far || raw.mnemonic != ZYDIS_MNEMONIC_RET ? BranchKind::Far : BranchKind::Return;  // or IRET
    case ZYDIS_CATEGORY_INTERRUPT:
      return raw.mnemonic == ZYDIS_MNEMONIC_INTO || raw.mnemonic == ZYDIS_MNEMONIC_BOUND ? BranchKind::None
                                                                                         : BranchKind::Far;
    case ZYDIS_CATEGORY_SYSCALL:
    case ZYDIS_CATEGORY_SYSRET:  // RSM takes back what an interrupt of the processor's own has left
      return raw.mnemonic == ZYDIS_MNEMONIC_RSM ? BranchKind::None : BranchKind::Far;
    default: return BranchKind::None;
  }
}

namespace {

void collect_memory(const ZydisDecodedInstruction& raw, const ZydisDecodedOperand* operands, Insn& insn) {
  if (accesses_nothing(raw)) return;
  for (unsigned i = 0; i < raw.operand_count; ++i) {
    const ZydisDecodedOperand& operand = operands[i];
    if (operand.type != ZYDIS_OPERAND_TYPE_MEMORY || operand.mem.type == ZYDIS_MEMOP_TYPE_AGEN ||
        operand.mem.type == ZYDIS_MEMOP_TYPE_MIB) {
      continue;
    }
    const MemoryOperand memory = memory_operand(raw, operands, operand);
    if (memory.read && insn.facts.loads < 255) ++insn.facts.loads;
    if (memory.write && insn.facts.stores < 255) ++insn.facts.stores;
    if (insn.memory_count < insn.memory.size()) insn.memory[insn.memory_count++] = memory;
  }
}

// ---- registers ------------------------------------------------------------------------------------------------

void collect_registers(const ZydisDecodedInstruction& raw, const ZydisDecodedOperand* operands, Insn& insn) {
  const auto mention = [&](ZydisRegister reg) {
    const int number = gpr_number(reg);
    if (number >= 0) insn.gprs |= static_cast<std::uint16_t>(1u << number);
    return number == kTracePointer;
  };
  for (unsigned i = 0; i < raw.operand_count; ++i) {
    const ZydisDecodedOperand& operand = operands[i];
    if (operand.type == ZYDIS_OPERAND_TYPE_REGISTER) {
      if (!mention(operand.reg.value)) continue;
      switch (operand.encoding) {
        case ZYDIS_OPERAND_ENCODING_MODRM_REG: insn.trace_register_at |= 1; break;
        case ZYDIS_OPERAND_ENCODING_MODRM_RM: insn.trace_register_at |= 2; break;
        case ZYDIS_OPERAND_ENCODING_NDSNDD: insn.trace_register_at |= 16; break;
        case ZYDIS_OPERAND_ENCODING_OPCODE: insn.trace_register_at |= 32; break;
        default: break;
      }
    } else if (operand.type == ZYDIS_OPERAND_TYPE_MEMORY) {
      if (mention(operand.mem.base)) insn.trace_register_at |= (raw.raw.modrm.rm == 4 ? 4 : 2);
      if (operand.mem.type != ZYDIS_MEMOP_TYPE_VSIB && mention(operand.mem.index)) insn.trace_register_at |= 8;
    }
  }
}

// ---- flow -----------------------------------------------------------------------------------------------------

bool names_fs_or_gs(const ZydisDecodedInstruction& raw, const ZydisDecodedOperand* operands) {
  const auto is_either = [](const ZydisDecodedOperand& operand) {
    return operand.type == ZYDIS_OPERAND_TYPE_REGISTER &&
           (operand.reg.value == ZYDIS_REGISTER_FS || operand.reg.value == ZYDIS_REGISTER_GS);
  };
  return std::any_of(operands, operands + raw.operand_count, is_either);
}

Flow classify_flow(const ZydisDecodedInstruction& raw, const ZydisDecodedOperand* operands, Processor processor) {
  const bool far_form = raw.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR;
  const bool word_form = (raw.attributes & ZYDIS_ATTRIB_HAS_OPERANDSIZE) != 0 && raw.operand_width == 16;
  const bool immediate = raw.operand_count_visible > 0 && operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
  switch (raw.mnemonic) {
    case ZYDIS_MNEMONIC_JMP:
      if (far_form || word_form) return Flow::Refused;
      return immediate ? Flow::Jump : Flow::IndirectJump;
    case ZYDIS_MNEMONIC_CALL:
      if (far_form || word_form) return Flow::Refused;
      return immediate ? Flow::Call : Flow::IndirectCall;
    case ZYDIS_MNEMONIC_RET:
      if (far_form) return raw.operand_width == 64 ? Flow::FarReturn : Flow::Refused;
      return word_form ? Flow::Refused : Flow::Return;
    case ZYDIS_MNEMONIC_JRCXZ:
    case ZYDIS_MNEMONIC_JECXZ:
    case ZYDIS_MNEMONIC_LOOP:
    case ZYDIS_MNEMONIC_LOOPE:
    case ZYDIS_MNEMONIC_LOOPNE: return Flow::CounterJump;
    case ZYDIS_MNEMONIC_SYSCALL: return Flow::Syscall;
    case ZYDIS_MNEMONIC_INT3:
    case ZYDIS_MNEMONIC_INT1: return Flow::Breakpoint;
    case ZYDIS_MNEMONIC_INT:
      switch (operands[0].imm.value.u & 0xFF) {
        case 3:
        case 4: return Flow::Breakpoint;
        case 0x80: return Flow::Syscall;
        default: return Flow::Stop;  // no gate for programs: a general-protection fault
      }
    case ZYDIS_MNEMONIC_SYSEXIT:
    case ZYDIS_MNEMONIC_SYSRET: return Flow::Stop;  // privileged: copied, and faults
    case ZYDIS_MNEMONIC_SYSENTER:
    case ZYDIS_MNEMONIC_IRET:
    case ZYDIS_MNEMONIC_IRETD: return Flow::Refused;
    case ZYDIS_MNEMONIC_IRETQ: return Flow::FarReturn;
    case ZYDIS_MNEMONIC_UD0:
    case ZYDIS_MNEMONIC_UD1:
    case ZYDIS_MNEMONIC_UD2:
    case ZYDIS_MNEMONIC_HLT: return Flow::Stop;
    case ZYDIS_MNEMONIC_XBEGIN: return Flow::TransactionBegin;
    case ZYDIS_MNEMONIC_RDFSBASE:
    case ZYDIS_MNEMONIC_RDGSBASE:
    case ZYDIS_MNEMONIC_WRFSBASE:
    case ZYDIS_MNEMONIC_WRGSBASE: return Flow::Emulated;
    case ZYDIS_MNEMONIC_MOV:
    case ZYDIS_MNEMONIC_PUSH:
    case ZYDIS_MNEMONIC_POP:
    case ZYDIS_MNEMONIC_LFS:
    case ZYDIS_MNEMONIC_LGS: return names_fs_or_gs(raw, operands) ? Flow::Emulated : Flow::Plain;
    case ZYDIS_MNEMONIC_RDPKRU:
    case ZYDIS_MNEMONIC_WRPKRU: return Flow::Emulated;
    case ZYDIS_MNEMONIC_RDTSC:
    case ZYDIS_MNEMONIC_RDTSCP:
    case ZYDIS_MNEMONIC_RDPID:
    case ZYDIS_MNEMONIC_RDRAND:
    case ZYDIS_MNEMONIC_RDSEED:
    case ZYDIS_MNEMONIC_CPUID: return processor.virtual_time ? Flow::Emulated : Flow::Plain;
    case ZYDIS_MNEMONIC_XGETBV:
    case ZYDIS_MNEMONIC_XSAVE:
    case ZYDIS_MNEMONIC_XSAVE64:
    case ZYDIS_MNEMONIC_XRSTOR:
    case ZYDIS_MNEMONIC_XRSTOR64: return processor.level != arch::CpuLevel::Host ? Flow::Emulated : Flow::Plain;
    default: break;
  }
  if (raw.meta.category == ZYDIS_CATEGORY_COND_BR) return Flow::ConditionalJump;
  return Flow::Plain;
}

BranchKind branch_kind(Flow flow) {
  switch (flow) {
    case Flow::Jump: return BranchKind::RelativeJump;
    case Flow::ConditionalJump:
    case Flow::CounterJump: return BranchKind::Conditional;
    case Flow::Call: return BranchKind::RelativeCall;
    case Flow::IndirectJump: return BranchKind::IndirectJump;
    case Flow::IndirectCall: return BranchKind::IndirectCall;
    case Flow::Return: return BranchKind::Return;
    case Flow::Syscall:
    case Flow::FarReturn: return BranchKind::Far;
    default: return BranchKind::None;
  }
}

bool is_rep_string(const ZydisDecodedInstruction& raw) {
  return raw.meta.category == ZYDIS_CATEGORY_STRINGOP &&
         (raw.attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE)) != 0;
}

/// Offset of the byte that holds VEX/EVEX.vvvv.
std::uint8_t vvvv_offset(const ZydisDecodedInstruction& raw) {
  if (raw.encoding == ZYDIS_INSTRUCTION_ENCODING_VEX) {
    return static_cast<std::uint8_t>(raw.raw.vex.offset + (raw.raw.vex.size == 2 ? 1 : 2));
  }
  if (raw.encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX) return static_cast<std::uint8_t>(raw.raw.evex.offset + 2);
  return 0;
}

}  // namespace

const ZydisDecoder& zydis_decoder() {
  static const ZydisDecoder instance = [] {
    ZydisDecoder made;
    ZydisDecoderInit(&made, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    // Linux turned it off in 5.6, and no processor has it any more: NOPs with an operand, whatever that is.
    ZydisDecoderEnableMode(&made, ZYDIS_DECODER_MODE_MPX, ZYAN_FALSE);
    return made;
  }();
  return instance;
}

std::optional<Insn> decode_with_zydis(std::uint64_t pc, std::span<const std::uint8_t> code, Processor processor) {
  ZydisDecodedInstruction raw;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
  if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&zydis_decoder(), code.data(), code.size(), &raw, operands)))
    return std::nullopt;
  // Knights Corner's alone: branches on mask registers (JKZD), encoded as VEX of Jcc.
  if (raw.meta.isa_set >= ZYDIS_ISA_SET_KNCE && raw.meta.isa_set <= ZYDIS_ISA_SET_KNC_PF_HINT) return std::nullopt;

  Insn insn;
  insn.pc = pc;
  insn.length = raw.length;
  std::memcpy(insn.bytes.data(), code.data(), raw.length);
  insn.flow = classify_flow(raw, operands, processor);
  insn.facts.branch = branch_kind(insn.flow);
  insn.facts.nop = raw.mnemonic == ZYDIS_MNEMONIC_NOP;
  insn.facts.prefetch = is_prefetch(raw.mnemonic);
  insn.facts.rep_string = is_rep_string(raw);
  insn.modrm_at = (raw.attributes & ZYDIS_ATTRIB_HAS_MODRM) ? raw.raw.modrm.offset : std::uint8_t{0};
  insn.sib_at = (raw.attributes & ZYDIS_ATTRIB_HAS_SIB) ? raw.raw.sib.offset : std::uint8_t{0};
  insn.disp_at = raw.raw.disp.size != 0 ? raw.raw.disp.offset : std::uint8_t{0};
  insn.vvvv_at = vvvv_offset(raw);
  for (std::uint8_t i = 0; i < raw.raw.prefix_count; ++i) {
    const std::uint8_t prefix = raw.raw.prefixes[i].value;
    if (prefix == 0x64 || prefix == 0x65) {  // the last one counts
      insn.fs = prefix == 0x64;
      insn.gs = prefix == 0x65;
    }
  }
  // MOV to and from CR and DR has register operands whatever ModRM.mod says.
  insn.rip_relative = insn.modrm_at != 0 && raw.raw.modrm.mod == 0 && raw.raw.modrm.rm == 5 && raw.raw.disp.size != 0;
  // The opcode byte that may carry a register is the last before ModRM, immediate or the end: legacy encodings only.
  std::uint8_t opcode_at = 0;
  for (std::uint8_t i = 0; i < raw.raw.prefix_count; ++i) ++opcode_at;
  if (raw.encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY) {
    if (raw.opcode_map == ZYDIS_OPCODE_MAP_0F) ++opcode_at;
    insn.opcode_at = opcode_at;
  }

  collect_registers(raw, operands, insn);
  collect_memory(raw, operands, insn);
  classify_fp(raw, operands, insn.facts);
  insn.facts.locked =
      (raw.attributes & ZYDIS_ATTRIB_HAS_LOCK) != 0 || (raw.mnemonic == ZYDIS_MNEMONIC_XCHG && insn.facts.loads != 0);

  switch (insn.flow) {
    case Flow::Jump:
    case Flow::ConditionalJump:
    case Flow::CounterJump:
    case Flow::Call:
    case Flow::TransactionBegin:
      insn.target = insn.next() + static_cast<std::uint64_t>(operands[0].imm.value.s);
      insn.condition = raw.opcode & 15u;
      break;
    case Flow::Return:
    case Flow::FarReturn:
      if (raw.operand_count_visible == 1) insn.return_pop = static_cast<std::uint16_t>(operands[0].imm.value.u);
      break;
    case Flow::IndirectJump:
    case Flow::IndirectCall:
      if (operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER) {
        insn.target_register = static_cast<std::int8_t>(gpr_number(operands[0].reg.value));
      }
      break;
    default: break;
  }
  return insn;
}

bool decode_into(Insn& insn, std::uint64_t pc, std::span<const std::uint8_t> code, Processor processor) {
  if (processor.level != arch::CpuLevel::Host && is_beyond(processor.level, code)) return false;
  // Nothing else that the fast decoder knows depends on the processor.
  if (fast_decode(pc, code, insn)) return true;
  const std::optional<Insn> decoded = decode_with_zydis(pc, code, processor);
  if (!decoded) return false;
  insn = *decoded;
  return true;
}

std::optional<Insn> decode(std::uint64_t pc, std::span<const std::uint8_t> code, Processor processor) {
  std::optional<Insn> insn(std::in_place);
  if (!decode_into(*insn, pc, code, processor)) insn.reset();
  return insn;
}

namespace {

ZyanStatus status_of(std::span<const std::uint8_t> code) {
  ZydisDecodedInstruction raw;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
  return ZydisDecoderDecodeFull(&zydis_decoder(), code.data(), code.size(), &raw, operands);
}

}  // namespace

bool is_truncated(std::span<const std::uint8_t> code) { return status_of(code) == ZYDIS_STATUS_NO_MORE_DATA; }

bool is_too_long(std::span<const std::uint8_t> code) {
  const ZyanStatus status = status_of(code);
  return code.size() == 15 && (status == ZYDIS_STATUS_INSTRUCTION_TOO_LONG || status == ZYDIS_STATUS_NO_MORE_DATA);
}

}  // namespace zs::isa

#include "isa/accesses.h"

#include <algorithm>

#include "base/check.h"
#include "isa/zydis_decode.h"

namespace zs::isa {
namespace {

using arch::AccessForm;
using arch::AccessKind;

constexpr std::uint32_t kLine = 64;

/// Operands that Zydis calls read or written and that only move lines.
bool line_kind(ZydisMnemonic mnemonic, AccessKind& kind) {
  switch (mnemonic) {
    case ZYDIS_MNEMONIC_PREFETCH:
    case ZYDIS_MNEMONIC_PREFETCHT0: kind = AccessKind::Prefetch; return true;
    case ZYDIS_MNEMONIC_PREFETCHT1:
    case ZYDIS_MNEMONIC_PREFETCHT2: kind = AccessKind::PrefetchT1; return true;
    case ZYDIS_MNEMONIC_PREFETCHNTA: kind = AccessKind::PrefetchNta; return true;
    case ZYDIS_MNEMONIC_PREFETCHW:
    case ZYDIS_MNEMONIC_PREFETCHWT1: kind = AccessKind::PrefetchW; return true;
    case ZYDIS_MNEMONIC_CLFLUSH:
    case ZYDIS_MNEMONIC_CLFLUSHOPT:
    case ZYDIS_MNEMONIC_CLWB: kind = AccessKind::Flush; return true;
    default: return false;
  }
}

bool streams(ZydisMnemonic mnemonic) {
  switch (mnemonic) {
    case ZYDIS_MNEMONIC_MOVNTI:
    case ZYDIS_MNEMONIC_MOVNTQ:
    case ZYDIS_MNEMONIC_MOVNTDQ:
    case ZYDIS_MNEMONIC_MOVNTPS:
    case ZYDIS_MNEMONIC_MOVNTPD:
    case ZYDIS_MNEMONIC_MOVNTSS:
    case ZYDIS_MNEMONIC_MOVNTSD:
    case ZYDIS_MNEMONIC_VMOVNTDQ:
    case ZYDIS_MNEMONIC_VMOVNTPS:
    case ZYDIS_MNEMONIC_VMOVNTPD:
    case ZYDIS_MNEMONIC_MASKMOVQ:
    case ZYDIS_MNEMONIC_MASKMOVDQU:
    case ZYDIS_MNEMONIC_VMASKMOVDQU: return true;
    default: return false;
  }
}

/// Adds one access. A state area, of whole lines, is one that lists them: it is counted once. Other long ones come in
/// pieces.
void add(Effects& effects, AccessKind kind, AccessForm form, const MemoryOperand& operand) {
  if (form == AccessForm::One && operand.bytes > kLine && operand.bytes % kLine == 0) {
    effects.accesses.push_back({.kind = kind, .form = AccessForm::Listed, .bytes = kLine, .operand = operand});
    return;
  }
  Access access{.kind = kind, .form = form, .operand = operand};
  std::uint32_t left = std::max<std::uint32_t>(operand.bytes, 1);
  while (left != 0) {
    access.bytes = static_cast<std::uint16_t>(std::min(left, kLine));
    effects.accesses.push_back(access);
    left -= access.bytes;
    access.operand.displacement += access.bytes;
  }
}

void note_register_writes(const Insn& insn, const ZydisDecodedInstruction& raw, const ZydisDecodedOperand* operands,
                          Effects& effects) {
  const auto writes = [&](int reg) {
    if (reg >= 0) effects.written = static_cast<std::uint16_t>(effects.written | 1u << reg);
  };
  for (unsigned i = 0; i < raw.operand_count; ++i) {
    const ZydisDecodedOperand& operand = operands[i];
    if (operand.type != ZYDIS_OPERAND_TYPE_REGISTER || (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) == 0)
      continue;
    writes(gpr_number(operand.reg.value));
    effects.writes_flags |= ZydisRegisterGetClass(operand.reg.value) == ZYDIS_REGCLASS_FLAGS;
  }
  if (insn.flow == Flow::TransactionBegin) writes(kRax);
  if (raw.mnemonic == ZYDIS_MNEMONIC_LEAVE || raw.mnemonic == ZYDIS_MNEMONIC_ENTER) {
    writes(kRsp);
    writes(kRbp);
  }
  // Whatever moves the stack pointer or counts through memory does so without saying.
  for (std::size_t i = 0; i < insn.memory_count; ++i) {
    const MemoryOperand& operand = insn.memory[i];
    if (operand.base == kRsp) writes(kRsp);
    if (raw.meta.category == ZYDIS_CATEGORY_STRINGOP) {
      writes(operand.base);
      writes(kRcx);
    }
  }
}

/// The 64-bit general register that `operand` is, or -1.
int general_register(const ZydisDecodedOperand& operand) {
  return operand.type == ZYDIS_OPERAND_TYPE_REGISTER && ZydisRegisterGetClass(operand.reg.value) == ZYDIS_REGCLASS_GPR64
             ? gpr_number(operand.reg.value)
             : -1;
}

/// Additions and copies, so that a value which is a stored one plus a constant need not be stored.
void note_sum(const Insn& insn, const ZydisDecodedInstruction& raw, const ZydisDecodedOperand* operands,
              Effects& effects) {
  const auto sets = [&](int target, int source, std::int64_t delta) {
    effects.target = static_cast<std::int8_t>(target);
    effects.source = static_cast<std::int8_t>(source);
    effects.delta = delta;
  };
  const auto stack_bytes = [&] { return static_cast<std::int64_t>(insn.memory[insn.memory_count - 1].bytes); };
  const int first = raw.operand_count_visible > 0 ? general_register(operands[0]) : -1;
  switch (raw.mnemonic) {
    case ZYDIS_MNEMONIC_PUSH:
    case ZYDIS_MNEMONIC_PUSHFQ:
    case ZYDIS_MNEMONIC_CALL: sets(kRsp, kRsp, -stack_bytes()); break;
    case ZYDIS_MNEMONIC_POP:
    case ZYDIS_MNEMONIC_POPFQ:
    case ZYDIS_MNEMONIC_RET: {
      const bool to_rsp = operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER && gpr_number(operands[0].reg.value) == kRsp;
      if (!to_rsp || raw.mnemonic == ZYDIS_MNEMONIC_RET) sets(kRsp, kRsp, stack_bytes() + insn.return_pop);
      break;
    }
    case ZYDIS_MNEMONIC_LEAVE: sets(kRsp, kRbp, stack_bytes()); break;
    case ZYDIS_MNEMONIC_ADD:
    case ZYDIS_MNEMONIC_SUB:
      if (first >= 0 && operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
        const std::int64_t value = operands[1].imm.value.s;
        sets(first, first, raw.mnemonic == ZYDIS_MNEMONIC_ADD ? value : -value);
      }
      break;
    case ZYDIS_MNEMONIC_INC:
      if (first >= 0) sets(first, first, 1);
      break;
    case ZYDIS_MNEMONIC_DEC:
      if (first >= 0) sets(first, first, -1);
      break;
    case ZYDIS_MNEMONIC_MOV:
      if (first < 0) break;
      if (const int source = general_register(operands[1]); source >= 0) sets(first, source, 0);
      break;
    case ZYDIS_MNEMONIC_LEA: {
      if (first < 0 || raw.address_width != 64) break;
      const MemoryOperand operand = memory_operand(raw, operands, operands[1]);
      if (operand.index >= 0) break;
      sets(first, operand.base,
           operand.displacement + (operand.rip_relative ? static_cast<std::int64_t>(insn.next()) : 0));
      break;
    }
    default: break;
  }
}

void note_elements(const ZydisDecodedInstruction& raw, const ZydisDecodedOperand* operands,
                   const ZydisDecodedOperand& memory, Effects& effects) {
  ElementList& list = effects.elements;
  list.index_register = static_cast<std::uint8_t>(ZydisRegisterGetId(memory.mem.index));
  const unsigned index_vector_bytes = ZydisRegisterGetWidth(ZYDIS_MACHINE_MODE_LONG_64, memory.mem.index) / 8u;
  // The letter before the element's type is the size of an index: VGATHERDPD, VPSCATTERQQ.
  const char* name = ZydisMnemonicGetString(raw.mnemonic);
  std::size_t length = 0;
  while (name[length] != '\0') ++length;
  const bool two_letters = name[length - 2] == 'p';  // PS, PD; the integer forms end in D or Q alone
  list.index_bytes = name[length - (two_letters ? 3 : 2)] == 'd' ? 4 : 8;
  const char element = name[length - 1];
  const unsigned element_bytes = element == 's' || (element == 'd' && !two_letters) ? 4 : 8;
  unsigned data_bytes = index_vector_bytes;
  for (unsigned i = 0; i < raw.operand_count_visible; ++i) {
    if (operands[i].type != ZYDIS_OPERAND_TYPE_REGISTER) continue;
    const ZydisRegisterClass kind = ZydisRegisterGetClass(operands[i].reg.value);
    if (kind == ZYDIS_REGCLASS_MASK) {
      list.mask_register = static_cast<std::int8_t>(ZydisRegisterGetId(operands[i].reg.value));
      continue;
    }
    data_bytes = ZydisRegisterGetWidth(ZYDIS_MACHINE_MODE_LONG_64, operands[i].reg.value) / 8u;
    if (raw.encoding == ZYDIS_INSTRUCTION_ENCODING_VEX)
      list.mask_vector = static_cast<std::int8_t>(ZydisRegisterGetId(operands[i].reg.value));  // the last one
  }
  list.elements =
      static_cast<std::uint8_t>(std::min(data_bytes / element_bytes, index_vector_bytes / list.index_bytes));
  for (Access& access : effects.accesses) access.bytes = static_cast<std::uint16_t>(element_bytes);
}

}  // namespace

void effects_of(const Insn& insn, Effects& effects) {
  effects.accesses.clear();
  effects.written = 0;
  effects.target = effects.source = -1;
  effects.delta = 0;
  effects.writes_flags = false;
  effects.alone = false;
  effects.elements = {};

  ZydisDecodedInstruction raw;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
  CHECK(ZYAN_SUCCESS(ZydisDecoderDecodeFull(&zydis_decoder(), insn.bytes.data(), insn.length, &raw, operands)),
        insn.pc);
  note_register_writes(insn, raw, operands, effects);
  note_sum(insn, raw, operands, effects);

  const auto with_pc = [&](MemoryOperand operand) {
    if (operand.rip_relative) operand.displacement += static_cast<std::int64_t>(insn.next());
    return operand;
  };
  AccessKind line = AccessKind::Prefetch;
  if (line_kind(raw.mnemonic, line)) {
    for (unsigned i = 0; i < raw.operand_count; ++i) {
      if (operands[i].type != ZYDIS_OPERAND_TYPE_MEMORY) continue;
      MemoryOperand operand = with_pc(memory_operand(raw, operands, operands[i]));
      operand.bytes = 1;
      add(effects, line, AccessForm::One, operand);
    }
    return;
  }
  const AccessForm form = insn.facts.rep_string ? AccessForm::Repeated : AccessForm::One;
  for (const bool stores : {false, true}) {
    for (std::size_t i = 0; i < insn.memory_count; ++i) {
      if (!(stores ? insn.memory[i].write : insn.memory[i].read)) continue;
      const MemoryOperand operand = with_pc(insn.memory[i]);
      AccessKind kind = stores ? AccessKind::Store : AccessKind::Load;
      if (stores && streams(raw.mnemonic)) kind = AccessKind::StreamingStore;
      if (!stores && insn.facts.locked) kind = AccessKind::LockedLoad;
      if (!operand.vector_index) {
        add(effects, kind, form, operand);
        continue;
      }
      effects.accesses.push_back({.kind = kind, .form = AccessForm::Listed, .operand = operand});
    }
  }
  for (unsigned i = 0; i < raw.operand_count; ++i) {
    if (operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY && operands[i].mem.type == ZYDIS_MEMOP_TYPE_VSIB &&
        !effects.accesses.empty())
      note_elements(raw, operands, operands[i], effects);
  }
  // State areas are alone so that all that is not has few accesses, which bounds what one instruction can do to a
  // model.
  constexpr std::size_t kMostAmongOthers = 4;
  effects.alone = insn.facts.rep_string || insn.flow == Flow::FarReturn || effects.accesses.size() > kMostAmongOthers ||
                  (!effects.accesses.empty() && effects.accesses[0].form == AccessForm::Listed);
}

}  // namespace zs::isa

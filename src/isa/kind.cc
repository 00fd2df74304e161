#include "isa/kind.h"

#include <algorithm>

#include "base/check.h"
#include "isa/zydis_decode.h"

namespace zs::isa {
namespace {

constexpr const char* kKindNames[] = {"integer",
                                      "conditional branches",
                                      "jumps",
                                      "indirect jumps",
                                      "calls",
                                      "indirect calls",
                                      "returns",
                                      "system calls",
                                      "other far transfers",
                                      "REP strings",
                                      "floating point",
                                      "vector",
                                      "x87",
                                      "nop"};
constexpr const char* kFpNames[] = {"",
                                    "scalar double",
                                    "scalar single",
                                    "packed double, 128 bits",
                                    "packed single, 128 bits",
                                    "packed double, 256 bits",
                                    "packed single, 256 bits",
                                    "packed double, 512 bits",
                                    "packed single, 512 bits"};

Kind kind_of_branch(const Insn& insn) {
  switch (insn.facts.branch) {
    case arch::BranchKind::Conditional: return Kind::Conditional;
    case arch::BranchKind::RelativeJump: return Kind::Jump;
    case arch::BranchKind::IndirectJump: return Kind::IndirectJump;
    case arch::BranchKind::RelativeCall: return Kind::Call;
    case arch::BranchKind::IndirectCall: return Kind::IndirectCall;
    case arch::BranchKind::Return: return Kind::Return;
    case arch::BranchKind::Far:
    case arch::BranchKind::None: break;
  }
  return insn.flow == Flow::Syscall ? Kind::SystemCall : Kind::OtherFar;
}

/// Of the widest vector register that it names, also within an address; 0: none.
unsigned vector_bits(const ZydisDecodedInstruction& raw, const ZydisDecodedOperand* operands) {
  unsigned bits = 0;
  const auto look_at = [&](ZydisRegister reg) {
    const ZydisRegisterClass kind = ZydisRegisterGetClass(reg);
    if (kind == ZYDIS_REGCLASS_MMX || kind == ZYDIS_REGCLASS_XMM || kind == ZYDIS_REGCLASS_YMM ||
        kind == ZYDIS_REGCLASS_ZMM)
      bits = std::max<unsigned>(bits, ZydisRegisterGetWidth(ZYDIS_MACHINE_MODE_LONG_64, reg));
  };
  for (unsigned i = 0; i < raw.operand_count_visible; ++i) {
    if (operands[i].type == ZYDIS_OPERAND_TYPE_REGISTER) look_at(operands[i].reg.value);
    if (operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY) look_at(operands[i].mem.index);
  }
  return bits;
}

}  // namespace

KindOf kind_of(const Insn& insn) {
  ZydisDecodedInstruction raw;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
  CHECK(ZYAN_SUCCESS(ZydisDecoderDecodeFull(&zydis_decoder(), insn.bytes.data(), insn.length, &raw, operands)),
        insn.pc);
  KindOf found;
  std::string more;
  const unsigned bits = vector_bits(raw, operands);
  if (insn.facts.branch != arch::BranchKind::None) {
    found.kind = kind_of_branch(insn);
  } else if (insn.facts.rep_string) {
    found.kind = Kind::String;
  } else if (insn.facts.fp != arch::FpArith::None) {
    found.kind = Kind::FloatingPoint;
    more = kFpNames[static_cast<std::size_t>(insn.facts.fp)];
  } else if (bits != 0) {
    found.kind = Kind::Vector;
    more = std::to_string(bits) + " bits, " + ZydisISAExtGetString(raw.meta.isa_ext);
  } else if (raw.meta.isa_ext == ZYDIS_ISA_EXT_X87) {
    found.kind = Kind::X87;
  } else if (insn.facts.nop) {
    found.kind = Kind::Nop;
  } else if (raw.meta.isa_ext != ZYDIS_ISA_EXT_BASE && raw.meta.isa_ext != ZYDIS_ISA_EXT_LONGMODE) {
    more = ZydisISAExtGetString(raw.meta.isa_ext);
  }
  found.name = kKindNames[static_cast<std::size_t>(found.kind)] + (more.empty() ? "" : ", " + more);
  found.mnemonic = ZydisMnemonicGetString(raw.mnemonic);
  return found;
}

}  // namespace zs::isa

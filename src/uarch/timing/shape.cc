#include "uarch/timing/shape.h"

#include <Zydis/Zydis.h>

#include <algorithm>
#include <bit>
#include <initializer_list>

#include "isa/zydis_decode.h"

namespace zs::uarch {
namespace {

using arch::BranchKind;

constexpr std::uint8_t kNoRegister = 0xFF;

/// What a register of Zydis is to us, looked up instead of asked.
struct RegisterFact {
  std::uint8_t bit = kNoRegister;  // in a RegisterSet
  OperandKind kind = OperandKind::Other;
};

RegisterFact fact_of(ZydisRegister number) {
  const unsigned id = static_cast<unsigned>(std::max<int>(ZydisRegisterGetId(number), 0));
  const auto general = [number](OperandKind kind) {
    const ZydisRegister full = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, number);
    return RegisterFact{static_cast<std::uint8_t>(reg::kGeneral + ZydisRegisterGetId(full)), kind};
  };
  const auto vector = [id](OperandKind kind) {
    return RegisterFact{static_cast<std::uint8_t>(reg::kVector + id), kind};
  };
  switch (ZydisRegisterGetClass(number)) {
    case ZYDIS_REGCLASS_GPR8: return general(OperandKind::R8);
    case ZYDIS_REGCLASS_GPR16: return general(OperandKind::R16);
    case ZYDIS_REGCLASS_GPR32: return general(OperandKind::R32);
    case ZYDIS_REGCLASS_GPR64: return general(OperandKind::R64);
    case ZYDIS_REGCLASS_XMM: return vector(OperandKind::Xmm);
    case ZYDIS_REGCLASS_YMM: return vector(OperandKind::Ymm);
    case ZYDIS_REGCLASS_ZMM: return vector(OperandKind::Zmm);
    case ZYDIS_REGCLASS_MASK: return {static_cast<std::uint8_t>(reg::kMask + id), OperandKind::Mask};
    case ZYDIS_REGCLASS_MMX: return {static_cast<std::uint8_t>(reg::kX87), OperandKind::Mmx};
    case ZYDIS_REGCLASS_X87: return {static_cast<std::uint8_t>(reg::kX87), OperandKind::X87};
    default: return {};
  }
}

class RegisterFacts {
 public:
  RegisterFacts() {
    for (unsigned i = 0; i <= ZYDIS_REGISTER_MAX_VALUE; ++i) facts_[i] = fact_of(static_cast<ZydisRegister>(i));
  }
  const RegisterFact& of(ZydisRegister number) const { return facts_[number]; }

 private:
  std::array<RegisterFact, ZYDIS_REGISTER_MAX_VALUE + 1> facts_{};
};

const RegisterFacts& register_facts() {
  static const RegisterFacts facts;
  return facts;
}

RegisterSet set_of(ZydisRegister number) {
  const std::uint8_t bit = register_facts().of(number).bit;
  return bit == kNoRegister ? 0 : reg::bit(bit);
}

/// What only the mnemonic says.
struct Trait {
  FusionHead fusion = FusionHead::None;
  CopyKind copy = CopyKind::None;
  BitCount bit_count = BitCount::None;
  bool zero_idiom = false;  // with both sources the same
  bool merges = false;      // a scalar that keeps the upper part of its destination, which Zydis calls a write only
  bool serialising = false;
  bool touches_nothing = false;  // has a memory operand, but reads and writes none of it
};

struct TraitRow {
  Trait trait;
  std::initializer_list<ZydisMnemonic> of;
};

// source: Optimization manual, "Macro-Fusion", "Zero idioms", "Move elimination"; SDM vol. 2 for the scalars that
// merge.
constexpr TraitRow kTraits[] = {
    {{.fusion = FusionHead::Test}, {ZYDIS_MNEMONIC_TEST, ZYDIS_MNEMONIC_AND}},
    {{.fusion = FusionHead::Compare}, {ZYDIS_MNEMONIC_CMP, ZYDIS_MNEMONIC_ADD}},
    {{.fusion = FusionHead::Compare, .zero_idiom = true}, {ZYDIS_MNEMONIC_SUB}},
    {{.fusion = FusionHead::Increment}, {ZYDIS_MNEMONIC_INC, ZYDIS_MNEMONIC_DEC}},
    {{.copy = CopyKind::General}, {ZYDIS_MNEMONIC_MOV, ZYDIS_MNEMONIC_MOVZX}},
    {{.copy = CopyKind::Vector},
     {ZYDIS_MNEMONIC_MOVAPS, ZYDIS_MNEMONIC_MOVAPD, ZYDIS_MNEMONIC_MOVUPS, ZYDIS_MNEMONIC_MOVUPD, ZYDIS_MNEMONIC_MOVDQA,
      ZYDIS_MNEMONIC_MOVDQU, ZYDIS_MNEMONIC_VMOVAPS, ZYDIS_MNEMONIC_VMOVAPD, ZYDIS_MNEMONIC_VMOVUPS,
      ZYDIS_MNEMONIC_VMOVUPD, ZYDIS_MNEMONIC_VMOVDQA, ZYDIS_MNEMONIC_VMOVDQU, ZYDIS_MNEMONIC_VMOVDQA32,
      ZYDIS_MNEMONIC_VMOVDQA64, ZYDIS_MNEMONIC_VMOVDQU32, ZYDIS_MNEMONIC_VMOVDQU64}},
    {{.zero_idiom = true},
     {ZYDIS_MNEMONIC_XOR, ZYDIS_MNEMONIC_PXOR, ZYDIS_MNEMONIC_XORPS, ZYDIS_MNEMONIC_XORPD, ZYDIS_MNEMONIC_VPXOR,
      ZYDIS_MNEMONIC_VPXORD, ZYDIS_MNEMONIC_VPXORQ, ZYDIS_MNEMONIC_VXORPS, ZYDIS_MNEMONIC_VXORPD, ZYDIS_MNEMONIC_PSUBB,
      ZYDIS_MNEMONIC_PSUBW, ZYDIS_MNEMONIC_PSUBD, ZYDIS_MNEMONIC_PSUBQ, ZYDIS_MNEMONIC_PCMPGTB, ZYDIS_MNEMONIC_PCMPGTW,
      ZYDIS_MNEMONIC_PCMPGTD}},
    {{.merges = true},
     {ZYDIS_MNEMONIC_CVTSI2SD, ZYDIS_MNEMONIC_CVTSI2SS, ZYDIS_MNEMONIC_CVTSD2SS, ZYDIS_MNEMONIC_CVTSS2SD,
      ZYDIS_MNEMONIC_SQRTSD, ZYDIS_MNEMONIC_SQRTSS, ZYDIS_MNEMONIC_RCPSS, ZYDIS_MNEMONIC_RSQRTSS,
      ZYDIS_MNEMONIC_ROUNDSD, ZYDIS_MNEMONIC_ROUNDSS}},
    {{.bit_count = BitCount::Ones}, {ZYDIS_MNEMONIC_POPCNT}},
    {{.bit_count = BitCount::Zeros}, {ZYDIS_MNEMONIC_LZCNT, ZYDIS_MNEMONIC_TZCNT}},
    {{.serialising = true},
     {ZYDIS_MNEMONIC_CPUID, ZYDIS_MNEMONIC_MFENCE, ZYDIS_MNEMONIC_LFENCE, ZYDIS_MNEMONIC_RDTSCP,
      ZYDIS_MNEMONIC_SYSCALL}},
    {{.touches_nothing = true},
     {ZYDIS_MNEMONIC_CLFLUSH, ZYDIS_MNEMONIC_CLFLUSHOPT, ZYDIS_MNEMONIC_CLWB, ZYDIS_MNEMONIC_NOP}},
};

const Trait& trait_of(ZydisMnemonic mnemonic) {
  static const auto table = [] {
    std::array<Trait, ZYDIS_MNEMONIC_MAX_VALUE + 1> traits{};
    for (const TraitRow& row : kTraits) {
      for (const ZydisMnemonic each : row.of) traits[each] = row.trait;
    }
    return traits;
  }();
  return table[mnemonic];
}

OperandKind kind_of(const ZydisDecodedOperand& operand) {
  switch (operand.type) {
    case ZYDIS_OPERAND_TYPE_REGISTER: return register_facts().of(operand.reg.value).kind;
    case ZYDIS_OPERAND_TYPE_MEMORY: return OperandKind::Memory;
    case ZYDIS_OPERAND_TYPE_IMMEDIATE: return OperandKind::Immediate;
    default: return OperandKind::Other;
  }
}

unsigned parts_of(const ZydisDecodedOperandMem& address) {
  return (address.base != ZYDIS_REGISTER_NONE ? 1U : 0U) + (address.index != ZYDIS_REGISTER_NONE ? 1U : 0U) +
         (address.disp.has_displacement && address.disp.value != 0 ? 1U : 0U);
}

/// The part of a signature above the three kinds.
unsigned top_of(const ZydisDecodedOperand& memory) {
  if (memory.mem.type == ZYDIS_MEMOP_TYPE_AGEN) return parts_of(memory.mem);
  const unsigned bytes = std::max(1U, memory.size / 8U);
  return std::min(7U, 1U + static_cast<unsigned>(std::bit_width(bytes - 1)));  // 80 bits are not 64
}

bool is_prefetch(ZydisInstructionCategory category) {
  return category == ZYDIS_CATEGORY_PREFETCH || category == ZYDIS_CATEGORY_PREFETCHWT1;
}

/// A software prefetch is a load that nothing waits for.
void add_memory(const ZydisDecodedOperand& operand, const ZydisDecodedInstruction& raw, const Trait& trait,
                InstructionShape& shape) {
  const auto& memory = operand.mem;
  const RegisterSet vector_index = memory.type == ZYDIS_MEMOP_TYPE_VSIB ? set_of(memory.index) : RegisterSet{0};
  shape.address |= set_of(memory.base) | set_of(memory.index) | vector_index;
  const bool hidden = operand.visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN;
  if (!hidden) {
    shape.indexed |= memory.index != ZYDIS_REGISTER_NONE;
    shape.rip_relative |= memory.base == ZYDIS_REGISTER_RIP;
  }
  if (memory.type == ZYDIS_MEMOP_TYPE_AGEN || memory.type == ZYDIS_MEMOP_TYPE_MIB) {
    shape.reads |= set_of(memory.base) | set_of(memory.index);  // LEA waits for them as for any operand
    shape.address &= ~(set_of(memory.base) | set_of(memory.index));
    return;
  }
  if (trait.touches_nothing || raw.meta.category == ZYDIS_CATEGORY_WIDENOP) return;
  const bool read = (operand.actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0 || is_prefetch(raw.meta.category);
  if (read) ++shape.loads;
  if ((operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0) ++shape.stores;
}

void add_register(const ZydisDecodedOperand& operand, const Trait& trait, InstructionShape& shape) {
  const RegisterFact& fact = register_facts().of(operand.reg.value);
  if (fact.bit == kNoRegister) return;
  const RegisterSet set = reg::bit(fact.bit);
  const bool written = (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
  // A write of 8 or 16 bits keeps the rest of the register; so does a write under a condition.
  const bool partial = fact.kind == OperandKind::R8 || fact.kind == OperandKind::R16 || fact.kind == OperandKind::X87 ||
                       (operand.actions & ZYDIS_OPERAND_ACTION_CONDWRITE) != 0;
  const bool read = (operand.actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0;
  if (read || (written && (partial || (trait.merges && operand.id == 0)))) shape.reads |= set;
  if (written) {
    shape.writes |= set;
    const bool vector = fact.bit >= reg::kVector && fact.bit < reg::kMask;
    const bool wide = fact.kind == OperandKind::Ymm || fact.kind == OperandKind::Zmm;
    shape.vector |= vector;
    if (vector && wide && fact.bit < reg::kVector + 16) shape.upper = UpperHalves::Filled;
  }
}

void add_flags(const ZydisDecodedInstruction& raw, InstructionShape& shape) {
  if (raw.cpu_flags == nullptr) return;
  constexpr ZydisAccessedFlagsMask carry = ZYDIS_CPUFLAG_CF;
  constexpr ZydisAccessedFlagsMask rest =
      ZYDIS_CPUFLAG_PF | ZYDIS_CPUFLAG_AF | ZYDIS_CPUFLAG_ZF | ZYDIS_CPUFLAG_SF | ZYDIS_CPUFLAG_OF;
  const auto& flags = *raw.cpu_flags;
  const ZydisAccessedFlagsMask written = flags.modified | flags.set_0 | flags.set_1 | flags.undefined;
  if ((flags.tested & carry) != 0) shape.reads |= reg::bit(reg::kCarry);
  if ((flags.tested & rest) != 0) shape.reads |= reg::bit(reg::kFlags);
  if ((written & carry) != 0) shape.writes |= reg::bit(reg::kCarry);
  if ((written & rest) != 0) shape.writes |= reg::bit(reg::kFlags);
}

/// Whether a 66H or 67H prefix makes the instruction longer or shorter than the predecoder assumed.
/// source: Optimization manual, "Length-Changing Prefixes (LCP)".
bool changes_length(const ZydisDecodedInstruction& raw) {
  if (raw.encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY) return false;
  const bool has_66 = (raw.attributes & ZYDIS_ATTRIB_HAS_OPERANDSIZE) != 0;
  if (has_66 && raw.raw.imm[0].size == 16 && raw.meta.category != ZYDIS_CATEGORY_RET) return true;
  const bool has_67 = (raw.attributes & ZYDIS_ATTRIB_HAS_ADDRESSSIZE) != 0;
  return has_67 && raw.opcode_map == ZYDIS_OPCODE_MAP_DEFAULT && raw.opcode >= 0xA0 && raw.opcode <= 0xA3;
}

bool is_stack_operation(const ZydisDecodedInstruction& raw, BranchKind branch) {
  return raw.meta.category == ZYDIS_CATEGORY_PUSH || raw.meta.category == ZYDIS_CATEGORY_POP ||
         branch == BranchKind::RelativeCall || branch == BranchKind::IndirectCall || branch == BranchKind::Return;
}

void classify_copy(const ZydisDecodedInstruction& raw, const ZydisDecodedOperand* operands, const Trait& trait,
                   InstructionShape& shape) {
  if (trait.copy == CopyKind::None || raw.operand_count_visible != 2) return;
  const OperandKind to = kind_of(operands[0]);
  const OperandKind from = kind_of(operands[1]);
  if (trait.copy == CopyKind::Vector) {
    const bool masked = (raw.attributes & ZYDIS_ATTRIB_HAS_EVEX) != 0 && raw.avx.mask.reg > ZYDIS_REGISTER_K0;
    if (to == from && to >= OperandKind::Xmm && to <= OperandKind::Zmm && !masked) shape.copy = CopyKind::Vector;
    return;
  }
  const bool wide = to == OperandKind::R32 || to == OperandKind::R64;
  const ZydisRegister source =
      from == OperandKind::Memory || from == OperandKind::Immediate ? ZYDIS_REGISTER_NONE : operands[1].reg.value;
  const bool high_byte = source >= ZYDIS_REGISTER_AH && source <= ZYDIS_REGISTER_BH;
  const bool same = raw.mnemonic == ZYDIS_MNEMONIC_MOV && to == from;
  const bool extended = raw.mnemonic == ZYDIS_MNEMONIC_MOVZX && from == OperandKind::R8 && !high_byte;
  if (wide && (same || extended)) shape.copy = CopyKind::General;
}

bool is_zero_idiom(const ZydisDecodedInstruction& raw, const ZydisDecodedOperand* operands) {
  const unsigned count = raw.operand_count_visible;
  if (count < 2) return false;
  const ZydisDecodedOperand& left = operands[count - 2];
  const ZydisDecodedOperand& right = operands[count - 1];
  if (left.type != ZYDIS_OPERAND_TYPE_REGISTER || right.type != ZYDIS_OPERAND_TYPE_REGISTER) return false;
  const OperandKind kind = kind_of(right);
  return left.reg.value == right.reg.value && kind != OperandKind::R8 && kind != OperandKind::R16;
}

/// InstructionShape::place of a visible operand.
std::uint16_t place_of(const ZydisDecodedOperand& operand) {
  const auto& memory = operand.mem;
  const bool is_general = operand.size == 32 || operand.size == 64;
  const RegisterSet registers = set_of(memory.base);
  if (memory.type != ZYDIS_MEMOP_TYPE_MEM || !is_general || registers == 0 || registers > reg::bit(15)) return 0;
  std::uint64_t hash = static_cast<std::uint64_t>(memory.disp.has_displacement ? memory.disp.value : 0);
  for (const unsigned part : {unsigned{memory.base}, unsigned{memory.index}, unsigned{memory.scale},
                              unsigned{memory.segment}, unsigned{operand.size}}) {
    hash = (std::rotl(hash, 23) ^ part) * 0x9E37'79B9'7F4A'7C15;
  }
  return static_cast<std::uint16_t>(hash >> 48 | 1);
}

InstructionShape shape_from(const ZydisDecodedInstruction& raw, const ZydisDecodedOperand* operands) {
  const Trait& trait = trait_of(raw.mnemonic);
  InstructionShape shape;
  shape.mnemonic = static_cast<std::uint16_t>(raw.mnemonic);
  shape.length = raw.length;

  std::array<OperandKind, 3> kinds{};
  unsigned top = 0, visible = 0;
  bool has_memory = false, has_immediate = false;
  for (unsigned i = 0; i < raw.operand_count; ++i) {
    const ZydisDecodedOperand& operand = operands[i];
    const OperandKind kind = kind_of(operand);
    const bool writemask = operand.encoding == ZYDIS_OPERAND_ENCODING_MASK;  // EVEX has one even where it is K0
    if (writemask && (kind != OperandKind::Mask || operand.reg.value == ZYDIS_REGISTER_K0)) continue;
    if (i < raw.operand_count_visible && !writemask) {
      if (visible < kinds.size()) kinds[visible] = kind;
      ++visible;
      has_immediate |= kind == OperandKind::Immediate;
      if (kind == OperandKind::Memory) {
        has_memory = true;
        top = top_of(operand);
        shape.place = place_of(operand);
      }
    }
    if (kind == OperandKind::Memory) add_memory(operand, raw, trait, shape);
    if (operand.type == ZYDIS_OPERAND_TYPE_REGISTER) add_register(operand, trait, shape);
  }
  add_flags(raw, shape);

  const auto is_of_vectors = [](OperandKind kind) { return kind >= OperandKind::Mmx && kind <= OperandKind::X87; };
  if (shape.vector || std::ranges::any_of(kinds, is_of_vectors)) shape.place = 0;
  shape.signature = signature_of(kinds[0], kinds[1], kinds[2], top);
  shape.memory_and_immediate = has_memory && has_immediate;
  shape.branch = isa::branch_kind(raw, operands);
  if (shape.branch == BranchKind::Conditional && (raw.opcode_map == ZYDIS_OPCODE_MAP_0F || (raw.opcode & 0xF0) == 0x70))
    shape.condition = raw.opcode & 0x0F;
  shape.fusion = trait.fusion;
  shape.bit_count = trait.bit_count;
  shape.three_operands = raw.encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY && visible >= 3;
  shape.changes_length = changes_length(raw);
  shape.repeats = raw.meta.category == ZYDIS_CATEGORY_STRINGOP &&
                  (raw.attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE)) != 0;
  const bool exchange = raw.mnemonic == ZYDIS_MNEMONIC_XCHG && has_memory;  // locked without the prefix
  shape.serialising = trait.serialising || exchange || (raw.attributes & ZYDIS_ATTRIB_HAS_LOCK) != 0;
  shape.nop = raw.meta.category == ZYDIS_CATEGORY_NOP || raw.meta.category == ZYDIS_CATEGORY_WIDENOP;
  if (shape.vector && raw.encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY) shape.upper = UpperHalves::Kept;
  if (raw.mnemonic == ZYDIS_MNEMONIC_VZEROUPPER || raw.mnemonic == ZYDIS_MNEMONIC_VZEROALL)
    shape.upper = UpperHalves::Cleared;
  classify_copy(raw, operands, trait, shape);
  if (trait.zero_idiom && is_zero_idiom(raw, operands)) {
    shape.zero_idiom = true;
    shape.reads = 0;
  }
  if (shape.nop) shape.reads = shape.writes = shape.address = 0;
  // The stack engine follows rsp at decode: nothing waits for it and it costs no uop.
  if (is_stack_operation(raw, shape.branch)) {
    const auto* const end = operands + raw.operand_count;
    const auto* const memory =
        std::find_if(operands, end, [](const auto& o) { return kind_of(o) == OperandKind::Memory; });
    if (shape.branch == BranchKind::None && memory != end) shape.place = place_of(*memory);
    shape.reads &= ~reg::bit(reg::kStackPointer);
    shape.writes &= ~reg::bit(reg::kStackPointer);
  }
  return shape;
}

const ZydisDecoder& decoder() {
  static const ZydisDecoder made = [] {
    ZydisDecoder d;
    ZydisDecoderInit(&d, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    return d;
  }();
  return made;
}

}  // namespace

std::optional<InstructionShape> shape_of(std::span<const std::uint8_t> code) {
  ZydisDecodedInstruction raw;
  std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT> operands;
  if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder(), code.data(), code.size(), &raw, operands.data()))) return {};
  return shape_from(raw, operands.data());
}

}  // namespace zs::uarch

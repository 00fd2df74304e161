#include "meaning.h"

#include <cpuid.h>

#include <cstring>
#include <string_view>
#include <utility>

namespace zs::oracle {
namespace {

using arch::BranchKind;
using arch::FpArith;

/// A general register of any width, as a sign-extended value of that width: the form BT's bit offset needs.
std::int64_t signed_value(ZydisRegister reg, const Registers& registers) {
  const ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
  const std::uint64_t value = register_value(whole, registers);
  switch (ZydisRegisterGetWidth(ZYDIS_MACHINE_MODE_LONG_64, reg)) {
    case 16: return static_cast<std::int16_t>(value);
    case 32: return static_cast<std::int32_t>(value);
    default: return static_cast<std::int64_t>(value);
  }
}

BranchKind branch_kind(const ZydisDecodedInstruction& insn, const ZydisDecodedOperand* operands) {
  if (insn.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR) return BranchKind::Far;
  const bool relative = insn.operand_count > 0 && operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
  switch (insn.mnemonic) {
    case ZYDIS_MNEMONIC_CALL: return relative ? BranchKind::RelativeCall : BranchKind::IndirectCall;
    case ZYDIS_MNEMONIC_JMP: return relative ? BranchKind::RelativeJump : BranchKind::IndirectJump;
    case ZYDIS_MNEMONIC_RET: return BranchKind::Return;
    case ZYDIS_MNEMONIC_SYSCALL:
    case ZYDIS_MNEMONIC_SYSENTER:
    case ZYDIS_MNEMONIC_INT:
    case ZYDIS_MNEMONIC_INT1:
    case ZYDIS_MNEMONIC_INT3:
    case ZYDIS_MNEMONIC_IRET:
    case ZYDIS_MNEMONIC_IRETD:
    case ZYDIS_MNEMONIC_IRETQ: return BranchKind::Far;
    case ZYDIS_MNEMONIC_XBEGIN: return BranchKind::None;  // a transaction's start, though Zydis files it with branches
    default: return insn.meta.category == ZYDIS_CATEGORY_COND_BR ? BranchKind::Conditional : BranchKind::None;
  }
}

/// FP_ARITH_INST_RETIRED: which of its classes, and how often one instruction counts.
struct FpClass {
  FpArith kind = FpArith::None;
  std::uint8_t weight = 0;
};

/// Judged by name, which is [v]STEM(ss|sd|ps|pd), so that nothing has to be listed twice for its VEX and EVEX forms.
FpClass fp_arith(const ZydisDecodedInstruction& insn) {
  std::string_view name = ZydisMnemonicGetString(insn.mnemonic);
  if (name.starts_with('v')) name.remove_prefix(1);
  if (name.size() < 4) return {};
  const std::string_view type = name.substr(name.size() - 2);
  const std::string_view stem = name.substr(0, name.size() - 2);
  const bool is_double = type == "sd" || type == "pd";
  const bool scalar = type == "ss" || type == "sd";
  if (!is_double && type != "ss" && type != "ps") return {};

  std::uint8_t weight = 0;
  for (const std::string_view once : {"add", "sub", "mul", "div", "min", "max", "sqrt", "rcp", "rsqrt", "rcp14",
                                      "rsqrt14", "hadd", "hsub", "addsub"}) {
    if (stem == once) weight = 1;
  }
  for (const std::string_view fused : {"fmadd", "fmsub", "fnmadd", "fnmsub"}) {  // also fmaddsub, fmsubadd; 132 213 231
    if (stem.starts_with(fused)) weight = 2;
  }
  if (stem == "dp") weight = 2;
  if (weight == 0) return {};

  if (scalar) return {is_double ? FpArith::ScalarDouble : FpArith::ScalarSingle, weight};
  switch (insn.avx.vector_length) {
    case 512: return {is_double ? FpArith::Packed512Double : FpArith::Packed512Single, weight};
    case 256: return {is_double ? FpArith::Packed256Double : FpArith::Packed256Single, weight};
    default: return {is_double ? FpArith::Packed128Double : FpArith::Packed128Single, weight};
  }
}

bool touches_no_memory(const ZydisDecodedInstruction& insn) {
  switch (insn.meta.category) {
    case ZYDIS_CATEGORY_PREFETCH:
    case ZYDIS_CATEGORY_PREFETCHWT1:
    case ZYDIS_CATEGORY_NOP:
    case ZYDIS_CATEGORY_WIDENOP:
    case ZYDIS_CATEGORY_CLFLUSHOPT:
    case ZYDIS_CATEGORY_CLWB:
    case ZYDIS_CATEGORY_CLDEMOTE:
    case ZYDIS_CATEGORY_CLZERO: return true;
    default: return insn.mnemonic == ZYDIS_MNEMONIC_CLFLUSH;
  }
}

bool is_streaming_store(std::string_view name) {
  if (name.starts_with('v')) name.remove_prefix(1);
  return (name.starts_with("movnt") && name != "movntdqa") || name == "maskmovq" || name == "maskmovdqu";
}

/// What an instruction does that names a line and loads or stores nothing.
std::optional<arch::AccessKind> line_kind(std::string_view name) {
  using arch::AccessKind;
  if (name == "clflush" || name == "clflushopt" || name == "clwb") return AccessKind::Flush;
  if (name == "prefetcht1" || name == "prefetcht2") return AccessKind::PrefetchT1;
  if (name == "prefetchnta") return AccessKind::PrefetchNta;
  if (name == "prefetchw" || name == "prefetchwt1") return AccessKind::PrefetchW;
  if (name == "prefetcht0" || name == "prefetch") return AccessKind::Prefetch;
  return {};
}

bool is_nop(const ZydisDecodedInstruction& insn) {
  if (insn.mnemonic != ZYDIS_MNEMONIC_NOP) return false;
  return (insn.opcode_map == ZYDIS_OPCODE_MAP_DEFAULT && insn.opcode == 0x90) ||
         (insn.opcode_map == ZYDIS_OPCODE_MAP_0F && insn.opcode == 0x1F);
}

/// Saves of processor state: one access, in the direction of the name.
enum class StateMove : std::uint8_t { None, Save, Restore };
StateMove state_move(ZydisMnemonic mnemonic) {
  const std::string_view name = ZydisMnemonicGetString(mnemonic);
  if (name.starts_with("xsave") || name.starts_with("fxsave")) return StateMove::Save;
  if (name.starts_with("xrstor") || name.starts_with("fxrstor")) return StateMove::Restore;
  return StateMove::None;
}

bool is_bit_test(ZydisMnemonic mnemonic) {
  return mnemonic == ZYDIS_MNEMONIC_BT || mnemonic == ZYDIS_MNEMONIC_BTS || mnemonic == ZYDIS_MNEMONIC_BTR ||
         mnemonic == ZYDIS_MNEMONIC_BTC;
}

bool is_string(ZydisMnemonic mnemonic) {
  switch (mnemonic) {
    case ZYDIS_MNEMONIC_MOVSB:
    case ZYDIS_MNEMONIC_MOVSW:
    case ZYDIS_MNEMONIC_MOVSD:
    case ZYDIS_MNEMONIC_MOVSQ:
    case ZYDIS_MNEMONIC_STOSB:
    case ZYDIS_MNEMONIC_STOSW:
    case ZYDIS_MNEMONIC_STOSD:
    case ZYDIS_MNEMONIC_STOSQ:
    case ZYDIS_MNEMONIC_LODSB:
    case ZYDIS_MNEMONIC_LODSW:
    case ZYDIS_MNEMONIC_LODSD:
    case ZYDIS_MNEMONIC_LODSQ:
    case ZYDIS_MNEMONIC_SCASB:
    case ZYDIS_MNEMONIC_SCASW:
    case ZYDIS_MNEMONIC_SCASD:
    case ZYDIS_MNEMONIC_SCASQ:
    case ZYDIS_MNEMONIC_CMPSB:
    case ZYDIS_MNEMONIC_CMPSW:
    case ZYDIS_MNEMONIC_CMPSD:
    case ZYDIS_MNEMONIC_CMPSQ: return true;
    default: return false;
  }
}

MemoryOperand memory_operand(const ZydisDecodedInstruction& insn, const ZydisDecodedOperand* operands,
                             const ZydisDecodedOperand& op) {
  MemoryOperand memory;
  memory.load = (op.actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0;
  memory.store = (op.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
  switch (state_move(insn.mnemonic)) {
    case StateMove::Save: memory.load = false, memory.store = true; break;
    case StateMove::Restore: memory.load = true, memory.store = false; break;
    case StateMove::None: break;
  }
  memory.bytes = (op.size + 7U) / 8U;
  memory.base = op.mem.base;
  memory.index = op.mem.index;
  memory.segment = op.mem.segment;
  memory.scale = op.mem.scale;
  memory.displacement = op.mem.disp.has_displacement ? op.mem.disp.value : 0;
  memory.address_is_32_bit = insn.address_width == 32;

  const bool hidden = op.visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN;
  if (op.mem.type == ZYDIS_MEMOP_TYPE_VSIB) memory.place = MemoryOperand::Place::PerElement;
  if (hidden && memory.store && op.mem.base == ZYDIS_REGISTER_RSP) memory.place = MemoryOperand::Place::BelowStack;
  if (insn.mnemonic == ZYDIS_MNEMONIC_POP && !hidden && op.mem.base == ZYDIS_REGISTER_RSP) {
    memory.place = MemoryOperand::Place::AfterPop;
  }
  if (is_bit_test(insn.mnemonic) && operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER) {
    memory.bit_offset = operands[1].reg.value;
  }
  return memory;
}

/// By the last letters of the name: the size of an index, then of an element.
Elements elements_of(const ZydisDecodedInstruction& insn, const ZydisDecodedOperand* operands) {
  static constexpr struct {
    std::string_view ending;
    std::uint8_t index_bytes, element_bytes;
  } kForms[] = {{"dps", 4, 4}, {"dpd", 4, 8}, {"qps", 8, 4}, {"qpd", 8, 8},
                {"dd", 4, 4},  {"dq", 4, 8},  {"qd", 8, 4},  {"qq", 8, 8}};
  Elements elements;
  const std::string_view name = ZydisMnemonicGetString(insn.mnemonic);
  for (const auto& form : kForms) {
    if (!name.ends_with(form.ending)) continue;
    elements.index_bytes = form.index_bytes;
    elements.element_bytes = form.element_bytes;
    break;
  }
  unsigned data_bits = 0;
  for (std::size_t i = 0; i < insn.operand_count_visible; ++i) {
    const ZydisDecodedOperand& op = operands[i];
    if (op.type == ZYDIS_OPERAND_TYPE_MEMORY) elements.indices = op.mem.index;
    if (op.type != ZYDIS_OPERAND_TYPE_REGISTER) continue;
    const bool is_k = ZydisRegisterGetClass(op.reg.value) == ZYDIS_REGCLASS_MASK;
    // VEX forms end with their mask, which is as wide as the data.
    if (is_k || insn.encoding == ZYDIS_INSTRUCTION_ENCODING_VEX) elements.mask = op.reg.value;
    if (!is_k) data_bits = ZydisRegisterGetWidth(ZYDIS_MACHINE_MODE_LONG_64, op.reg.value);
  }
  const unsigned by_index =
      ZydisRegisterGetWidth(ZYDIS_MACHINE_MODE_LONG_64, elements.indices) / 8U / elements.index_bytes;
  const unsigned by_data = data_bits / 8U / elements.element_bytes;
  elements.count = static_cast<std::uint8_t>(by_index < by_data ? by_index : by_data);
  return elements;
}

bool flag(const Registers& r, unsigned bit) { return ((r.eflags >> bit) & 1U) != 0; }

}  // namespace

std::uint64_t register_value(ZydisRegister reg, const Registers& r) {
  switch (reg) {
    case ZYDIS_REGISTER_RAX: return r.rax;
    case ZYDIS_REGISTER_RBX: return r.rbx;
    case ZYDIS_REGISTER_RCX: return r.rcx;
    case ZYDIS_REGISTER_RDX: return r.rdx;
    case ZYDIS_REGISTER_RSI: return r.rsi;
    case ZYDIS_REGISTER_RDI: return r.rdi;
    case ZYDIS_REGISTER_RBP: return r.rbp;
    case ZYDIS_REGISTER_RSP: return r.rsp;
    case ZYDIS_REGISTER_R8: return r.r8;
    case ZYDIS_REGISTER_R9: return r.r9;
    case ZYDIS_REGISTER_R10: return r.r10;
    case ZYDIS_REGISTER_R11: return r.r11;
    case ZYDIS_REGISTER_R12: return r.r12;
    case ZYDIS_REGISTER_R13: return r.r13;
    case ZYDIS_REGISTER_R14: return r.r14;
    case ZYDIS_REGISTER_R15: return r.r15;
    default: return 0;
  }
}

Decoder::Decoder() { ZydisDecoderInit(&decoder_, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64); }

std::optional<Meaning> Decoder::decode(std::span<const std::byte> code) const {
  ZydisDecodedInstruction insn;
  std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT> operands;
  if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder_, code.data(), code.size(), &insn, operands.data()))) return {};

  Meaning meaning;
  meaning.mnemonic = insn.mnemonic;
  meaning.length = insn.length;
  meaning.address_bits = insn.address_width;
  meaning.facts.branch = branch_kind(insn, operands.data());
  meaning.facts.nop = is_nop(insn);
  const FpClass fp = fp_arith(insn);
  meaning.facts.fp = fp.kind;
  meaning.facts.fp_weight = fp.weight;
  meaning.facts.rep_string =
      is_string(insn.mnemonic) &&
      (insn.attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE)) != 0;
  meaning.has_66_prefix = (insn.attributes & ZYDIS_ATTRIB_HAS_OPERANDSIZE) != 0;
  if (operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE) meaning.relative_target = operands[0].imm.value.s;
  if (operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER) meaning.target_register = operands[0].reg.value;
  meaning.streams = is_streaming_store(ZydisMnemonicGetString(insn.mnemonic));
  if (const auto kind = line_kind(ZydisMnemonicGetString(insn.mnemonic))) {
    meaning.line = memory_operand(insn, operands.data(), operands[0]);
    meaning.line_kind = *kind;
    meaning.facts.prefetch = *kind != arch::AccessKind::Flush;
  }
  if (touches_no_memory(insn)) return meaning;

  for (std::size_t i = 0; i < insn.operand_count; ++i) {
    const ZydisDecodedOperand& op = operands[i];
    if (op.type != ZYDIS_OPERAND_TYPE_MEMORY || op.mem.type == ZYDIS_MEMOP_TYPE_AGEN) continue;
    if (meaning.operands == meaning.operand.size()) break;
    const MemoryOperand memory = memory_operand(insn, operands.data(), op);
    meaning.facts.loads = static_cast<std::uint8_t>(meaning.facts.loads + memory.load);
    meaning.facts.stores = static_cast<std::uint8_t>(meaning.facts.stores + memory.store);
    if (memory.place == MemoryOperand::Place::PerElement) meaning.elements = elements_of(insn, operands.data());
    meaning.operand[meaning.operands++] = memory;
  }
  meaning.facts.locked =
      (insn.attributes & ZYDIS_ATTRIB_HAS_LOCK) != 0 || (insn.mnemonic == ZYDIS_MNEMONIC_XCHG && meaning.operands > 0);
  return meaning;
}

std::optional<std::uint64_t> address_of(const Meaning& meaning, const MemoryOperand& operand, const Registers& before) {
  using Place = MemoryOperand::Place;
  if (operand.place == Place::PerElement) return std::nullopt;

  const auto value = [&](ZydisRegister reg) -> std::uint64_t {
    if (reg == ZYDIS_REGISTER_RIP || reg == ZYDIS_REGISTER_EIP) return before.rip + meaning.length;
    return register_value(ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg), before);
  };
  std::uint64_t address =
      value(operand.base) + value(operand.index) * operand.scale + static_cast<std::uint64_t>(operand.displacement);
  if (meaning.mnemonic == ZYDIS_MNEMONIC_XLAT) address += before.rax & 0xFF;
  if (operand.place == Place::BelowStack) address -= operand.bytes;
  if (operand.place == Place::AfterPop) address += operand.bytes;
  if (operand.bit_offset != ZYDIS_REGISTER_NONE) {
    const std::int64_t bits = std::int64_t{operand.bytes} * 8;
    const std::int64_t bit = signed_value(operand.bit_offset, before);
    const std::int64_t word = bit >= 0 ? bit / bits : -((bits - 1 - bit) / bits);
    address += static_cast<std::uint64_t>(word * std::int64_t{operand.bytes});
  }
  if (operand.address_is_32_bit) address = static_cast<std::uint32_t>(address);
  if (operand.segment == ZYDIS_REGISTER_FS) address += before.fs_base;
  if (operand.segment == ZYDIS_REGISTER_GS) address += before.gs_base;
  return address;
}

std::vector<std::uint64_t> element_addresses(const Elements& elements, const MemoryOperand& operand,
                                             const Registers& before, std::span<const std::byte> state) {
  // Parts of vector registers lie in different components; those in their initial state are zero and may hold anything.
  const auto byte_at = [&](unsigned component, std::size_t offset) -> std::uint8_t {
    std::uint64_t present = 0;
    std::memcpy(&present, state.data() + 512, sizeof present);
    if ((present >> component & 1) == 0) return 0;
    std::size_t start = 160;  // XMM, in the legacy region
    if (component > 1) {
      unsigned a = 0, b = 0, c = 0, d = 0;
      __get_cpuid_count(0xD, component, &a, &b, &c, &d);
      start = b;
    }
    return std::to_integer<std::uint8_t>(state[start + offset]);
  };
  const auto vector_byte = [&](unsigned number, std::size_t at) -> std::uint8_t {
    if (number >= 16) return byte_at(7, 64 * std::size_t{number - 16} + at);
    if (at < 16) return byte_at(1, 16 * std::size_t{number} + at);
    return at < 32 ? byte_at(2, 16 * std::size_t{number} + at - 16) : byte_at(6, 32 * std::size_t{number} + at - 32);
  };
  const auto number_of = [](ZydisRegister reg) { return static_cast<unsigned>(ZydisRegisterGetId(reg)); };
  std::vector<std::uint64_t> addresses;
  for (std::size_t i = 0; i < elements.count; ++i) {
    const bool by_k = ZydisRegisterGetClass(elements.mask) == ZYDIS_REGCLASS_MASK;
    const bool wanted = by_k
                            ? (byte_at(5, 8 * std::size_t{number_of(elements.mask)} + i / 8) >> (i % 8) & 1) != 0
                            : (vector_byte(number_of(elements.mask), (i + 1) * elements.element_bytes - 1) & 0x80) != 0;
    if (!wanted) continue;
    std::uint64_t index = 0;
    for (std::size_t at = 0; at < elements.index_bytes; ++at)
      index |= std::uint64_t{vector_byte(number_of(elements.indices), i * elements.index_bytes + at)} << (8 * at);
    if (elements.index_bytes == 4) index = static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(index)});
    const ZydisRegister base = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, operand.base);
    addresses.push_back(register_value(base, before) + index * operand.scale +
                        static_cast<std::uint64_t>(operand.displacement));
  }
  return addresses;
}

bool condition_holds(const Meaning& meaning, const Registers& before) {
  const std::uint64_t mask = meaning.address_bits == 32 ? 0xFFFF'FFFF : ~std::uint64_t{0};
  const bool cf = flag(before, 0), pf = flag(before, 2), zf = flag(before, 6), sf = flag(before, 7),
             of = flag(before, 11);
  switch (meaning.mnemonic) {
    case ZYDIS_MNEMONIC_JO: return of;
    case ZYDIS_MNEMONIC_JNO: return !of;
    case ZYDIS_MNEMONIC_JB: return cf;
    case ZYDIS_MNEMONIC_JNB: return !cf;
    case ZYDIS_MNEMONIC_JZ: return zf;
    case ZYDIS_MNEMONIC_JNZ: return !zf;
    case ZYDIS_MNEMONIC_JBE: return cf || zf;
    case ZYDIS_MNEMONIC_JNBE: return !cf && !zf;
    case ZYDIS_MNEMONIC_JS: return sf;
    case ZYDIS_MNEMONIC_JNS: return !sf;
    case ZYDIS_MNEMONIC_JP: return pf;
    case ZYDIS_MNEMONIC_JNP: return !pf;
    case ZYDIS_MNEMONIC_JL: return sf != of;
    case ZYDIS_MNEMONIC_JNL: return sf == of;
    case ZYDIS_MNEMONIC_JLE: return zf || sf != of;
    case ZYDIS_MNEMONIC_JNLE: return !zf && sf == of;
    case ZYDIS_MNEMONIC_JRCXZ:
    case ZYDIS_MNEMONIC_JECXZ: return (before.rcx & mask) == 0;
    case ZYDIS_MNEMONIC_LOOP: return ((before.rcx - 1) & mask) != 0;
    case ZYDIS_MNEMONIC_LOOPE: return ((before.rcx - 1) & mask) != 0 && zf;
    case ZYDIS_MNEMONIC_LOOPNE: return ((before.rcx - 1) & mask) != 0 && !zf;
    default: return false;
  }
}

bool is_split(std::uint64_t address, std::uint32_t bytes) {
  return bytes > 0 && bytes <= 64 && address / 64 != (address + bytes - 1) / 64;
}

}  // namespace zs::oracle

#include "isa/register_flow.h"

#include <Zydis/Zydis.h>

#include "isa/zydis_decode.h"

namespace zs::isa {
namespace {

using Kind = RegisterFlow::Kind;

constexpr std::int64_t kWholeBits = 64;

/// The number of a register that is written or read in full, else -1.
std::int8_t whole_register(const ZydisDecodedOperand& operand) {
  if (operand.type != ZYDIS_OPERAND_TYPE_REGISTER || operand.size != kWholeBits) return -1;
  return static_cast<std::int8_t>(gpr_number(operand.reg.value));
}

std::uint16_t written_registers(const ZydisDecodedInstruction& raw, const ZydisDecodedOperand* operands) {
  std::uint16_t written = 0;
  for (unsigned i = 0; i < raw.operand_count; ++i) {
    if (operands[i].type != ZYDIS_OPERAND_TYPE_REGISTER) continue;
    if ((operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) == 0) continue;
    const int number = gpr_number(operands[i].reg.value);
    if (number >= 0) written = static_cast<std::uint16_t>(written | 1U << static_cast<unsigned>(number));
  }
  return written;
}

void describe_move(const ZydisDecodedInstruction& raw, const ZydisDecodedOperand* operands, RegisterFlow& flow) {
  flow.to = whole_register(operands[0]);
  flow.from = whole_register(operands[1]);
  if (flow.to >= 0 && flow.from >= 0) flow.kind = Kind::Copy;
  if (flow.to >= 0 && operands[1].type == ZYDIS_OPERAND_TYPE_MEMORY) {
    flow.kind = Kind::Load;
    flow.memory = memory_operand(raw, operands, operands[1]);
  }
  if (flow.from >= 0 && operands[0].type == ZYDIS_OPERAND_TYPE_MEMORY) {
    flow.kind = Kind::Store;
    flow.memory = memory_operand(raw, operands, operands[0]);
  }
}

/// ADD and SUB, of a constant or a register.
void describe_sum(const ZydisDecodedOperand* operands, bool less, RegisterFlow& flow) {
  flow.to = whole_register(operands[0]);
  if (flow.to < 0) return;
  if (operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
    flow.kind = Kind::Add;
    flow.by = less ? -operands[1].imm.value.s : operands[1].imm.value.s;
    return;
  }
  flow.from = whole_register(operands[1]);
  if (flow.from >= 0 && !less) flow.kind = Kind::Join;
}

/// What a push or pop of this operand size moves: 66H makes it two bytes.
std::int64_t stack_bytes(const ZydisDecodedInstruction& raw) { return raw.operand_width == 16 ? 2 : kWholeBits / 8; }

/// source: SDM vol. 2, "ENTER": the nesting level is taken modulo 32; each level pushes a frame pointer.
void describe_enter(const ZydisDecodedInstruction& raw, const ZydisDecodedOperand* operands, RegisterFlow& flow) {
  const std::int64_t bytes = stack_bytes(raw);
  flow.kind = Kind::Enter;
  if (bytes == kWholeBits / 8) flow.to = kRbp;
  const auto level = static_cast<std::int64_t>(operands[1].imm.value.u % 32);
  flow.by = -static_cast<std::int64_t>(operands[0].imm.value.u & 0xFFFF) - bytes * (level + 1);
}

void describe(const ZydisDecodedInstruction& raw, const ZydisDecodedOperand* operands, RegisterFlow& flow) {
  switch (raw.mnemonic) {
    case ZYDIS_MNEMONIC_MOV: describe_move(raw, operands, flow); break;
    case ZYDIS_MNEMONIC_LEA:
      flow.to = whole_register(operands[0]);
      if (flow.to < 0) break;
      flow.kind = Kind::Address;
      flow.memory = memory_operand(raw, operands, operands[1]);
      break;
    case ZYDIS_MNEMONIC_ADD: describe_sum(operands, false, flow); break;
    case ZYDIS_MNEMONIC_SUB: describe_sum(operands, true, flow); break;
    case ZYDIS_MNEMONIC_INC:
    case ZYDIS_MNEMONIC_DEC:
      flow.to = whole_register(operands[0]);
      if (flow.to >= 0) flow.kind = Kind::Add;
      flow.by = raw.mnemonic == ZYDIS_MNEMONIC_INC ? 1 : -1;
      break;
    case ZYDIS_MNEMONIC_XCHG:
      flow.to = whole_register(operands[0]);
      flow.from = whole_register(operands[1]);
      if (flow.to >= 0 && flow.from >= 0) flow.kind = Kind::Exchange;
      break;
    case ZYDIS_MNEMONIC_PUSH:
    case ZYDIS_MNEMONIC_PUSHF:
    case ZYDIS_MNEMONIC_PUSHFQ:
      flow.kind = Kind::Push;
      flow.by = -stack_bytes(raw);
      if (raw.mnemonic != ZYDIS_MNEMONIC_PUSH) break;
      flow.from = whole_register(operands[0]);
      if (operands[0].type == ZYDIS_OPERAND_TYPE_MEMORY) flow.memory = memory_operand(raw, operands, operands[0]);
      break;
    case ZYDIS_MNEMONIC_POP:
    case ZYDIS_MNEMONIC_POPF:
    case ZYDIS_MNEMONIC_POPFQ:
      if (operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER && operands[0].reg.value == ZYDIS_REGISTER_SP) break;
      flow.kind = Kind::Pop;
      flow.by = stack_bytes(raw);
      if (raw.mnemonic != ZYDIS_MNEMONIC_POP) break;
      flow.to = whole_register(operands[0]);
      if (operands[0].type == ZYDIS_OPERAND_TYPE_MEMORY) flow.memory = memory_operand(raw, operands, operands[0]);
      break;
    case ZYDIS_MNEMONIC_ENTER: describe_enter(raw, operands, flow); break;
    case ZYDIS_MNEMONIC_LEAVE:
      if (stack_bytes(raw) == kWholeBits / 8) flow.kind = Kind::Leave;
      break;
    default:
      if (raw.meta.category != ZYDIS_CATEGORY_CMOV) break;
      flow.to = whole_register(operands[0]);
      flow.from = whole_register(operands[1]);
      if (flow.to >= 0 && flow.from >= 0) flow.kind = Kind::Choose;
      break;
  }
}

}  // namespace

std::optional<FlowInsn> decode_flow(std::uint64_t pc, std::span<const std::uint8_t> code) {
  FlowInsn out;
  if (!decode_into(out.insn, pc, code)) return std::nullopt;
  ZydisDecodedInstruction raw;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
  if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&zydis_decoder(), code.data(), code.size(), &raw, operands)))
    return std::nullopt;
  out.flow.written = written_registers(raw, operands);
  describe(raw, operands, out.flow);
  return out;
}

}  // namespace zs::isa

// Which instructions may take a thread to another stack, or to a caller's part of this one: what loads the stack
// pointer, as longjmp, switches of contexts and the way to an exception's handler do. Not what makes or gives back room
// in a function's frame: those begin with the stack pointer or the frame pointer.
#pragma once

#include "isa/decode.h"
#include "isa/registers.h"

namespace zs::engine {

inline bool switches_stack(const isa::Insn& insn) {
  using isa::kRbp, isa::kRsp;
  if (insn.flow != isa::Flow::Plain || !insn.mentions(kRsp) || insn.vvvv_at != 0) return false;
  const unsigned before = insn.opcode_at != 0 ? insn.bytes[insn.opcode_at - 1u] : 0;
  const unsigned opcode = insn.bytes[insn.opcode_at], modrm = insn.bytes[insn.modrm_at];
  const unsigned rex = (before & 0xF0) == 0x40 ? before : 0;
  if (before == 0x0F || before == 0x38 || before == 0x3A) return false;
  constexpr unsigned kPopRsp = 0x5C, kMovStore = 0x89, kMovLoad = 0x8B, kXchg = 0x87, kAddStore = 0x01, kAddLoad = 0x03;
  if (opcode == kPopRsp && insn.modrm_at == 0) return (rex & 1) == 0;
  if (insn.modrm_at == 0) return false;
  const unsigned reg = (modrm >> 3 & 7) | (rex & 4) << 1, rm = (modrm & 7) | (rex & 1) << 3;
  const bool has_register = modrm >> 6 == 3;
  const bool to_rm = has_register && rm == kRsp, to_reg = reg == kRsp;
  const bool from_frame = has_register ? rm == kRbp : insn.memory_count != 0 && insn.memory[0].base == kRbp;
  switch (opcode) {
    case kMovStore: return to_rm && reg != kRbp;
    case kMovLoad: return to_reg && !from_frame;
    case kXchg: return to_rm || to_reg;
    case kAddStore: return to_rm;
    case kAddLoad: return to_reg;
    default: return false;
  }
}

}  // namespace zs::engine

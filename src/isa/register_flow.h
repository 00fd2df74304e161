// What an instruction does to the general registers, for who follows pointers through code: which one it copies,
// loads, keeps or moves on, and which hold something else afterwards.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "isa/decode.h"

namespace zs::isa {

struct RegisterFlow {
  enum class Kind : std::uint8_t {
    Other,
    Copy,      // to = from
    Load,      // to = [memory]
    Store,     // [memory] = from
    Address,   // to = where `memory` lies
    Add,       // to += by
    Join,      // to += from
    Choose,    // to = from, or stays what it was
    Exchange,  // to = from and from = to
    Push,      // rsp += by, [rsp] = from; something else where `from` is none
    Pop,       // to = [rsp], rsp += by
    Enter,     // push rbp, rbp = rsp; then rsp is `by` from where it was. Where `to` is none, it is of 16 bits
    Leave,     // rsp = rbp, pop rbp
  };
  Kind kind = Kind::Other;
  std::int8_t to = -1, from = -1;  // as instructions encode them; -1: none, or no whole register of 64 bits
  std::int64_t by = 0;
  MemoryOperand memory;
  std::uint16_t written = 0;  // the registers that it changes, by encoding number
};

/// An instruction, and that.
struct FlowInsn {
  Insn insn;
  RegisterFlow flow;
};

/// returns  nothing where decode() of the same bytes returns nothing
std::optional<FlowInsn> decode_flow(std::uint64_t pc, std::span<const std::uint8_t> code);

}  // namespace zs::isa

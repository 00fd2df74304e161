// What an instruction is to someone who asks what a program is made of.
#pragma once

#include <cstdint>
#include <string>

#include "isa/decode.h"

namespace zs::isa {

/// In the order in which people read of them. Each instruction is of one.
enum class Kind : std::uint8_t {
  Integer,  // and all that is nothing else
  Conditional,
  Jump,
  IndirectJump,
  Call,
  IndirectCall,
  Return,
  SystemCall,
  OtherFar,
  String,         // with a REP prefix
  FloatingPoint,  // arithmetic that FP_ARITH_INST_RETIRED counts
  Vector,         // everything else with vector registers
  X87,
  Nop,
};

struct KindOf {
  Kind kind = Kind::Integer;
  std::string name;  // "vector, 256 bits, AVX2"
  std::string mnemonic;
};

KindOf kind_of(const Insn& insn);

}  // namespace zs::isa

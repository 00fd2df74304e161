// What the engine's two readers of Zydis share: decode.cc, which asks what an instruction is, and accesses.cc, which
// asks what it does to memory and registers.
#pragma once

#include <Zydis/Zydis.h>

#include "isa/decode.h"

namespace zs::isa {

const ZydisDecoder& zydis_decoder();

/// The encoding number of a general register of any width; -1 for other registers.
int gpr_number(ZydisRegister reg);

/// One of `operands`, which is in memory.
MemoryOperand memory_operand(const ZydisDecodedInstruction& raw, const ZydisDecodedOperand* operands,
                             const ZydisDecodedOperand& operand);

}  // namespace zs::isa

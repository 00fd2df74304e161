// What the readers of Zydis share: decode.cc, which asks what an instruction is, accesses.cc, which asks what it does
// to memory and registers, and those of the other layers.
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

/// In every mode of the processor. INTO and BOUND are no branches: they interrupt or go on.
arch::BranchKind branch_kind(const ZydisDecodedInstruction& raw, const ZydisDecodedOperand* operands);

/// Fills in InsnFacts::fp and fp_weight of an instruction that FP_ARITH_INST_RETIRED counts.
void classify_fp(const ZydisDecodedInstruction& raw, const ZydisDecodedOperand* operands, arch::InsnFacts& facts);

/// Whether the instruction's memory operand, if it has one, is only named: it is a hint or a flush.
bool accesses_nothing(const ZydisDecodedInstruction& raw);

}  // namespace zs::isa

// The quick way through decode(): instructions whose encoding opcode_table.h lists, decoded by table.
// Zydis, in decode.cc, stays the authority: whatever is not surely known here goes there, and fast_decode_test.cc holds
// every answer given here against its.
#pragma once

#include <cstdint>
#include <span>

#include "isa/decode.h"

namespace zs::isa {

/// Decodes the instruction at `pc` if it is one of the common ones.
/// code     as for decode(); fewer than 15 bytes are always left to Zydis
/// insn     written only if the answer is true; then as decode_into() says
/// returns  false if this decoder does not know, which says nothing of whether the bytes are an instruction
bool fast_decode(std::uint64_t pc, std::span<const std::uint8_t> code, Insn& insn);

}  // namespace zs::isa

// What an instruction does to memory, as a core model is told, and what it does to the general registers that addresses
// are made of. Asked only where a core model runs along.
//
// A masked move is an access of its whole operand, whatever the mask. XSAVE, FXSAVE and their kin move the operand's
// size in pieces of a line, whatever the components asked for.
#pragma once

#include <cstdint>
#include <vector>

#include "arch/core_feed.h"
#include "isa/decode.h"

namespace zs::isa {

/// One access of an instruction; registers are encoding numbers, -1 none.
struct Access {
  arch::AccessKind kind = arch::AccessKind::Load;
  arch::AccessForm form = arch::AccessForm::One;
  std::uint16_t bytes = 0;
  /// Repeated: `base` counts through the elements. Listed: of every element, less its own index.
  MemoryOperand operand;
};

/// Where a gather or scatter finds its elements' indices and mask.
struct ElementList {
  std::uint8_t index_register = 0;  // vector register
  std::uint8_t index_bytes = 0;     // 4 or 8
  std::uint8_t elements = 0;
  std::int8_t mask_register = -1;  // k register of EVEX forms
  std::int8_t mask_vector = -1;    // vector register of VEX forms: the sign bit of each element
};

struct Effects {
  std::vector<Access> accesses;  // loads, then stores
  std::uint16_t written = 0;     // general registers that may change, as a set
  /// After the instruction `target` is what `source` was before it, plus `delta`; without a source, `delta`. -1: none.
  std::int8_t target = -1, source = -1;
  std::int64_t delta = 0;
  bool writes_flags = false;  // of RFLAGS, any
  bool alone = false;         // cannot say its addresses among others: must run as Variant::Step
  ElementList elements;
};

/// Writes all of `effects`, which keeps its memory.
void effects_of(const Insn& insn, Effects& effects);

}  // namespace zs::isa

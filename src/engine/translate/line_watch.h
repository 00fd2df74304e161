// In code that nothing is modelled of: tells of accesses to one line in thirty-two (arch::LineSample), from which the
// core model learns what lies in its last-level cache. In front of an instruction with a plain operand stands a test of
// its address that writes no flags; the lines in question are noted in the list in which a budget trace notes probes.
//
// In a program's first units, in front of every instruction; later only of those that were seen to ask beyond L2: what
// hits L2 changes nothing behind it. Most programs have some dozens.
//
// Left out: operands by the stack pointer or rip, which lie in the first level nearly always; vector indices, segments,
// and strings, of which only the first element would be met.
#pragma once

#include <cstdint>

#include "engine/translate/emitter.h"
#include "engine/translate/stand_in.h"
#include "engine/translate/superblock.h"

namespace zs::engine {

/// PEXT. source: SDM vol. 2, CPUID leaf 7, BMI2
bool can_watch_lines();

class LineWatch {
 public:
  /// In front of `insn`, if it has a plain operand; what is seldom run goes to `cold`.
  static void emit(const Insn& insn, const StandIn& stand_in, Emitter& out, Emitter& cold);
};

}  // namespace zs::engine

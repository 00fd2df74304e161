// Where translated code may compare and branch without saving the program's flags: right before an instruction that
// writes all of them, reads none and cannot fault.
#pragma once

#include "isa/decode.h"

namespace zs::isa {

/// Whether the flags before `insn` can be seen by nobody: it writes CF, PF, AF, ZF, SF and OF whatever its operands
/// are, reads none of them, and touches no memory, so that no signal frame shows them either. False where in doubt.
/// Logic instructions leave AF undefined; they are taken only where this processor was seen to write it.
/// source: SDM vol. 1, appendix "EFLAGS Cross-Reference".
bool overwrites_flags(const Insn& insn);

/// Whether TEST, AND, OR and XOR clear AF on this processor, which the manual leaves undefined.
bool logic_writes_af();

}  // namespace zs::isa

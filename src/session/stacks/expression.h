// DWARF expressions as call frame information has them: PLT entries say so where their frame is, handlers of signals
// where the registers are, functions with a realigned stack where their frame was.
// source: DWARF 5, section "DWARF Expressions".
#pragma once

#include <optional>

#include "arch/dwarf_registers.h"
#include "base/bytes.h"

namespace zs::session {

/// Eight bytes of the program's memory; nothing where it has none.
class WordSource {
 public:
  virtual ~WordSource() = default;
  virtual std::optional<std::uint64_t> word(std::uint64_t address) = 0;
};

/// on_stack  what the stack of the expression begins with: of a register's rule, the frame's address
/// returns nothing if it is damaged, has operations that call frame information may not, or reads what is not there
std::optional<std::uint64_t> evaluate(Bytes expression, const arch::DwarfRegisters& registers, WordSource& memory,
                                      std::optional<std::uint64_t> on_stack);

}  // namespace zs::session

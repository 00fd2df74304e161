// Call frame information as .eh_frame holds it: which frame rule holds at which address of a function.
// source: DWARF 5, section "Call Frame Information"; Linux Standard Base Core, "Exception Frames".
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/dwarf_numbers.h"
#include "session/stacks/frame_rule.h"

namespace zs::session {

/// What functions have in common (CIE).
struct CommonFrameInfo {
  std::uint64_t code_unit = 1;
  std::int64_t data_unit = 1;
  std::uint64_t return_register = arch::kDwarfReturnAddress;
  PointerEncoding pointers;
  bool sized_augmentation = false;  // functions say how long theirs is
  bool interrupts = false;
  std::vector<std::byte> instructions;
};

/// One function's (FDE).
struct FunctionFrameInfo {
  std::uint64_t start = 0, length = 0;  // addresses of code
  Bytes instructions;                   // in the bytes it was read from
};

/// entry  a whole CIE behind its length and identity; its offset() is its address
/// returns nothing if it is damaged or of a kind that x86-64 compilers do not write
std::optional<CommonFrameInfo> read_common(ByteReader entry);

/// entry  an FDE behind its length and the distance to its CIE
std::optional<FunctionFrameInfo> read_function(ByteReader entry, const CommonFrameInfo& common);

/// The rule at `pc`, which lies in the function. Nothing if its instructions are damaged.
std::optional<FrameRule> rule_at(const CommonFrameInfo& common, const FunctionFrameInfo& function, std::uint64_t pc,
                                 Expressions& expressions);

}  // namespace zs::session

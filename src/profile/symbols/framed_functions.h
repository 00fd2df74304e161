// Where functions begin and end that no symbol names: a stripped program still has call frame information, an entry for
// each function.
#pragma once

#include <libelf.h>

#include <cstdint>
#include <functional>

namespace zs::profile {

/// visit(start, size) for each function of .eh_frame, addresses as the file's headers count; none where the section is
/// not there, not loaded or damaged from there on.
/// source: Linux Standard Base Core, "Exception Frames"; DWARF 5, section 6.4
void each_framed_function(Elf* elf, const std::function<void(std::uint64_t start, std::uint64_t size)>& visit);

}  // namespace zs::profile

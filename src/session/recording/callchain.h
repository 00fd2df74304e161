// Call chains by frame pointers, as the kernel walks them for perf: the word at BP is the caller's BP, the word above
// it the return address. Code without frame pointers gives a chain that is too short or wrong; that is perf's bargain
// too.
#pragma once

#include <cstdint>
#include <vector>

#include "arch/retired.h"
#include "session/memory/program_memory.h"

namespace zs::session {

/// ip      what the chain starts with; the registers may already belong to the instruction after it
/// longest  entries at most, `ip` included
std::vector<std::uint64_t> walk_frame_pointers(std::uint64_t ip, const arch::RegisterFile& registers,
                                               ProgramMemory& memory, std::size_t longest);

}  // namespace zs::session

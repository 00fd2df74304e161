// The clocks that the kernel keeps in the vdso. A system call costs a microsecond or more, reading them there a
// twentieth. The program is not given the vdso itself (but with --vdso): how many instructions it executes there
// depends on the kernel, and on the time. So its library makes system calls, which are always the same instructions,
// and the engine reads the clock for it.
#pragma once

#include <optional>

#include "engine/run/guest_memory.h"

namespace zs::engine {

/// Answers clock_gettime, gettimeofday and time. nullopt: it is another call, or of a clock that only the kernel can
/// read
std::optional<long> answer_from_vdso(GuestMemory& memory, long number, const long (&a)[6]);

}  // namespace zs::engine

// Robust futexes of a thread that ends (set_robust_list(2)), where the kernel cannot see to them.
#pragma once

#include "engine/run/guest_memory.h"

namespace zs::engine {

/// A thread ends that is shown another id than the kernel's, which would look for its own in the words: as the kernel
/// does it. Nothing to do for any other thread.
void leave_robust_list(GuestMemory& memory, const ThreadSet& threads, const Thread& thread);

}  // namespace zs::engine

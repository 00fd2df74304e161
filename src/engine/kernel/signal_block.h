// Each thread's alternate signal stack. It is aligned to its size and begins with a pointer to the Thread, so that a
// handler finds the thread from its stack pointer.
#pragma once

#include <cstdint>

#include "engine/thread.h"

namespace zs::engine {

inline constexpr std::uint64_t kSignalBlockBytes = 128 << 10;

/// Gives the thread one, unless it has one already.
void map_signal_block(Thread& thread);
/// The kernel takes signals of the calling thread there from now on.
void use_signal_block(const Thread& thread);

/// In a handler: whose stack `frame` is on.
inline Thread* thread_at(std::uint64_t frame) { return *reinterpret_cast<Thread**>(frame & ~(kSignalBlockBytes - 1)); }

}  // namespace zs::engine

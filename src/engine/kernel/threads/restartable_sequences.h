// Restartable sequences (rseq(2)): the program tells its kernel of code that is to begin anew where its thread was
// interrupted in the middle, and reads from memory on which processor it is. The kernel would interrupt the engine's
// code and not the program's, so the engine keeps what threads register, and answers as a kernel with it: a thread is
// interrupted when another one has run, when its processor has changed, and in front of a handler of a signal.
#pragma once

#include <cstdint>

#include "engine/run.h"

namespace zs::engine {

/// rseq(2) of the running thread.
long register_sequences(Run& run, std::uint64_t area, std::uint32_t size, int flags, std::uint32_t signature);

/// The running thread runs natively from here on: as where the kernel has no such sequences.
void forget_sequences(Run& run);

/// Notes whether the running thread's processor is another one than it was told.
void look_for_processor(Run& run);

/// The running thread goes on behind an interruption: in the middle of a sequence where that begins anew.
/// returns false, and SIGSEGV is due, if what the program has left in memory cannot be read or describes none
bool restart_sequence(Run& run);

}  // namespace zs::engine

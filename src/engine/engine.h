// Runs one unmodified x86-64 Linux program by same-ISA binary translation, and feeds per-thread PMUs.
// The program and the engine share the process: see docs/engine/.
#pragma once

#include "engine/observer.h"

namespace zs::engine {

/// Loads and runs the program; never returns: ends as the program ends (same exit status, same signal).
/// If the program cannot be started, prints the reason and exits 126 (not executable) or 127 (not found).
[[noreturn]] void run(const Config& config, Observer& observer);

}  // namespace zs::engine

// The processor's state as people read it: for a triple fault, a breakpoint, and whoever asks.
#pragma once

#include <string>

#include "machine/vcpu/cpu_state.h"

namespace zs::machine {

/// General registers, RIP, flags, segments, control registers, tables. Lines end in a newline.
std::string state_text(const CpuState& state);

}  // namespace zs::machine

// Signals that each instruction adds to, whatever time passes.
#pragma once

#include <array>

#include "arch/core_signals.h"

namespace zs::arch {

inline constexpr std::array<CoreSignal, 4> kIssueSignals{CoreSignal::SlotsRetired, CoreSignal::SlotsMicrocode,
                                                         CoreSignal::Uops, CoreSignal::MacroFused};

}  // namespace zs::arch

// Which instructions a processor of a feature level does not have (arch/cpu_level.h).
#pragma once

#include <cstdint>
#include <span>

#include "arch/cpu_level.h"

namespace zs::isa {

/// Whether the instruction at the start of `code` is one that the level lacks, so that it raises #UD there. Those that
/// older processors take for other ones (TZCNT, hints) are not.
bool is_beyond(arch::CpuLevel level, std::span<const std::uint8_t> code);

}  // namespace zs::isa

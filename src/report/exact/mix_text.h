// What the instructions of an exact profile are: by kind, by mnemonic, or by function.
#pragma once

#include <cstdint>
#include <string>

#include "report/exact/exact_counts.h"

namespace zs::report {

enum class MixRows : std::uint8_t { Kinds, Opcodes, Functions };

std::string mix_text(const ExactCounts& counts, MixRows rows);

}  // namespace zs::report

// The assembler, its operands and the general registers go by their bare names where code is written.
#pragma once

#include "isa/assembler.h"
#include "isa/registers.h"

namespace zs::uarch {
using isa::Assembler;
using isa::Gpr;
using isa::Memory;
using enum isa::Gpr;
}  // namespace zs::uarch

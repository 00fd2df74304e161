// The extended state of a processor of a fixed level (arch/cpu_level.h), on one that has more: what XSAVE stores and
// XRSTOR loads are the level's components, at its places.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "arch/cpu_level.h"

namespace zs::engine {

/// Bytes of an XSAVE area as the program knows it: the level's, or this machine's.
std::uint32_t shown_state_bytes(arch::CpuLevel level);
/// Components that the program knows of.
std::uint64_t shown_components(arch::CpuLevel level);

/// XSAVE of the components in `wanted`, which are among shown_components(): `area` is of the program's registers, as
/// this machine has stored them; `image`, of shown_state_bytes(), what lies at the operand.
void store_state(std::span<const std::byte> area, std::uint64_t wanted, arch::CpuLevel level,
                 std::span<std::byte> image);
/// XRSTOR. returns false if the image is none: #GP
bool load_state(std::span<const std::byte> image, std::uint64_t wanted, arch::CpuLevel level,
                std::span<std::byte> area);

}  // namespace zs::engine

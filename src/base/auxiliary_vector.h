// The auxiliary vector, by which the kernel tells a process of itself and of the processor. tests/hosts links other
// answers in place of this.
#pragma once

#include <cstdint>
#include <optional>

namespace zs {

/// An entry of ours, as the kernel gave it; nullopt: it gave none.
std::optional<std::uint64_t> auxiliary_here(std::uint64_t type);

}  // namespace zs

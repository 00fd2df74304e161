// Which build of this program is running.
#pragma once

#include <cstdint>
#include <vector>

namespace zs::engine {

/// The build-id that the linker has put into it, in words of eight bytes; empty: it has none.
std::vector<std::uint64_t> own_build_id();

}  // namespace zs::engine

// Sizes of memory and of files, as options take them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace zs::cli {

/// "512M" -> bytes; K, M and G are powers of 1024. Nothing if it is no size, or above 64 bits.
std::optional<std::uint64_t> parse_memory_size(std::string_view text);

}  // namespace zs::cli

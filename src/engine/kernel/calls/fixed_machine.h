// The machine around a processor of a fixed level: what system calls and files tell of it, the same everywhere.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/settings.h"

namespace zs::engine {

/// set_mempolicy_home_node: a kernel of the fixed release has none with a higher number.
inline constexpr long kLastFixedCall = 450;

/// What a file of /proc or /sys reads that tells of the whole machine; nullopt: it is none of these.
/// now  nanoseconds since the run began
std::optional<std::string> file_of_fixed_machine(std::string_view path, const RunSettings& settings, std::uint64_t now);
/// Whether a path that begins in a folder may be that of such a file.
bool ends_as_fixed_file(std::string_view path);

}  // namespace zs::engine

// The machine around a processor of a fixed level: what system calls and files tell of it, the same everywhere.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/settings.h"

namespace zs::engine {

inline constexpr std::uint64_t kFixedMemory = std::uint64_t{8} << 30;
inline constexpr char kFixedRelease[] = "6.1.0", kFixedName[] = "zeroskid";

/// What a file of /proc or /sys reads that tells of the whole machine; nullopt: it is none of these.
/// now  nanoseconds since the run began
std::optional<std::string> file_of_fixed_machine(std::string_view path, const RunSettings& settings, std::uint64_t now);

}  // namespace zs::engine

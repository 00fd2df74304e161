// The kinds of address a recording meets. A Linear one (std::uint64_t here, as samples have it) belongs to a process;
// the others to a file, whatever mapped it.
#pragma once

#include <cstdint>

namespace zs::profile {

/// Counted from the first byte of a file.
enum class FileOffset : std::uint64_t {};

/// As the program headers of an ELF file place it (st_value, DWARF); in code of a just-in-time compiler, linear.
enum class ImageAddress : std::uint64_t {};

constexpr std::uint64_t value(FileOffset offset) { return static_cast<std::uint64_t>(offset); }
constexpr std::uint64_t value(ImageAddress address) { return static_cast<std::uint64_t>(address); }
constexpr ImageAddress operator+(ImageAddress a, std::uint64_t n) { return ImageAddress{value(a) + n}; }
constexpr std::uint64_t operator-(ImageAddress a, ImageAddress b) { return value(a) - value(b); }

}  // namespace zs::profile

// Reads the file behind a mapping of the program.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

namespace zs::session {

/// Reads exactly out.size() bytes at `offset` of a file. False: there are not as many.
using ReadAt = std::function<bool(std::uint64_t offset, std::span<std::byte> out)>;

/// Opens `path` while `use` reads it. returns false, and calls nothing, where it cannot be opened, is no ordinary file
/// or has another inode: what has taken the mapped file's name since would give wrong answers
bool read_mapped_file(const char* path, std::uint64_t inode, const std::function<void(const ReadAt&)>& use);

}  // namespace zs::session

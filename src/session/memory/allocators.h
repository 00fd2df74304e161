// Which functions of a file give out heap memory, what they are told, and where they begin: read from the symbols of
// its ELF image, the dynamic ones and the others.
#pragma once

#include <cstdint>
#include <vector>

#include "session/settings/mapped_file.h"

namespace zs::session {

/// What a call asks for, by its arguments, and where the answer is.
enum class AllocatorCall : std::uint8_t {
  Allocate,       // (size), and whatever follows
  AllocateArray,  // (count, size)
  AllocateAfter,  // (alignment, size)
  AllocateInto,   // (where to put the pointer, alignment, size); returns 0
  Resize,         // (block, size)
  ResizeArray,    // (block, count, size)
  Free,           // (block), and whatever follows
  PassOn,         // calls another of these for its own caller, as xmalloc does
};

struct AllocatorEntry {
  std::uint64_t file_offset = 0;
  AllocatorCall call = AllocatorCall::Allocate;
  bool operator==(const AllocatorEntry&) const = default;
};

/// The allocator's functions that a file defines, by ascending offset; one for each. None where the file is no ELF file
/// or makes no sense.
std::vector<AllocatorEntry> find_allocators(const ReadAt& read);
std::vector<AllocatorEntry> find_allocators_of_file(const char* path, std::uint64_t inode);

}  // namespace zs::session

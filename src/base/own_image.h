// This program's file, as it lies in memory. (Its program headers are not asked for by PT_PHDR, which static programs
// lack.)
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <span>

// NOLINTNEXTLINE(readability-identifier-naming): the linker named it
extern "C" const Elf64_Ehdr __ehdr_start __attribute__((visibility("hidden")));

namespace zs {

inline std::span<const Elf64_Phdr> own_segments() {
  const auto* const file = reinterpret_cast<const std::byte*>(&__ehdr_start);
  return {reinterpret_cast<const Elf64_Phdr*>(file + __ehdr_start.e_phoff), __ehdr_start.e_phnum};
}

/// Where it lies, less where it was linked to.
inline std::uint64_t own_bias() {
  for (const Elf64_Phdr& segment : own_segments()) {
    if (segment.p_type == PT_LOAD && segment.p_offset == 0)
      return reinterpret_cast<std::uint64_t>(&__ehdr_start) - segment.p_vaddr;
  }
  return 0;
}

}  // namespace zs

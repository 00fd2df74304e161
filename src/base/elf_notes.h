// Notes of ELF files, as they lie in the file and in memory.
#pragma once

#include <elf.h>

#include <cstdint>
#include <cstring>

#include "base/bytes.h"

namespace zs {

/// The build-id among these notes; empty: there is none.
/// alignment  of the segment that holds them: names and contents fill whole words of it
/// source: System V ABI, "Note Section"; NT_GNU_BUILD_ID is binutils'.
inline Bytes build_id_in(Bytes notes, std::uint64_t alignment) {
  ByteReader in(notes);
  const auto skip_padding = [&](std::uint64_t size) { in.skip((alignment - size % alignment) % alignment); };
  while (in.remaining() >= sizeof(Elf64_Nhdr)) {
    const auto note = in.read<Elf64_Nhdr>();
    const Bytes name = in.take(note.n_namesz);
    skip_padding(sizeof note + note.n_namesz);
    const Bytes id = in.take(note.n_descsz);
    skip_padding(note.n_descsz);
    if (note.n_type == NT_GNU_BUILD_ID && name.size() == sizeof "GNU" &&
        std::memcmp(name.data(), "GNU", name.size()) == 0 && !id.empty())
      return id;
  }
  return {};
}

}  // namespace zs

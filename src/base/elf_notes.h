// Notes of ELF files, as they lie in the file and in memory.
#pragma once

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/bytes.h"

namespace zs {

/// What the first note of that owner and type says; empty: there is none.
/// alignment  of the segment that holds them: names and contents fill whole words of it
/// source: System V ABI, "Note Section".
inline Bytes note_in(Bytes notes, std::uint64_t alignment, std::string_view owner, std::uint32_t type) {
  ByteReader in(notes);
  const auto skip_padding = [&](std::uint64_t size) { in.skip((alignment - size % alignment) % alignment); };
  while (in.remaining() >= sizeof(Elf64_Nhdr)) {
    const auto note = in.read<Elf64_Nhdr>();
    const Bytes name = in.take(note.n_namesz);
    skip_padding(sizeof note + note.n_namesz);
    const Bytes content = in.take(note.n_descsz);
    skip_padding(note.n_descsz);
    const bool owned = name.size() == owner.size() + 1 && std::memcmp(name.data(), owner.data(), owner.size()) == 0;
    if (note.n_type == type && owned && !content.empty()) return content;
  }
  return {};
}

/// The build-id among these notes; empty: there is none.
/// source: NT_GNU_BUILD_ID is binutils'.
inline Bytes build_id_in(Bytes notes, std::uint64_t alignment) {
  return note_in(notes, alignment, ELF_NOTE_GNU, NT_GNU_BUILD_ID);
}

}  // namespace zs

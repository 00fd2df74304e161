#include "engine/cache/build_id.h"

#include <elf.h>

#include <cstddef>
#include <cstring>

#include "base/own_image.h"

namespace zs::engine {
namespace {

/// source: elf(5), "Notes (Nhdr)"
std::vector<std::uint64_t> build_id_in(const std::byte* notes, std::size_t bytes) {
  const auto padded = [](std::size_t size) { return (size + 3) & ~std::size_t{3}; };
  while (bytes >= sizeof(Elf64_Nhdr)) {
    Elf64_Nhdr note;
    std::memcpy(&note, notes, sizeof note);
    const std::size_t id_at = sizeof note + padded(note.n_namesz), size = id_at + padded(note.n_descsz);
    if (size > bytes) break;
    const bool is_gnu = note.n_namesz == sizeof "GNU" && std::memcmp(notes + sizeof note, "GNU", sizeof "GNU") == 0;
    if (is_gnu && note.n_type == NT_GNU_BUILD_ID) {
      std::vector<std::uint64_t> id((note.n_descsz + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t));
      std::memcpy(id.data(), notes + id_at, note.n_descsz);
      return id;
    }
    notes += size;
    bytes -= size;
  }
  return {};
}

}  // namespace

std::vector<std::uint64_t> own_build_id() {
  for (const Elf64_Phdr& part : own_segments()) {
    if (part.p_type != PT_NOTE) continue;
    auto id = build_id_in(reinterpret_cast<const std::byte*>(own_bias() + part.p_vaddr), part.p_memsz);
    if (!id.empty()) return id;
  }
  return {};
}

}  // namespace zs::engine

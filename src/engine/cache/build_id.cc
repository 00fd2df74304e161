#include "engine/cache/build_id.h"

#include <elf.h>
#include <sys/auxv.h>

#include <cstddef>
#include <cstring>

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
  const auto* const headers = reinterpret_cast<const Elf64_Phdr*>(getauxval(AT_PHDR));
  const std::size_t count = getauxval(AT_PHNUM);
  std::uint64_t base = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (headers[i].p_type == PT_PHDR) base = reinterpret_cast<std::uint64_t>(headers) - headers[i].p_vaddr;
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (headers[i].p_type != PT_NOTE) continue;
    auto id = build_id_in(reinterpret_cast<const std::byte*>(base + headers[i].p_vaddr), headers[i].p_memsz);
    if (!id.empty()) return id;
  }
  return {};
}

}  // namespace zs::engine

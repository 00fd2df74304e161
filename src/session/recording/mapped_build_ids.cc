#include "session/recording/mapped_build_ids.h"

#include <elf.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "base/bytes.h"

namespace zs::session {
namespace {

/// source: System V ABI, "Note Section"; NT_GNU_BUILD_ID is binutils'.
std::string id_in_notes(Bytes notes, std::uint64_t alignment) {
  ByteReader in(notes);
  const auto skip_padding = [&](std::uint64_t size) { in.skip((alignment - size % alignment) % alignment); };
  while (in.remaining() >= sizeof(Elf64_Nhdr)) {
    const auto note = in.read<Elf64_Nhdr>();
    const Bytes name = in.take(note.n_namesz);
    skip_padding(sizeof note + note.n_namesz);
    const Bytes id = in.take(note.n_descsz);
    skip_padding(note.n_descsz);
    if (note.n_type != NT_GNU_BUILD_ID || name.size() != sizeof "GNU" || id.empty()) continue;
    if (std::memcmp(name.data(), "GNU", name.size()) == 0)
      return {reinterpret_cast<const char*>(id.data()), std::min<std::size_t>(id.size(), 20)};
  }
  return "";
}

}  // namespace

void MappedBuildIds::mapped(const engine::Mapping& mapping) {
  if (mapping.inode == 0 || mapping.file_offset != 0) return;
  files_[{mapping.device_major, mapping.device_minor, mapping.inode}] = {.start = mapping.start,
                                                                         .length = mapping.length};
}

std::optional<std::string> MappedBuildIds::of(const engine::Mapping& mapping) {
  const auto found = files_.find({mapping.device_major, mapping.device_minor, mapping.inode});
  if (found == files_.end()) return std::nullopt;
  if (!found->second.id) found->second.id = read(found->second);
  return found->second.id;
}

/// Headers and notes are in the file's first page as a rule: one read.
std::string MappedBuildIds::read(const Beginning& file) {
  constexpr std::uint64_t kMost = 4096;
  const auto bytes_at = [&](std::uint64_t offset, std::uint64_t size) {
    std::vector<std::byte> bytes(offset < file.length ? std::min({size, file.length - offset, kMost}) : 0);
    bytes.resize(memory_.read(file.start + offset, bytes));
    return bytes;
  };
  const std::vector<std::byte> head = bytes_at(0, kMost);
  ByteReader in(head);
  const auto elf = in.read<Elf64_Ehdr>();
  if (!in.ok() || std::memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 || elf.e_ident[EI_CLASS] != ELFCLASS64) return "";
  for (unsigned i = 0; i < elf.e_phnum; ++i) {
    in.seek(elf.e_phoff + std::uint64_t{i} * elf.e_phentsize);
    const auto part = in.read<Elf64_Phdr>();
    if (!in.ok()) break;
    if (part.p_type != PT_NOTE) continue;
    const std::uint64_t alignment = part.p_align == 8 ? 8 : 4;
    const bool is_here = part.p_offset <= head.size() && part.p_filesz <= head.size() - part.p_offset;
    std::string id = is_here ? id_in_notes(Bytes(head).subspan(part.p_offset, part.p_filesz), alignment)
                             : id_in_notes(bytes_at(part.p_offset, part.p_filesz), alignment);
    if (!id.empty()) return id;
  }
  return "";
}

}  // namespace zs::session

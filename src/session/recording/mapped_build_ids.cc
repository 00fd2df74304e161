#include "session/recording/mapped_build_ids.h"

#include <elf.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

#include "base/bytes.h"
#include "base/elf_notes.h"

namespace zs::session {
namespace {

constexpr std::size_t kLongestBuildId = 20;  // that a record of perf.data holds

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
    const bool is_here = part.p_offset <= head.size() && part.p_filesz <= head.size() - part.p_offset;
    const std::vector<std::byte> elsewhere =
        is_here ? std::vector<std::byte>() : bytes_at(part.p_offset, part.p_filesz);
    const Bytes notes = is_here ? Bytes(head).subspan(part.p_offset, part.p_filesz) : Bytes(elsewhere);
    const Bytes id = build_id_in(notes, part.p_align == 8 ? 8 : 4);
    if (!id.empty()) return {reinterpret_cast<const char*>(id.data()), std::min(id.size(), kLongestBuildId)};
  }
  return "";
}

}  // namespace zs::session

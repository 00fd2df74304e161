#include "session/stacks/mapped_code.h"

#include <elf.h>
#include <sys/mman.h>

#include <cstring>
#include <iterator>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "session/settings/mapped_file.h"

namespace zs::session {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kMostNameBytes = 1 << 20;  // of sections

bool is_same_file(const MappedArea& a, const MappedArea& b) {
  return a.inode == b.inode && a.device_major == b.device_major && a.device_minor == b.device_minor &&
         (a.inode != 0 || a.path == b.path);
}

/// The program headers of the image whose ELF header lies at `start`.
std::vector<Elf64_Phdr> segments_at(std::uint64_t start, TableBytes& bytes) {
  std::vector<Elf64_Phdr> segments;
  const auto header = bytes.read<Elf64_Ehdr>(start);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64 ||
      header->e_phentsize != sizeof(Elf64_Phdr))
    return segments;
  segments.resize(header->e_phnum);
  const auto into = std::as_writable_bytes(std::span(segments));
  if (bytes.read(start + header->e_phoff, into) != into.size()) segments.clear();
  return segments;
}

/// What to add to an address of the image to have one of memory, if `area` is a segment of the image that begins at
/// `start`.
std::optional<std::uint64_t> bias_of(const std::vector<Elf64_Phdr>& segments, const MappedArea& area) {
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    const std::uint64_t first = segment.p_offset / kPage * kPage;
    if (area.file_offset < first || area.file_offset >= segment.p_offset + segment.p_filesz) continue;
    return area.start - (segment.p_vaddr - segment.p_offset + area.file_offset);
  }
  return std::nullopt;
}

/// Tables that no program header names.
void find_sections(const ReadAt& read, std::uint64_t bias, TablePlaces& places) {
  Elf64_Ehdr header;
  if (!read(0, std::as_writable_bytes(std::span(&header, 1))) || header.e_shentsize != sizeof(Elf64_Shdr)) return;
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  if (!read(header.e_shoff, std::as_writable_bytes(std::span(sections))) || header.e_shstrndx >= sections.size())
    return;
  const Elf64_Shdr& strings = sections[header.e_shstrndx];
  if (strings.sh_size == 0 || strings.sh_size > kMostNameBytes) return;
  std::vector<char> names(strings.sh_size);
  if (!read(strings.sh_offset, std::as_writable_bytes(std::span(names))) || names.back() != 0) return;
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_name >= names.size() || (section.sh_flags & SHF_ALLOC) == 0) continue;
    const std::string_view name(names.data() + section.sh_name);
    if (name == ".eh_frame") {
      places.frames = section.sh_addr + bias;
      places.frames_length = section.sh_size;
    }
    // Position-independent Go programs have the long name.
    if (name == ".gopclntab" || name == ".data.rel.ro.gopclntab") places.go = section.sh_addr + bias;
  }
}

}  // namespace

bool MappedCode::mapped(const engine::Mapping& mapping) {
  const std::uint64_t end = mapping.start + mapping.length;
  bool replaced = false;
  auto at = areas_.lower_bound(mapping.start);
  if (at != areas_.begin() && std::prev(at)->second.end > mapping.start) --at;
  while (at != areas_.end() && at->second.start < end) {
    MappedArea old = std::move(at->second);
    at = areas_.erase(at);
    replaced = replaced || old.code;
    if (old.end > end) {
      MappedArea rest = old;
      rest.file_offset += end - rest.start;
      rest.start = end;
      at = areas_.emplace(end, std::move(rest)).first;
    }
    if (old.start < mapping.start) {
      old.end = mapping.start;
      areas_.emplace(old.start, std::move(old));
    }
  }
  areas_.emplace(mapping.start, MappedArea{.start = mapping.start,
                                           .end = end,
                                           .file_offset = mapping.file_offset,
                                           .device_major = mapping.device_major,
                                           .device_minor = mapping.device_minor,
                                           .inode = mapping.inode,
                                           .code = (mapping.protection & PROT_EXEC) != 0,
                                           .path = mapping.path});
  return replaced;
}

const MappedArea* MappedCode::find(std::uint64_t pc) const {
  const auto behind = areas_.upper_bound(pc);
  if (behind == areas_.begin()) return nullptr;
  const MappedArea& area = std::prev(behind)->second;
  return area.code && pc < area.end ? &area : nullptr;
}

TablePlaces MappedCode::tables_of(const MappedArea& area, TableBytes& bytes) const {
  TablePlaces places;
  // The image begins at the nearest mapping of the file's start below.
  for (auto at = areas_.upper_bound(area.start); at != areas_.begin();) {
    const MappedArea& first = (--at)->second;
    if (!is_same_file(first, area) || first.file_offset != 0) continue;
    const std::vector<Elf64_Phdr> segments = segments_at(first.start, bytes);
    const auto bias = bias_of(segments, area);
    if (!bias) continue;
    for (const Elf64_Phdr& segment : segments) {
      if (segment.p_type == PT_GNU_EH_FRAME) places.index = segment.p_vaddr + *bias;
    }
    if (area.inode != 0) {
      read_mapped_file(area.path.c_str(), area.inode, [&](const ReadAt& read) { find_sections(read, *bias, places); });
    }
    break;
  }
  return places;
}

}  // namespace zs::session

#include "cli/linux/elf_needs.h"

#include <elf.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstring>
#include <span>

#include "base/items.h"

namespace zs::cli {
namespace {

template <typename T>
std::vector<T> table(Bytes file, std::uint64_t at, std::uint64_t count) {
  if (at > file.size()) return {};
  ByteReader in(file.subspan(at));
  return in.read_array<T>(count);
}

std::string text_at(Bytes file, std::uint64_t at) {
  if (at >= file.size()) return {};
  return std::string(ByteReader(file.subspan(at)).take_c_string());
}

void split_folders(const std::string& text, std::vector<std::string>& into) {
  for (const std::string_view folder : pieces_of(text, ':')) {
    if (!folder.empty()) into.emplace_back(folder);
  }
}

struct CacheHead {
  char magic[20];
  std::uint32_t libraries, string_bytes;
  std::uint8_t flags, padding[3];
  std::uint32_t extension, unused[3];
};
struct CacheEntry {
  std::uint32_t flags, name, path, os_version;
  std::uint64_t capabilities;
};
static_assert(WireLayout<CacheEntry> && sizeof(CacheHead) == 48);

}  // namespace

ElfNeeds elf_needs(Bytes file) {
  ElfNeeds needs;
  const auto heads = table<Elf64_Ehdr>(file, 0, 1);
  if (heads.empty() || std::memcmp(heads[0].e_ident, ELFMAG, SELFMAG) != 0) return needs;
  if (heads[0].e_ident[EI_CLASS] != ELFCLASS64) return needs;
  const auto segments = table<Elf64_Phdr>(file, heads[0].e_phoff, heads[0].e_phnum);
  std::vector<Elf64_Dyn> dynamic;
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type == PT_INTERP) needs.interpreter = text_at(file, segment.p_offset);
    if (segment.p_type == PT_DYNAMIC) {
      dynamic = table<Elf64_Dyn>(file, segment.p_offset, segment.p_filesz / sizeof(Elf64_Dyn));
    }
  }
  std::uint64_t strings = file.size();
  for (const Elf64_Dyn& row : dynamic) {
    if (row.d_tag != DT_STRTAB) continue;
    for (const Elf64_Phdr& segment : segments) {
      const std::uint64_t from_start = row.d_un.d_ptr - segment.p_vaddr;
      if (segment.p_type == PT_LOAD && from_start < segment.p_filesz) strings = segment.p_offset + from_start;
    }
  }
  for (const Elf64_Dyn& row : dynamic) {
    if (row.d_tag == DT_NULL) break;
    if (row.d_tag == DT_NEEDED) needs.libraries.push_back(text_at(file, strings + row.d_un.d_val));
    if (row.d_tag == DT_RPATH || row.d_tag == DT_RUNPATH) {
      split_folders(text_at(file, strings + row.d_un.d_val), needs.folders);
    }
  }
  return needs;
}

std::string find_library(const std::string& name, const std::vector<std::string>& folders, Bytes cache) {
  constexpr std::uint32_t kX8664 = 0x0303;  // a library of libc6, x86-64
  const auto there = [](const std::string& path) { return access(path.c_str(), R_OK) == 0; };
  if (name.find('/') != std::string::npos) return there(name) ? name : "";
  for (const std::string& folder : folders) {
    if (std::string path = fmt::format("{}/{}", folder, name); there(path)) return path;
  }
  const auto heads = table<CacheHead>(cache, 0, 1);
  if (!heads.empty() && std::memcmp(heads[0].magic, "glibc-ld.so.cache1.1", sizeof heads[0].magic) == 0) {
    for (const CacheEntry& entry : table<CacheEntry>(cache, sizeof(CacheHead), heads[0].libraries)) {
      if (entry.flags != kX8664 || entry.capabilities != 0 || text_at(cache, entry.name) != name) continue;
      if (std::string path = text_at(cache, entry.path); there(path)) return path;
    }
  }
  for (const char* const folder :
       {"/lib/x86_64-linux-gnu/", "/usr/lib/x86_64-linux-gnu/", "/lib64/", "/usr/lib64/", "/lib/", "/usr/lib/"}) {
    if (std::string path = folder + name; there(path)) return path;
  }
  return "";
}

}  // namespace zs::cli

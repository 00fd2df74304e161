#include "session/memory/allocators.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/items.h"

namespace zs::session {
namespace {

struct Row {
  AllocatorCall call;
  std::string_view names;
};

// clang-format off
constexpr Row kRows[] = {
    // C
    {AllocatorCall::Allocate, "malloc valloc pvalloc"},
    {AllocatorCall::AllocateArray, "calloc"},
    {AllocatorCall::Resize, "realloc"},
    {AllocatorCall::ResizeArray, "reallocarray"},
    {AllocatorCall::AllocateAfter, "memalign aligned_alloc"},
    {AllocatorCall::AllocateInto, "posix_memalign"},
    {AllocatorCall::Free, "free cfree free_sized free_aligned_sized"},
    // C++: operator new and new[], plain, that do not throw, aligned, both; and as many deletes
    {AllocatorCall::Allocate,
        "_Znwm _Znam _ZnwmRKSt9nothrow_t _ZnamRKSt9nothrow_t _ZnwmSt11align_val_t _ZnamSt11align_val_t "
        "_ZnwmSt11align_val_tRKSt9nothrow_t _ZnamSt11align_val_tRKSt9nothrow_t"},
    {AllocatorCall::Free,
        "_ZdlPv _ZdaPv _ZdlPvm _ZdaPvm _ZdlPvRKSt9nothrow_t _ZdaPvRKSt9nothrow_t _ZdlPvSt11align_val_t "
        "_ZdaPvSt11align_val_t _ZdlPvmSt11align_val_t _ZdaPvmSt11align_val_t _ZdlPvSt11align_val_tRKSt9nothrow_t "
        "_ZdaPvSt11align_val_tRKSt9nothrow_t"},
    // jemalloc's own interface
    {AllocatorCall::Allocate, "mallocx"},
    {AllocatorCall::Resize, "rallocx"},
    {AllocatorCall::Free, "dallocx sdallocx"},
    // What programs put around malloc; who called it is what a reader wants to know
    {AllocatorCall::PassOn,
        "xmalloc xzalloc xcalloc xnmalloc xrealloc xreallocarray xstrdup xstrndup xmemdup safe_malloc safe_calloc "
        "safe_realloc Perl_safesysmalloc Perl_safesyscalloc Perl_safesysrealloc PyMem_RawMalloc PyMem_RawCalloc "
        "PyMem_RawRealloc PyMem_Malloc PyMem_Calloc PyMem_Realloc g_malloc g_malloc0 g_malloc_n g_malloc0_n "
        "g_try_malloc g_realloc g_realloc_n g_strdup g_strndup strdup strndup __strdup __strndup wcsdup"},
};
// clang-format on

/// A symbol table may be long; so much of it is held at once.
constexpr std::size_t kSymbolsAtOnce = 4096;
/// More than any file has; less than what would make us run out of memory for a file that lies. Segments and sections
/// need no such limit: their numbers have 16 bits.
constexpr std::uint64_t kMostNameBytes = std::uint64_t{256} << 20;

const std::unordered_map<std::string_view, AllocatorCall>& calls_by_name() {
  static const auto* const calls = [] {
    auto* const made = new std::unordered_map<std::string_view, AllocatorCall>;
    for (const Row& row : kRows) {
      for (const std::string_view name : pieces_of(row.names, ' ')) made->emplace(name, row.call);
    }
    return made;
  }();
  return *calls;
}

template <typename T>
bool read_all(const ReadAt& read, std::uint64_t offset, std::vector<T>& out) {
  return read(offset, std::as_writable_bytes(std::span(out)));
}

/// Symbols have addresses; mappings, offsets of the file.
std::uint64_t offset_of(const std::vector<Elf64_Phdr>& segments, std::uint64_t address) {
  for (const Elf64_Phdr& segment : segments) {
    const bool code = segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0;
    if (code && address - segment.p_vaddr < segment.p_filesz) return segment.p_offset + (address - segment.p_vaddr);
  }
  return 0;
}

bool defines_code(const Elf64_Sym& symbol) {
  return ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_shndx != SHN_UNDEF && symbol.st_name != 0;
}

void add_from_table(const ReadAt& read, const Elf64_Shdr& table, const Elf64_Shdr& strings,
                    const std::vector<Elf64_Phdr>& segments, std::vector<AllocatorEntry>& out) {
  if (table.sh_entsize != sizeof(Elf64_Sym) || strings.sh_size == 0 || strings.sh_size > kMostNameBytes) return;
  std::vector<char> names(strings.sh_size);
  if (!read_all(read, strings.sh_offset, names) || names.back() != 0) return;
  const auto& calls = calls_by_name();
  std::vector<Elf64_Sym> symbols;
  for (std::uint64_t at = 0, count = table.sh_size / sizeof(Elf64_Sym); at < count; at += symbols.size()) {
    symbols.resize(std::min<std::uint64_t>(kSymbolsAtOnce, count - at));
    if (!read_all(read, table.sh_offset + at * sizeof(Elf64_Sym), symbols)) return;
    for (const Elf64_Sym& symbol : symbols) {
      if (!defines_code(symbol) || symbol.st_name >= names.size()) continue;
      const auto found = calls.find(std::string_view(names.data() + symbol.st_name));
      if (found == calls.end()) continue;
      const std::uint64_t offset = offset_of(segments, symbol.st_value);
      if (offset != 0) out.push_back({.file_offset = offset, .call = found->second});
    }
  }
}

}  // namespace

std::vector<AllocatorEntry> find_allocators(const ReadAt& read) {
  std::vector<AllocatorEntry> out;
  Elf64_Ehdr header;
  if (!read(0, std::as_writable_bytes(std::span(&header, 1)))) return out;
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_phentsize != sizeof(Elf64_Phdr) || header.e_shentsize != sizeof(Elf64_Shdr)) {
    return out;
  }
  std::vector<Elf64_Phdr> segments(header.e_phnum);
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  if (!read_all(read, header.e_phoff, segments) || !read_all(read, header.e_shoff, sections)) return out;
  for (const Elf64_Shdr& section : sections) {
    if ((section.sh_type != SHT_DYNSYM && section.sh_type != SHT_SYMTAB) || section.sh_link >= sections.size())
      continue;
    add_from_table(read, section, sections[section.sh_link], segments, out);
  }
  // One function has several names, and both tables have it.
  const auto before = [](const AllocatorEntry& a, const AllocatorEntry& b) { return a.file_offset < b.file_offset; };
  const auto same = [](const AllocatorEntry& a, const AllocatorEntry& b) { return a.file_offset == b.file_offset; };
  std::ranges::stable_sort(out, before);
  out.erase(std::unique(out.begin(), out.end(), same), out.end());
  return out;
}

std::vector<AllocatorEntry> find_allocators_of_file(const char* path, std::uint64_t inode) {
  std::vector<AllocatorEntry> out;
  read_mapped_file(path, inode, [&](const ReadAt& read) { out = find_allocators(read); });
  return out;
}

}  // namespace zs::session

// source: System V ABI, AMD64 supplement, "Relocation Types"; elf(5).
#include "zydis/library_image.h"

#include <elf.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/check.h"

namespace zs::zydis {
namespace {

constexpr std::uint64_t kPage = 4096;

template <typename T>
std::span<const T> table(std::span<const std::byte> bytes, std::uint64_t offset, std::uint64_t size) {
  CHECK(offset <= bytes.size() && size <= bytes.size() - offset && offset % alignof(T) == 0, offset, size);
  return {reinterpret_cast<const T*>(bytes.data() + offset), size / sizeof(T)};
}

/// What the file's tables say, before anything is relocated.
class Library {
 public:
  explicit Library(std::span<const std::byte> file) : file_(file) {
    const auto& head = table<Elf64_Ehdr>(file, 0, sizeof(Elf64_Ehdr)).front();
    CHECK(std::memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 && head.e_machine == EM_X86_64 && head.e_type == ET_DYN);
    segments_ = table<Elf64_Phdr>(file, head.e_phoff, head.e_phnum * sizeof(Elf64_Phdr));
    const auto sections = table<Elf64_Shdr>(file, head.e_shoff, head.e_shnum * sizeof(Elf64_Shdr));
    for (const Elf64_Shdr& section : sections) {
      if (section.sh_type == SHT_RELA && (section.sh_flags & SHF_ALLOC) != 0)
        relocations_[relocation_tables_++] = table<Elf64_Rela>(file, section.sh_offset, section.sh_size);
      // The compiler's own registers nothing that is needed.
      CHECK(section.sh_type != SHT_INIT_ARRAY || section.sh_size == sizeof(void*), section.sh_size);
      if (section.sh_type != SHT_DYNSYM) continue;
      symbols_ = table<Elf64_Sym>(file, section.sh_offset, section.sh_size);
      names_ = table<char>(file, sections[section.sh_link].sh_offset, sections[section.sh_link].sh_size);
    }
    CHECK(!symbols_.empty() && !names_.empty() && names_.back() == '\0');
  }

  std::span<const Elf64_Phdr> segments() const { return segments_; }
  std::span<const Elf64_Sym> symbols() const { return symbols_; }
  std::string_view name(const Elf64_Sym& symbol) const { return names_.data() + symbol.st_name; }
  std::uint64_t bytes() const {
    std::uint64_t end = 0;
    for (const Elf64_Phdr& segment : segments_) {
      CHECK(segment.p_type != PT_TLS);
      if (segment.p_type == PT_LOAD) end = std::max(end, segment.p_vaddr + segment.p_memsz);
    }
    return (end + kPage - 1) & ~(kPage - 1);
  }

  template <typename Visit>
  void for_each_relocation(Visit visit) const {
    for (const auto& relocations : std::span(relocations_).first(relocation_tables_)) {
      for (const Elf64_Rela& relocation : relocations) visit(relocation);
    }
  }

 private:
  static constexpr std::size_t kTables = 4;
  std::span<const std::byte> file_;
  std::span<const Elf64_Phdr> segments_;
  std::span<const Elf64_Sym> symbols_;
  std::span<const char> names_;
  std::span<const Elf64_Rela> relocations_[kTables];
  std::size_t relocation_tables_ = 0;
};

std::uint64_t import(const Library& library, const Elf64_Sym& symbol, std::span<const Import> imports) {
  const auto at = std::ranges::find(imports, library.name(symbol), &Import::name);
  if (at != imports.end()) return reinterpret_cast<std::uint64_t>(at->address);
  CHECK(ELF64_ST_BIND(symbol.st_info) == STB_WEAK, symbol.st_name);
  return 0;
}

int protection(const Elf64_Phdr& segment) {
  return ((segment.p_flags & PF_R) != 0 ? PROT_READ : 0) | ((segment.p_flags & PF_W) != 0 ? PROT_WRITE : 0) |
         ((segment.p_flags & PF_X) != 0 ? PROT_EXEC : 0);
}

}  // namespace

LibraryImage::LibraryImage(std::span<const std::byte> file, std::span<const Import> imports) : file_(file) {
  const Library library(file);
  void* const at =
      mmap(nullptr, library.bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  CHECK(at != MAP_FAILED, library.bytes());
  base_ = static_cast<std::byte*>(at);
  for (const Elf64_Phdr& segment : library.segments()) {
    if (segment.p_type != PT_LOAD) continue;
    const auto bytes = table<std::byte>(file, segment.p_offset, segment.p_filesz);
    std::memcpy(base_ + segment.p_vaddr, bytes.data(), bytes.size());
  }
  const auto base = reinterpret_cast<std::uint64_t>(base_);
  library.for_each_relocation([&](const Elf64_Rela& relocation) {
    const Elf64_Sym& symbol = library.symbols()[ELF64_R_SYM(relocation.r_info)];
    const auto symbol_value = [&] {
      return symbol.st_shndx != SHN_UNDEF ? base + symbol.st_value : import(library, symbol, imports);
    };
    const auto addend = static_cast<std::uint64_t>(relocation.r_addend);
    std::uint64_t value = 0;
    switch (ELF64_R_TYPE(relocation.r_info)) {
      case R_X86_64_RELATIVE: value = base + addend; break;
      case R_X86_64_64: value = symbol_value() + addend; break;
      case R_X86_64_GLOB_DAT:
      case R_X86_64_JUMP_SLOT: value = symbol_value(); break;
      default: CHECK(false && "a kind of relocation that is not known", relocation.r_info);
    }
    std::memcpy(base_ + relocation.r_offset, &value, sizeof value);
  });
  for (const Elf64_Phdr& segment : library.segments()) {
    if (segment.p_type != PT_LOAD) continue;
    const std::uint64_t first = segment.p_vaddr & ~(kPage - 1);
    CHECK(mprotect(base_ + first, segment.p_vaddr + segment.p_memsz - first, protection(segment)) == 0);
  }
}

void* LibraryImage::find(std::string_view name) const {
  const Library library(file_);
  for (const Elf64_Sym& symbol : library.symbols()) {
    if (symbol.st_shndx != SHN_UNDEF && library.name(symbol) == name) return base_ + symbol.st_value;
  }
  CHECK(false && "the library that is carried has no such symbol");
  return nullptr;
}

}  // namespace zs::zydis

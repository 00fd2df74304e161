// Machine code to try a decoder on: the executable segments of this very process, its libraries among them. For tests
// and benchmarks; on every machine some hundred thousand instructions as compilers write them.
#pragma once

#include <elf.h>
#include <link.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "isa/decode.h"

namespace zs::isa {

struct LoadedCode {
  std::string name;  // of the file; "" for the program itself
  std::span<const std::uint8_t> bytes;

  bool is_libc() const { return name.find("/libc.so") != std::string::npos; }
};

inline std::vector<LoadedCode> loaded_code() {
  std::vector<LoadedCode> found;
  const auto add = [](dl_phdr_info* object, std::size_t, void* out) {
    for (unsigned i = 0; i < object->dlpi_phnum; ++i) {
      const ElfW(Phdr)& header = object->dlpi_phdr[i];
      constexpr ElfW(Word) wanted = PF_R | PF_X;
      if (header.p_type != PT_LOAD || (header.p_flags & wanted) != wanted) continue;
      const auto* const start = reinterpret_cast<const std::uint8_t*>(object->dlpi_addr + header.p_vaddr);
      static_cast<std::vector<LoadedCode>*>(out)->push_back({object->dlpi_name, {start, header.p_filesz}});
    }
    return 0;
  };
  dl_iterate_phdr(add, &found);
  return found;
}

/// The executable segments of an ELF file for x86-64; none if `file` is something else.
inline std::vector<std::span<const std::uint8_t>> executable_segments(std::span<const std::uint8_t> file) {
  Elf64_Ehdr header;
  if (file.size() < sizeof header) return {};
  std::memcpy(&header, file.data(), sizeof header);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_machine != EM_X86_64) return {};
  std::vector<std::span<const std::uint8_t>> found;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, file.subspan(header.e_phoff + i * sizeof segment, sizeof segment).data(), sizeof segment);
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    found.push_back(file.subspan(segment.p_offset, segment.p_filesz));
  }
  return found;
}

/// Offsets of the instructions in `code`, one after the other as Zydis finds them; a byte that starts none is skipped.
inline std::vector<std::size_t> instructions_of(std::span<const std::uint8_t> code) {
  std::vector<std::size_t> starts;
  constexpr std::size_t kLongest = 15;
  for (std::size_t at = 0; at + kLongest <= code.size();) {
    const auto insn = decode_with_zydis(at, code.subspan(at, kLongest));
    if (insn) starts.push_back(at);
    at += insn ? insn->length : std::size_t{1};
  }
  return starts;
}

}  // namespace zs::isa

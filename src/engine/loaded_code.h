// Machine code to try a decoder on: the executable segments of this very process, its libraries among them. For tests and
// benchmarks; on every machine some hundred thousand instructions as compilers write them.
#pragma once

#include <link.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/decode.h"

namespace zs::engine {

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

/// Offsets of the instructions in `code`, one after the other as Zydis finds them; a byte that starts none is skipped.
inline std::vector<std::size_t> instructions_of(std::span<const std::uint8_t> code) {
  std::vector<std::size_t> starts;
  constexpr std::size_t kLongest = 15;
  for (std::size_t at = 0; at + kLongest <= code.size();) {
    const auto insn = decode_with_zydis(at, code.subspan(at, kLongest), false);
    if (insn) starts.push_back(at);
    at += insn ? insn->length : std::size_t{1};
  }
  return starts;
}

}  // namespace zs::engine

// The sections of an ELF file, by name.
#pragma once

#include <gelf.h>

#include <string_view>

namespace zs::profile {

/// take(name, header, section) for each.
template <typename Take>
void each_section(Elf* elf, Take take) {
  std::size_t names = 0;
  if (elf_getshdrstrndx(elf, &names) != 0) return;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr) continue;
    const char* const name = elf_strptr(elf, names, header.sh_name);
    take(std::string_view(name != nullptr ? name : ""), header, section);
  }
}

}  // namespace zs::profile

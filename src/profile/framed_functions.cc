#include "profile/framed_functions.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>

#include <cstring>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "profile/elf_sections.h"

namespace zs::profile {
namespace {

/// A section in memory, and where a program has it.
struct Loaded {
  Elf_Data* data = nullptr;
  std::uint64_t address = 0;

  const std::uint8_t* end() const { return static_cast<const std::uint8_t*>(data->d_buf) + data->d_size; }
  std::uint64_t address_of(const std::uint8_t* byte) const {
    return address + static_cast<std::uint64_t>(byte - static_cast<const std::uint8_t*>(data->d_buf));
  }
};

Loaded eh_frame(Elf* elf) {
  Loaded found;
  each_section(elf, [&](std::string_view name, const GElf_Shdr& header, Elf_Scn* section) {
    if (name != ".eh_frame" || header.sh_type == SHT_NOBITS || (header.sh_flags & SHF_ALLOC) == 0) return;
    found = {elf_rawdata(section, nullptr), header.sh_addr};
  });
  return found;
}

/// How wide a number of this DW_EH_PE_ encoding is; 0: of none that compilers write here.
std::size_t width_of(std::uint8_t encoding) {
  switch (encoding & 7) {
    case DW_EH_PE_absptr:
    case DW_EH_PE_udata8: return 8;
    case DW_EH_PE_udata4: return 4;
    case DW_EH_PE_udata2: return 2;
    default: return 0;
  }
}

/// How functions of a CIE say where they are.
std::optional<std::uint8_t> pointer_encoding(const Dwarf_CIE& cie) {
  const char* letter = cie.augmentation;
  if (*letter == '\0') return std::uint8_t{DW_EH_PE_absptr};
  if (*letter != 'z') return std::nullopt;
  std::size_t at = 0;
  while (*++letter != '\0') {
    if (*letter == 'S' || *letter == 'B') continue;
    if (at >= cie.augmentation_data_size) return std::nullopt;
    const std::uint8_t encoding = cie.augmentation_data[at++];
    if (*letter == 'R') return encoding;
    if (*letter == 'P') at += width_of(encoding);
  }
  return std::uint8_t{DW_EH_PE_absptr};
}

std::uint64_t number(const std::uint8_t* from, std::size_t width, bool is_signed) {
  std::uint64_t value = 0;
  std::memcpy(&value, from, width);
  const auto unused = static_cast<unsigned>(64 - 8 * width);
  return is_signed ? static_cast<std::uint64_t>(static_cast<std::int64_t>(value << unused) >> unused) : value;
}

/// Where the function of an FDE lies: start and size; nothing if that is said in a way that compilers do not use here.
std::optional<std::pair<std::uint64_t, std::uint64_t>> range_of(const Dwarf_FDE& function, std::uint8_t encoding,
                                                                const Loaded& section) {
  const std::size_t width = width_of(encoding);
  const unsigned relative_to = encoding & 0xF0U;
  if (width == 0 || (relative_to != DW_EH_PE_pcrel && relative_to != DW_EH_PE_absptr)) return std::nullopt;
  if (section.end() - function.start < static_cast<std::ptrdiff_t>(2 * width)) return std::nullopt;
  std::uint64_t start = number(function.start, width, (encoding & DW_EH_PE_signed) != 0);
  if (relative_to == DW_EH_PE_pcrel) start += section.address_of(function.start);
  return std::pair(start, number(function.start + width, width, false));
}

}  // namespace

void each_framed_function(Elf* elf, const std::function<void(std::uint64_t start, std::uint64_t size)>& visit) {
  const Loaded section = eh_frame(elf);
  const char* const ident = elf_getident(elf, nullptr);
  if (section.data == nullptr || section.data->d_buf == nullptr || ident == nullptr) return;
  std::unordered_map<Dwarf_Off, std::optional<std::uint8_t>> encodings;  // by where the CIE is
  Dwarf_CFI_Entry entry;
  Dwarf_Off at = 0;
  Dwarf_Off next = 0;
  for (; dwarf_next_cfi(reinterpret_cast<const unsigned char*>(ident), section.data, true, at, &next, &entry) == 0;
       at = next) {
    if (next <= at) return;
    if (dwarf_cfi_cie_p(&entry)) {
      encodings[at] = pointer_encoding(entry.cie);
      continue;
    }
    const auto common = encodings.find(entry.fde.CIE_pointer);
    if (common == encodings.end() || !common->second) continue;
    if (const auto range = range_of(entry.fde, *common->second, section)) visit(range->first, range->second);
  }
}

}  // namespace zs::profile

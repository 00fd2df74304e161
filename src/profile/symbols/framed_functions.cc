#include "profile/symbols/framed_functions.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/bytes.h"
#include "base/dwarf_numbers.h"
#include "profile/symbols/elf_sections.h"

namespace zs::profile {
namespace {

Bytes bytes_at(const std::uint8_t* first, std::size_t size) {
  return {reinterpret_cast<const std::byte*>(first), size};
}

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

/// How functions of a CIE say where they are; nothing if that cannot be read.
std::optional<PointerEncoding> pointer_encoding(const Dwarf_CIE& cie) {
  const char* letter = cie.augmentation;
  if (*letter == '\0') return PointerEncoding{};
  if (*letter != 'z') return std::nullopt;
  ByteReader in(bytes_at(cie.augmentation_data, cie.augmentation_data_size));
  while (*++letter != '\0') {
    if (*letter == 'S' || *letter == 'B') continue;
    const PointerEncoding encoding{in.read<std::uint8_t>()};
    if (*letter == 'P') read_pointer(in, encoding.form());  // passed over
    if (!in.ok()) return std::nullopt;
    if (*letter == 'R') return encoding;
  }
  return PointerEncoding{};
}

/// Where the function of an FDE lies: start and size; nothing if that is said in a way that compilers do not use here.
std::optional<std::pair<std::uint64_t, std::uint64_t>> range_of(const Dwarf_FDE& function, PointerEncoding encoding,
                                                                const Loaded& section) {
  if ((encoding.bits & ~PointerEncoding::kFormMask & ~PointerEncoding::kPcRelative) != 0) return std::nullopt;
  ByteReader in(bytes_at(function.start, static_cast<std::size_t>(section.end() - function.start)), {},
                section.address_of(function.start));
  const std::uint64_t start = read_pointer(in, encoding);
  const std::uint64_t size = read_pointer(in, encoding.form());
  if (!in.ok()) return std::nullopt;
  return std::pair(start, size);
}

}  // namespace

void each_framed_function(Elf* elf, const std::function<void(std::uint64_t start, std::uint64_t size)>& visit) {
  const Loaded section = eh_frame(elf);
  const char* const ident = elf_getident(elf, nullptr);
  if (section.data == nullptr || section.data->d_buf == nullptr || ident == nullptr) return;
  std::unordered_map<Dwarf_Off, std::optional<PointerEncoding>> encodings;  // by where the CIE is
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

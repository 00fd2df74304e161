#include "profile/symbols/go_functions.h"

#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "arch/records/go_pclntab.h"
#include "base/bytes.h"
#include "profile/symbols/elf_sections.h"

namespace zs::profile {
namespace {

template <typename T>
std::optional<T> at(Bytes table, std::uint64_t place) {
  if (place > table.size() || table.size() - place < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, table.data() + place, sizeof(T));
  return value;
}

std::string text_at(Bytes table, std::uint64_t place) {
  if (place >= table.size()) return "";
  const auto* const text = reinterpret_cast<const char*>(table.data() + place);
  return {text, strnlen(text, table.size() - place)};
}

}  // namespace

void each_go_function(Elf* elf,
                      const std::function<void(std::uint64_t start, std::uint64_t size, std::string name)>& visit) {
  Bytes table;
  std::uint64_t text = 0;
  each_section(elf, [&](std::string_view name, const GElf_Shdr& header, Elf_Scn* section) {
    if (name == ".text") text = header.sh_addr;
    if (!name.ends_with(".gopclntab") || header.sh_type == SHT_NOBITS) return;
    const Elf_Data* const data = elf_rawdata(section, nullptr);
    if (data != nullptr && data->d_buf != nullptr) table = {static_cast<const std::byte*>(data->d_buf), data->d_size};
  });
  const auto header = at<arch::GoTableHeader>(table, 0);
  if (!header || !header->known()) return;
  if (header->text != 0) text = header->text;  // a position-independent program is told it as it starts
  for (std::uint64_t i = 0; i < header->functions; ++i) {
    const std::uint64_t place_at = header->functions_at + i * sizeof(arch::GoPlace);
    const auto place = at<arch::GoPlace>(table, place_at);
    const auto next = at<std::uint32_t>(table, place_at + sizeof(arch::GoPlace));
    if (!place || !next) return;
    const auto function = at<arch::GoFunction>(table, header->functions_at + place->function);
    if (!function || *next <= place->code) continue;
    visit(text + place->code, *next - place->code, text_at(table, header->names_at + function->name));
  }
}

}  // namespace zs::profile

#include "machine/boot/pvh.h"

#include <elf.h>

#include <cstring>
#include <span>

#include "base/elf_notes.h"

namespace zs::machine {
namespace {

constexpr std::uint32_t kPhys32Entry = 18;  // the note's type

struct StartInfo {
  std::uint32_t magic = 0x336EC578, version = 1, flags = 0, modules = 0;
  std::uint64_t module_list = 0, command_line = 0, rsdp = 0, map = 0;
  std::uint32_t map_entries = 0, reserved = 0;
};
static_assert(WireLayout<StartInfo> && sizeof(StartInfo) == 56);

struct StartModule {
  std::uint64_t address, bytes, command_line = 0, reserved = 0;
};
static_assert(WireLayout<StartModule> && sizeof(StartModule) == 32);

}  // namespace

std::optional<std::uint32_t> pvh_entry(Bytes file) {
  ByteReader in(file);
  const auto header = in.read<Elf64_Ehdr>();
  if (!in.ok() || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64)
    return std::nullopt;
  in.seek(header.e_phoff);
  for (const Elf64_Phdr& segment : in.read_array<Elf64_Phdr>(header.e_phnum)) {
    if (segment.p_type != PT_NOTE || segment.p_offset > file.size()) continue;
    ByteReader notes(file.subspan(segment.p_offset));
    const Bytes entry = note_in(notes.take(segment.p_filesz), 4, "Xen", kPhys32Entry);
    std::uint32_t address = 0;
    if (entry.size() < sizeof address) continue;
    std::memcpy(&address, entry.data(), sizeof address);
    return address;
  }
  return std::nullopt;
}

std::vector<std::byte> pvh_info(std::uint64_t address, const std::string& command_line,
                                const std::vector<MapRange>& map, const std::vector<LoadedModule>& modules) {
  StartInfo info;
  std::vector<std::byte> all(sizeof info);
  const auto put = [&](Bytes bytes) {
    const std::uint64_t at = address + all.size();
    all.insert(all.end(), bytes.begin(), bytes.end());
    return at;
  };
  std::vector<StartModule> list;
  list.reserve(modules.size());
  for (const LoadedModule& module : modules) list.push_back({module.start, module.end - module.start});
  info.modules = static_cast<std::uint32_t>(list.size());
  info.module_list = put(std::as_bytes(std::span(list)));
  info.map_entries = static_cast<std::uint32_t>(map.size());
  info.map = put(std::as_bytes(std::span(map)));
  info.command_line = put(std::as_bytes(std::span(command_line.c_str(), command_line.size() + 1)));
  std::memcpy(all.data(), &info, sizeof info);
  return all;
}

}  // namespace zs::machine

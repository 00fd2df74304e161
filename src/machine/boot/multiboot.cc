#include "machine/boot/multiboot.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>

#include "base/bytes.h"
#include "base/units.h"
#include "machine/boot/memory_map.h"
#include "machine/boot/multiboot2.h"
#include "machine/boot/pvh.h"
#include "machine/memory.h"

namespace zs::machine {
namespace {

constexpr std::uint32_t kHeaderMagic = 0x1BADB002, kLoaderMagic = 0x2BADB002;
constexpr std::size_t kHeaderArea = 8192;
enum HeaderFlags : std::uint32_t { kPageAlign = 1 << 0, kMemoryInfo = 1 << 1, kVideo = 1 << 2, kAddresses = 1 << 16 };
constexpr std::uint32_t kRequiredFlags = 0xFFFF;  // a loader that does not know one of these must refuse
constexpr std::uint32_t kKnownFlags = kPageAlign | kMemoryInfo | kVideo;

struct Header {
  std::uint32_t magic, flags, checksum;
  std::uint32_t header_address, load_address, load_end, bss_end, entry;  // with kAddresses
};
static_assert(WireLayout<Header> && sizeof(Header) == 32);

enum InfoFlags : std::uint32_t {
  kHasMemory = 1,
  kHasCommandLine = 4,
  kHasModules = 8,
  kHasMap = 0x40,
  kHasLoader = 0x200
};

struct Info {
  std::uint32_t flags = 0, lower_kib = 0, upper_kib = 0, boot_device = 0, command_line = 0, module_count = 0,
                modules = 0;
  std::uint32_t symbols[4] = {};
  std::uint32_t map_bytes = 0, map = 0, drives_bytes = 0, drives = 0, config = 0, loader_name = 0, apm = 0;
  std::uint32_t vbe[4] = {};
};
static_assert(WireLayout<Info> && sizeof(Info) == 88);

struct ModuleEntry {
  std::uint32_t start, end, string, reserved;
};

/// Where the loader puts what it tells the kernel: the end of low memory.
constexpr std::uint64_t kInfoArea = 0x90000, kInfoEnd = 0x9F000;

struct ImageSegment {
  std::uint64_t offset, virtual_address, physical, file_bytes, memory_bytes;
};

struct Image {
  std::vector<ImageSegment> segments;
  std::uint64_t entry = 0;
};

template <typename ElfHeader, typename ElfSegment>
Result<Image> read_elf(Bytes file, const std::string& name, std::uint16_t machine) {
  ByteReader in(file, name);
  const auto header = in.read<ElfHeader>();
  if (!in.ok()) return in.error("ELF header");
  if (header.e_type != ET_EXEC || header.e_machine != machine) {
    return Error{fmt::format("{}: at 0x10: ELF type {}, machine {}: an executable (2) for {} is needed", name,
                             header.e_type, header.e_machine, machine == EM_386 ? "i386 (3)" : "x86-64 (62)"),
                 "a kernel is linked to fixed addresses: ld -m elf_i386 (or elf_x86_64), without -pie"};
  }
  if (header.e_phentsize != sizeof(ElfSegment)) {
    return Error{
        fmt::format("{}: program headers have {} bytes, {} are needed", name, header.e_phentsize, sizeof(ElfSegment)),
        ""};
  }
  Image image{.entry = header.e_entry};
  in.seek(header.e_phoff);
  const auto segments = in.read_array<ElfSegment>(header.e_phnum);
  if (!in.ok()) return in.error("program header table");
  for (const ElfSegment& segment : segments) {
    if (segment.p_type != PT_LOAD || segment.p_memsz == 0) continue;
    if (segment.p_filesz > segment.p_memsz) {
      return Error{fmt::format("{}: a segment has {} bytes in the file but {} in memory", name, segment.p_filesz,
                               segment.p_memsz),
                   ""};
    }
    image.segments.push_back({segment.p_offset, segment.p_vaddr, segment.p_paddr, segment.p_filesz, segment.p_memsz});
  }
  if (image.segments.empty()) return Error{name + ": has no segment to load", ""};
  // The entry is where execution starts without paging: at its physical place.
  for (const ImageSegment& segment : image.segments) {
    if (image.entry >= segment.virtual_address && image.entry - segment.virtual_address < segment.memory_bytes) {
      image.entry = segment.physical + (image.entry - segment.virtual_address);
      break;
    }
  }
  return image;
}

struct FoundHeader {
  std::size_t offset;
  Header header;
};

std::optional<FoundHeader> find_header(Bytes file) {
  const std::size_t area = std::min(file.size(), kHeaderArea);
  for (std::size_t at = 0; at + 12 <= area; at += 4) {
    Header header{};
    std::memcpy(&header, file.data() + at, std::min(sizeof(header), file.size() - at));
    if (header.magic == kHeaderMagic && header.magic + header.flags + header.checksum == 0)
      return FoundHeader{at, header};
  }
  return std::nullopt;
}

Result<Image> read_flat(Bytes file, const FoundHeader& found, const std::string& name) {
  const Header& header = found.header;
  const std::uint64_t before = std::uint64_t{header.header_address} - header.load_address;
  if (header.header_address < header.load_address || before > found.offset) {
    return Error{
        fmt::format("{}: at 0x{:x}: load address {:x} and header address {:x} do not fit to the place in the file",
                    name, found.offset, header.load_address, header.header_address),
        ""};
  }
  const std::uint64_t offset = found.offset - before;
  std::uint64_t bytes = file.size() - offset;
  if (header.load_end != 0) {
    if (header.load_end < header.load_address || header.load_end - header.load_address > bytes) {
      return Error{fmt::format("{}: at 0x{:x}: the header wants bytes up to address {:x}, the file ends before", name,
                               found.offset, header.load_end),
                   "the file was cut short, or its header is wrong"};
    }
    bytes = header.load_end - header.load_address;
  }
  const std::uint64_t end = std::max(std::uint64_t{header.load_address} + bytes, std::uint64_t{header.bss_end});
  Image image{.entry = header.entry};
  image.segments.push_back({offset, header.load_address, header.load_address, bytes, end - header.load_address});
  return image;
}

/// Whole pages behind the kernel.
Result<std::vector<LoadedModule>> load_modules(const std::vector<MultibootModule>& modules, std::uint64_t behind,
                                               PhysicalMemory& memory) {
  std::vector<LoadedModule> loaded;
  std::uint64_t at = align_up(behind, kPageBytes);
  for (const MultibootModule& module : modules) {
    if (!memory.write(at, module.bytes)) {
      return Error{fmt::format("module {}: {} bytes do not fit behind the kernel, at {:x}", module.command_line,
                               module.bytes.size(), at),
                   "--mem gives more, up to 3G"};
    }
    const std::uint64_t end = at + module.bytes.size();
    loaded.push_back({static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(end), module.command_line});
    at = align_up(end, kPageBytes);
  }
  return loaded;
}

std::vector<MapRange> ranges(const PhysicalMemory& memory) {
  constexpr std::uint32_t kAvailable = 1, kReserved = 2;
  std::vector<MapRange> all;
  for (const MemoryRange& range : memory_map(memory.size())) {
    all.push_back({range.first, range.end - range.first, range.available ? kAvailable : kReserved});
  }
  return all;
}

/// What stands at kInfoArea: the head, then strings and tables one after the other.
std::vector<std::byte> multiboot_info(const std::string& command_line, std::uint32_t upper_kib,
                                      const std::vector<MapRange>& ranges, const std::vector<LoadedModule>& modules) {
  Info info{.flags = kHasMemory | kHasCommandLine | kHasMap | kHasLoader};
  ByteWriter out;
  out.write(info);
  const auto put = [&out](Bytes bytes) {
    out.align(8);
    const auto at = static_cast<std::uint32_t>(kInfoArea + out.size());
    out.write_bytes(bytes);
    return at;
  };
  const auto put_text = [&put](const std::string& text) {
    return put(std::as_bytes(std::span(text.c_str(), text.size() + 1)));
  };
  info.lower_kib = kLowMemoryKiB;
  info.upper_kib = upper_kib;
  info.command_line = put_text(command_line);
  ByteWriter map;
  for (const MapRange& range : ranges) {
    constexpr std::uint32_t kEntryBytes = offsetof(MapRange, reserved);
    map.write(kEntryBytes);
    map.write_bytes(std::as_bytes(std::span(&range, 1)).first(kEntryBytes));
  }
  info.map_bytes = static_cast<std::uint32_t>(map.size());
  info.map = put(map.bytes());
  info.loader_name = put_text("zeroskid");
  std::vector<ModuleEntry> entries;
  entries.reserve(modules.size());
  for (const LoadedModule& m : modules) entries.push_back({m.start, m.end, put_text(m.command_line), 0});
  if (!entries.empty()) {
    info.flags |= kHasModules;
    info.module_count = static_cast<std::uint32_t>(entries.size());
    info.modules = put(std::as_bytes(std::span(entries)));
  }
  out.patch(0, info);
  return out.release();
}

}  // namespace

Result<LoadedKernel> load_multiboot(const MultibootInput& input, PhysicalMemory& memory) {
  const std::string& name = input.kernel_name;
  const Bytes file = input.kernel;
  const auto found = find_header(file);
  const bool elf = file.size() > EI_CLASS && std::memcmp(file.data(), ELFMAG, SELFMAG) == 0;
  const auto second = found ? Result<std::optional<Multiboot2Header>>(std::nullopt) : find_multiboot2(file, name);
  if (!second) return second.error();
  if (!elf && !found && !*second) {
    return Error{name + ": is neither ELF nor has it a Multiboot header in its first 8192 bytes",
                 "--kernel takes an ELF or Multiboot file; --image takes a floppy or disk image"};
  }
  if (found && (found->header.flags & kRequiredFlags & ~kKnownFlags) != 0) {
    return Error{fmt::format("{}: at 0x{:x}: the Multiboot header asks for features {:x}; known are {:x}", name,
                             found->offset, found->header.flags & kRequiredFlags, kKnownFlags),
                 ""};
  }
  auto flat = found && (found->header.flags & kAddresses) != 0 ? found : std::nullopt;
  if (flat && flat->offset + sizeof(Header) > std::min(file.size(), kHeaderArea)) {
    return Error{fmt::format("{}: at 0x{:x}: the Multiboot header is cut short", name, flat->offset), ""};
  }
  if (const auto& two = *second; two && two->addresses) {
    const LoadAddresses& at = *two->addresses;
    flat = {two->offset,
            {.header_address = at.header, .load_address = at.load, .load_end = at.load_end, .bss_end = at.bss_end}};
  }
  Result<Image> image = flat ? read_flat(file, *flat, name)
                        : file.size() > EI_CLASS && file[EI_CLASS] == std::byte{ELFCLASS64}
                            ? read_elf<Elf64_Ehdr, Elf64_Phdr>(file, name, EM_X86_64)
                            : read_elf<Elf32_Ehdr, Elf32_Phdr>(file, name, EM_386);
  if (!image) return image.error();
  if (*second && (*second)->entry) image->entry = *(*second)->entry;

  std::uint64_t kernel_end = 0x100000;
  for (const ImageSegment& segment : image->segments) {
    if (segment.offset > file.size() || segment.file_bytes > file.size() - segment.offset) {
      return Error{fmt::format("{}: at 0x{:x}: segment of {} bytes ends past the end of the file", name, segment.offset,
                               segment.file_bytes),
                   "the file was cut short"};
    }
    const std::uint64_t end = segment.physical + segment.memory_bytes;
    if (end < segment.physical || end > memory.size()) {
      return Error{fmt::format("{}: segment at {:x} of {} bytes does not fit into {} MiB of memory", name,
                               segment.physical, segment.memory_bytes, memory.size() >> 20),
                   "--mem gives more, up to 3G; physical addresses are those of the program headers"};
    }
    if (segment.physical < kInfoEnd && end > kInfoArea) {
      return Error{fmt::format("{}: segment at {:x} of {} bytes lies over {:x}-{:x}, which the loader uses", name,
                               segment.physical, segment.memory_bytes, kInfoArea, kInfoEnd - 1),
                   ""};
    }
    if (!memory.write(segment.physical, file.subspan(segment.offset, segment.file_bytes))) {
      return Error{fmt::format("{}: segment at {:x} of {} bytes lies where there is no memory", name, segment.physical,
                               segment.file_bytes),
                   "RAM is at 0-9ffff and from 100000 up"};
    }
    kernel_end = std::max(kernel_end, end);
  }
  if (image->entry > UINT32_MAX) {
    return Error{fmt::format("{}: entry {:x} is above 4 GiB, and the kernel starts in 32-bit mode", name, image->entry),
                 ""};
  }
  LoadedKernel loaded{.entry = static_cast<std::uint32_t>(image->entry)};
  loaded.elf32 = elf && file[EI_CLASS] == std::byte{ELFCLASS32};
  const auto pvh = found || *second ? std::nullopt : pvh_entry(file);
  if (!found && !*second && !pvh) return loaded;

  const auto upper_kib = static_cast<std::uint32_t>((memory.size() - (1 << 20)) >> 10);
  const auto modules = load_modules(input.modules, kernel_end, memory);
  if (!modules) return modules.error();
  if (pvh) loaded.entry = *pvh;
  const std::vector<std::byte> info = pvh ? pvh_info(kInfoArea, input.command_line, ranges(memory), *modules)
                                      : found
                                          ? multiboot_info(input.command_line, upper_kib, ranges(memory), *modules)
                                          : multiboot2_info(input.command_line, upper_kib, ranges(memory), *modules);
  if (info.size() > kInfoEnd - kInfoArea || !memory.write(kInfoArea, info)) {
    return Error{"the command lines of kernel and modules have no room: 60 KiB are there", "shorten --append"};
  }
  loaded.magic = pvh ? 0 : found ? kLoaderMagic : kMultiboot2Magic;
  loaded.info = kInfoArea;
  return loaded;
}

}  // namespace zs::machine

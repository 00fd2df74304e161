#include "machine/boot/linux_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "base/units.h"
#include "machine/boot/memory_map.h"
#include "machine/boot/screen.h"
#include "machine/memory.h"

namespace zs::machine {
namespace {

/// Offsets in the file; those of the header are the same in the boot parameters.
struct Field {
  enum Offset : std::uint16_t {
    kCursorColumn = 0x000,
    kCursorRow = 0x001,
    kVideoMode = 0x006,
    kVideoColumns = 0x007,
    kVideoRows = 0x00E,
    kIsVga = 0x00F,
    kFontHeight = 0x010,
    kMapEntries = 0x1E8,
    kHeader = 0x1F1,
    kSetupSectors = 0x1F1,
    kBootFlag = 0x1FE,
    kHeaderLength = 0x201,  // from kMagic on
    kMagic = 0x202,
    kProtocol = 0x206,
    kLoaderType = 0x210,
    kLoadFlags = 0x211,
    kEntry = 0x214,
    kRamdisk = 0x218,
    kRamdiskBytes = 0x21C,
    kCommandLine = 0x228,
    kRamdiskLast = 0x22C,
    kMostCommandLine = 0x238,
    kPayload = 0x248,
    kPayloadBytes = 0x24C,
    kPreferredAddress = 0x258,
    kInitBytes = 0x260,
    kMap = 0x2D0,
  };
};
constexpr std::uint32_t kHdrS = 0x53726448;
constexpr std::uint16_t kOldestProtocol = 0x204, kWithCommandLineSize = 0x206, kWithPayload = 0x208,
                        kWithInitBytes = 0x20A;
constexpr std::uint8_t kLoadedHigh = 1, kUnknownLoader = 0xFF;
constexpr std::uint64_t kParameters = 0x90000, kParametersBytes = 4096, kText = 0x91000, kKernel = 0x100000;
constexpr std::size_t kLinuxSector = 512;

template <typename T>
T get(Bytes file, std::size_t at) {
  T value{};
  if (at + sizeof value <= file.size()) std::memcpy(&value, file.data() + at, sizeof value);
  return value;
}

/// Bytes of the 16-bit part, in front of everything else.
std::size_t setup_bytes(Bytes file) {
  const auto sectors = get<std::uint8_t>(file, Field::kSetupSectors);
  return (std::size_t{sectors == 0 ? std::uint8_t{4} : sectors} + 1) * kLinuxSector;
}

/// The zero page.
class Parameters {
 public:
  explicit Parameters(Bytes file) {
    const std::size_t end =
        std::min<std::size_t>(Field::kMagic + get<std::uint8_t>(file, Field::kHeaderLength), Field::kMap);
    std::copy(file.begin() + Field::kHeader, file.begin() + static_cast<std::ptrdiff_t>(end),
              page_.begin() + Field::kHeader);
  }
  template <typename T>
  void set(std::size_t at, T value) {
    std::memcpy(page_.data() + at, &value, sizeof value);
  }
  Bytes bytes() const { return page_; }

 private:
  std::array<std::byte, kParametersBytes> page_{};
};

void put_screen_and_map(Parameters& parameters, const PhysicalMemory& memory) {
  parameters.set<std::uint8_t>(Field::kCursorColumn, 0);
  parameters.set<std::uint8_t>(Field::kCursorRow, 0);
  parameters.set<std::uint8_t>(Field::kVideoMode, 3);
  parameters.set<std::uint8_t>(Field::kVideoColumns, kColumns);
  parameters.set<std::uint8_t>(Field::kVideoRows, kVisibleRows);
  parameters.set<std::uint8_t>(Field::kIsVga, 1);
  parameters.set<std::uint16_t>(Field::kFontHeight, 16);
  constexpr std::size_t kEntryBytes = 20;
  std::uint8_t count = 0;
  for (const MemoryRange& range : memory_map(memory.size())) {
    const std::size_t at = Field::kMap + kEntryBytes * count++;
    parameters.set<std::uint64_t>(at, range.first);
    parameters.set<std::uint64_t>(at + 8, range.end - range.first);
    parameters.set<std::uint32_t>(at + 16, range.available ? 1 : 2);
  }
  parameters.set(Field::kMapEntries, count);
}

Error no_room(const std::string& what, std::uint64_t bytes, const PhysicalMemory& memory) {
  return Error{fmt::format("{}: {} MiB do not fit into {} MiB of memory", what, (bytes >> 20) + 1, memory.size() >> 20),
               "--mem gives more, up to 3G"};
}

}  // namespace

bool is_linux_kernel(Bytes file) {
  return get<std::uint16_t>(file, Field::kBootFlag) == 0xAA55 && get<std::uint32_t>(file, Field::kMagic) == kHdrS;
}

Bytes linux_payload(Bytes file) {
  if (!is_linux_kernel(file) || get<std::uint16_t>(file, Field::kProtocol) < kWithPayload) return {};
  const std::size_t at = setup_bytes(file) + get<std::uint32_t>(file, Field::kPayload);
  const auto bytes = get<std::uint32_t>(file, Field::kPayloadBytes);
  return at <= file.size() && bytes <= file.size() - at ? file.subspan(at, bytes) : Bytes();
}

Result<LoadedKernel> load_linux(const MultibootInput& input, PhysicalMemory& memory) {
  const std::string& name = input.kernel_name;
  const Bytes file = input.kernel;
  const auto protocol = get<std::uint16_t>(file, Field::kProtocol);
  if (protocol < kOldestProtocol || (get<std::uint8_t>(file, Field::kLoadFlags) & kLoadedHigh) == 0) {
    return Error{fmt::format("{}: at 0x206: a Linux kernel of boot protocol {}.{:02}; 2.04 and a bzImage are needed",
                             name, protocol >> 8, protocol & 0xFF),
                 "a disk or CD image with a boot loader boots it: --image"};
  }
  const std::size_t setup = setup_bytes(file);
  if (setup >= file.size())
    return Error{fmt::format("{}: ends in its setup code of {} bytes", name, setup), "the file was cut short"};
  const Bytes kernel = file.subspan(setup);
  std::uint64_t end = kKernel + kernel.size();
  if (protocol >= kWithInitBytes) {
    const auto preferred = std::max(get<std::uint64_t>(file, Field::kPreferredAddress), kKernel);
    end = std::max(end, preferred + get<std::uint32_t>(file, Field::kInitBytes));
  }
  if (end > memory.size() || !memory.write(kKernel, kernel)) return no_room(name, end, memory);

  Parameters parameters(file);
  put_screen_and_map(parameters, memory);
  parameters.set(Field::kLoaderType, kUnknownLoader);
  const std::size_t most = protocol >= kWithCommandLineSize ? get<std::uint32_t>(file, Field::kMostCommandLine) : 255;
  const std::string& text = input.command_line;
  if (text.size() > most || text.size() >= kLowMemoryKiB * 1024 - kText) {
    return Error{fmt::format("{}: the command line has {} bytes, {} are possible", name, text.size(), most),
                 "shorten --append"};
  }
  (void)memory.write(kText, std::as_bytes(std::span(text.c_str(), text.size() + 1)));
  parameters.set(Field::kCommandLine, static_cast<std::uint32_t>(kText));
  if (input.modules.size() > 1) return Error{name + ": a Linux kernel has one module, its initial RAM disk", ""};
  if (!input.modules.empty()) {
    const Bytes disk = input.modules.front().bytes;
    const std::uint64_t top =
        std::min<std::uint64_t>(memory.size(), std::uint64_t{get<std::uint32_t>(file, Field::kRamdiskLast)} + 1);
    const std::uint64_t at = disk.size() < top ? (top - disk.size()) / kPageBytes * kPageBytes : 0;
    if (at < end || !memory.write(at, disk))
      return no_room(input.modules.front().command_line, end + disk.size(), memory);
    parameters.set(Field::kRamdisk, static_cast<std::uint32_t>(at));
    parameters.set(Field::kRamdiskBytes, static_cast<std::uint32_t>(disk.size()));
  }
  (void)memory.write(kParameters, parameters.bytes());
  LoadedKernel loaded{.entry = static_cast<std::uint32_t>(kKernel),
                      .parameters = static_cast<std::uint32_t>(kParameters)};
  return loaded;
}

}  // namespace zs::machine

// Any bytes as a disk, floppy or CD image, then any calls of INT 13H on it: it is taken or refused with a reason, what
// it tells of itself holds together, and no access leaves it or the guest's memory.
//
// An input is compact, since an image is mostly empty: what the user says that it is, its size, then patches: where,
// how many bytes, the bytes. An empty patch ends them; what follows are calls, of six bytes each.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/test_input.h"
#include "machine/boot/bios.h"
#include "machine/boot/disk_image.h"
#include "machine/devices/vga.h"
#include "machine/memory.h"
#include "machine/port_map.h"

namespace {

using namespace zs::machine;
using zs::testing::Input;

struct Host : BiosHost {
  void memory_written(std::uint64_t physical, std::uint64_t bytes) override {
    CHECK(bytes <= kLeastMemory && physical <= kLeastMemory - bytes, physical, bytes);
  }
  std::uint64_t ticks() const override { return 0; }
  void pass_time(std::uint64_t) override {}
  bool a20() const override { return true; }
  void set_a20(bool) override {}
  void note(const std::string& text) override { CHECK(!text.empty()); }
  bool keys_to_come() const override { return false; }
  void waits_for_a_key() override {}
  void reset() override {}
};

std::vector<std::byte> image_of(Input& in) {
  constexpr std::size_t kUnit = 2048;
  const std::size_t size = std::max<std::size_t>(kSectorBytes, in.take<std::uint16_t>() % 1024 * kUnit);
  std::vector<std::byte> image(size);
  image[510] = std::byte{0x55};
  image[511] = std::byte{0xAA};
  while (!in.empty()) {
    const std::size_t at = in.take<std::uint32_t>() % size;
    const std::size_t bytes = in.take<std::uint8_t>();
    if (bytes == 0) break;
    in.take(image.data() + at, std::min(bytes, size - at));
  }
  return image;
}

void look(const DiskImage& disk) {
  CHECK(!disk.description().empty());
  const std::uint64_t sectors = disk.sectors();
  CHECK(sectors != 0);
  CHECK(disk.read(sectors, 1).empty() && disk.read(0, sectors + 1).empty(), sectors);
  CHECK(disk.read(sectors - 1, 1).size() == disk.sector_bytes(), sectors);
  CHECK(!disk.boot_code().bytes.empty());
  if (disk.kind() == DriveKind::Cd) return;
  CHECK(disk.heads() >= 1 && disk.heads() <= 256, disk.heads());
  CHECK(disk.sectors_per_track() >= 1 && disk.sectors_per_track() <= 63, disk.sectors_per_track());
  CHECK(disk.cylinders() >= 1 && disk.cylinders() <= 1024, disk.cylinders());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input in(data, size);
  constexpr std::optional<DriveKind> kAsked[] = {std::nullopt, DriveKind::Floppy, DriveKind::HardDisk, DriveKind::Cd};
  const auto asked = kAsked[in.take<std::uint8_t>() % std::size(kAsked)];
  auto disk = DiskImage::make(image_of(in), "image", asked);
  if (!disk) {
    CHECK(!disk.error().message.empty());
    return 0;
  }
  look(*disk);
  auto memory = PhysicalMemory::make(kLeastMemory);
  CHECK(memory.has_value());
  PortMap ports;
  Vga vga;
  Host host;
  Bios bios(*memory, ports, vga, &*disk, host);
  bios.install();
  while (!in.empty()) {  // AX, CX, DH; a packet at 0000:0600
    BiosCall call;
    call.eax = in.take<std::uint16_t>();
    call.ecx = in.take<std::uint16_t>();
    call.edx = in.take<std::uint8_t>() << 8 | disk->drive();
    call.ebx = 0x55AA;
    call.es = static_cast<std::uint16_t>(in.take<std::uint8_t>() << 8);
    call.esi = 0x600;
    memory->store<std::uint32_t>(0x600, 0x10 | call.ecx << 16);
    memory->store<std::uint32_t>(0x604, static_cast<std::uint32_t>(call.es) << 16);
    memory->store<std::uint64_t>(0x608, call.eax & 0xFF);
    bios.service(0x13, call);
  }
  look(*disk);
  return 0;
}

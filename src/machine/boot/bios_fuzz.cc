// Any calls of any BIOS service, with any disk image behind INT 13H: no access outside memory, no CHECK fails.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/check.h"
#include "machine/boot/bios.h"
#include "machine/boot/disk_image.h"
#include "machine/boot/screen.h"
#include "machine/memory.h"
#include "machine/port_map.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace zs::machine;
  if (size < 2) return 0;
  auto memory = PhysicalMemory::make(kLeastMemory);
  CHECK(memory.has_value());
  // A floppy, or a hard disk of some size; its content does not matter.
  std::vector<std::byte> image(data[0] % 2 == 0 ? 1024 : 2u << 20);
  image[510] = std::byte{0x55};
  image[511] = std::byte{0xAA};
  auto disk = DiskImage::make(std::move(image), "image");
  CHECK(disk.has_value());
  PortMap ports;
  Bios bios(*memory, ports, &*disk, [](std::uint64_t physical, std::uint64_t bytes) {
    CHECK(physical + bytes <= kLeastMemory, physical, bytes);
  });
  bios.install();
  for (std::size_t at = 1; at < size;) {
    BiosCall call;
    const std::uint8_t vector = data[at++];
    const std::size_t n = size - at < sizeof(call) ? size - at : sizeof(call);
    std::memcpy(&call, data + at, n);
    at += n;
    constexpr std::uint8_t kUseful[] = {0x08, 0x10, 0x11, 0x12, 0x13, 0x13, 0x13, 0x15, 0x16, 0x1A};
    bios.service(vector % 2 == 0 ? kUseful[vector / 2 % std::size(kUseful)] : vector, call);
  }
  (void)screen_text(*memory);
  return 0;
}

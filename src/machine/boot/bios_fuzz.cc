// Any calls of any BIOS service, with any disk image behind INT 13H: no access outside memory, no CHECK fails, and
// every range of memory that a service wrote was told to `written`, but for the BIOS data area.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "machine/boot/bios.h"
#include "machine/boot/disk_image.h"
#include "machine/boot/screen.h"
#include "machine/clock.h"
#include "machine/devices/vga.h"
#include "machine/memory.h"
#include "machine/port_map.h"

namespace {

using namespace zs::machine;

constexpr std::uint64_t kBiosDataEnd = 0x500;
constexpr unsigned kInputsBetweenComparisons = 4096;  // of all of memory with what it was

PhysicalMemory memory() {
  auto made = PhysicalMemory::make(kLeastMemory);
  CHECK(made.has_value());
  return std::move(made).value();
}

/// Its content does not matter.
DiskImage disk(std::size_t bytes) {
  std::vector<std::byte> image(bytes);
  for (std::size_t i = 0; i < bytes; ++i) image[i] = static_cast<std::byte>(i / kSectorBytes);
  image[510] = std::byte{0x55};
  image[511] = std::byte{0xAA};
  auto made = DiskImage::make(std::move(image), "image");
  CHECK(made.has_value());
  return std::move(made).value();
}

/// Keeps what was written.
struct Host : BiosHost {
  void memory_written(std::uint64_t physical, std::uint64_t bytes) override {
    CHECK(bytes <= kLeastMemory && physical <= kLeastMemory - bytes, physical, bytes);
    writes.emplace_back(physical, bytes);
  }
  std::uint64_t ticks() const override { return clock.now(); }
  void pass_time(std::uint64_t ticks) override { clock.advance(ticks); }
  bool a20() const override { return open; }
  void set_a20(bool on) override { open = on; }
  void note(const std::string& text) override { CHECK(!text.empty()); }
  bool keys_to_come() const override { return false; }
  void waits_for_a_key() override {}
  void reset() override {}
  zs::machine::Clock clock;
  bool open = true;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> writes;  // physical, bytes
};

/// A BIOS with one disk. Two megabytes are too many to make anew for each input: what one has written, as `written`
/// says, is undone after it.
struct Board {
  explicit Board(std::size_t disk_bytes) : image(disk(disk_bytes)) {
    for (PhysicalMemory* each : {&ram, &untouched}) Bios(*each, ports, vga, &image, host).install();
  }

  Bios bios() { return {ram, ports, vga, &image, host}; }

  void undo() {
    host.writes.emplace_back(0, kBiosDataEnd);
    host.writes.emplace_back(kVgaGraphics, kVgaGraphicsBytes);  // pixels and characters: VGA's own
    host.writes.emplace_back(kVgaText, kVgaTextBytes);
    for (const auto& [physical, bytes] : host.writes) {
      buffer.resize(bytes);
      CHECK(untouched.read(physical, buffer) && ram.write(physical, buffer), physical, bytes);
    }
    host.writes.clear();
    if (++inputs % kInputsBetweenComparisons != 0) return;
    for (std::uint64_t page = 0; page < kLeastMemory; page += kPageBytes) {
      const std::byte *is = ram.page(page), *was = untouched.page(page);
      CHECK(is == nullptr || std::memcmp(is, was, kPageBytes) == 0, page);
    }
  }

  DiskImage image;
  PhysicalMemory ram = memory(), untouched = memory();
  PortMap ports;
  Vga vga;
  Host host;
  std::vector<std::byte> buffer;
  unsigned inputs = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  static Board floppy(1024), hard_disk(2u << 20);
  Board& board = data[0] % 2 == 0 ? floppy : hard_disk;
  Bios bios = board.bios();
  for (std::size_t at = 1; at < size;) {
    BiosCall call;
    const std::uint8_t vector = data[at++];
    const std::size_t n = std::min(size - at, sizeof call);
    std::memcpy(&call, data + at, n);
    at += n;
    constexpr std::uint8_t kUseful[] = {0x08, 0x10, 0x11, 0x12, 0x13, 0x13, 0x13, 0x15, 0x16, 0x1A};
    bios.service(vector % 2 == 0 ? kUseful[vector / 2 % std::size(kUseful)] : vector, call);
  }
  (void)screen_text(screen_rows(board.ram));
  board.undo();
  return 0;
}

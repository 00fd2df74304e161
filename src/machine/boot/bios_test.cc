#include "machine/boot/bios.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "machine/boot/disk_image.h"
#include "machine/boot/screen.h"
#include "machine/memory.h"
#include "machine/port_map.h"

namespace zs::machine {
namespace {

std::vector<std::byte> image(std::size_t bytes) {
  std::vector<std::byte> all(bytes);
  for (std::size_t i = 0; i < bytes; ++i) all[i] = static_cast<std::byte>(i / 512);
  all[510] = std::byte{0x55};
  all[511] = std::byte{0xAA};
  return all;
}

struct BiosTest : testing::Test {
  explicit BiosTest(std::size_t disk_bytes = 1440 * 1024)
      : disk(*DiskImage::make(image(disk_bytes), "test")), memory(*PhysicalMemory::make(kLeastMemory)) {
    bios.install();
  }
  void print(const std::string& text) {
    for (const char letter : text) {
      BiosCall call{.ax = static_cast<std::uint16_t>(0x0E00 | static_cast<std::uint8_t>(letter))};
      bios.service(0x10, call);
    }
  }
  DiskImage disk;
  PhysicalMemory memory;
  PortMap ports;
  Bios bios{memory, ports, &disk, [this](std::uint64_t, std::uint64_t bytes) { written += bytes; }};
  std::uint64_t written = 0;
};

struct BiosWithDisk : BiosTest {
  BiosWithDisk() : BiosTest(4 << 20) {}
};

TEST_F(BiosTest, EveryVectorLeadsToAnIretOfItsOwn) {
  for (unsigned vector = 0; vector < 256; ++vector) {
    EXPECT_EQ(memory.load<std::uint32_t>(vector * 4), 0xF0000000u + vector);
    EXPECT_EQ(memory.load<std::uint8_t>(kBios + vector), 0xCF);
  }
  EXPECT_EQ(memory.load<std::uint16_t>(0x413), 639);
}

TEST_F(BiosTest, TeletypeScrollsAtTheLastRow) {
  for (int i = 0; i < 26; ++i) print(std::string(1, static_cast<char>('a' + i)) + "\r\n");
  const std::string text = screen_text(memory);
  EXPECT_EQ(text.substr(0, 4), "c\nd\n");
  EXPECT_EQ(text.substr(text.size() - 4), "y\nz\n");
}

TEST_F(BiosTest, ReadsAFloppyByCylinderHeadAndSector) {
  BiosCall call{.ax = 0x0202, .bx = 0x100, .cx = 0x0103, .dx = 0x0100, .es = 0x1000, .flags = 1};  // C1 H1 S3
  bios.service(0x13, call);
  EXPECT_EQ(call.ax, 0x0002);
  EXPECT_EQ(call.flags & 1, 0);
  EXPECT_EQ(memory.load<std::uint8_t>(0x10100), 36 + 18 + 2);
  EXPECT_EQ(memory.load<std::uint8_t>(0x10300), 36 + 18 + 3);
  EXPECT_EQ(written, 1024u);
}

TEST_F(BiosTest, RefusesWhatTheFloppyHasNot) {
  for (const std::uint16_t cx : {std::uint16_t{0x0013}, std::uint16_t{0}, std::uint16_t{0x5001}}) {
    BiosCall call{.ax = 0x0201, .cx = cx};
    bios.service(0x13, call);
    EXPECT_EQ(call.ax, 0x0400) << cx;
    EXPECT_EQ(call.flags & 1, 1);
  }
  BiosCall extensions{.ax = 0x4100, .bx = 0x55AA};
  bios.service(0x13, extensions);
  EXPECT_EQ(extensions.flags & 1, 1);
  BiosCall other_drive{.ax = 0x0201, .cx = 1, .dx = 0x80};
  bios.service(0x13, other_drive);
  EXPECT_EQ(other_drive.ax >> 8, 0x80);
}

TEST_F(BiosTest, ReadingIntoNothingFails) {
  BiosCall call{.ax = 0x0201, .bx = 0, .cx = 1, .es = 0xC000};
  bios.service(0x13, call);
  EXPECT_EQ(call.flags & 1, 1);
}

TEST_F(BiosWithDisk, ReadsAHardDiskByPacket) {
  BiosCall there{.ax = 0x4100, .bx = 0x55AA, .dx = 0x80};
  bios.service(0x13, there);
  EXPECT_EQ(there.bx, 0xAA55);
  memory.store<std::uint64_t>(0x500, 0x2000'0000'0001'0010);  // 16 bytes, 1 sector, to 2000:0000
  memory.store<std::uint64_t>(0x508, 77);
  BiosCall call{.ax = 0x4200, .dx = 0x80, .si = 0x500};
  bios.service(0x13, call);
  EXPECT_EQ(call.flags & 1, 0);
  EXPECT_EQ(memory.load<std::uint8_t>(0x20000), 77);
}

TEST_F(BiosTest, HasNoKeysNoExtendedServicesAnd639KiB) {
  BiosCall key{.ax = 0x0100};
  bios.service(0x16, key);
  EXPECT_EQ(key.flags & 0x40, 0x40);
  BiosCall extended{.ax = 0xE820};
  bios.service(0x15, extended);
  EXPECT_EQ(extended.ah(), 0x86);
  EXPECT_EQ(extended.flags & 1, 1);
  BiosCall memory_size;
  bios.service(0x12, memory_size);
  EXPECT_EQ(memory_size.ax, 639);
}

}  // namespace
}  // namespace zs::machine

#include "machine/devices/ide_disk.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "machine/boot/disk_image.h"

namespace zs::machine {
namespace {

constexpr unsigned kReady = 0x50, kWithData = 0x58, kFailed = 0x51;
constexpr unsigned kAborted = 4, kIdNotFound = 0x10;
constexpr unsigned kRead = 0x20, kWrite = 0x30, kVerify = 0x40, kIdentify = 0xEC;

/// A hard disk of 4 MiB; byte 2 and 3 of each sector are its number.
DiskImage numbered_disk() {
  std::vector<std::byte> bytes(4 << 20);
  for (std::size_t sector = 0; sector < bytes.size() / kSectorBytes; ++sector) {
    bytes[sector * kSectorBytes + 2] = static_cast<std::byte>(sector);
    bytes[sector * kSectorBytes + 3] = static_cast<std::byte>(sector >> 8);
  }
  bytes[510] = std::byte{0x55};
  bytes[511] = std::byte{0xAA};
  return std::move(*DiskImage::make(std::move(bytes), "test", DriveKind::HardDisk));
}

struct IdeTest : testing::Test {
  void command(unsigned value) { ide.out(0x1F7, static_cast<std::uint8_t>(value)); }
  void address(std::uint64_t lba, unsigned count) {
    ide.out(0x1F2, static_cast<std::uint8_t>(count));
    ide.out(0x1F3, static_cast<std::uint8_t>(lba));
    ide.out(0x1F4, static_cast<std::uint8_t>(lba >> 8));
    ide.out(0x1F5, static_cast<std::uint8_t>(lba >> 16));
    ide.out(0x1F6, static_cast<std::uint8_t>(0xE0 | lba >> 24));
  }
  unsigned status() { return ide.in(0x3F6); }  // the alternate one: leaves the interrupt alone
  std::vector<unsigned> sector() {
    std::vector<unsigned> words;
    for (unsigned n = 0; n < kSectorBytes / 2; ++n) {
      std::uint32_t value = 0;
      EXPECT_TRUE(ide.wide_in(0x1F0, 2, value));
      words.push_back(value);
    }
    return words;
  }
  void give_sector(unsigned word) {
    for (unsigned n = 0; n < kSectorBytes / 2; ++n) EXPECT_TRUE(ide.wide_out(0x1F0, 2, word));
  }

  DiskImage disk = numbered_disk();
  bool irq = false;
  unsigned irqs = 0;
  IdeDisk ide{disk, [this](bool up) {
                irqs += up && !irq ? 1 : 0;
                irq = up;
              }};
};

TEST_F(IdeTest, IdentifiesItselfWithItsSizeAndGeometry) {
  command(kIdentify);
  EXPECT_EQ(status(), kWithData);
  EXPECT_TRUE(irq);
  const auto words = sector();
  EXPECT_EQ(words[0] & 0x8000, 0u) << "ATA";
  EXPECT_EQ(words[1], disk.cylinders());
  EXPECT_EQ(words[3], disk.heads());
  EXPECT_EQ(words[6], disk.sectors_per_track());
  EXPECT_EQ(words[49] & 0x300, 0x200u) << "LBA, no DMA";
  EXPECT_EQ(words[60] | words[61] << 16, 8192u);
  std::string model;
  for (unsigned n = 27; n < 47; ++n) model += {static_cast<char>(words[n] >> 8), static_cast<char>(words[n])};
  EXPECT_EQ(model, "zeroskid virtual disk                   ");
  EXPECT_EQ(status(), kReady) << "all is read";
}

TEST_F(IdeTest, ReadsSectorAfterSectorByAddress) {
  address(300, 3);
  command(kRead);
  for (unsigned n = 0; n < 3; ++n) {
    EXPECT_EQ(status(), kWithData);
    EXPECT_EQ(irqs, n + 1) << "an interrupt for each";
    EXPECT_EQ(ide.in(0x1F7), kWithData);
    EXPECT_FALSE(irq) << "reading the status acknowledges it";
    EXPECT_EQ(sector()[1], 300 + n);
  }
  EXPECT_EQ(status(), kReady);
  EXPECT_EQ(irqs, 3u) << "none at the end";
}

TEST_F(IdeTest, ReadsByCylinderHeadAndSector) {
  ide.out(0x1F2, 1);
  ide.out(0x1F3, 5);
  ide.out(0x1F4, 2);
  ide.out(0x1F5, 0);
  ide.out(0x1F6, 0xA3);
  command(kRead);
  EXPECT_EQ(sector()[1], (2 * disk.heads() + 3) * disk.sectors_per_track() + 4);
  ide.out(0x1F3, 0);  // there is no sector 0
  command(kRead);
  EXPECT_EQ(status(), kFailed);
  EXPECT_EQ(ide.in(0x1F1), kIdNotFound);
}

TEST_F(IdeTest, WritesGoToTheCopyWithAnInterruptAfterEach) {
  address(8190, 2);
  command(kWrite);
  EXPECT_EQ(status(), kWithData);
  EXPECT_EQ(irqs, 0u) << "the first is asked for without one";
  give_sector(0x1234);
  EXPECT_EQ(irqs, 1u);
  EXPECT_EQ(ide.in(0x1F7), kWithData);
  give_sector(0x5678);
  EXPECT_EQ(irqs, 2u);
  EXPECT_EQ(status(), kReady);
  const auto written = disk.read(8190, 2);
  EXPECT_EQ(written[0], std::byte{0x34});
  EXPECT_EQ(written[511], std::byte{0x12});
  EXPECT_EQ(written[512], std::byte{0x78});
  give_sector(0x9999);
  EXPECT_EQ(disk.read(8191, 1)[0], std::byte{0x78}) << "nothing is asked for any more";
}

TEST_F(IdeTest, ACountOf0Is256Sectors) {
  address(0, 0);
  command(kRead);
  for (unsigned n = 0; n < 256; ++n) EXPECT_EQ(sector()[1], n);
  EXPECT_EQ(status(), kReady);
}

TEST_F(IdeTest, WhatLiesBehindTheEndIsNotFoundAndNothingIsTransferred) {
  for (const unsigned what : {kRead, kWrite, kVerify}) {
    address(8191, 2);
    command(what);
    EXPECT_EQ(status(), kFailed) << what;
    EXPECT_EQ(ide.in(0x1F1), kIdNotFound);
    std::uint32_t value = 0;
    EXPECT_TRUE(ide.wide_in(0x1F0, 4, value));
    EXPECT_EQ(value, 0xFFFFFFFF) << "no data";
    address(8191, 1);
    command(what);
    EXPECT_EQ(status() & 1, 0u) << what;
  }
}

TEST_F(IdeTest, UnknownCommandsAreAborted) {
  for (const unsigned what : {0x00u, 0xC8u, 0xC4u, 0xA0u, 0xFFu}) {
    command(what);
    EXPECT_EQ(status(), kFailed) << what;
    EXPECT_EQ(ide.in(0x1F1), kAborted) << what;
  }
}

TEST_F(IdeTest, ThereIsNoSecondDrive) {
  ide.out(0x1F6, 0xF0);
  EXPECT_EQ(status(), 0u);
  command(kIdentify);
  EXPECT_EQ(status(), 0u);
  EXPECT_EQ(irqs, 0u);
}

TEST_F(IdeTest, ASecondDriveIsSelectedByItsBit) {
  DiskImage data = DiskImage::data(std::vector<std::byte>(1025, std::byte{7}));
  IdeDisk both{disk, [](bool) {}, &data};
  for (const bool second : {true, false}) {
    both.out(0x1F6, second ? 0xF0 : 0xE0);
    both.out(0x1F2, 1);
    both.out(0x1F3, 2);
    both.out(0x1F7, kRead);
    EXPECT_EQ(both.in(0x1F7), kWithData);
    EXPECT_EQ(both.in(0x1F0), second ? 7u : 0u) << "its last sector has a byte";
    both.out(0x1F3, 3);
    both.out(0x1F7, kRead);
    EXPECT_EQ(both.in(0x1F7), second ? kFailed : kWithData) << "each has its own size";
  }
}

TEST_F(IdeTest, NoInterruptsWhereTheControlRegisterSaysSo) {
  ide.out(0x3F6, 2);
  address(1, 1);
  command(kRead);
  EXPECT_EQ(status(), kWithData);
  EXPECT_EQ(irqs, 0u);
}

TEST_F(IdeTest, ASoftwareResetEndsATransferAndLeavesTheSignatureOfADisk) {
  address(1, 1);
  command(kRead);
  ide.out(0x3F6, 4);
  ide.out(0x3F6, 0);
  EXPECT_EQ(status(), kReady);
  EXPECT_EQ(ide.in(0x1F1), 1u) << "diagnostics passed";
  EXPECT_EQ(ide.in(0x1F2), 1u);
  EXPECT_EQ(ide.in(0x1F3), 1u);
  EXPECT_EQ(ide.in(0x1F4), 0u);
  EXPECT_EQ(ide.in(0x1F5), 0u);
}

}  // namespace
}  // namespace zs::machine

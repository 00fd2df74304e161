#include "machine/boot/disk_image.h"

#include <gtest/gtest.h>

#include <cstring>

namespace zs::machine {
namespace {

std::vector<std::byte> bootable(std::size_t bytes) {
  std::vector<std::byte> image(bytes);
  if (bytes >= 512) {
    image[510] = std::byte{0x55};
    image[511] = std::byte{0xAA};
  }
  return image;
}

TEST(DiskImage, RefusesWhatCannotBoot) {
  EXPECT_EQ(DiskImage::make(bootable(511), "a.img").error().message,
            "a.img: 511 bytes are no disk image: a boot sector has 512");
  EXPECT_EQ(DiskImage::make(std::vector<std::byte>(512), "a.img").error().message,
            "a.img: at 0x1fe: the boot sector does not end in 55 AA: nothing to boot");
}

TEST(DiskImage, AShortImageIsAWholeFloppy) {
  const auto disk = DiskImage::make(bootable(513), "a.img");
  ASSERT_TRUE(disk);
  EXPECT_EQ(disk->drive(), 0);
  EXPECT_EQ(disk->cylinders(), 80u);
  EXPECT_EQ(disk->read(2879, 1).size(), 512u);
  EXPECT_TRUE(disk->read(2879, 2).empty());
  EXPECT_TRUE(disk->read(~std::uint64_t{0}, 1).empty());
}

TEST(DiskImage, ALargeOneIsAHardDisk) {
  const auto disk = DiskImage::make(bootable(10 << 20), "a.img");
  ASSERT_TRUE(disk);
  EXPECT_EQ(disk->drive(), 0x80);
  EXPECT_EQ(disk->cylinders(), 21u);
  EXPECT_TRUE(disk->read(20480, 1).empty());
}

template <typename T>
void put(std::vector<std::byte>& image, std::size_t at, T value) {
  std::memcpy(image.data() + at, &value, sizeof value);
}

/// Entry `n` of the partition table; the CHS fields as tools write them for this geometry.
void put_partition(std::vector<std::byte>& image, unsigned n, bool active, std::uint32_t first, std::uint32_t count,
                   unsigned heads, unsigned track) {
  const std::size_t at = 0x1BE + 16 * n;
  const auto chs = [&](std::size_t where, std::uint32_t sector) {
    const unsigned cylinder = sector / (heads * track);
    put(image, where, static_cast<std::uint8_t>(sector / track % heads));
    put(image, where + 1, static_cast<std::uint8_t>((sector % track + 1) | (cylinder >> 2 & 0xC0)));
    put(image, where + 2, static_cast<std::uint8_t>(cylinder));
  };
  put(image, at, static_cast<std::uint8_t>(active ? 0x80 : 0));
  chs(at + 1, first);
  put(image, at + 4, std::uint8_t{0x0C});
  chs(at + 5, first + count - 1);
  put(image, at + 8, first);
  put(image, at + 12, count);
}

struct ParameterBlockFields {
  std::uint16_t sectors, track, heads;
  std::uint8_t media;
};
void put_parameter_block(std::vector<std::byte>& image, ParameterBlockFields f) {
  put(image, 0, std::uint16_t{0x3CEB});
  put(image, 0x0B, std::uint16_t{512});
  put(image, 0x0D, std::uint8_t{1});
  put(image, 0x0E, std::uint16_t{1});
  put(image, 0x10, std::uint8_t{2});
  put(image, 0x13, f.sectors);
  put(image, 0x15, f.media);
  put(image, 0x18, f.track);
  put(image, 0x1A, f.heads);
}

TEST(DiskImage, ASmallOneWithAnActivePartitionIsAHardDisk) {
  auto image = bootable(1440 * 1024);
  put_partition(image, 0, true, 63, 2800, 16, 63);
  const auto disk = DiskImage::make(image, "a.img");
  ASSERT_TRUE(disk);
  EXPECT_EQ(disk->drive(), 0x80);
  EXPECT_EQ(disk->sectors(), 2880u);
  EXPECT_EQ(disk->description(),
            "hard disk 80h, 16 heads, 63 sectors a track: its partition table has an active entry");
  const auto asked = DiskImage::make(image, "a.img", DriveKind::Floppy);
  EXPECT_EQ(asked->drive(), 0x00);
  EXPECT_EQ(asked->description(), "floppy 00h, 2 heads, 18 sectors a track: as --drive says");
}

TEST(DiskImage, ItsGeometryIsThatOfThePartitionTable) {
  auto image = bootable(4 << 20);
  put_partition(image, 0, true, 32, 64 * 32 * 2 - 32, 64, 32);
  const auto disk = DiskImage::make(image, "a.img");
  EXPECT_EQ(disk->heads(), 64u);
  EXPECT_EQ(disk->sectors_per_track(), 32u);
  EXPECT_EQ(disk->cylinders(), 4u);
}

TEST(DiskImage, WhatIsNoPartitionTableLeavesAFloppy) {
  auto none_active = bootable(1440 * 1024);
  put_partition(none_active, 0, false, 63, 2800, 16, 63);
  EXPECT_EQ(DiskImage::make(none_active, "a.img")->drive(), 0);
  auto code = bootable(1440 * 1024);  // GRUB's stage 1 probes 36, 18, 15, 9 sectors from a table at this place
  put(code, 0x1BE, std::uint32_t{0x090F1224});
  EXPECT_EQ(DiskImage::make(code, "a.img")->drive(), 0);
  auto empty_entry = bootable(1440 * 1024);
  put(empty_entry, 0x1BE, std::uint8_t{0x80});
  EXPECT_EQ(DiskImage::make(empty_entry, "a.img")->drive(), 0);
}

TEST(DiskImage, AParameterBlockTellsBeforeTheSize) {
  auto floppy = bootable(720 * 1024);
  put_parameter_block(floppy, {.sectors = 1440, .track = 9, .heads = 2, .media = 0xF9});
  const auto small = DiskImage::make(floppy, "a.img");
  EXPECT_EQ(small->drive(), 0);
  EXPECT_EQ(small->sectors_per_track(), 9u);
  EXPECT_EQ(small->cylinders(), 80u);
  EXPECT_EQ(small->floppy_type(), 3);
  auto hard = bootable(1 << 20);
  put_parameter_block(hard, {.sectors = 2048, .track = 32, .heads = 4, .media = 0xF8});
  const auto disk = DiskImage::make(hard, "a.img");
  EXPECT_EQ(disk->drive(), 0x80);
  EXPECT_EQ(disk->heads(), 4u);
  EXPECT_EQ(disk->description(),
            "hard disk 80h, 4 heads, 32 sectors a track: its BIOS parameter block has media descriptor F8h");
}

TEST(DiskImage, FloppiesOfEveryUsualSizeHaveTheirGeometry) {
  struct Size {
    unsigned sectors, heads, track;
    std::uint8_t type;
  };
  for (const Size size : {Size{320, 1, 8, 1}, Size{720, 2, 9, 1}, Size{1440, 2, 9, 3}, Size{2400, 2, 15, 2},
                          Size{2880, 2, 18, 4}, Size{5760, 2, 36, 5}}) {
    const auto disk = DiskImage::make(bootable(size.sectors * 512), "a.img");
    EXPECT_EQ(disk->drive(), 0) << size.sectors;
    EXPECT_EQ(disk->heads(), size.heads) << size.sectors;
    EXPECT_EQ(disk->sectors_per_track(), size.track) << size.sectors;
    EXPECT_EQ(disk->floppy_type(), size.type) << size.sectors;
  }
}

TEST(DiskImage, WritesGoToTheCopyAndNoFurther) {
  auto disk = *DiskImage::make(bootable(513), "a.img");
  const std::vector<std::byte> sector(512, std::byte{7});
  EXPECT_TRUE(disk.write(2879, sector));
  EXPECT_EQ(disk.read(2879, 1), sector);
  EXPECT_FALSE(disk.write(2880, sector));
  EXPECT_FALSE(disk.write(~std::uint64_t{0}, sector));
}

/// An ISO 9660 image of 40 sectors whose boot entry has this media type; the catalog is sector 20, the code sector 24.
std::vector<std::byte> iso(std::uint8_t media, std::uint16_t load_sectors = 4, std::uint16_t segment = 0) {
  std::vector<std::byte> image(40 * 2048);
  const auto text = [&](std::size_t at, const char* letters) {
    std::memcpy(image.data() + at, letters, std::strlen(letters));
  };
  put(image, 0x8000, std::uint8_t{1});
  text(0x8001, "CD001");
  text(0x8801, "CD001");
  text(0x8807, "EL TORITO SPECIFICATION");
  put(image, 0x8847, std::uint32_t{20});
  put(image, 20 * 2048, std::uint8_t{1});
  put(image, 20 * 2048 + 30, std::uint16_t{0xAA55});
  put(image, 20 * 2048 + 32, std::uint8_t{0x88});
  put(image, 20 * 2048 + 33, media);
  put(image, 20 * 2048 + 34, segment);
  put(image, 20 * 2048 + 38, load_sectors);
  put(image, 20 * 2048 + 40, std::uint32_t{24});
  put(image, 24 * 2048, std::uint32_t{0x12345678});
  put(image, 24 * 2048 + 510, std::uint16_t{0xAA55});
  return image;
}

TEST(DiskImage, ACdBootsWhatItsDefaultEntryNames) {
  const auto disk = DiskImage::make(iso(0), "a.iso");
  ASSERT_TRUE(disk);
  EXPECT_EQ(disk->drive(), 0xE0);
  EXPECT_EQ(disk->sector_bytes(), 2048u);
  EXPECT_EQ(disk->boot_code().bytes.size(), 2048u);
  EXPECT_EQ(disk->boot_code().bytes[0], std::byte{0x78});
  EXPECT_EQ(disk->boot_code().segment * 16 + disk->boot_code().offset, 0x7C00);
  EXPECT_EQ(DiskImage::make(iso(0, 4, 0x1000), "a.iso")->boot_code().segment, 0x1000);
}

TEST(DiskImage, ACdMayCarryAFloppyOrAHardDisk) {
  const auto floppy = DiskImage::make(iso(2), "a.iso");
  ASSERT_TRUE(floppy);
  EXPECT_EQ(floppy->drive(), 0);
  EXPECT_TRUE(floppy->emulated());
  EXPECT_EQ(floppy->sectors(), 2880u);
  EXPECT_EQ(floppy->read(0, 1)[0], std::byte{0x78});
  EXPECT_EQ(DiskImage::make(iso(4), "a.iso")->drive(), 0x80);
}

TEST(DiskImage, ACdThatDoesNotBootIsNamed) {
  auto without = iso(0);
  put(without, 0x8801, std::uint8_t{'X'});
  EXPECT_EQ(DiskImage::make(without, "a.iso").error().message,
            "a.iso: at 0x8800: an ISO 9660 image without a boot record (El Torito): nothing to boot");
  for (const std::size_t bytes : {0x8801, 0x8806, 0x881E, 0x884A}) {  // cut within the boot record
    auto cut = iso(0);
    cut.resize(bytes);
    EXPECT_EQ(DiskImage::make(cut, "a.iso").error().message,
              "a.iso: at 0x8800: an ISO 9660 image without a boot record (El Torito): nothing to boot");
  }
  auto far = iso(0);
  put(far, 20 * 2048 + 40, std::uint32_t{1000});
  EXPECT_EQ(DiskImage::make(far, "a.iso").error().message,
            "a.iso: its boot record wants 2048 bytes at 0x1f4000, and the image has 0x14000");
  EXPECT_EQ(DiskImage::make(iso(7), "a.iso").error().message,
            "a.iso: at 0xa021: boot media type 7 is none of El Torito's");
}

}  // namespace
}  // namespace zs::machine

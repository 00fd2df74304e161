#include "machine/boot/disk_image.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace zs::machine

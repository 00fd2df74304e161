// A screenshot, taken apart again: by a reader of PNG that knows what the specification says, and nothing of the
// writer.
#include "machine/boot/screenshot.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <map>
#include <string>

#include "machine/devices/vga.h"
#include "machine/memory.h"

namespace zs::machine {
namespace {

struct Png {
  std::map<std::string, std::string> chunks;
  std::string order;
  std::string rows;  // unpacked
};

std::uint32_t word(const std::string& data, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t n = 0; n < 4; ++n) value = value << 8 | static_cast<unsigned char>(data.at(at + n));
  return value;
}

Png read_png(const std::vector<std::byte>& bytes) {
  const std::string all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  EXPECT_EQ(all.substr(0, 8), "\x89PNG\r\n\x1A\n");
  Png png;
  for (std::size_t at = 8; at < all.size();) {
    const std::uint32_t size = word(all, at);
    const std::string body = all.substr(at + 4, 4 + size);
    const auto crc = crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size()));
    EXPECT_EQ(word(all, at + 8 + size), crc) << body.substr(0, 4);
    png.chunks[body.substr(0, 4)] = body.substr(4);
    png.order += body.substr(0, 4);
    at += 12 + size;
  }
  png.rows.resize(1 << 20);
  uLongf size = png.rows.size();
  const std::string& packed = png.chunks["IDAT"];
  EXPECT_EQ(uncompress(reinterpret_cast<Bytef*>(png.rows.data()), &size, reinterpret_cast<const Bytef*>(packed.data()),
                       packed.size()),
            Z_OK);
  png.rows.resize(size);
  return png;
}

struct ScreenshotTest : testing::Test {
  PhysicalMemory memory = std::move(*PhysicalMemory::make(kLeastMemory));
  Vga vga;
};

TEST_F(ScreenshotTest, ThereIsNoneOfTextAndOfWhatIsNotDrawn) {
  auto none = screenshot(memory, vga);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message, "--screenshot: the screen shows text, and there is no picture of it");
  vga.out(0x3CE, 6);
  vga.out(0x3CF, 1);
  none = screenshot(memory, vga);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message, "--screenshot: the screen is in a graphics mode that is not drawn");
}

TEST_F(ScreenshotTest, HoldsEveryPixelAndColour) {
  vga.set_mode(0x13);
  vga.set_colour(200, {63, 32, 1});
  for (unsigned n = 0; n < 64000; ++n)
    memory.store<std::uint8_t>(kVgaGraphics + n, static_cast<std::uint8_t>(n * 7 + n / 320));
  const auto bytes = screenshot(memory, vga);
  ASSERT_TRUE(bytes);
  const Png png = read_png(*bytes);
  EXPECT_EQ(png.order, "IHDRPLTEIDATIEND");
  const std::string& header = png.chunks.at("IHDR");
  EXPECT_EQ(word(header, 0), 320u);
  EXPECT_EQ(word(header, 4), 200u);
  EXPECT_EQ(header.substr(8), std::string("\x08\x03\x00\x00\x00", 5)) << "8 bits, a palette";
  const std::string& palette = png.chunks.at("PLTE");
  ASSERT_EQ(palette.size(), 768u);
  EXPECT_EQ(palette.substr(600, 3), "\xFF\x82\x04") << "six bits as eight";
  ASSERT_EQ(png.rows.size(), 200u * 321);
  for (unsigned n = 0; n < 64000; ++n) {
    const auto pixel = static_cast<std::uint8_t>(png.rows[n / 320 * 321 + 1 + n % 320]);
    ASSERT_EQ(pixel, static_cast<std::uint8_t>(n * 7 + n / 320)) << n;
  }
  for (unsigned row = 0; row < 200; ++row) ASSERT_EQ(png.rows[row * 321], 0) << "no filter";
}

TEST_F(ScreenshotTest, FollowsTheStartAddressRoundTheEndOfMemory) {
  vga.set_mode(0x13);
  memory.store<std::uint8_t>(kVgaGraphics + 0xFFFC, 0x11);
  memory.store<std::uint8_t>(kVgaGraphics, 0x22);
  vga.out(0x3D4, 0x0C);
  vga.out(0x3D5, 0x3F);
  vga.out(0x3D4, 0x0D);
  vga.out(0x3D5, 0xFF);
  const Png png = read_png(*screenshot(memory, vga));
  EXPECT_EQ(png.rows[1], 0x11);
  EXPECT_EQ(png.rows[5], 0x22) << "behind the 64 KiB comes their beginning";
}

TEST_F(ScreenshotTest, ShowsThroughTheMask) {
  vga.set_mode(0x13);
  vga.set_colour(1, {63, 0, 0});
  vga.out(0x3C6, 0x0F);
  const Png png = read_png(*screenshot(memory, vga));
  EXPECT_EQ(png.chunks.at("PLTE").substr(0xF1 * 3, 3), std::string("\xFF\x00\x00", 3));
}

}  // namespace
}  // namespace zs::machine

#include "cli/linux/kernel_payload.h"

#include <gtest/gtest.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <cstring>
#include <random>
#include <string>

namespace zs::cli {
namespace {

struct KernelPayload : testing::Test {
  KernelPayload() {
    std::mt19937 random(std::random_device{}());
    for (int n = 0; n < 3000; ++n) {
      const std::size_t back = random() % 900 + 1, length = random() % 40;
      for (std::size_t i = 0; i < length; ++i)
        kernel += n % 2 == 0 || kernel.size() < back ? static_cast<char>(random()) : kernel[kernel.size() - back];
    }
  }
  /// A bzImage of one setup sector with that payload.
  std::vector<std::byte> image(const std::string& packed) const {
    std::string all(1024, '\0');
    const auto put = [&all](std::size_t at, auto value) { std::memcpy(all.data() + at, &value, sizeof value); };
    put(0x1F1, std::uint8_t{1});
    put(0x1FE, std::uint16_t{0xAA55});
    put(0x202, std::uint32_t{0x53726448});
    put(0x206, std::uint16_t{0x20F});
    put(0x248, std::uint32_t{16});
    put(0x24C, static_cast<std::uint32_t>(packed.size() + 4));
    all += std::string(16, '\0') + packed;
    const auto length = static_cast<std::uint32_t>(kernel.size());
    all.append(reinterpret_cast<const char*>(&length), sizeof length);
    const auto* const bytes = reinterpret_cast<const std::byte*>(all.data());
    return {bytes, bytes + all.size()};
  }
  std::string unpacked(const std::string& packed) const {
    const auto bytes = unpacked_kernel(image(packed));
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  const std::uint8_t* raw() const { return reinterpret_cast<const std::uint8_t*>(kernel.data()); }
  std::string kernel;
};

TEST_F(KernelPayload, IsUnpackedAsItsPackerPackedIt) {
  std::string packed(2 * kernel.size() + 1000, '\0');
  auto* const to = reinterpret_cast<std::uint8_t*>(packed.data());
  z_stream stream{};
  ASSERT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  stream.next_in = const_cast<std::uint8_t*>(raw());
  stream.avail_in = static_cast<uInt>(kernel.size());
  stream.next_out = to;
  stream.avail_out = static_cast<uInt>(packed.size());
  ASSERT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  EXPECT_EQ(unpacked(packed.substr(0, stream.total_out)), kernel) << "gzip";
  deflateEnd(&stream);

  std::size_t written = 0;
  ASSERT_EQ(lzma_easy_buffer_encode(6, LZMA_CHECK_CRC32, nullptr, raw(), kernel.size(), to, &written, packed.size()),
            LZMA_OK);
  EXPECT_EQ(unpacked(packed.substr(0, written)), kernel) << "xz";

  written = ZSTD_compress(packed.data(), packed.size(), kernel.data(), kernel.size(), 3);
  EXPECT_EQ(unpacked(packed.substr(0, written)), kernel) << "zstd";
}

// There is no packer of LZ4 here, so its kernel is written out: literals, a match that overlaps itself, a long length.
TEST_F(KernelPayload, OfLz4IsUnpacked) {
  kernel = "abc" + std::string(300, 'x') + "bcx" + "END";
  std::string block =
      "\x4F"
      "abcx" +
      std::string("\x01\x00", 2);  // 4 literals, a match of 15 + 4 and more
  block += static_cast<char>(255);
  block += static_cast<char>(299 - 19 - 255);
  block += std::string("\x00", 0);
  block +=
      "\x60"
      "bcxEND";
  const auto length = static_cast<std::uint32_t>(block.size());
  std::string packed("\x02\x21\x4C\x18", 4);
  packed.append(reinterpret_cast<const char*>(&length), sizeof length);
  EXPECT_EQ(unpacked(packed + block), kernel);
  EXPECT_EQ(unpacked(packed + block.substr(0, block.size() - 3)), "") << "cut short";
  std::string before_its_start = block;
  before_its_start[5] = 9;
  EXPECT_EQ(unpacked(packed + before_its_start), "");
}

TEST_F(KernelPayload, ThatIsDamagedOrUnknownIsNone) {
  EXPECT_EQ(unpacked("BZh9 and more"), "");
  EXPECT_EQ(unpacked(std::string("\x1F\x8B\x08\x00", 4) + "nonsense"), "");
  EXPECT_TRUE(unpacked_kernel({}).empty());
}

}  // namespace
}  // namespace zs::cli

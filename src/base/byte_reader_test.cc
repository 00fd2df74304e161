#include "base/byte_reader.h"

#include <gtest/gtest.h>

#include "base/byte_writer.h"

namespace zs {
namespace {

TEST(ByteReader, ReadsBackWhatTheWriterWrote) {
  std::vector<std::byte> bytes;
  ByteWriter out{bytes};
  out.write(std::uint16_t{0x1234});
  out.string("instructions:ppp");
  out.write(std::uint64_t{0xFEDCBA9876543210});
  ByteReader in{bytes};
  EXPECT_EQ(in.read<std::uint16_t>(), 0x1234);
  EXPECT_EQ(in.string(), "instructions:ppp");
  EXPECT_EQ(in.read<std::uint64_t>(), 0xFEDCBA9876543210);
  EXPECT_TRUE(in.ok());
  EXPECT_TRUE(in.at_end());
}

TEST(ByteReader, KeepsItsFirstFailureAndReturnsZerosFromThenOn) {
  const std::byte three[3] = {std::byte{1}, std::byte{2}, std::byte{3}};
  ByteReader in{three};
  EXPECT_EQ(in.read<std::uint32_t>(), 0U);
  EXPECT_FALSE(in.ok());
  EXPECT_EQ(in.read<std::uint8_t>(), 0U);
  EXPECT_EQ(in.position(), 0U);
}

TEST(ByteReader, AStringLongerThanTheRestIsAFailureNotARead) {
  std::vector<std::byte> bytes;
  ByteWriter out{bytes};
  out.write(std::uint32_t{0xFFFFFFFF});
  out.write('x');
  ByteReader in{bytes};
  EXPECT_EQ(in.string(), "");
  EXPECT_FALSE(in.ok());
}

TEST(ByteWriter, PatchesALengthThatIsKnownOnlyAfterwards) {
  std::vector<std::byte> bytes;
  ByteWriter out{bytes};
  out.write(std::uint32_t{0});
  out.string("abc");
  out.patch(0, static_cast<std::uint32_t>(out.size()));
  EXPECT_EQ(ByteReader{bytes}.read<std::uint32_t>(), 11U);
}

}  // namespace
}  // namespace zs

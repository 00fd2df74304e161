#include "base/bytes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace zs {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Pair {
  std::uint32_t first, second;
};
struct Padded {
  std::uint8_t small;
  std::uint64_t large;
};
static_assert(WireLayout<Pair> && WireLayout<std::uint64_t> && WireLayout<double>);
static_assert(!WireLayout<Padded>, "padding would carry stack bytes into files");
static_assert(!WireLayout<std::string>);

std::vector<std::byte> bytes_of(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

TEST(ByteReader, ReadsLittleEndianValuesOneAfterTheOther) {
  const auto bytes = bytes_of({0x01, 0x02, 0x03, 0x04, 0xAA, 0, 0, 0, 0xBB, 0, 0, 0});
  ByteReader in(bytes);
  EXPECT_EQ(in.read<std::uint32_t>(), 0x04030201u);
  const auto pair = in.read<Pair>();
  EXPECT_EQ(pair.first, 0xAAu);
  EXPECT_EQ(pair.second, 0xBBu);
  EXPECT_EQ(in.remaining(), 0u);
  EXPECT_TRUE(in.ok());
}

TEST(ByteReader, KeepsItsFirstErrorAndReadsZerosAfterIt) {
  const auto bytes = bytes_of({1, 2, 3, 4, 5, 6});
  ByteReader in(bytes, "app.data");
  in.read<std::uint32_t>();
  EXPECT_EQ(in.read<std::uint32_t>(), 0u);
  EXPECT_EQ(in.read<std::uint8_t>(), 0u) << "two bytes remain, but the reader has failed";
  in.fail("a later mistake");
  EXPECT_FALSE(in.ok());
  EXPECT_EQ(in.error("header").message, "app.data: at 0x4: header ends 2 bytes early: 4 bytes needed, 2 remain");
}

TEST(ByteReader, CountsPlacesFromTheOriginItWasGiven) {
  const auto bytes = bytes_of({1, 2, 3});
  ByteReader in(bytes, "", 0x2f30);
  in.skip(2);
  EXPECT_EQ(in.offset(), 0x2f32u);
  in.read<std::uint16_t>();
  EXPECT_EQ(in.error("sample").message, "at 0x2f32: sample ends 1 byte early: 2 bytes needed, 1 remains");
}

TEST(ByteReader, RefusesACountWhoseSizeWouldWrapAround) {
  const auto bytes = bytes_of({1, 2, 3, 4, 5, 6, 7, 8});
  ByteReader in(bytes);
  EXPECT_THAT(in.read_array<std::uint64_t>(0x2000'0000'0000'0001), IsEmpty());
  EXPECT_FALSE(in.ok());
  ByteReader huge(bytes);
  huge.skip(UINT64_MAX);
  EXPECT_FALSE(huge.ok());
}

TEST(ByteReader, ReadsAnArrayThatFillsTheRestExactly) {
  const auto bytes = bytes_of({1, 0, 2, 0, 3, 0});
  ByteReader in(bytes);
  EXPECT_THAT(in.read_array<std::uint16_t>(3), ElementsAre(1, 2, 3));
  EXPECT_THAT(in.read_array<std::uint16_t>(0), IsEmpty());
  EXPECT_TRUE(in.ok());
}

TEST(ByteReader, LeavesOutWhatIsNotPresent) {
  const auto bytes = bytes_of({7});
  ByteReader in(bytes);
  EXPECT_EQ(in.read_if<std::uint8_t>(false), std::nullopt);
  EXPECT_EQ(in.read_if<std::uint8_t>(true), 7);
}

TEST(ByteReader, EndsAStringAtItsNulAndRefusesOneWithout) {
  const auto bytes = bytes_of({'a', 'b', 0, 'c'});
  ByteReader in(bytes, "app.data");
  EXPECT_EQ(in.take_c_string(), "ab");
  EXPECT_EQ(in.take_c_string(), "");
  EXPECT_EQ(in.error("path").message, "app.data: at 0x3: path: a string has no end");
}

TEST(ByteReader, LetsAStringFillItsField) {
  const auto bytes = bytes_of({'a', 0, 0, 'b', 'c', 'd'});
  ByteReader in(bytes);
  EXPECT_EQ(in.take_padded_string(3), "a");
  EXPECT_EQ(in.take_padded_string(3), "bcd");
}

TEST(ByteReader, SeeksWithinItsBytesAndToTheirEndOnly) {
  const auto bytes = bytes_of({1, 2, 3, 4});
  ByteReader in(bytes, "app.data", 0x100);
  in.seek(0x103);
  EXPECT_EQ(in.read<std::uint8_t>(), 4);
  in.seek(0x104);
  EXPECT_TRUE(in.ok());
  in.seek(0x105);
  EXPECT_EQ(in.error("section").message, "app.data: at 0x104: section: refers to 0x105, outside 0x100 to 0x104");
}

TEST(ByteReader, ConfinesAPartToItsOwnBytes) {
  const auto bytes = bytes_of({1, 2, 3, 4});
  ByteReader in(bytes);
  ByteReader part = in.sub(2);
  EXPECT_EQ(part.read<std::uint16_t>(), 0x0201);
  part.read<std::uint8_t>();
  EXPECT_FALSE(part.ok());
  EXPECT_TRUE(in.ok()) << "a part that fails leaves the whole as it was";
  EXPECT_EQ(in.read<std::uint8_t>(), 3);

  ByteReader too_long = in.sub(2);
  EXPECT_FALSE(too_long.ok());
  EXPECT_FALSE(in.ok());
}

TEST(ByteReaderDeathTest, HasNoErrorToTellBeforeOneHappened) {
  const ByteReader in(Bytes{});
  EXPECT_DEATH(in.error("header"), "failure_.has_value\\(\\) does not hold");
}

TEST(ByteWriter, WritesWhatAReaderReads) {
  ByteWriter out;
  out.write(std::uint32_t{0});  // size, patched below
  out.write(Pair{.first = 5, .second = 6});
  out.write_c_string("main", 8);
  out.patch(0, static_cast<std::uint32_t>(out.size()));
  EXPECT_EQ(out.size(), 4u + 8u + 8u);

  ByteReader in(out.bytes());
  EXPECT_EQ(in.read<std::uint32_t>(), 20u);
  EXPECT_EQ(in.read<Pair>().second, 6u);
  EXPECT_EQ(in.take_padded_string(8), "main");
  EXPECT_TRUE(in.ok());
}

TEST(ByteWriter, AlignsWithZerosAndOnlyWhereNeeded) {
  ByteWriter out;
  out.write(std::uint8_t{1});
  out.align(4);
  EXPECT_EQ(out.size(), 4u);
  out.align(4);
  EXPECT_EQ(out.size(), 4u);
  EXPECT_EQ(out.bytes()[3], std::byte{0});
}

TEST(ByteWriterDeathTest, PatchesOnlyWhatWasWritten) {
  ByteWriter out;
  out.write(std::uint32_t{0});
  EXPECT_DEATH(out.patch(1, std::uint32_t{1}), "does not hold: offset, size\\(\\) = 1, 4");
  EXPECT_DEATH(out.patch(SIZE_MAX, std::uint8_t{1}), "does not hold");
}

}  // namespace
}  // namespace zs

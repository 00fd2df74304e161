#include "arch/records/ds_text.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "arch/records/ds_excerpt.h"

namespace zs::arch {
namespace {

struct Memory {
  std::vector<std::byte> bytes = std::vector<std::byte>(0x1000);
  template <typename T>
  void put(std::uint64_t at, std::initializer_list<T> values) {
    for (const T value : values) {
      std::memcpy(&bytes[at], &value, sizeof value);
      at += sizeof value;
    }
  }
  ReadLinear reader() {
    return [this](std::uint64_t at, std::span<std::byte> into) {
      if (at > bytes.size() || into.size() > bytes.size() - at) return false;
      std::memcpy(into.data(), &bytes[at], into.size());
      return true;
    };
  }
};

constexpr DsShape kNarrow{.layout = DsLayout::Words32, .format = PebsFormat::V0};
constexpr DsShape kFormat1{.format = PebsFormat::V1, .general_slots = 4};

TEST(DsText, ShowsManagementAreaAndRecordsWithOffsets) {
  Memory memory;
  memory.put<std::uint64_t>(0, {0x100, 0x118, 0x130, 0x130, 0x200, 0x2B0, 0x3F0, 0x3F0, 0xFFFFFFFFFFFE});
  memory.put<std::uint64_t>(0x100, {0x9133, 0x9135, 0x10});
  memory.put<std::uint64_t>(0x200, {0x246, 0x9141, 0xAB});
  const std::string text = ds_text(kFormat1, memory.reader(), 0);
  EXPECT_EQ(text.substr(0, text.find("pebs 0")),
            "debug store at 0, 64-bit layout\n"
            "  +000 bts_base       0000000000000100\n"
            "  +008 bts_index      0000000000000118\n"
            "  +010 bts_maximum    0000000000000130\n"
            "  +018 bts_threshold  0000000000000130\n"
            "  +020 pebs_base      0000000000000200\n"
            "  +028 pebs_index     00000000000002b0\n"
            "  +030 pebs_maximum   00000000000003f0\n"
            "  +038 pebs_threshold 00000000000003f0\n"
            "  +040 reset_0        0000fffffffffffe\n"
            "bts 0 at 100\n"
            "  +000 from           0000000000009133\n"
            "  +008 to             0000000000009135\n"
            "  +010 flags          0000000000000010\n");
  EXPECT_NE(text.find("pebs 0 at 200\n  +000 RFLAGS         0000000000000246\n"), std::string::npos);
  EXPECT_NE(text.find("  +0a8 latency        0000000000000000\n"), std::string::npos);
  EXPECT_EQ(text.find("eventing_ip"), std::string::npos);
}

TEST(DsText, ShowsTheOlderRecordsOfABufferThatWrapped) {
  Memory memory;
  memory.put<std::uint32_t>(0, {0x100, 0x10C, 0x124, 0x200, 0, 0, 0, 0});
  memory.put<std::uint32_t>(0x100, {4, 5, 0, 2, 3, 0, 3, 4, 0});
  const std::string text = ds_text(kNarrow, memory.reader(), 0);
  EXPECT_NE(text.find("(index; older records follow)\nbts 1 at 10c\n  +000 from           00000002\n"),
            std::string::npos);
  EXPECT_NE(text.find("bts 2 at 118"), std::string::npos);
}

TEST(DsText, SaysWhatCannotBeReadOrIsNoRecord) {
  Memory memory;
  EXPECT_EQ(ds_text(kFormat1, memory.reader(), 0xFFF), "debug store at fff, 64-bit layout\n  cannot be read\n");
  memory.put<std::uint64_t>(0, {0x2000, 0x2018, 0x3000, 0x3000, 0x200, 0x208, 0x300, 0x300});
  const std::string text = ds_text(kFormat1, memory.reader(), 0);
  EXPECT_NE(text.find("bts 0 at 2000: cannot be read"), std::string::npos);
  EXPECT_NE(text.find("  8 bytes up to the index are no record"), std::string::npos);
}

TEST(DsText, AdaptiveRecordsTellTheirOwnGroups) {
  Memory memory;
  constexpr std::uint64_t kSize = 32 + 32 + 24;
  memory.put<std::uint64_t>(0x200, {kSize << 48 | 9, 0x1234, 1, 99, 0xDA7A, 0, 0, 0, 1, 2, 3});
  const std::string text =
      pebs_record_text({.format = PebsFormat::V4}, 0x200, Bytes(memory.bytes).subspan(0x200, kSize));
  EXPECT_EQ(text.substr(0, text.find("  +008")), "pebs at 200\n  +000 format_size    0058000000000009\n");
  EXPECT_NE(text.find("  +020 data_address   000000000000da7a\n"), std::string::npos);
  EXPECT_NE(text.find("  +040 LBR0           0000000000000001 -> 0000000000000002 0000000000000003\n"),
            std::string::npos);
}

TEST(DsText, NamesTheWordAt90HByFormat) {
  const std::vector<std::byte> record(sizeof(PebsV3));
  const auto text = [&](PebsFormat format) { return pebs_record_text({.format = format}, 0, record); };
  EXPECT_NE(text(PebsFormat::V2).find("  +090 status "), std::string::npos);
  EXPECT_NE(text(PebsFormat::V3).find("  +090 counters "), std::string::npos);
  EXPECT_EQ(text(PebsFormat::V0).find("  +090"), std::string::npos);
}

TEST(DsText, ShowsFixedCountersResetValuesWhereTheyAre) {
  Memory memory;
  memory.put<std::uint64_t>(0x48, {7});
  memory.put<std::uint64_t>(0x40 + 8 * 33, {9});
  const std::string text = ds_text({.format = PebsFormat::V5, .fixed_slot = 32, .fixed_slots = 4}, memory.reader(), 0);
  EXPECT_NE(text.find("  +048 reset_1        0000000000000007\n  +148 reset_fixed_1  0000000000000009\n"),
            std::string::npos);
}

TEST(DsText, AnExcerptIsItsAreaAndItsRecord) {
  constexpr DsShape kShape{.format = PebsFormat::V1, .general_slots = 1};
  ByteWriter out;
  out.write(DsExcerptHead{.area_bytes = 0x48, .record_bytes = 176, .area = 0x1000, .record = 0x2000, .shape = kShape});
  out.write_zeros(0x40);
  out.write(std::uint64_t{5});
  out.write(std::uint64_t{0x246});
  out.write_zeros(168);
  for (std::size_t cut = 0; cut < out.size(); ++cut) EXPECT_FALSE(read_excerpt(out.bytes().first(cut))) << cut;
  const auto excerpt = read_excerpt(out.bytes());
  ASSERT_TRUE(excerpt);
  const std::string text = excerpt_text(*excerpt);
  EXPECT_TRUE(text.starts_with("debug store at 1000, 64-bit layout\n")) << text;
  EXPECT_NE(text.find("  +040 reset_0        0000000000000005\npebs at 2000\n  +000 RFLAGS         0000000000000246\n"),
            std::string::npos);
}

TEST(DsText, AnExcerptInAFormatThatNobodyKnowsIsNone) {
  ByteWriter out;
  out.write(DsExcerptHead{.record_bytes = 0, .shape = {.format = PebsFormat::V5}});
  EXPECT_TRUE(read_excerpt(out.bytes()));
  for (const std::size_t number : {std::size(kPebsFormats), std::size_t{255}}) {
    ByteWriter other;
    other.write(DsExcerptHead{.record_bytes = 0, .shape = {.format = static_cast<PebsFormat>(number)}});
    EXPECT_FALSE(read_excerpt(other.bytes())) << number;
  }
}

TEST(DsText, AnExcerptWhoseAreaIsNotThatOfItsProcessorIsNone) {
  ByteWriter out;
  out.write(DsExcerptHead{.area_bytes = 8, .shape = {.format = PebsFormat::V1}});
  out.write_zeros(8);
  EXPECT_FALSE(read_excerpt(out.bytes()));
  out.patch(0, std::uint32_t{0x12345678});
  EXPECT_FALSE(read_excerpt(out.bytes()));
}

}  // namespace
}  // namespace zs::arch

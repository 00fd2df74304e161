#include "profile/perf_data/record_packer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/splitmix.h"
#include "profile/perf_data/compressed_records.h"
#include "profile/perf_data/perf_data.h"

namespace zs::profile {
namespace {

/// Records of `size` bytes that nobody can make smaller.
ByteWriter noise(std::size_t count, std::uint16_t size) {
  ByteWriter records;
  std::uint64_t state = 1;
  for (std::size_t i = 0; i < count; ++i) {
    records.write(perf::RecordHeader{static_cast<std::uint32_t>(perf::RecordType::Sample), 0, size});
    for (std::size_t at = sizeof(perf::RecordHeader); at < size; at += 8) records.write(splitmix64(state));
  }
  return records;
}

std::vector<std::byte> unpacked(Bytes packed) {
  UnpackedRecords result = unpack_records("test", packed, 0);
  EXPECT_FALSE(result.damage) << result.damage->message;
  return std::move(result.records);
}

TEST(RecordPacker, GivesBackWhatItWasGivenHoweverLargeTheRecords) {
  for (const std::uint16_t size : {std::uint16_t{8}, std::uint16_t{64}, std::uint16_t{65528}}) {
    RecordPacker packer(1);
    ByteWriter packed, plain;
    for (const std::size_t count : {std::size_t{1}, std::size_t{5}}) {  // one stream through both
      const ByteWriter records = noise(count, size);
      packer.pack(records.bytes(), packed);
      plain.write_bytes(records.bytes());
    }
    const std::vector<std::byte> back = unpacked(packed.bytes());
    EXPECT_TRUE(std::ranges::equal(back, plain.bytes())) << size;
  }
}

TEST(RecordPacker, WhatIsThereCanBeUnpackedWithoutWhatFollows) {
  RecordPacker packer(3);
  ByteWriter packed;
  const ByteWriter records = noise(3, 4096);
  packer.pack(records.bytes(), packed);
  const std::size_t first = packed.size();
  packer.pack(records.bytes(), packed);
  EXPECT_EQ(unpacked(packed.bytes().first(first)).size(), records.size());
}

}  // namespace
}  // namespace zs::profile

#include "host/ring_buffer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <array>
#include <cstring>

namespace zs::host {
namespace {

using ::testing::ElementsAre;

/// Plays the kernel's side of a ring of 64 bytes.
class FakeRing {
 public:
  FakeRing() { page_.data_tail = page_.data_head = kStart; }

  /// A record of `size` bytes whose type is `type`.
  void write(std::uint32_t type, std::uint16_t size) {
    std::vector<std::byte> record(size);
    const perf_event_header header{.type = type, .misc = 0, .size = size};
    std::memcpy(record.data(), &header, sizeof header);
    for (std::size_t i = sizeof header; i < size; ++i) record[i] = static_cast<std::byte>(i);
    for (std::size_t i = 0; i < size; ++i) data_[(page_.data_head + i) % data_.size()] = record[i];
    page_.data_head += size;
  }

  Result<void> drain() {
    RingBuffer ring(page_, data_);
    return ring.drain([this](Bytes record) {
      perf_event_header header;
      std::memcpy(&header, record.data(), sizeof header);
      types.push_back(header.type);
      for (std::size_t i = sizeof header; i < record.size(); ++i) EXPECT_EQ(record[i], static_cast<std::byte>(i));
    });
  }
  std::uint64_t unread() const { return page_.data_head - page_.data_tail; }

  std::vector<std::uint32_t> types;

 private:
  static constexpr std::uint64_t kStart = 1000 * 64 + 40;  // it has gone round often
  perf_event_mmap_page page_{};
  std::array<std::byte, 64> data_{};
};

TEST(RingBuffer, GivesRecordsInTheirOrderAndTheirPlaceBack) {
  FakeRing ring;
  ring.write(9, 16);
  ring.write(3, 8);
  ASSERT_TRUE(ring.drain());
  EXPECT_THAT(ring.types, ElementsAre(9u, 3u));
  EXPECT_EQ(ring.unread(), 0u);
  ASSERT_TRUE(ring.drain());
  EXPECT_THAT(ring.types, ElementsAre(9u, 3u));
}

TEST(RingBuffer, ARecordAcrossTheEndIsWhole) {
  FakeRing ring;
  ring.write(9, 48);  // 24 bytes to the end, 24 from the start
  ASSERT_TRUE(ring.drain());
  EXPECT_THAT(ring.types, ElementsAre(9u));
}

TEST(RingBuffer, AHeaderAcrossTheEndIsWhole) {
  FakeRing ring;
  ring.write(9, 20);
  ring.write(10, 24);  // 4 bytes of its header before the end
  ASSERT_TRUE(ring.drain());
  EXPECT_THAT(ring.types, ElementsAre(9u, 10u));
}

TEST(RingBuffer, RefusesWhatNoKernelWrites) {
  perf_event_mmap_page page{};
  std::array<std::byte, 64> data{};
  const auto never = [](Bytes) { FAIL(); };
  page.data_head = 16;  // a record of size 0
  EXPECT_FALSE(RingBuffer(page, data).drain(never));
  page.data_head = 4;  // less than a header
  EXPECT_FALSE(RingBuffer(page, data).drain(never));
  page.data_head = 65;  // more than the ring holds
  EXPECT_FALSE(RingBuffer(page, data).drain(never));
  page.data_head = 16;
  const perf_event_header longer{.type = 9, .misc = 0, .size = 24};
  std::memcpy(data.data(), &longer, sizeof longer);
  EXPECT_FALSE(RingBuffer(page, data).drain(never));
}

}  // namespace
}  // namespace zs::host

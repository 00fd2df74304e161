#include "engine/translate/snapshot.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/translate/code_hash.h"

namespace zs::engine {
namespace {

constexpr std::array<std::uint64_t, 3> kKey = {1, 2, 0x123456789};

/// A file in memory with the given bytes.
class File {
 public:
  File() : fd_(memfd_create("snapshot", MFD_CLOEXEC)) {}
  explicit File(std::span<const std::byte> bytes) : File() {
    EXPECT_EQ(pwrite(fd_, bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { close(fd_); }
  int fd() const { return fd_; }
  std::vector<std::byte> bytes() const {
    std::vector<std::byte> all(static_cast<std::size_t>(lseek(fd_, 0, SEEK_END)));
    EXPECT_EQ(pread(fd_, all.data(), all.size(), 0), static_cast<ssize_t>(all.size()));
    return all;
  }

 private:
  int fd_;
};

std::vector<std::uint32_t> numbers(std::size_t count) {
  std::vector<std::uint32_t> all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = static_cast<std::uint32_t>(i * 2654435761u);
  return all;
}

const std::vector<std::uint32_t> kOrder = numbers(3000), kTargets = numbers(7);

std::vector<std::byte> stored() {
  SnapshotWriter writer;
  writer.add(Part::Key, std::span<const std::uint64_t>(kKey));
  writer.add(Part::Order, std::span<const std::uint32_t>(kOrder));
  writer.add_copy(Part::Targets, std::span<const std::uint32_t>(numbers(7)));
  const File file;
  EXPECT_TRUE(writer.write(file.fd()));
  EXPECT_EQ(file.bytes().size(), writer.bytes());
  return file.bytes();
}

/// Whether all parts of the file with these bytes are there as they were stored.
bool is_whole(std::span<const std::byte> bytes) {
  const File file(bytes);
  const auto snapshot = Snapshot::open(file.fd(), kKey);
  if (!snapshot) return false;
  GrowingArray<std::uint32_t> order;
  std::vector<std::uint32_t> targets;
  if (!snapshot->put(Part::Order, order) || !snapshot->read(Part::Targets, targets)) return false;
  return std::ranges::equal(order, kOrder) && targets == kTargets;
}

TEST(Snapshot, ComesBackAsItWasWritten) { EXPECT_TRUE(is_whole(stored())); }

TEST(Snapshot, CutAnywhereIsNotTaken) {
  const std::vector<std::byte> whole = stored();
  for (std::size_t size = 0; size < whole.size(); size += size < 5000 ? 1 : 97)
    ASSERT_FALSE(is_whole(std::span(whole).first(size))) << size;
}

TEST(Snapshot, LongerThanItSaysIsNotTaken) {
  std::vector<std::byte> longer = stored();
  longer.resize(longer.size() + kPageSize);
  EXPECT_FALSE(is_whole(longer));
}

TEST(Snapshot, WithAnyByteOfItsHeaderChangedIsNotTaken) {
  std::vector<std::byte> bytes = stored();
  for (std::size_t at = 0; at < kPageSize; ++at) {
    bytes[at] ^= std::byte{0x10};
    ASSERT_FALSE(is_whole(bytes)) << at;
    bytes[at] ^= std::byte{0x10};
  }
  EXPECT_TRUE(is_whole(bytes));
}

TEST(Snapshot, WithAnyBitOfAPartChangedIsNotTaken) {
  std::vector<std::byte> bytes = stored();
  // Key, order and targets begin on pages of their own, in this order.
  const std::size_t order_at = 2 * kPageSize, targets_at = order_at + page_up(kOrder.size() * 4);
  for (const auto& [first, size] :
       {std::pair{kPageSize, sizeof kKey}, {order_at, kOrder.size() * 4}, {targets_at, 28}}) {
    for (std::size_t at = first; at < first + size; at += 3) {
      bytes[at] ^= std::byte{0x01};
      ASSERT_FALSE(is_whole(bytes)) << at;
      bytes[at] ^= std::byte{0x01};
    }
  }
  EXPECT_TRUE(is_whole(bytes));
}

TEST(Snapshot, OfAnotherKeyIsNotTaken) {
  const File file(stored());
  EXPECT_TRUE(Snapshot::open(file.fd(), kKey));
  for (const std::vector<std::uint64_t>& other :
       {std::vector<std::uint64_t>{}, {1, 2}, {1, 2, 0x123456788}, {1, 2, 0x123456789, 0}})
    EXPECT_FALSE(Snapshot::open(file.fd(), other)) << other.size();
}

TEST(Snapshot, WhatIsMappedIsNotTheFile) {
  const File file(stored());
  const auto snapshot = Snapshot::open(file.fd(), kKey);
  ASSERT_TRUE(snapshot);
  GrowingArray<std::uint32_t> order;
  ASSERT_TRUE(snapshot->put(Part::Order, order));
  order[0] = 77;
  for (std::uint32_t i = 0; i < 5000; ++i) order.push_back(i);  // behind the part, in its last page and beyond it
  EXPECT_EQ(order[kOrder.size()], 0);
  EXPECT_EQ(order.back(), 4999);
  EXPECT_EQ(order[1], kOrder[1]);
  EXPECT_TRUE(is_whole(file.bytes()));
}

TEST(Snapshot, AnArrayOfOtherElementsIsNotTaken) {
  SnapshotWriter writer;
  writer.add(Part::Key, std::span<const std::uint64_t>(kKey));
  const std::array<std::uint8_t, 7> seven{};
  writer.add(Part::Order, std::span<const std::uint8_t>(seven));
  const File file;
  ASSERT_TRUE(writer.write(file.fd()));
  const auto snapshot = Snapshot::open(file.fd(), kKey);
  ASSERT_TRUE(snapshot);
  GrowingArray<std::uint32_t> order;
  EXPECT_FALSE(snapshot->put(Part::Order, order));
}

TEST(CodeHash, TellsLengthsAndPlacesApart) {
  const std::vector<std::byte> zeros(200);
  for (std::size_t size = 1; size < zeros.size(); ++size) {
    const std::span all = std::span(zeros).first(size);
    EXPECT_NE(hash_bytes(all), hash_bytes(all.first(size - 1)));
  }
  std::vector<std::byte> bytes(200);
  const std::uint64_t without = hash_bytes(bytes);
  for (std::byte& byte : bytes) {
    byte = std::byte{1};
    EXPECT_NE(hash_bytes(bytes), without);
    byte = std::byte{0};
  }
}

}  // namespace
}  // namespace zs::engine

#include "engine/memory/guest_access.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>

#include "engine/memory/layout.h"

namespace zs::engine {
namespace {

/// Three readable pages; behind them one that is not.
class GuestAccess : public testing::Test {
 protected:
  static constexpr std::size_t kReadable = 3 * kPageSize;
  void SetUp() override {
    base_ = static_cast<char*>(
        mmap(nullptr, kReadable + kPageSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(base_, MAP_FAILED);
    ASSERT_EQ(mprotect(base_ + kReadable, kPageSize, PROT_NONE), 0);
    std::memset(base_, 'x', kReadable);
  }
  void TearDown() override { munmap(base_, kReadable + kPageSize); }
  std::uint64_t at(std::size_t offset) const { return reinterpret_cast<std::uint64_t>(base_) + offset; }

  char* base_ = nullptr;
};

TEST_F(GuestAccess, CopiesAcrossPages) {
  std::string out(kReadable - 10, 0);
  EXPECT_EQ(read_guest(at(5), out.data(), out.size()), out.size());
  EXPECT_EQ(out, std::string(out.size(), 'x'));
}

TEST_F(GuestAccess, SaysHowMuchLiesBeforeTheBadPage) {
  std::string out(2 * kPageSize, 0);
  EXPECT_EQ(read_guest(at(kReadable - 100), out.data(), out.size()), 100u);
  EXPECT_EQ(read_guest(at(kReadable), out.data(), 1), 0u);
  EXPECT_EQ(write_guest(at(kReadable - 3), "abcdef", 6), 3u);
  EXPECT_EQ(std::string(base_ + kReadable - 3, 3), "abc");
}

TEST_F(GuestAccess, TakesAddressesOutsideUserSpaceForBad) {
  char out[8];
  for (const std::uint64_t address : {std::uint64_t{0}, kTaskSize, ~std::uint64_t{0} - 3, std::uint64_t{1} << 63}) {
    EXPECT_EQ(read_guest(address, out, sizeof out), 0u) << std::hex << address;
  }
}

TEST_F(GuestAccess, ReadsAStringThatEndsAtTheLastReadableByte) {
  base_[kReadable - 1] = 0;
  std::string text;
  EXPECT_EQ(read_guest_string(at(100), kReadable, text), 0);
  EXPECT_EQ(text.size(), kReadable - 101);
  base_[kReadable - 1] = 'x';
  EXPECT_EQ(read_guest_string(at(100), kReadable, text), -EFAULT);
  EXPECT_EQ(read_guest_string(at(100), 200, text), -ENAMETOOLONG);
}

TEST_F(GuestAccess, ReadsArgumentVectorsAsExecveDoes) {
  std::strcpy(base_, "one");
  std::strcpy(base_ + 100, "");
  const std::uint64_t vector[] = {at(0), at(100), 0};
  std::vector<std::string> out;
  EXPECT_EQ(read_guest_strings(reinterpret_cast<std::uint64_t>(vector), 1000, out), 0);
  EXPECT_EQ(out, (std::vector<std::string>{"one", ""}));
  EXPECT_EQ(read_guest_strings(0, 1000, out), 0);
  EXPECT_TRUE(out.empty());
  EXPECT_EQ(read_guest_strings(reinterpret_cast<std::uint64_t>(vector), 16, out), -E2BIG);
  const std::uint64_t bad[] = {at(0), 8, 0};
  EXPECT_EQ(read_guest_strings(reinterpret_cast<std::uint64_t>(bad), 1000, out), -EFAULT);
  EXPECT_EQ(read_guest_strings(at(kReadable - 8), 100000, out), -EFAULT);
}

}  // namespace
}  // namespace zs::engine

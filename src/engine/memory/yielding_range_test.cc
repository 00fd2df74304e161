// What the engine keeps only as long as the program does not want its place.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <vector>

#include "engine/memory/guest_map.h"
#include "engine/raw_syscall.h"

namespace zs::engine {
namespace {

constexpr AddressRange kKept{0x3100'0000'0000, 0x3100'0010'0000};
constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

/// The engine's part: something mapped in the range, which goes when it is told.
class Owner final : public CodeListener {
 public:
  Owner() { raw_syscall(SYS_mmap, kKept.start, kKept.size(), PROT_READ, kFlags | MAP_FIXED, -1, 0); }
  ~Owner() override { raw_syscall(SYS_munmap, kKept.start, kKept.size()); }
  void code_changed(std::uint64_t, std::uint64_t) override {}
  void give_way() override {
    raw_syscall(SYS_munmap, kKept.start, kKept.size());
    ++times;
  }
  int times = 0;
};

class YieldingRange : public testing::Test {
 protected:
  YieldingRange() {
    map_.code().listen(&owner_);
    map_.reserve_until_wanted(kKept);
  }
  ~YieldingRange() override {
    for (const std::uint64_t at : mapped_) map_.munmap(at, kPageSize);
  }
  long map_page(std::uint64_t at, int flags) {
    const long result = map_.mmap(at, kPageSize, PROT_READ, kFlags | flags, -1, 0);
    if (!is_error(result)) mapped_.push_back(static_cast<std::uint64_t>(result));
    return result;
  }

  Owner owner_;
  GuestMap map_{Layout{}};
  std::vector<std::uint64_t> mapped_;
};

TEST_F(YieldingRange, IsGivenToWhoAsksForItByAddressAndOnce) {
  const std::uint64_t inside = kKept.start + 0x8000;
  EXPECT_EQ(map_page(inside, MAP_FIXED), static_cast<long>(inside));
  EXPECT_EQ(map_page(kKept.start, MAP_FIXED_NOREPLACE), static_cast<long>(kKept.start));
  EXPECT_EQ(owner_.times, 1);
}

TEST_F(YieldingRange, IsKeptFromWhoOnlyPrefersThatPlace) {
  const long elsewhere = map_page(kKept.start + 0x8000, 0);
  EXPECT_FALSE(is_error(elsewhere));
  EXPECT_FALSE(kKept.contains(static_cast<std::uint64_t>(elsewhere)));
  EXPECT_EQ(owner_.times, 0);
}

TEST_F(YieldingRange, IsGivenToWhatIsMovedThere) {
  const long from = map_page(0, 0);
  ASSERT_FALSE(is_error(from));
  EXPECT_EQ(
      map_.mremap(static_cast<std::uint64_t>(from), kPageSize, kPageSize, MREMAP_MAYMOVE | MREMAP_FIXED, kKept.start),
      static_cast<long>(kKept.start));
  mapped_.push_back(kKept.start);
  EXPECT_EQ(owner_.times, 1);
}

}  // namespace
}  // namespace zs::engine

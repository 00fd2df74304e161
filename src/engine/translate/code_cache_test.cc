#include "engine/translate/code_cache.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdint>

#include "engine/translate/reserved_addresses.h"

namespace zs::engine {
namespace {

constexpr std::uint64_t kBase = ReservedAddresses::kBase, kOther = 0x6800'0000;
constexpr std::size_t kCodeBytes = ReservedAddresses::kCodeBytes;

class CodeCacheTest : public testing::Test {
 protected:
  const ReservedAddresses reserved_;
  const UntouchedEntries untouched_{ReservedAddresses::kFirstPrivateFd};
  CodeCache cache_{kBase, kCodeBytes, untouched_};
};

TEST_F(CodeCacheTest, LiesBelow2GiBWhereItWasWantedInAllOfWhatItNeeds) {
  const CodeCacheLayout& layout = cache_.layout();
  EXPECT_EQ(layout.context, kBase);
  EXPECT_EQ(layout.end, kBase + CodeCache::bytes_needed(kCodeBytes));
  EXPECT_EQ(layout.code_end - layout.code, kCodeBytes);
  for (const std::uint64_t at : {layout.context, layout.hashed_tables, cache_.trace().begin(), layout.stubs,
                                 layout.code - 8, layout.direct_notes, layout.end - 8}) {
    EXPECT_LT(at, std::uint64_t{1} << 31);
    *reinterpret_cast<volatile std::uint64_t*>(at) = at;
  }
}

TEST_F(CodeCacheTest, ExecutesItsStubsAndItsCode) {
  const CodeCacheLayout& layout = cache_.layout();
  EXPECT_FALSE(cache_.executes(layout.stubs - 1));
  EXPECT_TRUE(cache_.executes(layout.stubs));
  EXPECT_TRUE(cache_.executes(layout.code_end - 1));
  EXPECT_FALSE(cache_.executes(layout.code_end));
  EXPECT_TRUE(cache_.executes(cache_.cold_begin()));
}

TEST_F(CodeCacheTest, ASecondOneHasTheContextOfTheFirstAndNoDirectTable) {
  void* const reserved = mmap(reinterpret_cast<void*>(kOther), CodeCache::bytes_needed(kCodeBytes), PROT_NONE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  ASSERT_EQ(reserved, reinterpret_cast<void*>(kOther));
  {
    const CodeCache other{kOther, kCodeBytes, untouched_, &cache_};
    EXPECT_EQ(&other.context(), &cache_.context());
    EXPECT_EQ(other.layout().stubs - kOther, cache_.layout().stubs - kBase);
    EXPECT_FALSE(other.direct_table().is_mapped());
    EXPECT_FALSE(other.direct_table().covers(DirectTable::kFirst));
  }
  munmap(reserved, CodeCache::bytes_needed(kCodeBytes));
}

}  // namespace
}  // namespace zs::engine

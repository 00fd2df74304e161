#include "engine/translate/code_space.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "engine/memory/guest_access.h"
#include "engine/translate/reserved_addresses.h"

namespace zs::engine {
namespace {

class CodeSpaceTest : public testing::Test {
 protected:
  static bool is_memory(std::uint64_t address) { return read_guest_value<char>(address).has_value(); }
  bool is_memory_behind(std::uint64_t begin) const { return is_memory(begin) && is_memory(begin + kSpare - 1); }

  static constexpr std::size_t kCodeBytes = 32 << 20;
  static constexpr std::uint64_t kSpare = 128 << 10;
  const ReservedAddresses reserved_{kCodeBytes};
  const UntouchedEntries untouched_{ReservedAddresses::kFirstPrivateFd};
  const CodeCache cache_{ReservedAddresses::kBase, kCodeBytes, untouched_};
};

TEST_F(CodeSpaceTest, IsMemoryOnlyWhereCodeIsSoonToBe) {
  const CodeSpace space(cache_, true);
  for (const std::uint64_t begin : {space.begin(), cache_.cold_begin(), space.near_begin()}) {
    EXPECT_TRUE(is_memory_behind(begin)) << std::hex << begin;
    EXPECT_FALSE(is_memory(begin + (3 << 20))) << std::hex << begin;
  }
}

TEST_F(CodeSpaceTest, WithoutBlocksCloseToOverflowsHasNoPlaceForThem) {
  const CodeSpace space(cache_, false);
  EXPECT_FALSE(is_memory(cache_.layout().code_end - (8 << 20)));
  EXPECT_TRUE(is_memory_behind(cache_.cold_begin()));
}

TEST_F(CodeSpaceTest, GrowsWithItsCode) {
  CodeSpace space(cache_, true);
  constexpr std::uint64_t kBlock = 100 << 10;
  for (std::uint64_t written = 0; written + kBlock < 7 << 20; written += kBlock) {
    for (const Variant variant : {Variant::Full, Variant::Near}) {
      Emitter out = space.open(variant);
      ASSERT_TRUE(is_memory(out.here() + kBlock));
      space.close(variant, Emitter(out.here() + kBlock, UINT64_MAX, cache_.context_address()));
    }
    Emitter out = space.open_cold();
    ASSERT_TRUE(is_memory(out.here() + kBlock));
    space.close_cold(Emitter(out.here() + kBlock, UINT64_MAX, cache_.context_address()));
  }
  EXPECT_FALSE(is_memory(space.begin() + (12 << 20)));
}

}  // namespace
}  // namespace zs::engine

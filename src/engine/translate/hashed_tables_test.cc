#include "engine/translate/hashed_tables.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "engine/translate/code_cache.h"
#include "engine/translate/reserved_addresses.h"

namespace zs::engine {
namespace {

constexpr std::uint64_t kEntryOfBlock = 0x6000'5678;

/// Of a miss that this program's file has entries for, or of one that it has none for.
class HashedTablesTest : public testing::TestWithParam<bool> {
 protected:
  const ReservedAddresses reserved_;
  const UntouchedEntries untouched_{ReservedAddresses::kFirstPrivateFd};
  const CodeCache cache_{ReservedAddresses::kBase, ReservedAddresses::kCodeBytes, untouched_};
  const std::uint64_t miss_ = GetParam() ? cache_.layout().hashed_miss() : 0x6000'1234;
  HashedTables tables_{untouched_, cache_.layout().hashed_tables, miss_};
};

TEST_P(HashedTablesTest, ATableLeadsToTheMissWhenItIsAskedForFirst) {
  EXPECT_FALSE(tables_.is_used(Variant::Full));
  for (const std::uint64_t pc : {0x1234u, 0xFFFFu}) EXPECT_EQ(tables_.head(Variant::Full, pc), miss_);
  EXPECT_TRUE(tables_.is_used(Variant::Full));
  EXPECT_FALSE(tables_.is_used(Variant::Near));
}

TEST_P(HashedTablesTest, AnEntryIsThatOfAllAddressesWithTheSame16Bits) {
  tables_.head(Variant::Full, 0x1'2345) = kEntryOfBlock;
  EXPECT_EQ(tables_.head(Variant::Full, 0x7F'2345), kEntryOfBlock);
  EXPECT_EQ(tables_.head(Variant::Full, 0x2346), miss_);
  EXPECT_EQ(*reinterpret_cast<std::uint64_t*>(tables_.of(Variant::Full) + 8 * 0x2345), kEntryOfBlock);
}

TEST_P(HashedTablesTest, NearAndLoggedBlocksHaveOneOfTheirOwn) {
  tables_.head(Variant::Near, 5) = kEntryOfBlock;
  EXPECT_EQ(tables_.of(Variant::Near), tables_.of(Variant::Full) + HashedTables::kTableBytes);
  EXPECT_EQ(tables_.head(Variant::Logged, 5), kEntryOfBlock);
  EXPECT_EQ(tables_.head(Variant::Full, 5), miss_);
}

TEST_P(HashedTablesTest, ClearedItHasNoEntryWhenItIsAskedForAgain) {
  tables_.head(Variant::Full, 5) = kEntryOfBlock;
  tables_.clear();
  EXPECT_FALSE(tables_.is_used(Variant::Full));
  EXPECT_EQ(tables_.head(Variant::Full, 5), miss_);
}

INSTANTIATE_TEST_SUITE_P(With, HashedTablesTest, testing::Bool(),
                         [](const auto& of) { return of.param ? "EntriesInTheFile" : "EntriesWritten"; });

}  // namespace
}  // namespace zs::engine

#include "engine/translate/direct_table.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>
#include <cstdint>
#include <vector>

#include "engine/memory/guest_access.h"
#include "engine/translate/code_cache.h"
#include "engine/translate/reserved_addresses.h"

namespace zs::engine {
namespace {

constexpr std::uint64_t kEntry = 0x6000'5678;
constexpr std::uint64_t kFixed = 0x40'0000;  // of a program linked below the low range

/// Of a miss that this program's file has entries for, or of one that it has none for.
class DirectTableTest : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "AddressSanitizer's shadow lies where the table would";
#endif
    fixed_part_ = table_.map({kFixed, kFixed + 10'000}, ReservedAddresses::kBase);
    ASSERT_FALSE(fixed_part_.empty());
    ASSERT_TRUE(table_.is_mapped());
  }
  void TearDown() override {
    table_.unmap();
    if (!fixed_part_.empty()) munmap(reinterpret_cast<void*>(fixed_part_.start), fixed_part_.size());
  }

  static bool has_entries() { return GetParam(); }
  volatile std::uint64_t& slot(std::uint64_t pc) const {
    return *reinterpret_cast<volatile std::uint64_t*>(table_.entry_of(pc));
  }
  bool is_backed(std::uint64_t pc) const {
    unsigned char backed = 0;
    EXPECT_EQ(mincore(reinterpret_cast<void*>(page_down(table_.entry_of(pc))), kPageSize, &backed), 0);
    return (backed & 1) != 0;
  }

  static constexpr std::array<std::uint64_t, 3> kCovered{kFixed + 700, DirectTable::kFirst, DirectTable::kEnd - 1};
  const std::uint64_t miss_ = has_entries() ? CodeCacheLayout(ReservedAddresses::kBase).direct_miss() : 0x6000'1234;
  const UntouchedEntries untouched_{ReservedAddresses::kFirstPrivateFd};
  std::vector<std::uint64_t> notes_ = std::vector<std::uint64_t>(2 * DirectTable::kNoteBytes / sizeof(std::uint64_t));
  DirectTable table_{untouched_, page_up(reinterpret_cast<std::uint64_t>(notes_.data())), miss_};
  AddressRange fixed_part_{};
};

TEST_P(DirectTableTest, CoversTheLowRangeAndTheCodeOfAProgramLinkedBelow) {
  for (const std::uint64_t pc : kCovered) EXPECT_TRUE(table_.covers(pc)) << std::hex << pc;
  for (const std::uint64_t pc : {kFixed - 4096, kFixed + 16'384, DirectTable::kFirst - 1, DirectTable::kEnd})
    EXPECT_FALSE(table_.covers(pc)) << std::hex << pc;
}

TEST_P(DirectTableTest, SaysMissWhereAnEntryIsExpected) {
  for (const std::uint64_t pc : kCovered) {
    table_.clear(pc);
    EXPECT_FALSE(is_backed(pc)) << std::hex << pc;
    table_.expect(pc);
    for (const std::uint64_t around : {pc, pc & ~std::uint64_t{511}, pc | 511}) EXPECT_EQ(slot(around), miss_);
    // What lies in the file is mapped, and not only for that page.
    EXPECT_EQ(table_.bytes(), has_entries() ? 0 : kPageSize);
    EXPECT_EQ(slot(pc ^ 0x200), has_entries() ? miss_ : 0);
    table_.forget();
  }
}

TEST_P(DirectTableTest, IsNoMemoryWhereNothingIsExpected) {
  for (const std::uint64_t pc : kCovered) EXPECT_FALSE(read_guest_value<char>(table_.entry_of(pc))) << std::hex << pc;
  for (const std::uint64_t pc : kCovered) table_.expect(pc);
  for (const std::uint64_t pc : kCovered) EXPECT_TRUE(read_guest_value<char>(table_.entry_of(pc))) << std::hex << pc;
  EXPECT_FALSE(read_guest_value<char>(table_.entry_of(kCovered[1] + (1 << 20))));
}

TEST_P(DirectTableTest, LeadsToAnEntryFromItsAddressAloneUntilItIsCleared) {
  for (const std::uint64_t pc : kCovered) {
    table_.set(pc, kEntry);
    table_.expect(pc ^ 1);
    EXPECT_EQ(slot(pc), kEntry);
    EXPECT_EQ(slot(pc ^ 1), miss_);
    EXPECT_TRUE(table_.leads_to(pc, kEntry));
    EXPECT_FALSE(table_.leads_to(pc ^ 1, kEntry));
    EXPECT_EQ(table_.bytes(), kPageSize);
    table_.clear(pc);
    EXPECT_EQ(slot(pc), miss_);
    EXPECT_TRUE(table_.is_touched(pc));
    table_.forget();
  }
}

TEST_P(DirectTableTest, SetsManyAtOnce) {
  std::vector<DirectTable::Entry> entries;
  for (std::uint64_t i = 0; i < 2000; ++i) entries.push_back({DirectTable::kFirst + 300 * i, kEntry + i});
  table_.set(entries[700].pc, 1);
  table_.set(entries);
  for (const auto& [pc, entry] : entries) {
    ASSERT_TRUE(table_.leads_to(pc, entry)) << std::hex << pc;
    ASSERT_EQ(slot(pc + 1), miss_) << std::hex << pc;
  }
}

TEST_P(DirectTableTest, ForgetsAllThatWasSet) {
  for (const std::uint64_t pc : kCovered) table_.set(pc, kEntry);
  EXPECT_EQ(table_.bytes(), kCovered.size() * kPageSize);
  table_.forget();
  EXPECT_EQ(table_.bytes(), 0u);
  for (const std::uint64_t pc : kCovered) {
    EXPECT_FALSE(table_.is_touched(pc));
    EXPECT_EQ(slot(pc), has_entries() ? miss_ : 0) << std::hex << pc;
    table_.set(pc, kEntry);
    EXPECT_EQ(slot(pc ^ 1), miss_);
  }
}

TEST_P(DirectTableTest, UnmappedItCoversNothing) {
  table_.set(DirectTable::kFirst, kEntry);
  const AddressRange place = table_.range();
  table_.unmap();
  EXPECT_TRUE(table_.range().empty());
  for (const std::uint64_t pc : kCovered) EXPECT_FALSE(table_.covers(pc));
  EXPECT_NE(msync(reinterpret_cast<void*>(place.start), kPageSize, MS_ASYNC), 0);
  table_.forget();
}

INSTANTIATE_TEST_SUITE_P(With, DirectTableTest, testing::Bool(),
                         [](const auto& of) { return of.param ? "EntriesInTheFile" : "EntriesWritten"; });

}  // namespace
}  // namespace zs::engine

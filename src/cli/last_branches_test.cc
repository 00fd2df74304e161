#include "cli/last_branches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "arch/records/bts.h"

namespace zs::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

session::Branches piece(std::vector<std::uint64_t> froms) {
  session::Branches made;
  made.records.resize(froms.size() * sizeof(arch::BtsRecord));
  for (std::size_t i = 0; i < froms.size(); ++i) {
    const arch::BtsRecord record{.from = froms[i], .to = 1, .flags = 0};
    std::memcpy(made.records.data() + i * sizeof record, &record, sizeof record);
  }
  return made;
}

std::vector<std::uint64_t> froms_of(LastBranches& last) {
  std::vector<std::uint64_t> froms;
  for (const session::Branches& one : last.take()) {
    for (std::size_t at = 0; at < one.records.size(); at += sizeof(arch::BtsRecord)) {
      arch::BtsRecord record;
      std::memcpy(&record, one.records.data() + at, sizeof record);
      froms.push_back(record.from);
    }
  }
  return froms;
}

TEST(LastBranches, KeepExactlyAsManyAsTheyMayAndCountTheRest) {
  LastBranches last(4);
  last.add(piece({1, 2, 3}));
  last.add(piece({4, 5}));
  last.add(piece({6}));
  EXPECT_THAT(froms_of(last), ElementsAre(3, 4, 5, 6));
  EXPECT_EQ(last.dropped(), 2U);
}

TEST(LastBranches, KeepAllWhereFewerCame) {
  LastBranches last(4);
  last.add(piece({1, 2}));
  EXPECT_THAT(froms_of(last), ElementsAre(1, 2));
  EXPECT_EQ(last.dropped(), 0U);
}

TEST(LastBranches, OfOnePieceThatIsTooLongKeepItsEnd) {
  LastBranches last(2);
  last.add(piece({1, 2, 3, 4, 5}));
  EXPECT_THAT(froms_of(last), ElementsAre(4, 5));
  EXPECT_EQ(last.dropped(), 3U);
  EXPECT_THAT(froms_of(last), IsEmpty());
}

}  // namespace
}  // namespace zs::cli

#include "cli/record/last_branches.h"

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

constexpr std::uint64_t kRecord = sizeof(arch::BtsRecord), kBesides = 100;

class LastBranchesTest : public testing::Test {
 protected:
  static LastBranches bounded(TraceBound bound) { return {bound, kBesides, testing::TempDir()}; }

  static std::vector<std::uint64_t> froms_of(LastBranches& last, std::uint64_t bytes = UINT64_MAX) {
    std::vector<std::uint64_t> froms;
    const auto taken = last.take(bytes, [&](const session::Branches& one) {
      for (std::size_t at = 0; at < one.records.size(); at += kRecord) {
        arch::BtsRecord record;
        std::memcpy(&record, one.records.data() + at, sizeof record);
        froms.push_back(record.from);
      }
    });
    EXPECT_TRUE(taken);
    return froms;
  }
};

TEST_F(LastBranchesTest, KeepExactlyAsManyAsTheyMayAndCountTheRest) {
  LastBranches last = bounded({.branches = 4});
  for (const auto& froms : {std::vector<std::uint64_t>{1, 2, 3}, {4, 5}, {6}}) EXPECT_TRUE(last.add(piece(froms)));
  EXPECT_THAT(froms_of(last), ElementsAre(3, 4, 5, 6));
  EXPECT_EQ(last.dropped(), 2U);
}

TEST_F(LastBranchesTest, KeepAllWhereFewerCame) {
  LastBranches last = bounded({.branches = 4});
  EXPECT_TRUE(last.add(piece({1, 2})));
  EXPECT_THAT(froms_of(last), ElementsAre(1, 2));
  EXPECT_EQ(last.dropped(), 0U);
}

TEST_F(LastBranchesTest, OfOnePieceThatIsTooLongKeepItsEnd) {
  LastBranches last = bounded({.branches = 2});
  EXPECT_TRUE(last.add(piece({1, 2, 3, 4, 5})));
  EXPECT_THAT(froms_of(last), ElementsAre(4, 5));
  EXPECT_EQ(last.dropped(), 3U);
  EXPECT_THAT(froms_of(last), IsEmpty());
}

TEST_F(LastBranchesTest, CountWhatAPieceTakesInTheFile) {
  for (const auto& [bytes, kept] :
       {std::pair<std::uint64_t, std::vector<std::uint64_t>>{2 * kBesides + 3 * kRecord, {4, 5, 6}},
        {2 * kBesides + 3 * kRecord - 1, {5, 6}},
        {2 * kBesides + kRecord, {6}},
        {kBesides + kRecord, {6}},
        {kBesides + kRecord - 1, {}}}) {
    LastBranches last = bounded({.bytes = 10'000});
    for (const auto& froms : {std::vector<std::uint64_t>{1, 2, 3, 4, 5}, {6}}) EXPECT_TRUE(last.add(piece(froms)));
    EXPECT_EQ(froms_of(last, bytes), kept) << bytes;
    EXPECT_EQ(last.dropped(), 6 - kept.size());
  }
}

TEST_F(LastBranchesTest, DropWhatDoesNotFitWhileTheyCome) {
  LastBranches last = bounded({.bytes = 2 * (kBesides + 2 * kRecord)});
  for (std::uint64_t i = 1; i < 1000; i += 2) EXPECT_TRUE(last.add(piece({i, i + 1})));
  EXPECT_THAT(froms_of(last), ElementsAre(997, 998, 999, 1000));
  EXPECT_EQ(last.dropped(), 996U);
}

TEST_F(LastBranchesTest, DoNotCountWhatSaysThatBranchesAreMissing) {
  LastBranches last = bounded({.branches = 3});
  session::Branches gapped = piece({1, 0, 2, 0, 3, 4});
  for (const std::size_t zero : {1, 3}) std::memset(gapped.records.data() + zero * kRecord, 0, kRecord);
  EXPECT_TRUE(last.add(std::move(gapped)));
  EXPECT_THAT(froms_of(last), ElementsAre(2, 0, 3, 4));
  EXPECT_EQ(last.dropped(), 1U);
}

}  // namespace
}  // namespace zs::cli

#include "engine/lanes.h"

#include <gtest/gtest.h>

#include <vector>

namespace zs::engine {
namespace {

TEST(CountTable, TakesExitsOfARunThatCountsNothing) {
  const LaneSet none({});
  CountTable table(none);
  table.add_exit({});
  table.add_exit({});
  const std::vector<std::uint32_t> ids{1, 0, 1};
  std::vector<std::uint64_t> totals;
  table.sum(ids, totals);
  EXPECT_TRUE(totals.empty());
}

TEST(CountTable, SumsEveryLaneOverRepeatedExits) {
  for (const std::size_t lanes : {1U, 7U, 8U, 9U, 17U}) {
    const LaneSet set{std::vector<arch::EventMeaning>(lanes)};
    CountTable table(set);
    for (std::uint32_t exit = 0; exit < 3; ++exit) {
      std::vector<std::uint32_t> counts(lanes);
      for (std::size_t lane = 0; lane < lanes; ++lane) counts[lane] = exit * 100 + static_cast<std::uint32_t>(lane);
      table.add_exit(counts);
    }
    const std::vector<std::uint32_t> ids(1000, 2);
    std::vector<std::uint64_t> totals(lanes, 5);
    table.sum(ids, totals);
    for (std::size_t lane = 0; lane < lanes; ++lane) EXPECT_EQ(totals[lane], 5 + 1000 * (200 + lane)) << lanes;
    EXPECT_EQ(table.most(lanes - 1), 200 + lanes - 1);
  }
}

}  // namespace
}  // namespace zs::engine

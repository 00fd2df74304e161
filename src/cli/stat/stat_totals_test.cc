#include "cli/stat/stat_totals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace zs::cli {
namespace {

using session::Comm;
using session::Counts;
using session::Fork;
using session::Hello;
using session::Origin;
using testing::ElementsAre;
using testing::SizeIs;

Origin who(std::int32_t pid, std::int32_t tid) { return {.pid = pid, .tid = tid, .time_ns = 0}; }

TEST(StatTotals, AddUpOverThreadsAndProcesses) {
  StatTotals totals{2};
  totals.receive(Counts{.origin = who(1, 1), .final = true, .values = {10, 1}});
  totals.receive(Counts{.origin = who(1, 2), .final = true, .values = {20, 2}});
  totals.receive(Counts{.origin = who(3, 3), .final = true, .values = {30, 3}});
  EXPECT_THAT(totals.totals(), ElementsAre(60U, 6U));
  EXPECT_FALSE(totals.incomplete());
}

TEST(StatTotals, TheLastWordReplacesWhatWasSaidBefore) {
  StatTotals totals{1};
  totals.receive(Counts{.origin = who(1, 1), .final = false, .values = {10}});
  totals.receive(Counts{.origin = who(1, 1), .final = false, .values = {15}});
  totals.receive(Counts{.origin = who(1, 1), .final = true, .values = {20}});
  EXPECT_THAT(totals.totals(), ElementsAre(20U));
  EXPECT_FALSE(totals.incomplete());
}

TEST(StatTotals, AKilledThreadCountsWithWhatItLastSaidAndMakesTheTotalsIncomplete) {
  StatTotals totals{1};
  totals.receive(Counts{.origin = who(1, 1), .final = false, .values = {10}});
  EXPECT_THAT(totals.totals(), ElementsAre(10U));
  EXPECT_TRUE(totals.incomplete());
}

TEST(StatTotals, AThreadThatWasKilledBeforeItSaidAnythingMakesTheTotalsIncompleteToo) {
  StatTotals process{1};
  process.receive(Hello{.origin = who(1, 1)});
  EXPECT_TRUE(process.incomplete());
  StatTotals other{1};
  other.receive(Hello{.origin = who(1, 1)});
  other.receive(Fork{.origin = who(1, 2), .parent_pid = 1, .parent_tid = 1});
  other.receive(Counts{.origin = who(1, 1), .final = true, .values = {1}});
  EXPECT_TRUE(other.incomplete());
  other.receive(Counts{.origin = who(1, 2), .final = true, .values = {1}});
  EXPECT_FALSE(other.incomplete());
}

TEST(StatTotals, AProgramThatExecsIsOneThreadUnderItsLastName) {
  StatTotals totals{1};
  totals.receive(Hello{.origin = who(1, 1)});
  totals.receive(Comm{.origin = who(1, 1), .exec = true, .comm = "sh"});
  totals.receive(Counts{.origin = who(1, 1), .final = true, .values = {10}});
  totals.receive(Hello{.origin = who(1, 1), .exec = true});
  totals.receive(Comm{.origin = who(1, 1), .exec = true, .comm = "gzip"});
  totals.receive(Counts{.origin = who(1, 1), .final = true, .values = {5}});
  const auto threads = totals.threads();
  ASSERT_THAT(threads, SizeIs(1));
  EXPECT_EQ(threads[0].comm, "gzip");
  EXPECT_THAT(threads[0].values, ElementsAre(15U));
}

TEST(StatTotals, AThreadHasItsCreatorsNameUntilItTakesAnother) {
  StatTotals totals{1};
  totals.receive(Comm{.origin = who(1, 1), .exec = true, .comm = "server"});
  totals.receive(Fork{.origin = who(1, 2), .parent_pid = 1, .parent_tid = 1});
  totals.receive(Fork{.origin = who(1, 3), .parent_pid = 1, .parent_tid = 1});
  totals.receive(Comm{.origin = who(1, 3), .exec = false, .comm = "worker"});
  const auto threads = totals.threads();
  ASSERT_THAT(threads, SizeIs(3));
  EXPECT_EQ(threads[1].comm, "server");
  EXPECT_EQ(threads[2].comm, "worker");
}

session::Units units(const Origin& origin, bool final, std::uint64_t cycles) {
  session::UnitSums sums(1);
  sums.add_unit(0, 10, 100, std::vector<std::uint64_t>{cycles});
  sums.set_instructions(1000);
  return {.origin = origin, .final = final, .sums = sums.packed()};
}

TEST(StatTotals, UnitsAddUpAsCountsDo) {
  StatTotals totals{1, 1};
  totals.receive(Hello{.origin = who(1, 1)});
  totals.receive(units(who(1, 1), false, 50));  // replaced by
  totals.receive(Counts{.origin = who(1, 1), .final = false, .values = {500}});
  totals.receive(units(who(1, 1), true, 60));  // this one, the last
  totals.receive(Counts{.origin = who(1, 1), .final = true, .values = {600}});
  totals.receive(Hello{.origin = who(1, 1), .exec = true});
  totals.receive(units(who(1, 1), false, 30));  // and the new image was killed
  totals.receive(Counts{.origin = who(1, 1), .final = false, .values = {300}});
  totals.receive(units(who(2, 2), true, 10));
  totals.receive(Counts{.origin = who(2, 2), .final = true, .values = {100}});
  EXPECT_EQ(totals.units().seen(0), 100);
  EXPECT_EQ(totals.units().instructions(), 4000U - 1000U);
  EXPECT_EQ(totals.units().total(0), 1000);
  EXPECT_THAT(totals.totals(), ElementsAre(1000U));
  ASSERT_THAT(totals.threads(), SizeIs(2));
  EXPECT_EQ(totals.threads()[0].units.seen(0), 90);
  EXPECT_EQ(totals.processes()[1].units.seen(0), 10);
}

TEST(StatTotals, AnImageThatWasKilledIsAddedWhereTheNextBegins) {
  StatTotals totals{1, 1};
  totals.receive(units(who(1, 1), false, 50));
  totals.receive(Counts{.origin = who(1, 1), .final = false, .values = {500}});
  totals.receive(Hello{.origin = who(1, 1), .exec = true});
  totals.receive(units(who(1, 1), true, 20));
  totals.receive(Counts{.origin = who(1, 1), .final = true, .values = {200}});
  EXPECT_EQ(totals.units().seen(0), 70);
  EXPECT_THAT(totals.totals(), ElementsAre(700U));
}

}  // namespace
}  // namespace zs::cli

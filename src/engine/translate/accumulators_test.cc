#include "engine/translate/accumulators.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace zs::engine {
namespace {

TEST(AccumulatorSet, LeavesWhatSleepsOrIsModelledOut) {
  const arch::EventMeaning all{.count = [](const arch::Retired&) -> std::uint32_t { return 1; }};
  const arch::EventMeaning stores{.count = [](const arch::Retired& r) { return std::uint32_t{r.stores}; },
                                  .memory = true};
  const arch::EventMeaning cycles{.count = [](const arch::Retired&) -> std::uint32_t { return 1; },
                                  .memory = true,
                                  .of_signals = [](const arch::CoreSignals&) -> std::uint64_t { return 1; }};
  const AccumulatorSet set({all, stores, cycles}, true, {false, true, false});
  EXPECT_TRUE(set.counted(0) && set.counts_every_instruction(0));
  EXPECT_FALSE(set.counted(1) || set.modelled(1));
  EXPECT_TRUE(set.modelled(2));
  EXPECT_FALSE(set.counted(2));
  EXPECT_FALSE(set.any_memory()) << "REP strings need not run alone for it";
  EXPECT_TRUE(set.any_counted());
  arch::InsnFacts store;
  store.stores = 1;
  FactCounts counts(set);
  EXPECT_EQ(counts.of(store, false)[0], 1U);
  EXPECT_EQ(counts.of(store, false)[1], 0U);
  EXPECT_EQ(counts.of(store, false)[2], 0U);
}

TEST(CountTable, TakesExitsOfARunThatCountsNothing) {
  const AccumulatorSet none({});
  CountTable table(none, {});
  table.add_exit({});
  table.add_exit({});
  const std::vector<std::uint32_t> ids{1, 0, 1};
  std::vector<std::uint64_t> totals;
  table.sum(ids, totals);
  EXPECT_TRUE(totals.empty());
}

TEST(CountTable, SumsEveryAccumulatorOverRepeatedExits) {
  for (const std::size_t accumulators : {1U, 7U, 8U, 9U, 17U}) {
    const AccumulatorSet set{std::vector<arch::EventMeaning>(accumulators)};
    CountTable table(set, std::vector<std::uint32_t>(accumulators, 0));
    for (std::uint32_t exit = 0; exit < 3; ++exit) {
      std::vector<std::uint32_t> counts(accumulators);
      for (std::size_t accumulator = 0; accumulator < accumulators; ++accumulator)
        counts[accumulator] = exit * 100 + static_cast<std::uint32_t>(accumulator);
      table.add_exit(counts);
    }
    const std::vector<std::uint32_t> ids(1000, 2);
    std::vector<std::uint64_t> totals(accumulators, 5);
    table.sum(ids, totals);
    for (std::size_t accumulator = 0; accumulator < accumulators; ++accumulator)
      EXPECT_EQ(totals[accumulator], 5 + 1000 * (200 + accumulator)) << accumulators;
    EXPECT_EQ(table.most(accumulators - 1), 200 + accumulators - 1);
  }
}

// Every place of the probe, across the groups of four and the stretches that fit 16 bits.
TEST(CountTable, AddsExactlyWhatLiesBeforeTheFirstProbedRecord) {
  for (const std::size_t accumulators : {1U, 9U}) {
    const AccumulatorSet set{std::vector<arch::EventMeaning>(accumulators)};
    CountTable table(set, std::vector<std::uint32_t>(accumulators, 0));
    for (std::uint32_t exit = 0; exit < 5; ++exit) {
      std::vector<std::uint32_t> counts(accumulators);
      for (std::size_t accumulator = 0; accumulator < accumulators; ++accumulator)
        counts[accumulator] = exit == 4 ? 255 : exit * 10 + static_cast<std::uint32_t>(accumulator);
      table.add_exit(counts);
    }
    for (const std::size_t length : {0U, 1U, 3U, 4U, 5U, 63U, 1500U}) {
      for (std::size_t probed = 0; probed <= length; probed += length > 100 ? 41 : 1) {
        std::vector<std::uint32_t> records(length);
        for (std::size_t i = 0; i < length; ++i) records[i] = length > 100 ? 4 : static_cast<std::uint32_t>(i % 5);
        if (probed < length) records[probed] |= kProbedRecord;
        if (probed + 2 < length) records[probed + 2] |= kProbedRecord;
        std::vector<std::uint32_t> running(table.padded_accumulators(), 7);
        EXPECT_EQ(table.add_up_to_probed(records, running), probed);
        std::vector<std::uint64_t> plain(accumulators, 7);
        table.sum(std::span(records).first(probed), plain);
        for (std::size_t accumulator = 0; accumulator < accumulators; ++accumulator)
          EXPECT_EQ(running[accumulator], plain[accumulator]) << length << ' ' << probed;
      }
    }
  }
}

TEST(CountTable, AddsExitsAsLongAsEveryAccumulatorHasRoom) {
  for (const std::size_t accumulators : {1U, 8U, 11U}) {
    const AccumulatorSet set{std::vector<arch::EventMeaning>(accumulators)};
    CountTable table(set, std::vector<std::uint32_t>(accumulators, 0));
    table.add_exit(std::vector<std::uint32_t>(accumulators, 3));
    table.add_exit(std::vector<std::uint32_t>(accumulators, 255));
    for (std::size_t tight = 0; tight < accumulators; ++tight) {
      for (const std::uint64_t room : {0U, 2U, 3U, 8U, 191U, 192U, 16319U, 16320U}) {
        for (const std::uint32_t exit : {0U, 1U}) {
          const std::uint64_t each = exit == 0 ? 3 : 255;
          std::vector<std::uint64_t> rooms(accumulators, std::uint64_t{1} << 48), totals(accumulators, 0);
          rooms[tight] = room + 10;
          totals[tight] = 10;
          const std::vector<std::uint32_t> ids(32, exit);
          const std::size_t expected = std::min<std::uint64_t>(ids.size(), room / each);
          EXPECT_EQ(table.add_within(ids, rooms, totals), expected) << tight << ' ' << room;
          for (std::size_t accumulator = 0; accumulator < accumulators; ++accumulator) {
            EXPECT_EQ(totals[accumulator], expected * each + (accumulator == tight ? 10 : 0));
          }
        }
      }
    }
  }
}

// Rooms of every size, so that the search ends in whole stretches, in short ones, in their last steps and behind all of
// them; accumulators that are close in no group, in one and in several.
TEST(CountTable, AddsExactlyAsManyExitsAsOneByOne) {
  std::mt19937 generator(1);
  const auto below = [&](std::size_t bound) { return static_cast<std::uint32_t>(generator() % bound); };
  std::size_t stopped = 0, passed = 0;
  for (int round = 0; round < 3000; ++round) {
    const std::size_t accumulators = 1 + below(19);
    const AccumulatorSet set{std::vector<arch::EventMeaning>(accumulators)};
    CountTable table(set, std::vector<std::uint32_t>(accumulators, 0));
    const std::uint32_t exits = 1 + below(30), most = below(4) == 0 ? 255 : 1 + below(20);
    for (std::uint32_t exit = 0; exit < exits; ++exit) {
      std::vector<std::uint32_t> counts(accumulators);
      for (std::uint32_t& count : counts) count = below(most + 1);
      table.add_exit(counts);
    }
    std::vector<std::uint32_t> ids(below(2000));
    for (std::uint32_t& id : ids) id = below(exits);
    std::vector<std::uint64_t> room(accumulators, std::uint64_t{1} << 47), totals(accumulators), expected(accumulators);
    for (std::size_t accumulator = 0; accumulator < accumulators; ++accumulator) {
      totals[accumulator] = expected[accumulator] = below(1000);
      if (below(4) == 0) room[accumulator] = totals[accumulator] + below(ids.size() * most + 1);
    }
    std::size_t count = 0;
    for (; count < ids.size(); ++count) {
      bool within = true;
      for (std::size_t accumulator = 0; accumulator < accumulators; ++accumulator)
        within &= expected[accumulator] + table.at(ids[count], accumulator) <= room[accumulator];
      if (!within) break;
      for (std::size_t accumulator = 0; accumulator < accumulators; ++accumulator)
        expected[accumulator] += table.at(ids[count], accumulator);
    }
    ASSERT_EQ(table.add_within(ids, room, totals), count) << round;
    ASSERT_EQ(totals, expected) << round;
    ++(count < ids.size() ? stopped : passed);
  }
  EXPECT_GT(stopped, 1000U);
  EXPECT_GT(passed, 200U);
}

TEST(CountTable, AnExitTakesAsManyWordsAsItsLargestAccumulatorNeeds) {
  const AccumulatorSet set{std::vector<arch::EventMeaning>(3)};
  CountTable table(set, std::vector<std::uint32_t>{8, 2, 0});
  struct Case {
    std::vector<std::uint32_t> counts;
    std::uint32_t words;
  };
  const std::vector<Case> cases = {{{0, 0, 0}, 1},  {{8, 2, 0}, 1}, {{9, 0, 0}, 2},
                                   {{32, 3, 0}, 4}, {{8, 7, 0}, 4}, {{1, 1, 200}, 1}};
  for (std::uint32_t exit = 0; exit < cases.size(); ++exit) {
    table.add_exit(cases[exit].counts);
    EXPECT_EQ(table.words(exit), cases[exit].words) << exit;
  }
  EXPECT_EQ(table.most_words(), 4u);
  table.set_exit(0, std::vector<std::uint32_t>{48, 0, 0});
  EXPECT_EQ(table.words(0), 6u);
  EXPECT_EQ(table.most_words(), 6u);
}

TEST(FactCounts, CountsWhatTheEventsSayOfTheFacts) {
  arch::EventMeaning taken, loads;
  taken.count = [](const arch::Retired& r) -> std::uint32_t { return r.taken ? 1 : 0; };
  loads.count = [](const arch::Retired& r) { return static_cast<std::uint32_t>(r.load_count); };
  const AccumulatorSet set({taken, loads});
  FactCounts counts(set);
  arch::InsnFacts load, rep, jump;
  load.loads = rep.loads = 2;
  rep.rep_string = true;
  jump.branch = arch::BranchKind::Conditional;
  const auto of = [&](const arch::InsnFacts& facts, bool is_taken) {
    const auto found = counts.of(facts, is_taken);
    return std::vector<std::uint32_t>(found.begin(), found.end());
  };
  using Counts = std::vector<std::uint32_t>;
  for (int again = 0; again < 2; ++again) {
    EXPECT_EQ(of(load, false), (Counts{0, 2}));
    EXPECT_EQ(of(rep, false), (Counts{0, 0}));  // known only when it has run
    EXPECT_EQ(of(jump, false), (Counts{0, 0}));
    EXPECT_EQ(of(jump, true), (Counts{1, 0}));
  }
}

}  // namespace
}  // namespace zs::engine

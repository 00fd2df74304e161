// How a wait is divided among the loads that are outstanding in it.
#include "uarch/timing/outstanding_loads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace zs::uarch {
namespace {

using testing::ElementsAre;
using Piece = std::pair<std::uint64_t, SlotCause>;

std::vector<Piece> shares(const OutstandingLoads& loads, std::uint64_t from, std::uint64_t until,
                          SlotCause rest = SlotCause::Latency) {
  std::vector<Piece> pieces;
  loads.share_out(from, until, rest, [&](std::uint64_t units, SlotCause cause) { pieces.emplace_back(units, cause); });
  return pieces;
}

TEST(OutstandingLoads, AWaitBelongsToTheDeepestOfThemAndThenToTheNext) {
  OutstandingLoads loads;
  loads.add(SlotCause::L2, 0, 140, 0);
  loads.add(SlotCause::Dram, 0, 100, 0);
  loads.add(SlotCause::L3, 0, 120, 0);
  EXPECT_THAT(shares(loads, 50, 200), ElementsAre(Piece{50, SlotCause::Dram}, Piece{20, SlotCause::L3},
                                                  Piece{20, SlotCause::L2}, Piece{60, SlotCause::Latency}));
}

TEST(OutstandingLoads, OneThatBeginsLaterIsNotWaitedForBefore) {
  OutstandingLoads loads;
  loads.add(SlotCause::Dram, 100, 400, 0);
  loads.add(SlotCause::L1, 20, 50, 0);
  EXPECT_THAT(shares(loads, 0, 300, SlotCause::Serialising),
              ElementsAre(Piece{20, SlotCause::Serialising}, Piece{30, SlotCause::L1},
                          Piece{50, SlotCause::Serialising}, Piece{200, SlotCause::Dram}));
}

TEST(OutstandingLoads, StretchesThatTouchAreOneInWhateverOrderTheyAreTold) {
  OutstandingLoads loads;
  for (const auto& [from, until] : {Piece{200, SlotCause::L3}, Piece{0, SlotCause::L3}, Piece{100, SlotCause::L3}})
    loads.add(until, from, from + 100, 0);
  loads.add(SlotCause::L3, 50, 60, 0);
  EXPECT_THAT(shares(loads, 10, 310), ElementsAre(Piece{290, SlotCause::L3}, Piece{10, SlotCause::Latency}));
}

TEST(OutstandingLoads, WhatIsOverIsForgotten) {
  OutstandingLoads loads;
  for (std::uint64_t now = 0; now < 1000; now += 10) loads.add(SlotCause::L2, now, now + 5, now);
  EXPECT_THAT(shares(loads, 990, 1000), ElementsAre(Piece{5, SlotCause::L2}, Piece{5, SlotCause::Latency}));
  EXPECT_THAT(shares(loads, 500, 505), ElementsAre(Piece{5, SlotCause::Latency}));
}

}  // namespace
}  // namespace zs::uarch

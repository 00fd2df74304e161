#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <vector>

#include "uarch/prefetch/l1_prefetchers.h"
#include "uarch/prefetch/streamer.h"

namespace zs::uarch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr PrefetchParameters kStream{.streamer_lines = 3, .streamer_distance = 20, .streamer_training = 3};
constexpr Line kPage = 64 * 100;

std::vector<Line> fetched_at(Streamer& streamer, Line line) {
  std::vector<Line> lines;
  streamer.access(line, [&lines](Line next) {
    lines.push_back(next);
    return true;
  });
  return lines;
}

TEST(Streamer, StartsAtTheThirdAccessInOneDirection) {
  Streamer streamer(kStream);
  EXPECT_THAT(fetched_at(streamer, kPage), IsEmpty());
  EXPECT_THAT(fetched_at(streamer, kPage + 1), IsEmpty());
  EXPECT_THAT(fetched_at(streamer, kPage + 2), ElementsAre(kPage + 3, kPage + 4, kPage + 5));
  EXPECT_THAT(fetched_at(streamer, kPage + 3), ElementsAre(kPage + 6, kPage + 7, kPage + 8));
}

TEST(Streamer, RunsBackwardsToo) {
  Streamer streamer(kStream);
  fetched_at(streamer, kPage + 40);
  fetched_at(streamer, kPage + 38);
  EXPECT_THAT(fetched_at(streamer, kPage + 36), ElementsAre(kPage + 35, kPage + 34, kPage + 33));
}

TEST(Streamer, StaysWithinItsDistanceAndItsPage) {
  Streamer streamer(kStream);
  Line farthest = 0;
  for (Line at = 0; at < 30; ++at) {
    for (const Line line : fetched_at(streamer, kPage + at)) farthest = line;
    if (farthest != 0) {
      EXPECT_LE(farthest, kPage + at + 20);
    }
  }
  EXPECT_EQ(farthest, kPage + 29 + 20);
  for (Line at = 30; at < 64; ++at) {
    for (const Line line : fetched_at(streamer, kPage + at)) EXPECT_LT(line, kPage + 64);
  }
}

TEST(Streamer, TriesAgainWhatThereWasNoRoomFor) {
  Streamer streamer(kStream);
  fetched_at(streamer, kPage);
  fetched_at(streamer, kPage + 1);
  streamer.access(kPage + 2, [](Line) { return false; });
  EXPECT_THAT(fetched_at(streamer, kPage + 3), ElementsAre(kPage + 4, kPage + 5, kPage + 6));
}

TEST(Streamer, FollowsThirtyTwoPagesAndForgetsTheOldest) {
  Streamer streamer(kStream);
  for (Line at = 0; at < 2; ++at) {
    for (Line page = 0; page < 32; ++page) fetched_at(streamer, page * 64 + at);
  }
  for (Line page = 1; page < 32; ++page) EXPECT_EQ(fetched_at(streamer, page * 64 + 2).size(), 3U) << page;
  fetched_at(streamer, 33 * 64);  // takes the tracker of page 0
  EXPECT_THAT(fetched_at(streamer, 2), IsEmpty());
}

// How many accesses of a page nothing was prefetched for, if every prefetch arrived at once.
unsigned uncovered(Line stride, std::uint32_t lines_per_trigger) {
  PrefetchParameters parameters = kStream;
  parameters.streamer_lines = lines_per_trigger;
  Streamer streamer(parameters);
  std::set<Line> there;
  unsigned missed = 0;
  for (Line at = 0; at < 64; at += stride) {
    if (!there.contains(kPage + at)) {
      ++missed;
      there.insert((kPage + at) ^ 1);  // adjacent line
    }
    for (const Line line : fetched_at(streamer, kPage + at)) there.insert(line);
  }
  return missed;
}

TEST(Streamer, CoversDenseWalksAndLosesSparseOnes) {
  EXPECT_THAT(uncovered(1, 3), testing::AllOf(testing::Ge(2U), testing::Le(4U)));
  EXPECT_LE(uncovered(2, 3), 7U);
  EXPECT_EQ(uncovered(4, 3), 16U);  // four lines on, three fetched
  EXPECT_LE(uncovered(4, 4), 14U);
  EXPECT_EQ(uncovered(8, 4), 8U);
}

TEST(NextLinePrefetcher, WantsTheNextLineOnceForAnAscendingSecondAccess) {
  NextLinePrefetcher prefetcher;
  prefetcher.missed(0x1000);
  EXPECT_TRUE(prefetcher.hit(0x1008));
  EXPECT_FALSE(prefetcher.hit(0x1010));
  prefetcher.missed(0x1020);
  EXPECT_FALSE(prefetcher.hit(0x1018));  // descending
  EXPECT_FALSE(prefetcher.hit(0x1028));  // too late
  prefetcher.missed(0x1000);
  EXPECT_FALSE(prefetcher.hit(0x1040));  // another line
}

TEST(StridePrefetcher, NeedsTheSameStrideTwiceWithinAPage) {
  StridePrefetcher prefetcher;
  EXPECT_EQ(prefetcher.missed(1, 0x10'0000), 0U);
  EXPECT_EQ(prefetcher.missed(1, 0x10'0100), 0U);
  EXPECT_EQ(prefetcher.missed(1, 0x10'0200), 0x10'0300U);
  EXPECT_EQ(prefetcher.missed(2, 0x10'0300), 0U);  // another instruction
  EXPECT_EQ(prefetcher.missed(1, 0x10'0280), 0U);  // another stride
  EXPECT_EQ(prefetcher.missed(1, 0x10'0300), 0x10'0380U);
  EXPECT_EQ(prefetcher.missed(3, 0x10'0F00), 0U);
  EXPECT_EQ(prefetcher.missed(3, 0x10'0F80), 0U);
  EXPECT_EQ(prefetcher.missed(3, 0x10'1000), 0x10'1080U);
  EXPECT_EQ(prefetcher.missed(4, 0x10'0E00), 0U);
  EXPECT_EQ(prefetcher.missed(4, 0x10'0F00), 0U);
  EXPECT_EQ(prefetcher.missed(4, 0x10'0FFF), 0U);
  EXPECT_EQ(prefetcher.missed(5, 0x10'0000), 0U);
  EXPECT_EQ(prefetcher.missed(5, 0x10'0900), 0U);
  EXPECT_EQ(prefetcher.missed(5, 0x10'1200), 0U);  // farther than 2 KiB
}

std::vector<std::uint64_t> run_ahead(StridePrefetcher& prefetcher, std::uint64_t linear, std::size_t room = 100) {
  std::vector<std::uint64_t> fetched;
  prefetcher.run_ahead(1, linear, 4, [&](std::uint64_t target) {
    if (fetched.size() == room) return false;
    fetched.push_back(target);
    return true;
  });
  return fetched;
}

TEST(StridePrefetcher, RunsAheadAndFetchesNothingTwice) {
  StridePrefetcher prefetcher;
  EXPECT_THAT(run_ahead(prefetcher, 0x10'0000), IsEmpty());
  EXPECT_THAT(run_ahead(prefetcher, 0x10'0100), IsEmpty());
  EXPECT_THAT(run_ahead(prefetcher, 0x10'0200), ElementsAre(0x10'0300, 0x10'0400, 0x10'0500, 0x10'0600));
  EXPECT_THAT(run_ahead(prefetcher, 0x10'0300), ElementsAre(0x10'0700));
  EXPECT_THAT(run_ahead(prefetcher, 0x10'0400, 0), IsEmpty());  // no room: it is tried again
  EXPECT_THAT(run_ahead(prefetcher, 0x10'0500), ElementsAre(0x10'0800, 0x10'0900));
  EXPECT_THAT(run_ahead(prefetcher, 0x10'0D00), IsEmpty());  // another stride
  EXPECT_THAT(run_ahead(prefetcher, 0x10'0E00), IsEmpty());
  EXPECT_THAT(run_ahead(prefetcher, 0x10'0F00), IsEmpty()) << "the page's last";
  EXPECT_THAT(run_ahead(prefetcher, 0x10'1000), ElementsAre(0x10'1100, 0x10'1200, 0x10'1300, 0x10'1400));
}

TEST(StridePrefetcher, FetchesWhatAnotherStrideLeftOut) {
  StridePrefetcher prefetcher;
  run_ahead(prefetcher, 0x10'0000);
  run_ahead(prefetcher, 0x10'0100);
  run_ahead(prefetcher, 0x10'0200);  // up to 0x10'0600
  run_ahead(prefetcher, 0x10'0400);
  run_ahead(prefetcher, 0x10'0480);
  EXPECT_THAT(run_ahead(prefetcher, 0x10'0500), ElementsAre(0x10'0580, 0x10'0600, 0x10'0680, 0x10'0700));
}

TEST(StridePrefetcher, RunsBackwardsToo) {
  StridePrefetcher prefetcher;
  run_ahead(prefetcher, 0x10'0F00);
  run_ahead(prefetcher, 0x10'0E00);
  EXPECT_THAT(run_ahead(prefetcher, 0x10'0D00), ElementsAre(0x10'0C00, 0x10'0B00, 0x10'0A00, 0x10'0900));
  EXPECT_THAT(run_ahead(prefetcher, 0x10'0C00), ElementsAre(0x10'0800));
}

TEST(StridePrefetcher, TellsWhatItExpectsOnceAndNotBeforeTheDataCame) {
  StridePrefetcher prefetcher;
  EXPECT_EQ(prefetcher.take(1, 1000).line, kNoLine);  // an instruction that nobody has seen
  prefetcher.missed(1, 0x10'0000);
  EXPECT_EQ(prefetcher.take(1, 1000).line, kNoLine);
  prefetcher.expect(1, {kPage, 100});
  EXPECT_EQ(prefetcher.take(257, 101).line, kNoLine);  // another instruction's, at the same place
  const StridePrefetcher::Expected expected = prefetcher.take(1, 101);
  EXPECT_EQ(expected.line, kPage);
  EXPECT_EQ(expected.since, 100U);
  EXPECT_EQ(prefetcher.take(1, 102).line, kNoLine);
  prefetcher.expect(1, {kPage, 100});
  EXPECT_EQ(prefetcher.take(1, 100).line, kNoLine);
  EXPECT_EQ(prefetcher.take(1, 101).line, kNoLine);  // the load itself asked for it
  prefetcher.expect(1, {kPage, 100});
  prefetcher.missed(257, 0x10'0000);  // takes the place
  EXPECT_EQ(prefetcher.take(257, 101).line, kNoLine);
}

}  // namespace
}  // namespace zs::uarch

#include "profile/windows/phases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>

namespace zs::profile {

std::ostream& operator<<(std::ostream& out, const Phase& phase) { return out << phase.first << ".." << phase.last; }

namespace {

using ::testing::ElementsAre;

/// The plain dynamic program over every start of every segment, O(points^2), nothing dropped.
/// source: B. Jackson et al., "An Algorithm for Optimal Partitioning of Data on an Interval", IEEE SPL 12 (2005).
std::vector<Phase> optimal_partitioning(const Observations& observations, double penalty) {
  const SegmentCosts cost(observations);
  const std::size_t points = observations.points();
  std::vector<double> best(points + 1, INFINITY);
  std::vector<std::size_t> last_start(points + 1);
  best[0] = -penalty;
  for (std::size_t end = 1; end <= points; ++end) {
    for (std::size_t start = 0; start < end; ++start) {
      const double total = best[start] + cost(start, end) + penalty;
      if (total < best[end]) {
        best[end] = total;
        last_start[end] = start;
      }
    }
  }
  std::vector<Phase> phases;
  for (std::size_t end = points; end != 0; end = last_start[end]) {
    phases.insert(phases.begin(), {.first = last_start[end], .last = end});
  }
  return phases;
}

class Noise {
 public:
  explicit Noise(unsigned seed) : bits_(seed) {}
  double uniform() { return (static_cast<double>(bits_()) + 0.5) / 4294967296.0; }
  double normal() { return std::sqrt(-2 * std::log(uniform())) * std::cos(2 * std::numbers::pi * uniform()); }

 private:
  std::mt19937 bits_;
};

/// `levels` of equal length, one after the other, in each of `series` series, with normal noise of deviation 1.
Observations steps(const std::vector<double>& levels, std::size_t length, std::size_t series, double noise, Noise& by) {
  Observations out{.weights = std::vector<double>(levels.size() * length, 1.0)};
  for (std::size_t s = 0; s < series; ++s) {
    std::vector<double>& one = out.series.emplace_back();
    for (const double level : levels) {
      for (std::size_t i = 0; i < length; ++i) one.push_back(level + noise * by.normal());
    }
  }
  return out;
}

TEST(Segments, AreThoseOfOptimalPartitioningWhateverTheSeriesTheNoiseAndThePenalty) {
  int segments_seen = 0;
  for (unsigned seed = 1; seed <= 60; ++seed) {
    Noise by(seed);
    Observations observations =
        steps({0, by.normal() * 3, by.normal(), 0, by.normal() * 2}, 5 + seed, 1 + seed % 4, 1, by);
    for (double& weight : observations.weights) weight = seed % 3 == 0 ? 0.1 + by.uniform() : 1;
    for (const double penalty : {0.5, 3.0, bic_penalty(observations), 200.0}) {
      const auto found = segments(observations, penalty);
      ASSERT_EQ(found, optimal_partitioning(observations, penalty)) << "seed " << seed << ", penalty " << penalty;
      segments_seen += static_cast<int>(found.size());
    }
  }
  EXPECT_GT(segments_seen, 1000);  // the comparison was of something
}

TEST(Segments, AreThoseOfOptimalPartitioningWhereManyAreEquallyGood) {
  // Whole numbers that repeat: costs tie everywhere, and with penalty 0 every segmentation of a level does.
  Observations observations{.weights = std::vector<double>(48, 1.0), .series = {{}}};
  for (std::size_t i = 0; i < 48; ++i) observations.series[0].push_back(i % 4 < 2 ? 0 : 2);
  for (const double penalty : {0.0, 1.0, 2.0, 4.0, 8.0}) {
    EXPECT_EQ(segments(observations, penalty), optimal_partitioning(observations, penalty)) << penalty;
  }
}

TEST(Segments, BeginWhereTheMeanChanges) {
  Noise by(7);
  const Observations observations = steps({0, 8, 3}, 40, 2, 1, by);
  EXPECT_THAT(segments(observations, bic_penalty(observations)),
              ElementsAre(Phase{0, 40}, Phase{40, 80}, Phase{80, 120}));
}

TEST(Segments, AreOneInNoiseAloneNineteenTimesOfTwenty) {
  int split = 0;
  for (unsigned seed = 1; seed <= 200; ++seed) {
    Noise by(seed);
    const Observations observations = steps({0}, 300, 3, 1, by);
    split += segments(observations, bic_penalty(observations)).size() > 1 ? 1 : 0;
  }
  EXPECT_LE(split, 10);
}

/// A curve of windows of 1000 instructions whose only event happens as often as `counts` say.
Curve curve_of(const std::vector<std::uint64_t>& counts) {
  Curve curve;
  Metric metric{.name = "branches", .counts = {{}, {}}};
  for (std::size_t i = 0; i < counts.size(); ++i) {
    curve.points.push_back({.start = i * 1000, .end = (i + 1) * 1000});
    metric.counts[0].push_back(counts[i]);
    metric.counts[1].push_back(1000);
  }
  curve.metrics.push_back(std::move(metric));
  return curve;
}

std::vector<std::uint64_t> repeated(std::initializer_list<std::pair<std::uint64_t, std::size_t>> runs) {
  std::vector<std::uint64_t> out;
  for (const auto& [count, times] : runs) out.insert(out.end(), times, count);
  return out;
}

TEST(Phases, OfACurveBeginWhereARateChanges) {
  EXPECT_THAT(find_phases(curve_of(repeated({{200, 20}, {20, 15}, {150, 25}}))),
              ElementsAre(Phase{0, 20}, Phase{20, 35}, Phase{35, 60}));
}

TEST(Phases, AreOneWhereNothingChangesOrNothingIsModelled) {
  EXPECT_THAT(find_phases(curve_of(repeated({{200, 40}}))), ElementsAre(Phase{0, 40}));
  EXPECT_THAT(find_phases(curve_of(repeated({{0, 40}}))), ElementsAre(Phase{0, 40}));
  Curve blind = curve_of(repeated({{200, 20}, {20, 20}}));
  blind.metrics[0].counts.clear();
  blind.metrics[0].value_class = ValueClass::NotModelled;
  EXPECT_THAT(find_phases(blind), ElementsAre(Phase{0, 40}));
}

TEST(Phases, AreNotMadeOfOneBranchMoreOrLess) {
  std::vector<std::uint64_t> counts = repeated({{200, 30}, {201, 30}});
  EXPECT_THAT(find_phases(curve_of(counts)), ElementsAre(Phase{0, 60}));
  counts = repeated({{200, 30}, {210, 30}});
  EXPECT_THAT(find_phases(curve_of(counts)), ElementsAre(Phase{0, 30}, Phase{30, 60}));
}

TEST(Phases, OfFewWindowsAreOne) {
  EXPECT_THAT(find_phases(curve_of(repeated({{200, 3}, {20, 4}}))), ElementsAre(Phase{0, 7}));
  EXPECT_THAT(find_phases(curve_of(repeated({{200, 4}, {20, 4}}))), ElementsAre(Phase{0, 4}, Phase{4, 8}));
}

TEST(Phases, AreNotMadeByAShortLeftOverWindow) {
  Curve curve = curve_of(repeated({{200, 30}, {100, 30}, {5, 1}}));
  curve.points.back().end = curve.points.back().start + 10;  // 10 instructions, 5 of them branches
  curve.metrics[0].counts[1].back() = 10;
  EXPECT_THAT(find_phases(curve), ElementsAre(Phase{0, 30}, Phase{30, 61}));
}

TEST(Phases, TakeALeftOverWindowInWhateverHappenedInIt) {
  Curve curve = curve_of(repeated({{0, 30}, {1, 30}, {900, 1}}));
  curve.points.back().end = curve.points.back().start + 1000;
  EXPECT_THAT(find_phases(curve), ElementsAre(Phase{0, 60}, Phase{60, 61})) << "a whole window";
  curve.points.back().end = curve.points.back().start + 950;
  curve.metrics[0].counts[1].back() = 950;
  EXPECT_THAT(find_phases(curve), ElementsAre(Phase{0, 30}, Phase{30, 61}));
}

TEST(Phases, AreNotMadeByTheFirstWindowsOfASteadyProgram) {
  EXPECT_THAT(find_phases(curve_of(repeated({{900, 1}, {400, 1}, {200, 298}}))), ElementsAre(Phase{0, 300}));
  EXPECT_THAT(find_phases(curve_of(repeated({{200, 100}, {900, 2}, {200, 198}}))), ElementsAre(Phase{0, 300}));
  EXPECT_THAT(find_phases(curve_of(repeated({{200, 296}, {900, 4}}))), ElementsAre(Phase{0, 296}, Phase{296, 300}));
  EXPECT_THAT(find_phases(curve_of(repeated({{900, 1}, {200, 149}, {20, 150}}))),
              ElementsAre(Phase{0, 150}, Phase{150, 300}));
}

TEST(Phases, OfALongCurveBeginWithinOneFoldedPoint) {
  const std::vector<Phase> phases = find_phases(curve_of(repeated({{200, 6001}, {20, 6000}})));
  ASSERT_EQ(phases.size(), 2u);
  EXPECT_NEAR(static_cast<double>(phases[0].last), 6001, 3);
  EXPECT_EQ(phases[1], (Phase{phases[0].last, 12001}));
}

}  // namespace
}  // namespace zs::profile

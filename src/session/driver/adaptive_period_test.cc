#include "session/driver/adaptive_period.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

namespace zs::session {
namespace {

constexpr std::uint32_t kFrequency = 4000;
constexpr std::uint64_t kInterval = kNominalInstructionsPerSecond / kFrequency;

/// A program whose event occurs every `gap` instructions, for as long as each stretch lasts.
class Program {
 public:
  explicit Program(std::uint64_t settles = 0, std::uint64_t first = 1) : period_(kFrequency, first, settles) {}
  void run(std::uint64_t instructions, std::uint64_t gap, const std::function<void(std::uint64_t)>& sampled = {}) {
    for (const std::uint64_t end = now_ + instructions; now_ + gap <= end;) {
      now_ += gap;
      if (--left_ > 0) continue;
      left_ = period_.sampled_at(now_);
      ++samples_;
      if (sampled) sampled(now_);
    }
  }
  std::uint64_t samples() const { return samples_; }
  std::uint64_t period() const { return period_.period(); }

 private:
  AdaptivePeriod period_;
  std::uint64_t now_ = 0, left_ = period_.period(), samples_ = 0;
};

TEST(AdaptivePeriod, SamplesAnEventAtTheWantedRateHoweverOftenItOccurs) {
  for (const std::uint64_t gap : {1, 7, 100, 1000, 10'000, 40'000}) {
    Program program;
    program.run(1000 * kInterval, gap);
    EXPECT_NEAR(static_cast<double>(program.samples()), 1000, 200) << gap;
  }
}

TEST(AdaptivePeriod, TakesEachOccurrenceOfAnEventThatIsRarerThanSamplesAreWanted) {
  Program program;
  program.run(1000 * kInterval, 10 * kInterval);
  EXPECT_EQ(program.samples(), 100u);
}

TEST(AdaptivePeriod, NoticesThatAnEventBecomesRare) {
  Program program;
  program.run(10'000, 10);  // as caches fill
  program.run(1000 * kInterval, 40'000);
  EXPECT_GT(program.samples(), 800u);
  EXPECT_LT(program.samples(), 1200u);
}

TEST(AdaptivePeriod, GrowsToThatOfAFrequentEventWithinSomeHundredSamples) {
  Program program;
  program.run(2 * kInterval, 1);
  EXPECT_LE(program.samples(), 120u);
  EXPECT_GT(program.period(), kInterval / 8);
}

// A flame graph by samples shows a program's parts as they are from the start.
TEST(AdaptivePeriod, WeighsTheStartHardlyMoreThanTheRestOfAFrequentEvent) {
  for (const std::uint64_t settles : {std::uint64_t{0}, AdaptivePeriod::kDenseBesideModel}) {
    Program program(settles, AdaptivePeriod::first_of_frequent(kFrequency, 1));
    program.run(kInterval, 1);
    const std::uint64_t at_first = program.samples();
    program.run(239 * kInterval, 1);
    EXPECT_GT(program.samples(), 240U);
    EXPECT_LT(at_first, program.samples() / 10) << "of a part in 240 of the run";
  }
}

TEST(AdaptivePeriod, IsDenserAtFirstWhereThatIsWanted) {
  for (const std::uint64_t gap : {1, 100, 1000}) {
    Program program(100 * kInterval);
    program.run(10 * kInterval, gap);
    EXPECT_GT(program.samples(), 200u) << gap << ": ten without";
    const std::uint64_t by_then = program.samples();
    program.run(90 * kInterval, gap);
    EXPECT_NEAR(static_cast<double>(program.samples() - by_then), 100 * std::log(10), 30) << gap;
    const std::uint64_t at_first = program.samples();
    program.run(1000 * kInterval, gap);
    EXPECT_NEAR(static_cast<double>(program.samples() - at_first), 1000, 30) << gap;
  }
}

// A loop whose length divides the period that the wanted rate gives has samples at all of its places, as often.
TEST(AdaptivePeriod, DoesNotFallIntoStepWithALoop) {
  for (const std::uint64_t length : {kInterval / 1000, kInterval / 100, kInterval / 2000 * 3, std::uint64_t{4}}) {
    Program program;
    std::vector<std::uint64_t> at(4);
    program.run(2000 * kInterval, 1, [&](std::uint64_t now) { ++at[now % length * 4 / length]; });
    for (const std::uint64_t quarter : at) {
      EXPECT_NEAR(static_cast<double>(quarter), static_cast<double>(program.samples()) / 4, 150) << length;
    }
  }
}

// The loads that miss while a program is loaded, and few afterwards: none of them stands for many of the others.
TEST(AdaptivePeriod, DoesNotLetOneSampleStandForHalfOfABurst) {
  Program program;
  program.run(20'000, 100);
  EXPECT_GT(program.samples(), 20u);
  EXPECT_LT(program.period(), 20'000 / 100 / 6);
}

}  // namespace
}  // namespace zs::session

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "report/text/fit.h"
#include "report/text/memory_text.h"

namespace zs::report {
namespace {

using ::testing::HasSubstr;

LatencyCounts two_levels(const std::string& most, std::uint64_t accesses) {
  LatencyCounts counts;
  counts.by_level[most][200] = {.samples = 9, .accesses = accesses};
  counts.by_level["L1 hit"][201] = {.samples = 1, .accesses = 10};
  return counts;
}

std::size_t widest(const std::string& page) {
  std::istringstream lines(page);
  std::size_t widest = 0;
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, display_width(line));
  return widest;
}

TEST(LatencyText, GivesTheBarUpForALongNameOfALevel) {
  const std::string page = latency_histogram(two_levels("LFB/MAB or LFB/MAB hit", 9990), 80);
  EXPECT_THAT(page, HasSubstr("100% LFB/MAB or LFB/MAB hit\n"));
  EXPECT_EQ(widest(page), 80u);
}

TEST(LatencyText, IsNeverWiderThanItsPage) {
  for (std::size_t width = 60; width < 140; ++width) {
    EXPECT_LE(widest(latency_histogram(two_levels("Remote Cache (2 hops) or Remote RAM (2 hops) miss", 90), width)),
              width);
  }
}

TEST(LatencyText, ShortensNothingWithoutAWidth) {
  EXPECT_THAT(latency_histogram(two_levels("Remote Cache (2 hops) or Remote RAM (2 hops) miss", 90)),
              HasSubstr("90% Remote Cache (2 hops) or Remote RAM (2 hops) miss\n"));
}

}  // namespace
}  // namespace zs::report

#include "cli/stat/repeat_until.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>

namespace zs::cli {
namespace {

StatReport report_of(std::initializer_list<std::uint64_t> values) {
  StatReport report;
  report.events.push_back({.name = "cycles"});
  for (const std::uint64_t value : values) report.runs.push_back({.values = {value}});
  return report;
}

TEST(RepeatUntil, IsAnEventAndAPercentage) {
  const auto plain = parse_repeat_until("cycles:0.5");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->event, "cycles");
  EXPECT_EQ(plain->percent, 0.5);
  const auto modified = parse_repeat_until("INST_RETIRED.ANY:u:2%");
  ASSERT_TRUE(modified);
  EXPECT_EQ(modified->event, "INST_RETIRED.ANY:u");
  EXPECT_EQ(modified->percent, 2);
}

TEST(RepeatUntil, NamesWhatIsWrongWithItsSpelling) {
  const auto why = [](const std::string& spelling) { return parse_repeat_until(spelling).error().message; };
  EXPECT_EQ(why("cycles"), "--repeat-until cycles: no percentage");
  EXPECT_EQ(why(":1"), "--repeat-until :1: no event");
  EXPECT_EQ(why("cycles:"), "--repeat-until cycles:: '' is no percentage");
  EXPECT_EQ(why("cycles:few"), "--repeat-until cycles:few: 'few' is no percentage");
  EXPECT_EQ(why("cycles:-1"), "--repeat-until cycles:-1: no deviation is below 0 %");
  EXPECT_EQ(why("cycles:nan"), "--repeat-until cycles:nan: no deviation is below 0 %");
}

TEST(RepeatUntil, IsReachedWhenTheDeviationOfTheMeanIsSmallEnough) {
  const RepeatUntil until{.event = "cycles", .percent = 1};
  EXPECT_FALSE(until.reached(report_of({1000})));
  EXPECT_TRUE(until.reached(report_of({1000, 1000}))) << "the same";
  EXPECT_FALSE(until.reached(report_of({1000, 1001}))) << "two say little";
  EXPECT_TRUE(until.reached(report_of({1000, 1001, 1000})));
  EXPECT_FALSE(until.reached(report_of({1000, 1100, 1000})));  // 3.2 %
  EXPECT_EQ(until.outcome(report_of({1000, 1100, 1000})), "--repeat-until cycles:1: not reached: +-3.23% after 3 runs");
  EXPECT_EQ(until.outcome(report_of({7, 7})), "--repeat-until cycles:1: reached: +-0.00% after 2 runs");
}

}  // namespace
}  // namespace zs::cli

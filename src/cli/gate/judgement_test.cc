#include "cli/gate/judgement.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>

#include "cli/gate/numbers.h"

namespace zs::cli {
namespace {

std::uint32_t seed() {
  const char* const given = std::getenv("SEED");
  const std::uint32_t seed = given != nullptr ? static_cast<std::uint32_t>(std::stoul(given)) : std::random_device()();
  std::cout << "SEED=" << seed << "\n";
  return seed;
}

GateRun run_of(double value, const std::string& value_class = "exact", double half = 0) {
  GateRun run{.version = "1", .model = "m", .setting = "s", .command = {"p", "a\xff"}, .exit_status = 0};
  run.rows = {{.name = kWholeRunName,
               .event = "instructions",
               .value_class = value_class,
               .value = value,
               .low = value - half,
               .high = value + half}};
  return run;
}

Verdict verdict(const GateRun& baseline, const GateRun& now, double percent = 1) {
  return judge(baseline, now, {{"instructions", percent}}).verdict();
}

TEST(Judgement, DecidesByTheBudgetOnBothSides) {
  EXPECT_EQ(verdict(run_of(1000), run_of(1010)), Verdict::Within);
  EXPECT_EQ(verdict(run_of(1000), run_of(1011)), Verdict::Worse);
  EXPECT_EQ(verdict(run_of(1000), run_of(990)), Verdict::Within);
  EXPECT_EQ(verdict(run_of(1000), run_of(989)), Verdict::Better);
  EXPECT_EQ(verdict(run_of(1000), run_of(30)), Verdict::Better);
  EXPECT_EQ(verdict(run_of(1000), run_of(1001), 0), Verdict::Worse);
}

TEST(Judgement, WhatCannotBeComparedIsNeverWithin) {
  EXPECT_EQ(verdict(run_of(1000), run_of(0)), Verdict::Incomparable);
  EXPECT_EQ(verdict(run_of(0), run_of(0)), Verdict::Incomparable);
  EXPECT_EQ(verdict(run_of(1000), run_of(1000, "modelled")), Verdict::Incomparable);
  const auto changed = [](auto change) {
    GateRun run = run_of(1000);
    change(run);
    return verdict(run_of(1000), run);
  };
  EXPECT_EQ(changed([](GateRun& run) { run.rows[0].event = "branches"; }), Verdict::Incomparable);
  EXPECT_EQ(changed([](GateRun& run) { run.rows[0].name = "f"; }), Verdict::Incomparable);
  EXPECT_EQ(changed([](GateRun& run) { run.rows.clear(); }), Verdict::Incomparable);
  EXPECT_EQ(changed([](GateRun& run) { run.model = "n"; }), Verdict::Incomparable);
  EXPECT_EQ(changed([](GateRun& run) { run.setting = "t"; }), Verdict::Incomparable);
  EXPECT_EQ(changed([](GateRun& run) { run.exit_status = 1; }), Verdict::Incomparable);
  EXPECT_EQ(changed([](GateRun& run) { run.command = {"p"}; }), Verdict::Incomparable);
  EXPECT_EQ(changed([](GateRun& run) { run.version = "2"; }), Verdict::Within);  // exact counts are every version's
  GateRun modelled = run_of(1000, "modelled");
  modelled.version = "2";
  EXPECT_EQ(verdict(run_of(1000, "modelled"), modelled), Verdict::Incomparable);
}

TEST(Judgement, AnEstimateDecidesOutsideTheIntervalsAlone) {
  EXPECT_EQ(verdict(run_of(1000, "estimated", 30), run_of(1100, "estimated", 80)), Verdict::Within);
  EXPECT_EQ(verdict(run_of(1000, "estimated", 30), run_of(1100, "estimated", 60)), Verdict::Worse);
  EXPECT_EQ(verdict(run_of(1000, "estimated", 30), run_of(900, "modelled")), Verdict::Better);
}

TEST(Judgement, RandomCountsAreWithinExactlyWhereTheBudgetHoldsThem) {
  std::mt19937_64 random(seed());
  for (int i = 0; i < 20000; ++i) {
    const double base = std::floor(std::pow(2.0, std::uniform_real_distribution<>(0, 50)(random)));
    const double percent = std::uniform_int_distribution<>(0, 400)(random) / 100.0;
    const double now = std::floor(base * std::uniform_real_distribution<>(0.9, 1.1)(random));
    const Verdict found = verdict(run_of(base), run_of(now), percent);
    const double off = 100 * (now - base) / base;
    if (now == 0)
      EXPECT_EQ(found, Verdict::Incomparable);
    else if (std::abs(off) <= percent)
      EXPECT_EQ(found, Verdict::Within);
    else
      EXPECT_EQ(found, off > 0 ? Verdict::Worse : Verdict::Better);
    if (now != base) {
      EXPECT_EQ(percent_text(off).find_first_of("123456789") == std::string::npos, false) << percent_text(off);
    }
  }
}

TEST(Budget, IsAListOfEventsEachWithAPercentage) {
  const auto budgets = parse_budgets("cpu/event=0xc4,umask=0x20/u=0.5%,instructions=1");
  ASSERT_TRUE(budgets);
  ASSERT_EQ(budgets->size(), 2U);
  EXPECT_EQ((*budgets)[0].event, "cpu/event=0xc4,umask=0x20/u");
  EXPECT_EQ((*budgets)[0].percent, 0.5);
  EXPECT_EQ((*budgets)[1].percent, 1);
  for (const char* const wrong :
       {"", "instructions", "instructions=", "=1%", "a=1,a=2", "a=-1%", "a=nan", "a=inf", "a=1,", "a=1%%", "a=x"}) {
    EXPECT_FALSE(parse_budgets(wrong)) << wrong;
  }
}

TEST(Baseline, IsReadAsItWasWritten) {
  GateRun run = run_of(1e15, "estimated", 12345);
  run.rows.push_back(
      {.name = "<a \"b\"\n\x01>", .event = "e", .value_class = "exact", .value = 1, .low = 1, .high = 1});
  run.layouts = 7;
  run.functions.emplace().event = "instructions:u";
  report::FunctionCounts one;
  one.name = "f";
  one.dso = "p";
  one.begins = {"a.c", 3};
  one.sum.value = 12;
  one.lines[{"a.c", 4}].value = 5;
  run.functions->functions.push_back(one);
  const auto read = parse_baseline(baseline_text(run), "b");
  ASSERT_TRUE(read);
  EXPECT_EQ(baseline_text(*read), baseline_text([&] {
              run.command = {"p", "a\xef\xbf\xbd"};
              return run;
            }()));
  EXPECT_EQ(verdict(*read, run, 0), Verdict::Incomparable);  // there are rows outside the budget
}

TEST(Baseline, WhatIsNotAllThereIsRefused) {
  const std::string text = baseline_text(run_of(1000));
  ASSERT_TRUE(parse_baseline(text, "b"));
  for (std::size_t length = 0; length + 2 < text.size(); ++length)
    EXPECT_FALSE(parse_baseline(text.substr(0, length), "b")) << length;
  std::mt19937 random(seed());
  for (int i = 0; i < 2000; ++i) {  // must end, whatever it says
    std::string damaged = text;
    for (int k = 0; k < 3; ++k) damaged[random() % damaged.size()] = static_cast<char>(random());
    (void)parse_baseline(damaged, "b").has_value();
  }
  EXPECT_FALSE(parse_baseline(std::string(10000, '['), "b"));
}

TEST(MostOf, KeepsTheLargestAndSumsTheOthers) {
  report::EventCounts counts;
  for (int i = 0; i < 500; ++i) {
    report::FunctionCounts one;
    one.name = "f" + std::to_string(i);
    one.sum.value = 1000 + i;
    counts.whole.add(one.sum);
    counts.functions.push_back(one);
  }
  const report::EventCounts kept = most_of(counts);
  EXPECT_EQ(kept.functions.size(), 200U);
  double sum = 0;
  for (const report::FunctionCounts& one : kept.functions) sum += one.sum.value;
  EXPECT_EQ(sum, counts.whole.value);
}

}  // namespace
}  // namespace zs::cli

#include "cli/run/detail_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "arch/cpu_model.h"
#include "cli/events/event_selection.h"
#include "cli/stat/window_options.h"

namespace zs::cli {
namespace {

using session::Detail;

const arch::CpuModel& model() { return *arch::find_cpu_model("skylake-server"); }

session::RecordingConfig counting(const std::string& events) {
  session::RecordingConfig config;
  config.events = select_events({events}, model(), {})->events;
  config.marked_regions = true;
  return config;
}

std::string refusal(const RunOptions& options, const std::string& events, const std::string& needs_all = "") {
  session::RecordingConfig config = counting(events);
  const auto chosen = choose_detail(options, model(), config, needs_all);
  return chosen ? "" : chosen.error().message + "\nhint: " + chosen.error().hint;
}

TEST(DetailChoice, CompleteIsAtTheDepthThatTheEventsNeed) {
  session::RecordingConfig config = counting("cycles");
  ASSERT_TRUE(choose_detail({.detail = "complete"}, model(), config));
  EXPECT_EQ(config.detail, Detail::Full);
  EXPECT_FALSE(config.in_units);
}

TEST(DetailChoice, AutoIsSampledWhereTheRunCanBe) {
  session::RecordingConfig config = counting("cycles");
  ASSERT_TRUE(choose_detail({}, model(), config));
  EXPECT_TRUE(config.in_units);
  for (const auto& [events, needs_all] : {std::pair{"cycles", "--skid"}, {"instructions", ""}}) {
    config = counting(events);
    ASSERT_TRUE(choose_detail({}, model(), config, needs_all));
    EXPECT_FALSE(config.in_units) << events;
  }
}

TEST(DetailChoice, SampledTakesUnitsBehindACompleteBeginning) {
  session::RecordingConfig config = counting("instructions,cycles");
  ASSERT_TRUE(choose_detail({.detail = "sampled"}, model(), config));
  EXPECT_TRUE(config.in_units);
  EXPECT_EQ(config.detail, Detail::Full);
  EXPECT_EQ(units_in_words(config.units), "the first 10,000,000 instructions, then units of 50,000");
}

TEST(DetailChoice, ABudgetLeavesLessOfTheBeginningComplete) {
  session::RecordingConfig config = counting("cycles");
  ASSERT_TRUE(choose_detail({.detail = "sampled", .budget = "3x"}, model(), config));
  EXPECT_EQ(config.units.complete, 2'000'000U);
}

TEST(DetailChoice, TakesUnitsOfOtherSizes) {
  session::RecordingConfig config = counting("cycles");
  ASSERT_TRUE(choose_detail({.detail = "sampled", .units = "1000:0:5000:5000"}, model(), config));
  EXPECT_EQ(config.units.unit, 1000U);
  EXPECT_EQ(config.units.warm_up, 0U);
  EXPECT_EQ(config.units.first_period, 5000U);
  EXPECT_EQ(config.units.longest_period, 5000U);
  EXPECT_EQ(config.units.complete, 2'000'000U);
  ASSERT_TRUE(choose_detail({.detail = "sampled", .units = "1000:0:5000:5000:0"}, model(), config));
  EXPECT_EQ(config.units.complete, 0U);
  EXPECT_EQ(units_in_words(config.units), "units of 1,000 instructions");
}

TEST(DetailChoice, RefusesUnitsThatCannotBe) {
  const auto told = [](const std::string& units) { return refusal({.detail = "sampled", .units = units}, "cycles"); };
  const std::string shape =
      ": not UNIT:WARM_UP:FIRST:LONGEST[:COMPLETE], whole numbers of instructions\n"
      "hint: the usual ones: --units 50000:100000:200000:819200000:2000000";
  for (const char* const wrong :
       {"10", "1:2:3", "1:2:3:4:5:6", "1:2:3:4:", "1:2:3:x", "-1:2:3:4", "1::3:4", "1:2:3:4 "})
    EXPECT_EQ(told(wrong), "--units " + std::string(wrong) + shape);
  EXPECT_EQ(told("0:10:100:100"),
            "--units 0:10:100:100: a unit of no instructions measures nothing\nhint: UNIT is at least 1");
  EXPECT_EQ(told("10:10:25:100"),
            "--units 10:10:25:100: FIRST, 25, is no multiple of UNIT, 10\nhint: 30, for instance");
  EXPECT_EQ(told("10:11:20:100"),
            "--units 10:11:20:100: a unit and its warm-up, 21 instructions, do not fit in FIRST, 20\n"
            "hint: FIRST is at least UNIT and WARM_UP together");
  EXPECT_EQ(told("10:10:100:90"),
            "--units 10:10:100:90: LONGEST, 90, is below FIRST, 100\n"
            "hint: periods only grow: LONGEST is at least FIRST");
  EXPECT_THAT(told("18446744073709551616:1:1:1"), testing::HasSubstr("is too large\nhint: at most 9007199254740992"));
}

TEST(DetailChoice, AnErrorThatIsAskedForIsAPercentage) {
  for (const auto& [text, thousandths] : {std::pair{"2%", 20U}, {"0.5", 5U}, {"50%", 500U}}) {
    session::RecordingConfig config = counting("cycles");
    ASSERT_TRUE(choose_detail({.detail = "sampled", .error = text}, model(), config)) << text;
    EXPECT_EQ(config.units.wanted_error, thousandths);
  }
  const auto told = [](const std::string& error) { return refusal({.detail = "sampled", .error = error}, "cycles"); };
  for (const std::string wrong : {"x", "2%%", "%", "2 %", "nan%"})
    EXPECT_THAT(told(wrong), testing::StartsWith("--error " + wrong + ": "));
  EXPECT_EQ(told("two"), "--error two: not a percentage\nhint: --error 2%");
  EXPECT_EQ(told("0"), "--error 0: cannot be asked for\nhint: from 0.1% to 50%");
  EXPECT_EQ(told("-1%"), "--error -1%: cannot be asked for\nhint: from 0.1% to 50%");
  EXPECT_EQ(refusal({.detail = "complete", .error = "2%"}, "cycles"),
            "--error 2%: no units are taken\nhint: --detail sampled takes them");
}

TEST(DetailChoice, ABudgetIsANumberOfTimesNative) {
  for (const auto& [text, hundredths] : {std::pair{"3x", 300U}, {"2.5", 250U}}) {
    session::RecordingConfig config = counting("cycles");
    ASSERT_TRUE(choose_detail({.detail = "sampled", .budget = text}, model(), config)) << text;
    EXPECT_EQ(config.units.budget, hundredths);
  }
  const auto told = [](const std::string& budget) {
    return refusal({.detail = "sampled", .budget = budget}, "cycles");
  };
  EXPECT_EQ(told("x"), "--budget x: not a number of times native\nhint: --budget 3x");
  EXPECT_EQ(told("1x"),
            "--budget 1x: cannot be kept\nhint: from 2x, since counting between units takes about 1.4 times native, "
            "to 1000x");
  EXPECT_THAT(told("1e9x"), testing::StartsWith("--budget 1e9x: cannot be kept"));
  EXPECT_EQ(refusal({.detail = "sampled", .error = "2%", .budget = "3x"}, "cycles"),
            "--error and --budget exclude each other\nhint: a budget says how sure numbers can become");
  RunOptions virtual_time{.detail = "sampled", .budget = "3x"};
  virtual_time.virtual_time = true;
  EXPECT_EQ(refusal(virtual_time, "cycles"),
            "--budget and --virtual-time exclude each other: a budget goes by the clock, and no run repeats\n"
            "hint: --units says how many units are taken, by instructions");
  EXPECT_EQ(refusal({.detail = "complete", .budget = "3x"}, "cycles"),
            "--budget 3x: no units are taken\nhint: --detail sampled takes them");
}

session::RecordingConfig with_windows(const std::string& events, const std::string& every) {
  session::RecordingConfig config = counting(events);
  EXPECT_TRUE(plan_windows({.every = {every}}, model(), config));
  return config;
}

TEST(DetailChoice, PeriodsGiveEachWindowItsUnits) {
  struct Row {
    const char* every;
    std::uint64_t longest;
  };
  for (const auto& [every, longest] : {Row{"2400000i", 200'000},
                                       {"36000000i", 3'000'000},
                                       {"200000000i", 12'800'000},
                                       {"1000", 31'250'000},
                                       {"1000000000000i", 819'200'000}}) {
    session::RecordingConfig config = with_windows("cycles", every);
    ASSERT_TRUE(choose_detail({.detail = "sampled"}, model(), config)) << every;
    EXPECT_TRUE(config.in_units);
    EXPECT_EQ(config.units.longest_period, longest) << every;
  }
}

TEST(DetailChoice, AutoSamplesLongWindows) {
  for (const auto& [every, sampled] : {std::pair{"31999999i", false}, {"32000000i", true}, {"50000i", false}}) {
    session::RecordingConfig config = with_windows("cycles", every);
    ASSERT_TRUE(choose_detail({}, model(), config)) << every;
    EXPECT_EQ(config.in_units, sampled) << every;
  }
}

TEST(DetailChoice, AdvisesUnitsOnlyWhereTheyCanBeTaken) {
  EXPECT_TRUE(units_if_sampled(with_windows("cycles", "2400000i")));
  EXPECT_FALSE(units_if_sampled(with_windows("cycles", "2399999i")));
  EXPECT_FALSE(units_if_sampled(with_windows("cycles", "99999999:cycles")));
}

TEST(DetailChoice, RefusesWindowsThatHaveTooFewUnits) {
  const auto told = [](const RunOptions& options, const std::string& every) {
    session::RecordingConfig config = with_windows("cycles", every);
    const auto chosen = choose_detail(options, model(), config);
    return chosen ? "" : chosen.error().message + "\nhint: " + chosen.error().hint;
  };
  EXPECT_EQ(told({.detail = "sampled"}, "2399999i"),
            "--detail sampled: windows of 2,399,999 have fewer than 12 units\n"
            "hint: -I 2400000i, or more; or --detail complete, which models all of it");
  EXPECT_EQ(told({.detail = "sampled", .units = "1000:0:5000:5000"}, "60000i"), "");
  EXPECT_EQ(told({.detail = "sampled", .budget = "3x"}, "1000"),
            "--budget and -I exclude each other: every window has its units\nhint: --units says how many are taken");
}

TEST(DetailChoice, RefusesUnitsWhereNoneAreTaken) {
  for (const char* const detail : {"complete", "full"}) {
    EXPECT_EQ(refusal({.detail = detail, .units = "10:10:20:20"}, "cycles"),
              "--units 10:10:20:20: no units are taken\nhint: --detail sampled takes them");
  }
}

TEST(DetailChoice, RefusesToSampleWhatNeedsAllOfIt) {
  EXPECT_EQ(refusal({.detail = "sampled"}, "cycles", "--skid"),
            "--skid and --detail sampled exclude each other: it needs every instruction modelled\n"
            "hint: --detail complete models all of it");
  RunOptions alone{.detail = "sampled"};
  alone.precise_only = true;
  EXPECT_EQ(refusal(alone, "cycles"),
            "--precise-only and --detail sampled exclude each other\nhint: --detail complete models all of it");
  EXPECT_EQ(refusal({.detail = "sampled"}, "instructions"),
            "--detail sampled: no event needs the model: all of them are counted exactly\n"
            "hint: leave --detail out, or add an event that is modelled (`zeroskid list`): cycles");
  std::string many = "cycles";
  for (std::size_t i = 0; i < session::kMostEstimated; ++i) many += ",cycles";
  EXPECT_EQ(refusal({.detail = "sampled"}, many),
            "--detail sampled: 161 events would be estimates\nhint: at most 160; --detail complete models all of it");
  EXPECT_EQ(refusal({.detail = "complete"}, many, "--skid"), "");
}

TEST(DetailChoice, SaysWhatWasInDetail) {
  session::RecordingConfig config = counting("cycles");
  session::UnitSums done(1);
  EXPECT_EQ(detail_line(config, done), "") << "no units";
  ASSERT_TRUE(choose_detail({.detail = "sampled"}, model(), config));
  done.add_complete(1'000'000, std::vector<std::uint64_t>{1});
  done.set_instructions(1'000'000);
  EXPECT_EQ(detail_line(config, done), "# in detail: all of it\n");
  done.add_unit(0, 1, 1'000'000, std::vector<std::uint64_t>{1});
  done.set_instructions(100'000'000);
  EXPECT_EQ(detail_line(config, done),
            "# in detail: the first 10,000,000 instructions, then units of 50,000 (2.0 % of the run)\n");
}

TEST(DetailChoice, SaysWhetherTheErrorThatWasAskedForWasReached) {
  session::RecordingConfig config = counting("instructions,cycles");
  ASSERT_TRUE(choose_detail({.detail = "sampled", .error = "4%"}, model(), config));
  const auto words = [&config](std::uint64_t units, std::uint64_t differ) {
    session::UnitSums done(1);
    for (std::uint64_t i = 0; i < units; ++i)
      done.add_unit(i, 100, 10'000, std::vector<std::uint64_t>{10'000 + (i % 2 == 0 ? differ : 0 - differ)});
    done.set_instructions(units * 1'000'000);
    return detail_in_words(config, done);
  };
  constexpr const char* kDone =
      "the first 10,000,000 instructions, then units of 50,000 (1.0 % of the run); +- 4 % of cycles: ";
  EXPECT_EQ(words(64, 1000), std::string(kDone) + "reached");
  EXPECT_EQ(words(64, 2000), std::string(kDone) + "not reached, +- 7.3 %");
  EXPECT_EQ(words(2, 0), std::string(kDone) + "not reached, too few units");
}

}  // namespace
}  // namespace zs::cli

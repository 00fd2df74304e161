#include "profile/windows/window_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "profile/windows/whole_csv.h"

namespace zs::profile {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

WindowTable two_windows() {
  return {.program = "./sort rows.txt",
          .cpu_model = "skylake-server@1",
          .events = {{"instructions", ValueClass::Exact},
                     {"branches", ValueClass::Exact},
                     {"cpu/event=0xd1,umask=0x20/", ValueClass::NotModelled}},
          .windows = {{.number = 1,
                       .pid = 1000,
                       .tid = 1000,
                       .comm = "sort",
                       .start = 0,
                       .end = 50000,
                       .reason = "50000i",
                       .values = {50000, 12001, 0}},
                      {.number = 2,
                       .pid = 1000,
                       .tid = 1000,
                       .comm = "sort",
                       .start = 50000,
                       .end = 50807,
                       .reason = "end",
                       .values = {807, 99, 0}}},
          .regions = {{.name = "read, then sort", .pid = 1000, .tid = 1000, .begin = 120, .end = 50700}}};
}

constexpr const char* kTwoWindows =
    "# zeroskid windows 1\n"
    "# program,./sort rows.txt\n"
    "# cpu-model,skylake-server@1\n"
    "# event,instructions,exact\n"
    "# event,branches,exact\n"
    "# event,\"cpu/event=0xd1,umask=0x20/\",not modelled\n"
    "window,pid,tid,comm,start,end,start_ns,end_ns,reason,instructions,branches,\"cpu/event=0xd1,umask=0x20/\"\n"
    "1,1000,1000,sort,0,50000,,,50000i,50000,12001,not modelled\n"
    "2,1000,1000,sort,50000,50807,,,end,807,99,not modelled\n"
    "# region,\"read, then sort\",1000,1000,120,50700\n";

/// The message for kTwoWindows with the one place that reads `old` changed.
std::string refusal(const std::string& old, const std::string& changed) {
  std::string text = kTwoWindows;
  const std::size_t at = text.find(old);
  EXPECT_NE(at, std::string::npos) << old;
  const auto table = parse_window_csv(text.replace(at, old.size(), changed), "t.csv");
  return table ? "accepted" : table.error().message;
}

TEST(WindowTable, IsWrittenOneRowAWindow) { EXPECT_EQ(window_csv(two_windows()), kTwoWindows); }

TEST(WindowTable, IsReadAsItWasWritten) {
  const auto table = parse_window_csv(kTwoWindows, "t.csv");
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(*table, two_windows());
}

TEST(WindowTable, KeepsTimesOfADeclaredClockNotesAndEveryClass) {
  WindowTable table = two_windows();
  table.clock = "virtual";
  table.notes = {"skid 85 replayed", "seed 1"};
  for (Window& window : table.windows) window.time = TimeSpan{.start_ns = window.start, .end_ns = UINT64_MAX};
  table.events[0].value_class = ValueClass::Estimated;  // without half widths
  table.events[1].value_class = ValueClass::Modelled;
  table.events.push_back({"task-clock", ValueClass::Measured});
  for (Window& window : table.windows) window.values.push_back(UINT64_MAX);
  const auto again = parse_window_csv(window_csv(table), "t.csv");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, table);
}

TEST(WindowTable, KeepsHalfWidthsOfEstimatesAndThatThereAreTooFewUnitsForOne) {
  WindowTable table = two_windows();
  table.events[1] = {.name = "branches", .value_class = ValueClass::Estimated, .has_half_widths = true};
  table.windows[0].half_widths = {{}, 120, {}};
  table.windows[1].half_widths = {{}, {}, {}};
  const std::string text = window_csv(table);
  EXPECT_THAT(text, HasSubstr(",reason,instructions,branches,branches half-width,\"cpu"));
  EXPECT_THAT(text, HasSubstr(",50000i,50000,12001,120,not modelled\n"));
  EXPECT_THAT(text, HasSubstr(",end,807,99,,not modelled\n"));
  const auto again = parse_window_csv(text, "t.csv");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, table);
  std::string wrong = text;
  wrong.replace(wrong.find(",120,"), 5, ",few,");
  EXPECT_EQ(parse_window_csv(wrong, "t.csv").error().message, "t.csv:8:47: 'few' is not a whole number");
}

TEST(WindowTable, KeepsNamesOfAnyBytesOnOneLineEach) {
  WindowTable table = two_windows();
  table.program = "sh -c \"echo 'a,b'\n\ttrue\\\"\r";
  table.windows[0].comm = " \x7f\x01,\xff ";
  table.regions[0].name = "";
  const std::string text = window_csv(table);
  EXPECT_THAT(text, HasSubstr("# program,\"sh -c \"\"echo 'a,b'\\x0a\\x09true\\\\\"\"\\x0d\"\n"));
  const auto again = parse_window_csv(text, "t.csv");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, table);
}

TEST(WindowTable, ReadsWhatASpreadsheetMadeOfIt) {
  std::string text = kTwoWindows;
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 2) text.replace(at, 1, "\r\n");
  text.replace(text.find("1,1000,1000,sort"), 16, "\"1\",\"1000\",1000,\"sort\"");
  const auto table = parse_window_csv(text, "t.csv");
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(*table, two_windows());
}

TEST(WindowTable, NamesLineAndColumnOfWhatIsWrong) {
  EXPECT_EQ(refusal("windows 1", "windows 2"),
            "t.csv:1:1: not a table of windows: its first line is not '# zeroskid windows 1'");
  EXPECT_EQ(refusal("# program", "# programme"), "t.csv:2:3: unknown line '# programme'");
  EXPECT_EQ(refusal("# program,./sort rows.txt", "# program,a,b"), "t.csv:2:3: '# program' has 1 fields, not 2");
  EXPECT_EQ(refusal("# cpu-model", "# program"), "t.csv:3:3: a second '# program'");
  EXPECT_EQ(refusal("instructions,exact", "instructions,sure"), "t.csv:4:22: 'sure' is no class of numbers");
  EXPECT_EQ(refusal("branches,\"cpu", "loads,\"cpu"), "t.csv:7:67: column 'loads', where 'branches' belongs");
  EXPECT_EQ(refusal("window,pid", "window,tid"), "t.csv:7:8: column 'tid', where 'pid' belongs");
  EXPECT_EQ(refusal("50000,12001,not modelled", "50000,12001"), "t.csv:8:41: 11 fields, where 12 are needed");
  EXPECT_EQ(refusal("12001,not modelled", "12001,0"),
            "t.csv:8:47: '0', though cpu/event=0xd1,umask=0x20/ is not modelled");
  EXPECT_EQ(refusal("12001", "-1"), "t.csv:8:41: '-1' is not a whole number");
  EXPECT_EQ(refusal("12001", "12001.0"), "t.csv:8:41: '12001.0' is not a whole number");
  EXPECT_EQ(refusal("12001", "012001"), "t.csv:8:41: '012001' is not a whole number");
  EXPECT_EQ(refusal("12001", "18446744073709551616"), "t.csv:8:41: 18446744073709551616 is larger than a count can be");
  EXPECT_EQ(refusal("0,50000,,", "50001,50000,,"), "t.csv:8:24: ends at 50000, before its start at 50001");
  EXPECT_EQ(refusal("0,50000,,", "0,50000,7,"), "t.csv:8:26: a time, though no '# clock' is declared");
  EXPECT_EQ(refusal("50000i,", ","), "t.csv:8:28: no reason why the window ended");
  EXPECT_EQ(refusal("1,1000", "1,-1000"), "t.csv:8:3: -1000 is no process or thread");
  EXPECT_EQ(refusal("120,50700", "120,5"), "t.csv:10:42: ends at 5, before its start at 120");
  EXPECT_EQ(refusal("# region", "# note"), "t.csv:10:3: '# note' has 1 fields, not 5");
  EXPECT_EQ(refusal("# program,./sort rows.txt", "# region,a,1,1,1,1"),
            "t.csv:2:3: '# region' stands before the column names");
  EXPECT_EQ(refusal("sort\",1000", "sort,1000"), "t.csv:10:10: the quote that opens here is not closed on this line");
  EXPECT_EQ(refusal("sort\",1000", "sort\"x,1000"), "t.csv:10:27: a comma is missing after the closing quote");
  EXPECT_EQ(refusal("./sort", "./s\"ort"), "t.csv:2:14: a quote inside a field that does not begin with one");
  EXPECT_EQ(refusal("./sort", "./s\\ort"),
            "t.csv:2:14: a backslash is followed by neither a backslash nor x and two digits of 0-9a-f");
  EXPECT_EQ(refusal("./sort", "./s\tort"), "t.csv:2:14: byte 0x09 must be written as \\x09");
}

TEST(WindowTable, IsNoTableBeforeItsColumnNames) {
  const auto table = parse_window_csv("# zeroskid windows 1\n# program,a\n", "t.csv");
  ASSERT_FALSE(table);
  EXPECT_EQ(table.error().message, "t.csv:3:1: ends before its column names (window,...)");
  EXPECT_THAT(parse_window_csv("", "t.csv").error().message, StartsWith("t.csv:1:1: not a table of windows"));
}

TEST(HpctoolCsv, HasItsHeaderItsOrderAndItsLineEndsAndNoNumberForWhatIsNotModelled) {
  WindowTable table = two_windows();
  table.events = {{"instructions", ValueClass::Exact},     {"cycles", ValueClass::NotModelled},
                  {"ref-cycles", ValueClass::NotModelled}, {"0x004100C4", ValueClass::Exact},
                  {"0x004100C5", ValueClass::NotModelled}, {"0x00414F2E", ValueClass::NotModelled},
                  {"0x0041412E", ValueClass::NotModelled}};
  table.windows[0].values = {50000, 0, 0, 12001, 0, 0, 0};
  table.windows[1].values = {807, 0, 0, 99, 0, 0, 0};
  std::string text = hpctool_csv_head();
  for (const Window& window : table.windows) text += hpctool_csv_row(table, window);
  EXPECT_EQ(text,
            "ins,l_cycle,ref_cycle,event1,event2,event3,event4\r\n"
            "50000,,,12001,,,\r\n"
            "807,,,99,,,\r\n");
}

TEST(HpctoolCsv, IsRefusedForAnyNumberOfEventsButSeven) {
  const auto checked = check_hpctool_events(two_windows());
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().message, "hpctool-csv has 7 columns, and 3 events are counted");
}

}  // namespace
}  // namespace zs::profile

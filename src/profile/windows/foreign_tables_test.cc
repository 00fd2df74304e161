#include "profile/windows/foreign_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace zs::profile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

WindowTable read(std::string_view text) {
  auto table = parse_table(text, "t.csv");
  if (table) return std::move(*table);
  ADD_FAILURE() << table.error().message;
  return {};
}

std::string error_of(std::string_view text) {
  const auto table = parse_table(text, "t.csv");
  return table ? "none" : table.error().message;
}

std::vector<std::string> names_of(const WindowTable& table) {
  std::vector<std::string> names;
  for (const WindowEvent& event : table.events) names.push_back(event.name);
  return names;
}

TEST(ForeignTables, OfHpctoolAreOverInstructions) {
  const WindowTable table = read(
      "ins,l_cycle,ref_cycle,event1,event2,event3,event4\r\n"
      "50000,120905,120905,14253,1135,2038,\r\n"
      "9543,54795,54795,1659,241,674,\r\n");
  EXPECT_EQ(table.places, Places::Instructions);
  EXPECT_THAT(names_of(table), ElementsAre("cycles", "ref-cycles", "event1", "event2", "event3"));
  ASSERT_EQ(table.windows.size(), 2u);
  EXPECT_EQ(table.windows[1].start, 50000u);
  EXPECT_EQ(table.windows[1].end, 59543u);
  EXPECT_THAT(table.windows[0].values, ElementsAre(120905, 120905, 14253, 1135, 2038));
  EXPECT_THAT(table.notes, ElementsAre("event4: no row has a number"));  // not a zero
}

TEST(ForeignTables, OfPerfStatAreOverTimeUnlessItCountedInstructions) {
  const WindowTable table = read(
      "# started on Wed Nov 25\n\n"
      "     0.100498817,4.66,msec,task-clock,4662300,100.00,0.047,CPUs utilized\n"
      "     0.100498817,75,,page-faults,4662300,100.00,16.086,K/sec\n"
      "     0.201373386,<not counted>,msec,task-clock,0,100.00,,\n"
      "     0.201373386,<not counted>,,page-faults,0,100.00,,\n"
      "     0.516703393,0.17,msec,task-clock,172707,100.00,0.002,CPUs utilized\n"
      "     0.516703393,0,,page-faults,172707,100.00,0.000,/sec\n");
  EXPECT_EQ(table.places, Places::Nanoseconds);
  EXPECT_THAT(names_of(table), ElementsAre("task-clock (msec)", "page-faults"));
  ASSERT_EQ(table.windows.size(), 2u);  // a row that was not counted is none of zeros
  EXPECT_EQ(table.windows[0].end, 100498817u);
  EXPECT_EQ(table.windows[1].start, 201373386u);
  EXPECT_THAT(table.windows[0].values, ElementsAre(466, 75));
  EXPECT_DOUBLE_EQ(table.events[0].scale, 0.01);
  EXPECT_THAT(table.notes, ElementsAre("1 of 3 rows are left out: something in them was not counted"));

  const WindowTable counted = read(
      "1.0;1000;;instructions;1;100.00;;\n1.0;400;;cycles;1;100.00;2.5;insn per cycle\n"
      "2.0;3000;;instructions;1;100.00;;\n2.0;800;;cycles;1;100.00;;\n");
  EXPECT_EQ(counted.places, Places::Instructions);
  EXPECT_THAT(names_of(counted), ElementsAre("cycles"));
  EXPECT_EQ(counted.windows[1].start, 1000u);
  EXPECT_EQ(counted.windows[1].end, 4000u);
}

TEST(ForeignTables, OfPerfStatByProcessorHaveACurveForEach) {
  const WindowTable table = read("1.0,CPU0,7,,cs,1,100.00,,\n1.0,CPU1,9,,cs,1,100.00,,\n2.0,CPU0,8,,cs,1,100.00,,\n");
  ASSERT_EQ(table.windows.size(), 3u);
  EXPECT_EQ(table.windows[0].comm, "CPU0");
  EXPECT_EQ(table.windows[1].comm, "CPU1");
  EXPECT_EQ(table.windows[2].tid, table.windows[0].tid);
}

TEST(ForeignTables, WithAHeaderAreOverWhatTheirFirstColumnsSay) {
  const WindowTable by_instructions = read("time,ins,cyc\n1,100,200\n2,150,300\n");
  EXPECT_EQ(by_instructions.places, Places::Instructions);
  EXPECT_THAT(names_of(by_instructions), ElementsAre("cyc"));
  const WindowTable by_time = read("time_ms,misses\n10,5\n20,7.5\n");
  EXPECT_EQ(by_time.places, Places::Nanoseconds);
  EXPECT_EQ(by_time.windows[1].start, 10'000'000u);
  EXPECT_THAT(by_time.windows[1].values, ElementsAre(75));
  const WindowTable by_row = read("misses\thits\n5\t1\n7\t2\n");
  EXPECT_EQ(by_row.places, Places::Rows);
  EXPECT_EQ(by_row.windows[1].end, 2u);
}

TEST(ForeignTables, ThatAreNoneAreRefusedByPlace) {
  EXPECT_EQ(error_of(""), "t.csv: there is no table in it");
  EXPECT_THAT(error_of("1,2\n3,4\n"), HasSubstr("t.csv:1:1: the first line is no header"));
  EXPECT_THAT(error_of("a,b\n3\n"), HasSubstr("t.csv:2:1: 1 fields, where 2 are needed"));
  EXPECT_THAT(error_of("a,b\n3,x\n"), HasSubstr("t.csv:2:3: 'x' is no number from 0 up"));
  EXPECT_THAT(error_of("a,b\n3,-4\n"), HasSubstr("t.csv:2:3: '-4' is no number from 0 up"));
  EXPECT_THAT(error_of("time,b\n3,4\n2,4\n"), HasSubstr("t.csv:3:1: a time before that of the row above"));
  EXPECT_THAT(error_of("Hello, world.\n"), HasSubstr("there is no line of numbers"));
  EXPECT_THAT(error_of("# zeroskid windows 9\n"), HasSubstr("t.csv:1:1: not a table of windows"));
}

}  // namespace
}  // namespace zs::profile

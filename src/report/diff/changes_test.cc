#include "report/diff/changes.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace zs::report {
namespace {

FunctionCounts function(const std::string& name, double value, SourcePlace begins = {}, const std::string& dso = "p") {
  FunctionCounts made;
  made.name = name;
  made.dso = dso;
  made.begins = std::move(begins);
  made.sum.value = value;
  return made;
}

EventCounts event(std::vector<FunctionCounts> functions) {
  EventCounts made;
  made.event = "instructions:u";
  made.value_class = "exact";
  for (const FunctionCounts& one : functions) made.whole.add(one.sum);
  made.functions = std::move(functions);
  return made;
}

TEST(Changes, NamesLoseWhatCompilersAppend) {
  for (const char* const name : {"parse.part.0", "parse.isra.0", "parse.cold", "parse.constprop.0.isra.1",
                                 "parse.cold.12", "parse.lto_priv.3", "parse.llvm.123456789", "parse"}) {
    EXPECT_EQ(without_suffixes(name), "parse") << name;
  }
  EXPECT_EQ(without_suffixes("main.run"), "main.run");  // of Go
  EXPECT_EQ(without_suffixes("v1.2"), "v1.2");
  EXPECT_EQ(without_suffixes(".cold"), ".cold");
}

TEST(Changes, AFunctionIsFoundInAnotherFileOfTheProgramAndUnderAnotherName) {
  const auto changes =
      function_changes(event({function("same", 5, {}, "old"), function("was", 10, {"a.c", 3}), function("gone", 7)}),
                       event({function("same", 6, {}, "new"), function("is", 30, {"a.c", 3}), function("fresh", 1)}));
  ASSERT_EQ(changes.size(), 4U);
  EXPECT_EQ(changes[0].name, "is");
  EXPECT_EQ(changes[0].before, "was");
  EXPECT_EQ(changes[0].difference(), 20);
  EXPECT_EQ(changes[1].name, "gone");
  EXPECT_FALSE(changes[1].b);
  EXPECT_TRUE(changes[2].a && changes[2].b);
  EXPECT_EQ(changes[2].before, "");
  EXPECT_EQ(changes[3].name, "fresh");
  EXPECT_FALSE(changes[3].a);
}

TEST(Changes, LinesThatMovedAreNotNew) {
  FunctionCounts a = function("f", 0, {"a.c", 10}), b = function("f", 0, {"b.c", 20});
  const double was[] = {1, 100, 100, 50, 1}, is[] = {1, 100, 300, 50, 1};
  for (int i = 0; i < 5; ++i) {
    a.lines[{"a.c", 10 + i}].value = was[i];
    b.lines[{"b.c", 20 + i + (i > 2 ? 3 : 0)}].value = is[i];  // lines that are not code came in between
  }
  const auto changes = function_changes(event({a}), event({b}));
  ASSERT_EQ(changes.size(), 1U);
  ASSERT_EQ(changes[0].lines.size(), 5U);
  EXPECT_EQ(changes[0].lines[0].name, "b.c:22");
  EXPECT_EQ(changes[0].lines[0].before, "a.c:12");
  EXPECT_EQ(changes[0].lines[0].difference(), 200);
  for (std::size_t i = 1; i < 5; ++i) EXPECT_EQ(changes[0].lines[i].difference(), 0);
}

TEST(Changes, WhatATableDoesNotKeepIsComparedWithItsSum) {
  const EventCounts kept = event({function("large", 1000), function("small", 10), function(kOtherFunctions, 25)});
  const EventCounts all = event({function("large", 1000), function("small", 10), function("x", 5), function("y", 9),
                                 function("z", 10), function("grown", 11)});
  for (const bool forwards : {true, false}) {
    const auto changes = forwards ? function_changes(kept, all) : function_changes(all, kept);
    ASSERT_EQ(changes.size(), 4U);
    EXPECT_EQ(changes[0].name, "grown");
    EXPECT_EQ(std::abs(changes[0].difference()), 11);
    EXPECT_EQ(changes[1].name, kOtherFunctions);
    EXPECT_EQ(std::abs(changes[1].difference()), 1);
  }
}

TEST(Changes, EventsAreMatchedWithoutTheirModifiers) {
  EventCounts plain = event({function("f", 3)});
  plain.event = "instructions";
  EventCounts other = event({});
  other.event = "cpu/event=0xc4:0/";
  const auto found = changes({plain, other}, {event({function("f", 4)})});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].whole.difference(), 1);
  ASSERT_EQ(found[0].functions.size(), 1U);
  EXPECT_EQ(found[1].class_b, "");
}

TEST(Changes, ADifferenceOfSamplesMayBeChance) {
  Change change{.a = Sum{.value = 1e6, .squared_error = 4e9}, .b = Sum{.value = 1.05e6, .squared_error = 4e9}};
  EXPECT_TRUE(change.is_within_error());  // 50,000 of 89,443
  change.b->value = 1.1e6;
  EXPECT_FALSE(change.is_within_error());
  change.b = Sum{.value = 1e6};
  change.a = Sum{.value = 1e6};
  EXPECT_FALSE(change.is_within_error());  // exact counts that are the same
}

}  // namespace
}  // namespace zs::report

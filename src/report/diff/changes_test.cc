#include "report/diff/changes.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
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

TEST(Changes, ARenamedFunctionIsFoundByTheShapeOfItsCode) {
  const auto shaped = [](const std::string& name, double value, std::uint32_t opcodes, int line) {
    FunctionCounts made = function(name, value, {"a.c", line});
    made.code.opcodes = opcodes;
    return made;
  };
  // two of one shape are told apart by their counts, or not at all; one without a shape has no other's
  const auto changes = function_changes(
      event({shaped("f", 10, 1, 3), shaped("g", 20, 2, 9), shaped("h", 30, 2, 20), shaped("gone", 5, 0, 90)}),
      event({shaped("F", 11, 1, 50), shaped("G", 20, 2, 60), shaped("H", 31, 2, 70), shaped("new", 6, 0, 95)}));
  std::map<std::string, std::string> was;
  for (const Change& one : changes) was[one.name] = one.a && one.b ? one.before : "";
  EXPECT_EQ(was, (std::map<std::string, std::string>{{"F", "f"}, {"G", "g"}, {"H", "h"}, {"gone", ""}, {"new", ""}}));
}

TEST(Changes, AFunctionOfTheSameCodeComesBehindThoseThatChanged) {
  const auto coded = [](const std::string& name, double value, std::uint32_t all) {
    FunctionCounts made = function(name, value);
    made.code = {.opcodes = 7, .all = all};
    return made;
  };
  const auto changes =
      function_changes(event({coded("strlen", 1000, 1), coded("caller", 100, 2), function("bare", 1)}),
                       event({coded("strlen", 3000, 1), coded("caller", 150, 3), function("bare", 9)}));
  ASSERT_EQ(changes.size(), 3U);
  EXPECT_EQ(changes[0].name, "caller");
  EXPECT_EQ(changes[1].name, "bare");
  EXPECT_EQ(changes[2].name, "strlen");
  EXPECT_TRUE(changes[2].same_code);
}

TEST(Changes, WhatFirstRunsInAFileOfTheSameCodeComesBehindWhatChanged) {
  const auto coded = [](const std::string& name, double value, std::uint32_t all, const std::string& dso) {
    FunctionCounts made = function(name, value, {}, dso);
    made.code = {.opcodes = all, .all = all};
    return made;
  };
  const auto changes = function_changes(
      event({coded("main", 10, 1, "p"), coded("exit", 5, 2, "libc.so.6")}),
      event({coded("main", 15, 3, "p"), coded("exit", 5, 2, "libc.so.6"), coded("strchr", 900, 4, "libc.so.6")}));
  ASSERT_EQ(changes.size(), 3U);
  EXPECT_EQ(changes[0].name, "main");
  EXPECT_EQ(changes[1].name, "strchr");
}

TEST(Changes, ARenamedFunctionThatChangedIsFoundByTheFunctionAboveIt) {
  const auto changes = function_changes(event({function("above", 5, {"a.c", 10}), function("was", 10, {"a.c", 30}),
                                               function("far", 3, {"b.c", 20}), function("none", 1)}),
                                        event({function("above", 5, {"a.c", 17}), function("is", 30, {"a.c", 37}),
                                               function("away", 4, {"b.c", 40}), function("nil", 2)}));
  ASSERT_EQ(changes.size(), 6U);
  EXPECT_EQ(changes[0].name, "is");
  EXPECT_EQ(changes[0].before, "was");
  for (const Change& one : changes) EXPECT_TRUE(one.before.empty() || one.before == "was") << one.name;
}

FunctionCounts inlined(std::vector<std::string> functions, FunctionCounts part) {
  part.inlined = std::move(functions);
  return part;
}

TEST(Changes, WhatIsInlinedOnOneSideIsComparedWithTheFunctionOnTheOther) {
  const EventCounts apart = event(
      {function("f", 100, {"a.c", 1}), function("g", 50, {"a.c", 9}), inlined({"h"}, function("f", 7, {"a.c", 1}))});
  const EventCounts together = event({function("g", 50, {"a.c", 9}), inlined({"f"}, function("g", 90, {"a.c", 9})),
                                      inlined({"h", "f"}, function("g", 7, {"a.c", 9}))});
  for (const bool back : {false, true}) {
    const auto changes = back ? function_changes(together, apart) : function_changes(apart, together);
    ASSERT_EQ(changes.size(), 2U);
    EXPECT_EQ(changes[0].name, "f");
    EXPECT_EQ(changes[0].difference(), back ? 10 : -10);
    EXPECT_TRUE(changes[0].a && changes[0].b);
    EXPECT_EQ(changes[1].difference(), 0);
  }
  // that a function of other code has the name of one that is inlined everywhere says nothing of its host
  EXPECT_EQ(function_changes(together, together).size(), 1U);
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

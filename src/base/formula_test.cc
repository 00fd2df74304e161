#include "base/formula.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace zs {
namespace {

constexpr double value_of(std::string_view name) {
  if (name == "a") return 6;
  if (name == "b") return 4;
  if (name == "l1d.replacement") return 30;
  if (name == "LLC-load-misses") return 7;
  return name == "zero" ? 0 : -1;
}

constexpr double value(std::string_view text) { return evaluate(text, value_of).value(); }

static_assert(value("a + b * 2 - 1") == 13);
static_assert(value("(a + b) * 2") == 20);
static_assert(value("a - b - 1") == 1, "from left to right");
static_assert(value("24 / a / b") == 1);
static_assert(value("2.5 * b") == 10);
static_assert(value("min(a, b) + max(a, b)") == 10);
static_assert(value("max(a - b, a / b)") == 2);
static_assert(value("1000*l1d.replacement/a") == 5000);
static_assert(value("LLC-load-misses - a") == 1, "a dash inside a name belongs to it");

TEST(Formula, DividedByZeroIsNotANumberAndNothingThatIsMadeOfItIs) {
  for (const char* const text : {"a / zero", "zero / zero", "1 + a / zero", "max(1, a / zero)", "min(a / zero, 1)"}) {
    EXPECT_TRUE(std::isnan(value(text))) << text;
  }
  EXPECT_EQ(value("zero / max(zero, 1)"), 0);
}

TEST(Formula, AsksForEachNameInOrder) {
  std::vector<std::string> names;
  const auto note = [&](std::string_view name) {
    names.emplace_back(name);
    return 1.0;
  };
  EXPECT_TRUE(evaluate("max(x.y_1, 2) * (Retiring - x.y_1) / exe_activity.1_ports_util", note));
  EXPECT_THAT(names, testing::ElementsAre("x.y_1", "Retiring", "x.y_1", "exe_activity.1_ports_util"));
}

TEST(Formula, IsRefusedWholeWhereAnythingIsWrong) {
  for (const char* const text : {"", " ", "a +", "a b", "(a", "a)", "max(a)", "max(a, b", "min a, b", "* a", "a // b",
                                 "1.", "a-", "-a", "$1", "1e3"}) {
    EXPECT_FALSE(is_formula(text)) << text;
  }
  for (const char* const text : {"max", "min - 1", "1.5", "a-b", " ( a ) "}) EXPECT_TRUE(is_formula(text)) << text;
}

}  // namespace
}  // namespace zs

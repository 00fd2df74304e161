#include "session/units/unit_budget.h"

#include <gtest/gtest.h>

namespace zs::session {
namespace {

TEST(UnitBudget, KnowsNothingBeforeSomethingWasCountedAlone) {
  UnitBudget budget(300);
  budget.add(false, 1'000'000, 50'000'000);
  EXPECT_EQ(budget.times_native(), 0);
  EXPECT_EQ(budget.trend(), Trend::Same);
}

// An instruction takes 0.1 ns natively, and so 0.14 when it is counted.
TEST(UnitBudget, ThinsUnitsOutAboveTheBudgetAndAddsSomeWellBelow) {
  UnitBudget budget(300);
  budget.add(true, 100'000'000, 14'000'000);
  EXPECT_DOUBLE_EQ(budget.times_native(), 1.4);
  EXPECT_EQ(budget.trend(), Trend::Shorter);
  budget.add(false, 1'000'000, 12'900'000);
  EXPECT_NEAR(budget.times_native(), 26.9 / 10.1, 1e-9);
  EXPECT_EQ(budget.trend(), Trend::Same);
  budget.add(false, 1'000'000, 20'000'000);
  EXPECT_GT(budget.times_native(), 4);
  EXPECT_EQ(budget.trend(), Trend::Longer);
}

}  // namespace
}  // namespace zs::session

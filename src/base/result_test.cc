#include "base/result.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace zs {
namespace {

Result<int> parse_digit(char c) {
  if (c < '0' || c > '9') return Error{std::string("'") + c + "' is no digit", "write 0 to 9"};
  return c - '0';
}

Result<void> accept(bool yes) {
  if (!yes) return Error{"refused", ""};
  return {};
}

TEST(Result, HoldsTheValueOfASuccess) {
  const auto digit = parse_digit('7');
  ASSERT_TRUE(digit.has_value());
  EXPECT_EQ(*digit, 7);
}

TEST(Result, HoldsMessageAndHintOfAFailure) {
  const auto digit = parse_digit('x');
  ASSERT_FALSE(digit);
  EXPECT_EQ(digit.error().message, "'x' is no digit");
  EXPECT_EQ(digit.error().hint, "write 0 to 9");
}

TEST(Result, GivesUpAValueThatCannotBeCopied) {
  Result<std::unique_ptr<int>> made = std::make_unique<int>(5);
  const std::unique_ptr<int> taken = *std::move(made);
  EXPECT_EQ(*taken, 5);
}

TEST(Result, OfNothingIsSuccessUntilItHoldsAnError) {
  EXPECT_TRUE(accept(true));
  ASSERT_FALSE(accept(false));
  EXPECT_EQ(accept(false).error().message, "refused");
}

}  // namespace
}  // namespace zs

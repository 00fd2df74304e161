#include "cli/say.h"

#include <gtest/gtest.h>

namespace zs::cli {
namespace {

TEST(Say, NumbersHaveASeparatorEveryThreeDigits) {
  EXPECT_EQ(with_separators(0), "0");
  EXPECT_EQ(with_separators(999), "999");
  EXPECT_EQ(with_separators(1000), "1,000");
  EXPECT_EQ(with_separators(1234567890), "1,234,567,890");
}

TEST(Say, SizesAreInTheUnitThatLeavesAFewDigits) {
  EXPECT_EQ(byte_size(0), "0 B");
  EXPECT_EQ(byte_size(999), "999 B");
  EXPECT_EQ(byte_size(1000), "1.0 kB");
  EXPECT_EQ(byte_size(999'949), "999.9 kB");
  EXPECT_EQ(byte_size(999'999), "1.0 MB");
  EXPECT_EQ(byte_size(9'800'000), "9.8 MB");
}

TEST(Say, AnErrorIsAMessageAndAHintIfThereIsOne) {
  testing::internal::CaptureStderr();
  say(Error{"what went wrong", "what to do"});
  say(Error{"nothing can be done", ""});
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "zeroskid: what went wrong\nhint: what to do\nzeroskid: nothing can be done\n");
}

}  // namespace
}  // namespace zs::cli

#include "cli/command/memory_size.h"

#include <gtest/gtest.h>

namespace zs::cli {
namespace {

TEST(MemorySize, IsANumberAndAPowerOf1024) {
  EXPECT_EQ(parse_memory_size("4096"), 4096);
  EXPECT_EQ(parse_memory_size("3K"), 3072);
  EXPECT_EQ(parse_memory_size("512M"), 512U << 20);
  EXPECT_EQ(parse_memory_size("2g"), std::uint64_t{2} << 30);
}

TEST(MemorySize, IsNothingWhereItIsNoSize) {
  for (const char* text : {"", "M", "12X", "12MB", "-1", "1.5G", " 1"})
    EXPECT_EQ(parse_memory_size(text), std::nullopt) << text;
}

TEST(MemorySize, IsNothingAbove64Bits) {
  EXPECT_EQ(parse_memory_size("17179869183G"), std::uint64_t{17179869183} << 30);
  EXPECT_EQ(parse_memory_size("17179869184G"), std::nullopt);
  EXPECT_EQ(parse_memory_size("99999999999999999999"), std::nullopt);
}

}  // namespace
}  // namespace zs::cli

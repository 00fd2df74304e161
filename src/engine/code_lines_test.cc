#include "engine/code_lines.h"

#include <gtest/gtest.h>

namespace zs::engine {
namespace {

TEST(CodeLines, AnEmptyMapFindsNothing) { EXPECT_EQ(CodeLines().find(0x401000), nullptr); }

TEST(CodeLines, WhatIsNotedInALineIsFoundFromAnywhereInItAndNowhereElse) {
  CodeLines lines;
  lines.at(0x401005).heads |= CodeLines::bit(0x401005);
  ASSERT_NE(lines.find(0x40103F), nullptr);
  EXPECT_EQ(lines.find(0x40103F)->heads, std::uint64_t{1} << 5);
  EXPECT_EQ(lines.find(0x401040), nullptr);
  EXPECT_EQ(lines.find(0x400FFF), nullptr);
}

TEST(CodeLines, GrowingKeepsAllLines) {
  CodeLines lines;
  constexpr std::uint32_t kMany = 50'000;
  for (std::uint32_t i = 0; i < kMany; ++i) lines.at(CodeLines::kBytes * i).blocks[0] = i;
  for (std::uint32_t i = 0; i < kMany; ++i) ASSERT_EQ(lines.find(CodeLines::kBytes * i)->blocks[0], i);
}

TEST(CodeLines, AClearedMapIsEmpty) {
  CodeLines lines;
  for (std::uint64_t i = 0; i < 10'000; ++i) lines.at(CodeLines::kBytes * i).inside = 1;
  lines.clear();
  for (std::uint64_t i = 0; i < 10'000; ++i) ASSERT_EQ(lines.find(CodeLines::kBytes * i), nullptr);
}

}  // namespace
}  // namespace zs::engine

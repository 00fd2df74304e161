#include "machine/devices/keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace zs::machine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::uint8_t> codes(std::string_view text) {
  std::vector<std::uint8_t> all;
  const auto strokes = key_strokes(text);
  for (const KeyStroke& stroke : *strokes) all.insert(all.end(), stroke.codes.begin(), stroke.codes.end());
  return all;
}

TEST(Keys, ArePressedAndLetGo) {
  EXPECT_THAT(codes("a"), ElementsAre(0x1E, 0x9E));
  EXPECT_THAT(codes("A"), ElementsAre(0x2A, 0x1E, 0x9E, 0xAA));
  EXPECT_THAT(codes("\n"), ElementsAre(0x1C, 0x9C));
  EXPECT_THAT(codes("<Up>"), ElementsAre(0xE0, 0x48, 0xE0, 0xC8));
  EXPECT_THAT(codes("<C-c>"), ElementsAre(0x1D, 0x2E, 0xAE, 0x9D));
  EXPECT_THAT(codes("<<"), ElementsAre(0x2A, 0x33, 0xB3, 0xAA)) << "the character <";
}

TEST(Keys, EveryCharacterThatCanBeTypedIsReadBack) {
  for (char character = ' '; character <= '~'; ++character) {
    const std::string text(character == '<' ? 2 : 1, character);
    const auto strokes = codes(text);
    const bool shift = strokes.front() == kScanLeftShift;
    EXPECT_EQ(character_of_key(strokes[shift ? 1 : 0], shift), character);
  }
}

TEST(Keys, WhatNoKeyIsIsNamed) {
  EXPECT_THAT(key_strokes("a<Foo>").error().message, HasSubstr("<Foo>: no key of that name"));
  EXPECT_THAT(key_strokes("a<Foo").error().message, HasSubstr("<Foo>"));
  EXPECT_THAT(key_strokes("\xC3\xA4").error().message, HasSubstr("byte c3h"));
}

}  // namespace
}  // namespace zs::machine

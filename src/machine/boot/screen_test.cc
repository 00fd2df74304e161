#include "machine/boot/screen.h"

#include <gtest/gtest.h>

#include "machine/memory.h"

namespace zs::machine {
namespace {

TEST(Screen, ShowsRowsBelowThe25thAndNoSpacesAtTheEnd) {
  auto memory = PhysicalMemory::make(kLeastMemory);
  ASSERT_TRUE(memory);
  EXPECT_EQ(screen_text(screen_rows(*memory)), "");
  memory->store<std::uint32_t>(kVgaText, 0x07420741);
  memory->store<std::uint16_t>(kVgaText + 160 * 30 + 4, 0x07DB);
  const std::string text = screen_text(screen_rows(*memory));
  EXPECT_EQ(text.substr(0, 3), "AB\n");
  EXPECT_EQ(text.substr(text.size() - 6), "  \u2588\n");
  EXPECT_EQ(screen_rows(*memory).size(), 31u);
}

TEST(Screen, EveryCharacterHasAGlyph) {
  for (unsigned character = 0; character < 256; ++character) {
    EXPECT_FALSE(utf8_of_cp437(static_cast<std::uint8_t>(character)).empty()) << character;
  }
  EXPECT_EQ(utf8_of_cp437(0xE1), "\u00DF");
}

}  // namespace
}  // namespace zs::machine

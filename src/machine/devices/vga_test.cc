#include "machine/devices/vga.h"

#include <gtest/gtest.h>

namespace zs::machine {
namespace {

void set_indexed(Vga& vga, std::uint16_t port, unsigned index, unsigned value) {
  vga.out(port, static_cast<std::uint8_t>(index));
  vga.out(static_cast<std::uint16_t>(port + 1), static_cast<std::uint8_t>(value));
}

TEST(Vga, ShowsTextAfterPowerUpAndMode13AfterItsRegisters) {
  Vga vga;
  EXPECT_EQ(vga.shows(), Vga::Shows::Text);
  set_indexed(vga, 0x3CE, 6, 0x05);  // graphics at A0000H, but not yet 256 colours
  EXPECT_EQ(vga.shows(), Vga::Shows::OtherGraphics);
  set_indexed(vga, 0x3CE, 5, 0x40);
  EXPECT_EQ(vga.shows(), Vga::Shows::OtherGraphics) << "planes are not chained: mode X";
  set_indexed(vga, 0x3C4, 4, 0x0E);
  EXPECT_EQ(vga.shows(), Vga::Shows::Linear256);
}

TEST(Vga, ModesOfTheVideoBiosTellWhatTheyShow) {
  Vga vga;
  vga.set_mode(0x13);
  EXPECT_EQ(vga.shows(), Vga::Shows::Linear256);
  vga.set_mode(3);
  EXPECT_EQ(vga.shows(), Vga::Shows::Text);
}

TEST(Vga, ColoursAreWrittenAndReadInThrees) {
  Vga vga;
  vga.out(0x3C8, 10);
  for (const unsigned part : {1u, 2u, 3u, 63u, 64u, 0xFFu}) vga.out(0x3C9, static_cast<std::uint8_t>(part));
  EXPECT_EQ(vga.colour(10), (Vga::Colour{1, 2, 3}));
  EXPECT_EQ(vga.colour(11), (Vga::Colour{63, 0, 63})) << "six bits each";
  EXPECT_EQ(vga.in(0x3C8), 12u);
  vga.out(0x3C7, 10);
  for (const unsigned part : {1u, 2u, 3u, 63u, 0u, 63u}) EXPECT_EQ(vga.in(0x3C9), part);
  vga.out(0x3C8, 255);
  for (unsigned n = 0; n < 6; ++n) vga.out(0x3C9, 7);
  EXPECT_EQ(vga.colour(0), (Vga::Colour{7, 7, 7})) << "after 255 comes 0";
}

TEST(Vga, TheMaskLeavesOutBitsOfAPixel) {
  Vga vga;
  vga.set_colour(0x02, {1, 1, 1});
  vga.set_colour(0xF2, {2, 2, 2});
  EXPECT_EQ(vga.shown_colour(0xF2), (Vga::Colour{2, 2, 2}));
  vga.out(0x3C6, 0x0F);
  EXPECT_EQ(vga.shown_colour(0xF2), (Vga::Colour{1, 1, 1}));
}

TEST(Vga, ColoursOfMode13AreThoseOfTheVideoBios) {
  Vga vga;
  vga.set_mode(0x13);
  EXPECT_EQ(vga.colour(4), (Vga::Colour{42, 0, 0}));
  EXPECT_EQ(vga.colour(6), (Vga::Colour{42, 21, 0})) << "brown";
  EXPECT_EQ(vga.colour(15), (Vga::Colour{63, 63, 63}));
  EXPECT_EQ(vga.colour(31), (Vga::Colour{63, 63, 63})) << "the last grey";
  EXPECT_EQ(vga.colour(32), (Vga::Colour{0, 0, 63})) << "the first hue is blue";
  EXPECT_EQ(vga.colour(40), (Vga::Colour{63, 0, 0}));
  EXPECT_EQ(vga.colour(48), (Vga::Colour{0, 63, 0}));
  EXPECT_EQ(vga.colour(248), (Vga::Colour{0, 0, 0}));
}

TEST(Vga, ThePictureBeginsWhereTheCrtControllerSays) {
  Vga vga;
  vga.set_mode(0x13);
  EXPECT_EQ(vga.first_byte(), 0u);
  set_indexed(vga, 0x3D4, 0x0C, 0x12);
  set_indexed(vga, 0x3D4, 0x0D, 0x34);
  EXPECT_EQ(vga.first_byte(), 0x1234u * 4);
  set_indexed(vga, 0x3D4, 0x0C, 0xFF);
  EXPECT_EQ(vga.first_byte(), (0xFF34u * 4) & 0xFFFF);
}

TEST(Vga, AttributeRegistersTakeIndexAndValueByTurns) {
  Vga vga;
  (void)vga.in(0x3DA);
  vga.out(0x3C0, 0x10);
  vga.out(0x3C0, 0x41);
  vga.out(0x3C0, 0x10);
  EXPECT_EQ(vga.in(0x3C1), 0x41u);
  (void)vga.in(0x3DA);  // begins with an index again
  vga.out(0x3C0, 0x13);
  EXPECT_EQ(vga.in(0x3C0), 0x13u);
}

TEST(Vga, IndexesWithoutARegisterReadZeroAndTakeNothing) {
  Vga vga;
  for (const std::uint16_t port : {std::uint16_t{0x3C4}, std::uint16_t{0x3CE}}) {
    set_indexed(vga, port, 200, 0x55);
    EXPECT_EQ(vga.in(static_cast<std::uint16_t>(port + 1)), 0u);
  }
}

TEST(Vga, RetraceComesAndGoesForThoseWhoWaitForIt) {
  Vga vga;
  const unsigned first = vga.in(0x3DA) & 8u;
  EXPECT_NE(vga.in(0x3DA) & 8u, first);
  EXPECT_EQ(vga.in(0x3DA) & 8u, first);
}

}  // namespace
}  // namespace zs::machine

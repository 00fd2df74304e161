#include "machine/devices/pic.h"

#include <gtest/gtest.h>

namespace zs::machine {
namespace {

void initialise(Pic& pic) {
  for (const auto& [base, vector, cascade] : {std::array{0x20, 0x20, 4}, std::array{0xA0, 0x28, 2}}) {
    pic.out(static_cast<std::uint16_t>(base), 0x11);
    pic.out(static_cast<std::uint16_t>(base + 1), static_cast<std::uint8_t>(vector));
    pic.out(static_cast<std::uint16_t>(base + 1), static_cast<std::uint8_t>(cascade));
    pic.out(static_cast<std::uint16_t>(base + 1), 1);
  }
}

TEST(Pic, IsMaskedAtPowerUp) {
  Pic pic;
  pic.pulse(0);
  pic.pulse(8);
  EXPECT_FALSE(pic.requesting());
  EXPECT_EQ(pic.in(0x21), 0xFF);
  EXPECT_FALSE(pic.enabled(0));
}

TEST(Pic, DeliversByPriorityAndBlocksLowerOnesUntilEoi) {
  Pic pic;
  initialise(pic);
  pic.pulse(4);
  pic.pulse(1);
  EXPECT_EQ(pic.acknowledge(), 0x21);
  EXPECT_FALSE(pic.requesting());
  pic.pulse(0);
  EXPECT_EQ(pic.acknowledge(), 0x20);
  pic.out(0x20, 0x20);
  pic.out(0x20, 0x20);
  EXPECT_EQ(pic.acknowledge(), 0x24);
}

TEST(Pic, CascadesTheSecondChipThroughIrq2) {
  Pic pic;
  initialise(pic);
  pic.pulse(12);
  EXPECT_TRUE(pic.requesting());
  EXPECT_EQ(pic.acknowledge(), 0x2C);
  pic.out(0x20, 0x0B);
  pic.out(0xA0, 0x0B);
  EXPECT_EQ(pic.in(0x20), 0x04);
  EXPECT_EQ(pic.in(0xA0), 0x10);
  pic.out(0xA0, 0x64);  // specific EOI
  pic.out(0x20, 0x62);
  EXPECT_EQ(pic.in(0x20), 0);
  EXPECT_EQ(pic.in(0xA0), 0);
}

TEST(Pic, AMaskedRequestIsRemembered) {
  Pic pic;
  initialise(pic);
  pic.out(0x21, 0x10);
  pic.pulse(4);
  EXPECT_FALSE(pic.requesting());
  pic.out(0x21, 0);
  EXPECT_EQ(pic.acknowledge(), 0x24);
}

TEST(Pic, AnAcknowledgeWithoutARequestGivesTheSpuriousVector) {
  Pic pic;
  initialise(pic);
  EXPECT_EQ(pic.acknowledge(), 0x27);
  pic.out(0x20, 0x0B);
  EXPECT_EQ(pic.in(0x20), 0);
}

}  // namespace
}  // namespace zs::machine

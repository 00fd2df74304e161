#include "machine/devices/cmos.h"

#include <gtest/gtest.h>

namespace zs::machine {
namespace {

std::uint8_t read(Cmos& cmos, std::uint8_t index) {
  cmos.out(0x70, index);
  return cmos.in(0x71);
}

TEST(Cmos, TellsTheTimeOfTheVirtualClock) {
  Clock clock;
  Cmos cmos(clock, 512u << 20);
  EXPECT_EQ(read(cmos, 0x04), 0x00);
  clock.advance(kTscHz * (3600 * 13 + 60 * 59 + 8));
  EXPECT_EQ(read(cmos, 0x84), 0x13);
  EXPECT_EQ(read(cmos, 0x02), 0x59);
  EXPECT_EQ(read(cmos, 0x00), 0x08);
}

TEST(Cmos, TellsTheMemory) {
  Clock clock;
  Cmos cmos(clock, 512u << 20);
  EXPECT_EQ(read(cmos, 0x15) | read(cmos, 0x16) << 8, 639);
  EXPECT_EQ(read(cmos, 0x17) | read(cmos, 0x18) << 8, 0xFFFF);
  EXPECT_EQ(read(cmos, 0x34) | read(cmos, 0x35) << 8, (512 - 16) * 16);
}

}  // namespace
}  // namespace zs::machine

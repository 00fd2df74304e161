#include "machine/devices/pit.h"

#include <gtest/gtest.h>

#include "machine/devices/pic.h"

namespace zs::machine {
namespace {

struct PitTest : testing::Test {
  PitTest() { pic.out(0x21, 0xFE); }
  void program(std::uint8_t control, std::uint16_t reload) {
    pit.out(0x43, control);
    pit.out(0x40, static_cast<std::uint8_t>(reload));
    pit.out(0x40, static_cast<std::uint8_t>(reload >> 8));
  }
  Clock clock;
  Pic pic;
  Pit pit{clock, pic};
};

TEST_F(PitTest, CountsWithTheClockAndLatches) {
  program(0x34, 1000);  // counter 0, low then high, mode 2
  clock.advance(kTscHz / kPitHz * 10 + 20);
  pit.out(0x43, 0);
  clock.advance(kTscHz);
  EXPECT_EQ(pit.in(0x40) | pit.in(0x40) << 8, 990);
}

TEST_F(PitTest, InterruptsOnceAPeriodInMode2) {
  program(0x34, 1193);
  const std::uint64_t first = pit.deadline();
  EXPECT_NEAR(static_cast<double>(first), 1193.0 * kTscHz / kPitHz, 1);
  clock.advance(first - 1);
  pit.clock_moved();
  EXPECT_FALSE(pic.requesting());
  clock.advance(1);
  pit.clock_moved();
  EXPECT_EQ(pic.acknowledge(), 0x08);
  EXPECT_GT(pit.deadline(), clock.now());
}

TEST_F(PitTest, InterruptsOnceOnlyInMode0) {
  program(0x30, 100);
  clock.advance(pit.deadline());
  pit.clock_moved();
  EXPECT_TRUE(pic.requesting());
  EXPECT_EQ(pit.deadline(), kNever);
}

TEST_F(PitTest, WillNeverInterruptWhileIrq0IsMasked) {
  pic.out(0x21, 0xFF);
  program(0x34, 1193);
  EXPECT_EQ(pit.deadline(), kNever);
}

TEST_F(PitTest, ReadBackGivesStatusThenCount) {
  program(0x34, 1000);
  pit.out(0x43, 0xC2);
  EXPECT_EQ(pit.in(0x40), 0x80 | 0x34);
  EXPECT_EQ(pit.in(0x40) | pit.in(0x40) << 8, 1000);
}

}  // namespace
}  // namespace zs::machine

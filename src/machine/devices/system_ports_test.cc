#include "machine/devices/system_ports.h"

#include <gtest/gtest.h>

#include "machine/devices/pic.h"
#include "machine/devices/pit.h"

namespace zs::machine {
namespace {

struct Pins : SystemPins {
  void set_a20(bool open) override { a20 = open; }
  void system_management_interrupt() override { ++smis; }
  void pulse_reset() override { ++resets; }
  bool a20 = true;
  int smis = 0, resets = 0;
};

struct SystemPortsTest : testing::Test {
  SystemPortsTest() { ports.add_to(map); }
  Pins pins;
  Clock clock;
  Pic pic;
  Pit pit{clock, pic};
  SystemPorts ports{pins, pit};
  PortMap map;
};

TEST_F(SystemPortsTest, Port92OpensAndClosesA20) {
  map.out(0x92, 1, 0);
  EXPECT_FALSE(pins.a20);
  map.out(0x92, 1, 2);
  EXPECT_TRUE(pins.a20);
  EXPECT_EQ(map.in(0x92, 1), 2u);
  map.out(0x92, 1, 3);
  EXPECT_EQ(pins.resets, 1);
}

TEST_F(SystemPortsTest, TheKeyboardControllerIsEmptyButOpensA20) {
  EXPECT_EQ(map.in(0x64, 1) & 1, 0u);
  map.out(0x64, 1, 0xD1);
  map.out(0x60, 1, 0xDD);
  EXPECT_FALSE(pins.a20);
}

TEST_F(SystemPortsTest, APortB2CommandIsASystemManagementInterrupt) {
  map.out(0xB2, 1, 0x42);
  EXPECT_EQ(pins.smis, 1);
  EXPECT_EQ(map.in(0xB2, 1), 0x42u);
}

TEST_F(SystemPortsTest, Port61ShowsTheRefreshToggleThatDelayLoopsWaitFor) {
  EXPECT_NE(map.in(0x61, 1) & 0x10, map.in(0x61, 1) & 0x10);
}

}  // namespace
}  // namespace zs::machine

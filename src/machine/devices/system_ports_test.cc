#include "machine/devices/system_ports.h"

#include <gtest/gtest.h>

#include <vector>

#include "machine/devices/keyboard_controller.h"
#include "machine/devices/pic.h"
#include "machine/devices/pit.h"

namespace zs::machine {
namespace {

struct Pins : SystemPins {
  bool a20() const override { return open_; }
  void set_a20(bool open) override { open_ = open; }
  void request_irq(unsigned irq) override { irqs += 1 << irq; }
  void system_management_interrupt() override { ++smis; }
  void pulse_reset() override { ++resets; }
  bool open_ = true;
  int smis = 0, resets = 0, irqs = 0;
};

struct SystemPortsTest : testing::Test {
  SystemPortsTest() {
    ports.add_to(map);
    map.add(keyboard, 0x60, 0x60);
    map.add(keyboard, 0x64, 0x64);
  }
  Pins pins;
  Clock clock;
  Pic pic;
  Pit pit{clock, pic};
  SystemPorts ports{pins, pit};
  KeyboardController keyboard{pins};
  PortMap map;
};

TEST_F(SystemPortsTest, Port92OpensAndClosesA20) {
  map.out(0x92, 1, 0);
  EXPECT_FALSE(pins.a20());
  map.out(0x92, 1, 2);
  EXPECT_TRUE(pins.a20());
  EXPECT_EQ(map.in(0x92, 1), 2u);
  map.out(0x92, 1, 3);
  EXPECT_EQ(pins.resets, 1);
}

TEST_F(SystemPortsTest, TheKeyboardControllerIsEmptyButOpensA20) {
  EXPECT_EQ(map.in(0x64, 1) & 1, 0u);
  map.out(0x64, 1, 0xD1);
  map.out(0x60, 1, 0xDD);
  EXPECT_FALSE(pins.a20());
}

TEST_F(SystemPortsTest, TheOutputPortIsReadChangedAndWrittenAsLoadersOpenA20) {
  pins.set_a20(false);
  map.out(0x64, 1, 0xD0);
  ASSERT_EQ(map.in(0x64, 1) & 1, 1u) << "a loader waits for the answer";
  const std::uint32_t output = map.in(0x60, 1);
  EXPECT_EQ(output & 3, 1u);
  map.out(0x64, 1, 0xD1);
  map.out(0x60, 1, output | 2);
  EXPECT_TRUE(pins.a20());
  EXPECT_EQ(map.in(0x64, 1) & 1, 0u);
  EXPECT_EQ(map.in(0x92, 1), 2u) << "one gate, two ways to it";
}

TEST_F(SystemPortsTest, TheKeyboardAnswersCommandsAndInterruptsOnlyIfItMay) {
  const auto ask = [&](std::uint8_t value) {
    map.out(0x60, 1, value);
    std::vector<std::uint32_t> answer;
    while ((map.in(0x64, 1) & 1) != 0) answer.push_back(map.in(0x60, 1));
    return answer;
  };
  EXPECT_EQ(ask(0xFF), (std::vector<std::uint32_t>{0xFA, 0xAA}));
  EXPECT_EQ(pins.irqs, 2 + 2 + 2) << "each byte comes, and the second once more behind the first";
  map.out(0x64, 1, 0x60);
  map.out(0x60, 1, 0x60);  // no IRQ1
  pins.irqs = 0;
  EXPECT_EQ(ask(0xED), (std::vector<std::uint32_t>{0xFA}));
  EXPECT_EQ(ask(0x07), (std::vector<std::uint32_t>{0xFA}));
  EXPECT_EQ(ask(0xF2), (std::vector<std::uint32_t>{0xFA, 0xAB, 0x83}));
  EXPECT_EQ(pins.irqs, 0);
  map.out(0x64, 1, 0xAA);
  EXPECT_EQ(map.in(0x60, 1), 0x55u);
}

TEST_F(SystemPortsTest, APortB2CommandIsASystemManagementInterrupt) {
  map.out(0xB2, 1, 0x42);
  EXPECT_EQ(pins.smis, 1);
  EXPECT_EQ(map.in(0xB2, 1), 0x42u);
}

TEST_F(SystemPortsTest, Port61ShowsTheRefreshToggleThatDelayLoopsWaitFor) {
  pit.out(0x43, 0x54);  // counter 1, low byte, mode 2
  pit.out(0x41, 18);
  const std::uint32_t first = map.in(0x61, 1) & 0x10;
  EXPECT_EQ(map.in(0x61, 1) & 0x10, first);
  clock.advance(kTscHz / kPitHz * 18 + 100);
  EXPECT_NE(map.in(0x61, 1) & 0x10, first);
}

}  // namespace
}  // namespace zs::machine

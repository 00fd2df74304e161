#include "machine/devices/serial_port.h"

#include <gtest/gtest.h>

#include <string>

namespace zs::machine {
namespace {

struct SerialPortTest : testing::Test {
  std::string sent;
  SerialPort port{[this](std::uint8_t byte) { sent += static_cast<char>(byte); }};
};

TEST_F(SerialPortTest, SendsWhatIsWrittenAndIsAlwaysReady) {
  for (const char letter : std::string("ok\n")) {
    EXPECT_EQ(port.in(0x3FD), 0x60);
    port.out(0x3F8, static_cast<std::uint8_t>(letter));
  }
  EXPECT_EQ(sent, "ok\n");
}

TEST_F(SerialPortTest, TheDivisorIsNotSent) {
  port.out(0x3FB, 0x83);
  port.out(0x3F8, 12);
  port.out(0x3F9, 0);
  EXPECT_EQ(port.in(0x3F8), 12);
  port.out(0x3FB, 0x03);
  EXPECT_EQ(sent, "");
}

}  // namespace
}  // namespace zs::machine

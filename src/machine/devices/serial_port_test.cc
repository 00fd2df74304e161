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

// What drivers try before they believe that there is a 16550 (Xen, Linux).
TEST_F(SerialPortTest, OnlyBitsThatExistAreKept) {
  port.out(0x3F9, 0xFF);
  EXPECT_EQ(port.in(0x3F9), 0x0F) << "interrupt enable";
  port.out(0x3FC, 0xFF);
  EXPECT_EQ(port.in(0x3FC), 0x1F) << "modem control";
  port.out(0x3FF, 0xA5);
  EXPECT_EQ(port.in(0x3FF), 0xA5) << "scratch";
}

TEST_F(SerialPortTest, InLoopbackTheModemLinesAreItsOwnAndNothingLeaves) {
  EXPECT_EQ(port.in(0x3FE), 0xB0);
  port.out(0x3FC, 0x1A);  // RTS and OUT2
  EXPECT_EQ(port.in(0x3FE), 0x90) << "as CTS and DCD";
  port.out(0x3FC, 0x15);  // DTR and OUT1
  EXPECT_EQ(port.in(0x3FE), 0x60) << "as DSR and RI";
  port.out(0x3F8, 'x');
  EXPECT_EQ(port.in(0x3FD), 0x61);
  EXPECT_EQ(port.in(0x3F8), 'x');
  EXPECT_EQ(port.in(0x3FD), 0x60);
  EXPECT_EQ(sent, "");
  port.out(0x3FC, 0x0B);
  port.out(0x3F8, 'y');
  EXPECT_EQ(sent, "y");
}

TEST_F(SerialPortTest, FifosThatAreOnShowInTheInterruptId) {
  EXPECT_EQ(port.in(0x3FA), 0x01);
  port.out(0x3FA, 0x07);
  EXPECT_EQ(port.in(0x3FA), 0xC1);
  port.out(0x3FA, 0x00);
  EXPECT_EQ(port.in(0x3FA), 0x01);
}

TEST_F(SerialPortTest, StatusIsNotWritten) {
  port.out(0x3FD, 0xFF);
  port.out(0x3FE, 0xFF);
  EXPECT_EQ(port.in(0x3FD), 0x60);
  EXPECT_EQ(port.in(0x3FE), 0xB0);
}

}  // namespace
}  // namespace zs::machine

#include "machine/devices/serial_port.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "machine/devices/irq_lines.h"

namespace zs::machine {
namespace {

struct SerialPortTest : testing::Test {
  struct Text : SerialSender {
    std::optional<std::uint8_t> next() override {
      if (text.empty()) return std::nullopt;
      const char first = text.front();
      text.erase(0, 1);
      return static_cast<std::uint8_t>(first);
    }
    bool ended() const override { return text.empty(); }
    std::string text;
  };
  struct Irq4 : IrqLines {
    void set_line(unsigned irq, bool up) override {
      EXPECT_EQ(irq, 4u);
      edges += up && !line ? 1 : 0;
      line = up;
    }
    bool enabled(unsigned) const override { return true; }
    bool line = false;
    int edges = 0;
  };
  void let_arrive() {
    clock.advance(port.deadline() - clock.now());
    port.clock_moved();
  }
  std::string sent;
  Clock clock;
  Irq4 irq;
  Text sender;
  SerialPort port{clock, irq, [this](std::uint8_t byte) { sent += static_cast<char>(byte); }, &sender};
};

TEST_F(SerialPortTest, InterruptsWhenTheTransmitterIsEmptyUntilThatWasRead) {
  port.out(0x3F9, 2);
  EXPECT_FALSE(irq.line) << "OUT2 is off";
  port.out(0x3FC, 0x08);
  EXPECT_TRUE(irq.line);
  EXPECT_EQ(port.in(0x3FA), 2);
  EXPECT_FALSE(irq.line);
  EXPECT_EQ(port.in(0x3FA), 1);
  port.out(0x3F8, 'a');
  port.out(0x3F8, 'b');
  EXPECT_EQ(irq.edges, 3) << "an edge for each byte, for who waits for one";
  port.out(0x3F9, 0);
  EXPECT_FALSE(irq.line);
  EXPECT_EQ(sent, "ab");
}

TEST_F(SerialPortTest, ReceivesAByteAfterTheOtherAndInterruptsForEach) {
  port.out(0x3FC, 0x08);
  port.out(0x3F9, 1);
  EXPECT_EQ(port.deadline(), kNever);
  sender.text = "xyz";
  for (const char letter : std::string("xyz")) {
    let_arrive();
    EXPECT_TRUE(irq.line);
    EXPECT_EQ(port.deadline(), kNever) << "the next one waits until this one was read";
    EXPECT_EQ(port.in(0x3FD), 0x61);
    EXPECT_EQ(port.in(0x3FA), 4);
    EXPECT_EQ(port.in(0x3F8), letter);
    EXPECT_FALSE(irq.line);
  }
  EXPECT_EQ(port.deadline(), kNever);
}

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

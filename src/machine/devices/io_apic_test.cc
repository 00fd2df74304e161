#include "machine/devices/io_apic.h"

#include <gtest/gtest.h>

#include "machine/devices/local_apic.h"
#include "machine/devices/pic.h"

namespace zs::machine {
namespace {

struct Pins : CpuPins {
  void interrupt_line(bool) override {}
  void nmi() override { ++nmis; }
  void smi() override {}
  void init() override {}
  unsigned nmis = 0;
};

constexpr std::uint32_t kMasked = 1 << 16, kLevel = 1 << 15, kRemoteIrr = 1 << 14, kLogical = 1 << 11, kNmi = 4 << 8;

struct IoApicTest : testing::Test {
  IoApicTest() {
    local.write(0xF0, 0x1FF);
    local.on_end_of_level([this](std::uint8_t vector) { io.end_of_interrupt(vector); });
  }
  std::uint32_t get(unsigned index) {
    io.write(0, index);
    return io.read(0x10);
  }
  void set(unsigned index, std::uint32_t value) {
    io.write(0, index);
    io.write(0x10, value);
  }
  void set_entry(unsigned pin, std::uint32_t low, std::uint8_t destination = 0) {
    set(0x11 + 2 * pin, std::uint32_t{destination} << 24);
    set(0x10 + 2 * pin, low);
  }
  void pulse(unsigned pin) {
    io.set_line(pin, true);
    io.set_line(pin, false);
  }
  void end_of_interrupt() { local.write(0xB0, 0); }
  Pins pins;
  Clock clock;
  Pic pic;
  LocalApic local{pins, clock, pic};
  IoApic io{local};
};

TEST_F(IoApicTest, DeliversTheEdgesOfAnUnmaskedPinAndLosesThoseOfAMaskedOne) {
  EXPECT_EQ(get(0x14), kMasked);
  pulse(2);
  set_entry(2, 0x62);
  EXPECT_FALSE(local.acknowledge());
  pulse(2);
  EXPECT_EQ(local.acknowledge(), 0x62);
  end_of_interrupt();
  EXPECT_FALSE(local.acknowledge());
  EXPECT_EQ(get(1), 0x00170011u);
}

TEST_F(IoApicTest, ALevelInterruptsAgainAfterItsEndWhileTheLineIsUp) {
  set_entry(9, 0x49 | kLevel);
  io.set_line(9, true);
  EXPECT_EQ(local.acknowledge(), 0x49);
  EXPECT_EQ(get(0x22), 0x49 | kLevel | kRemoteIrr);
  EXPECT_FALSE(local.acknowledge()) << "not before the end of the first";
  end_of_interrupt();
  EXPECT_EQ(local.acknowledge(), 0x49);
  io.set_line(9, false);
  end_of_interrupt();
  EXPECT_EQ(get(0x22), 0x49 | kLevel);
  EXPECT_FALSE(local.acknowledge());
}

TEST_F(IoApicTest, AMaskedLevelComesWhenItIsUnmasked) {
  set_entry(9, 0x49 | kLevel | kMasked);
  io.set_line(9, true);
  EXPECT_FALSE(local.acknowledge());
  set_entry(9, 0x49 | kLevel);
  EXPECT_EQ(local.acknowledge(), 0x49);
}

TEST_F(IoApicTest, SendsToTheDestinationOfTheEntry) {
  local.write(0xD0, 0x02000000);  // logical ID 2
  struct Row {
    std::uint32_t low;
    std::uint8_t destination;
    bool arrives;
  };
  for (const Row& row : {Row{0x55, 0, true}, Row{0x55, 1, false}, Row{0x55, 0xFF, true}, Row{0x55 | kLogical, 2, true},
                         Row{0x55 | kLogical, 4, false}}) {
    set_entry(5, row.low, row.destination);
    pulse(5);
    EXPECT_EQ(local.acknowledge().has_value(), row.arrives) << row.low << " to " << unsigned{row.destination};
    end_of_interrupt();
  }
  set_entry(5, kNmi);
  pulse(5);
  EXPECT_EQ(pins.nmis, 1u);
}

}  // namespace
}  // namespace zs::machine

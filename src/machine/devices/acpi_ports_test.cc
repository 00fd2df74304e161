#include "machine/devices/acpi_ports.h"

#include <gtest/gtest.h>

namespace zs::machine {
namespace {

TEST(AcpiPorts, TurnThePcOffWhereSoftwareSetsSleepEnable) {
  Clock clock;
  unsigned off = 0;
  AcpiPorts ports(clock, [&off] { ++off; });
  ports.out(0x604, 0xFF);
  ports.out(0x605, 0x14);
  EXPECT_EQ(off, 0u) << "the kind of sleep alone";
  ports.out(0x605, 0x34);
  EXPECT_EQ(off, 1u);
  EXPECT_EQ(ports.in(0x604) & 1, 1) << "ACPI is on";
}

TEST(AcpiPorts, EventsNeverComeAndMayBeLetThrough) {
  Clock clock;
  AcpiPorts ports(clock, [] {});
  ports.out(0x602, 0x21);
  ports.out(0x603, 0x01);
  EXPECT_EQ(ports.in(0x600) | ports.in(0x601) << 8, 0);
  EXPECT_EQ(ports.in(0x602) | ports.in(0x603) << 8, 0x121);
}

TEST(AcpiPorts, TheTimerCounts24BitsOfTimeSincePowerUp) {
  Clock clock;
  AcpiPorts ports(clock, [] {});
  std::uint32_t value = 1;
  ASSERT_TRUE(ports.wide_in(0x608, 4, value));
  EXPECT_EQ(value, 0u);
  clock.advance(3 * kTscHz);
  ASSERT_TRUE(ports.wide_in(0x608, 4, value));
  EXPECT_EQ(value, 3 * 3'579'545u);
  EXPECT_EQ(ports.in(0x609), value >> 8 & 0xFF);
  clock.advance(2 * kTscHz);
  ASSERT_TRUE(ports.wide_in(0x608, 4, value));
  EXPECT_EQ(value, 5 * 3'579'545u - (1u << 24));
}

}  // namespace
}  // namespace zs::machine

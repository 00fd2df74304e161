#include "machine/devices/io_apic.h"

#include <gtest/gtest.h>

#include "machine/devices/local_apic.h"
#include "machine/devices/pic.h"

namespace zs::machine {
namespace {

struct Pins : CpuPins {
  void interrupt_line(bool) override {}
  void nmi() override {}
  void smi() override {}
  void init() override {}
};

TEST(IoApic, DeliversAnUnmaskedPin) {
  Pins pins;
  Clock clock;
  Pic pic;
  LocalApic local(pins, clock, pic);
  IoApic io(local);
  local.write(0xF0, 0x1FF);
  io.pulse(2);
  EXPECT_FALSE(local.acknowledge());
  io.write(0, 0x14);
  EXPECT_EQ(io.read(0x10), 0x10000u);
  io.write(0x10, 0x62);
  io.pulse(2);
  EXPECT_EQ(local.acknowledge(), 0x62);
  io.write(0, 1);
  EXPECT_EQ(io.read(0x10), 0x00170011u);
}

}  // namespace
}  // namespace zs::machine

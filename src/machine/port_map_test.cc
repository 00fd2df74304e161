#include "machine/port_map.h"

#include <gtest/gtest.h>

namespace zs::machine {
namespace {

struct Latch : PortDevice {
  std::uint8_t in(std::uint16_t port) override { return static_cast<std::uint8_t>(port); }
  void out(std::uint16_t port, std::uint8_t value) override { last = port * 256u + value; }
  unsigned last = 0;
};

TEST(PortMap, APortWithoutADeviceReadsAsOnes) {
  PortMap map;
  EXPECT_EQ(map.in(0x300, 1), 0xFFu);
  EXPECT_EQ(map.in(0xFFFF, 4), 0xFFFFFFFFu);
  map.out(0x300, 4, 7);
}

TEST(PortMap, SplitsWideAccessesLowByteFirst) {
  Latch latch;
  PortMap map;
  map.add(latch, 0x20, 0x21);
  EXPECT_EQ(map.in(0x20, 4), 0xFFFF2120u);
  map.out(0x20, 2, 0xBBAA);
  EXPECT_EQ(latch.last, 0x21u * 256 + 0xBB);
}

}  // namespace
}  // namespace zs::machine

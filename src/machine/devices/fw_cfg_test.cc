#include "machine/devices/fw_cfg.h"

#include <gtest/gtest.h>

namespace zs::machine {
namespace {

TEST(FwCfg, TellsProcessorsAndMemoryByteByByte) {
  FwCfg device(512u << 20);
  PortMap map;
  map.add(device, 0x510, 0x511);
  map.out(0x510, 2, 5);
  EXPECT_EQ(map.in(0x511, 1), 1u);
  EXPECT_EQ(map.in(0x511, 1), 0u);
  map.out(0x510, 2, 3);
  std::uint64_t size = 0;
  for (unsigned i = 0; i < 8; ++i) size |= std::uint64_t{map.in(0x511, 1)} << 8 * i;
  EXPECT_EQ(size, 512u << 20);
  EXPECT_EQ(map.in(0x511, 1), 0u) << "past the end";
}

TEST(FwCfg, AnUnknownItemReadsAsZeros) {
  FwCfg device(512u << 20);
  device.wide_out(0x510, 2, 0x1234);
  EXPECT_EQ(device.in(0x511), 0);
}

}  // namespace
}  // namespace zs::machine

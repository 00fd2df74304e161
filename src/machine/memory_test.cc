#include "machine/memory.h"

#include <gtest/gtest.h>

#include <array>

namespace zs::machine {
namespace {

TEST(PhysicalMemory, RefusesSizesThatNoPcOfThisKindHas) {
  for (const std::uint64_t bytes : {std::uint64_t{0}, kLeastMemory - 4096, kLeastMemory + 1, kMostMemory + 4096}) {
    EXPECT_FALSE(PhysicalMemory::make(bytes)) << bytes;
  }
  EXPECT_EQ(PhysicalMemory::make(4097).error().message,
            "memory of 4097 bytes: 2 MiB to 3 GiB are possible, in steps of 4 KiB");
}

TEST(PhysicalMemory, HasTheHolesOfAPc) {
  auto memory = PhysicalMemory::make(kLeastMemory);
  ASSERT_TRUE(memory);
  using Kind = PhysicalMemory::Kind;
  EXPECT_EQ(memory->kind(0x9FFFF), Kind::Ram);
  EXPECT_EQ(memory->kind(0xAF000), Kind::Ram);
  EXPECT_EQ(memory->kind(0xB0000), Kind::Nothing);
  EXPECT_EQ(memory->kind(0xB8000), Kind::Ram);
  EXPECT_EQ(memory->kind(0xC0000), Kind::Nothing);
  EXPECT_EQ(memory->kind(0xF0000), Kind::Rom);
  EXPECT_EQ(memory->kind(0x100000), Kind::Ram);
  EXPECT_EQ(memory->kind(kLeastMemory), Kind::Nothing);
  EXPECT_EQ(memory->page(kLeastMemory), nullptr);
}

TEST(PhysicalMemory, CopiesNothingIfAnyByteIsMissing) {
  auto memory = PhysicalMemory::make(kLeastMemory);
  ASSERT_TRUE(memory);
  std::array<std::byte, 8> bytes{};
  bytes.fill(std::byte{0x55});
  EXPECT_FALSE(memory->write(kLeastMemory - 4, bytes));
  EXPECT_FALSE(memory->write(0xB0000 - 4, bytes));
  EXPECT_FALSE(memory->write(~std::uint64_t{0} - 3, bytes));
  EXPECT_EQ(memory->load<std::uint32_t>(0xB0000 - 4), 0u);
  EXPECT_EQ(memory->load<std::uint32_t>(kLeastMemory - 4), 0u);
  EXPECT_TRUE(memory->write(0x1FFC, bytes));
  EXPECT_EQ(memory->load<std::uint64_t>(0x1FFC), 0x5555555555555555u);
}

}  // namespace
}  // namespace zs::machine

#include "machine/boot/linux_kernel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "machine/boot/hand_over.h"
#include "machine/memory.h"

namespace zs::machine {
namespace {

struct LinuxKernel : testing::Test {
  LinuxKernel() : file(3 * 512 + 100) {
    put<std::uint8_t>(0x1F1, 2);
    put<std::uint16_t>(0x1FE, 0xAA55);
    put<std::uint8_t>(0x201, 0x66);
    put<std::uint32_t>(0x202, 0x53726448);
    put<std::uint16_t>(0x206, 0x20F);
    put<std::uint8_t>(0x211, 1);
    put<std::uint32_t>(0x22C, 0x7FFFFFFF);
    put<std::uint32_t>(0x238, 40);
    put<std::uint64_t>(0x258, 0x200000);
    put<std::uint32_t>(0x260, 0x100000);
    put<std::uint32_t>(3 * 512, 0x12345678);
  }
  template <typename T>
  void put(std::size_t at, T value) {
    std::memcpy(file.data() + at, &value, sizeof value);
  }
  Result<LoadedKernel> load(std::string command_line, std::vector<MultibootModule> modules = {}) {
    return load_linux({file, "bzImage", std::move(command_line), std::move(modules)}, memory);
  }
  std::vector<std::byte> file;
  PhysicalMemory memory = *PhysicalMemory::make(8 << 20);
};

TEST_F(LinuxKernel, LiesAtOneMegabyteWithItsParameters) {
  EXPECT_TRUE(is_linux_kernel(file));
  const auto kernel = load("console=ttyS0", {{std::vector<std::byte>(5000, std::byte{7}), "initrd"}});
  ASSERT_TRUE(kernel) << kernel.error().message;
  EXPECT_EQ(memory.load<std::uint32_t>(kernel->entry), 0x12345678u);
  const std::uint64_t page = kernel->parameters;
  EXPECT_EQ(memory.load<std::uint16_t>(page + 0x206), 0x20F) << "the header is a copy";
  EXPECT_EQ(memory.load<std::uint8_t>(page + 0x210), 0xFF);
  EXPECT_EQ(memory.load<std::uint8_t>(memory.load<std::uint32_t>(page + 0x228) + 8), 't');
  EXPECT_EQ(memory.load<std::uint32_t>(page + 0x218), (8u << 20) - 8192);
  EXPECT_EQ(memory.load<std::uint32_t>(page + 0x21C), 5000u);
  EXPECT_EQ(memory.load<std::uint8_t>((8u << 20) - 8192 + 4999), 7);
  EXPECT_EQ(memory.load<std::uint8_t>(page + 0x1E8), 7) << "ranges of the memory map";
  EXPECT_EQ(memory.load<std::uint64_t>(page + 0x2D0 + 3 * 20 + 8), 7u << 20);
  const CpuState state = hand_over_to_kernel(*kernel);
  EXPECT_EQ(state.gpr[kRsi], page);
  EXPECT_EQ(state.segments[kCs].selector, 0x10);
  EXPECT_EQ(state.segments[kDs].selector, 0x18);
}

TEST_F(LinuxKernel, ThatDoesNotFitIsRefusedByName) {
  using testing::HasSubstr;
  EXPECT_THAT(load(std::string(41, 'x')).error().message, HasSubstr("the command line has 41 bytes, 40 are possible"));
  EXPECT_THAT(load("", {{{}, "a"}, {{}, "b"}}).error().message, HasSubstr("one module"));
  EXPECT_THAT(load("", {{std::vector<std::byte>(6 << 20), "disk"}}).error().message, HasSubstr("disk: "));
  put<std::uint32_t>(0x260, 0x10000000);
  EXPECT_THAT(load("").error().message, HasSubstr("do not fit into 8 MiB"));
  put<std::uint16_t>(0x206, 0x202);
  EXPECT_THAT(load("").error().message, HasSubstr("boot protocol 2.02"));
}

}  // namespace
}  // namespace zs::machine

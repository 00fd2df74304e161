#include "machine/boot/acpi_tables.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "machine/memory.h"

namespace zs::machine {
namespace {

struct AcpiTables : testing::Test {
  AcpiTables() { install_acpi_tables(memory); }
  std::vector<std::byte> read(std::uint64_t at, std::size_t bytes) const {
    std::vector<std::byte> into(bytes);
    EXPECT_TRUE(memory.read(at, into));
    return into;
  }
  static unsigned sum(const std::vector<std::byte>& bytes) {
    return std::accumulate(bytes.begin(), bytes.end(), 0u,
                           [](unsigned all, std::byte byte) { return all + std::to_integer<unsigned>(byte); }) &
           0xFF;
  }
  /// A whole table, which adds up to 0.
  std::vector<std::byte> table(std::uint64_t at, const std::string& signature) const {
    auto bytes = read(at, memory.load<std::uint32_t>(at + 4));
    EXPECT_EQ(sum(bytes), 0u) << signature;
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.data()), 4), signature);
    return bytes;
  }
  PhysicalMemory memory = *PhysicalMemory::make(4 << 20);
};

TEST_F(AcpiTables, AreFoundFromTheRootThatSystemsSearchFor) {
  std::uint64_t root = 0;
  for (std::uint64_t at = 0xE0000; at < 0x100000; at += 16) {
    if (memory.load<std::uint64_t>(at) == 0x2052'5450'2044'5352) root = at;  // "RSD PTR "
  }
  ASSERT_NE(root, 0u);
  EXPECT_EQ(sum(read(root, 20)), 0u);
  const auto list = table(memory.load<std::uint32_t>(root + 16), "RSDT");
  ASSERT_EQ(list.size(), 44u);
  const auto fixed = table(value_at<std::uint32_t>(list, 36), "FACP");
  ASSERT_EQ(fixed.size(), 116u);
  EXPECT_EQ(value_at<std::uint32_t>(fixed, 56), 0x600u);
  EXPECT_EQ(value_at<std::uint32_t>(fixed, 64), 0x604u);
  EXPECT_EQ(value_at<std::uint32_t>(fixed, 76), 0x608u);
  EXPECT_EQ(value_at<std::uint32_t>(fixed, 88), 0x0400'0204u) << "lengths of the four";
  EXPECT_EQ(value_at<std::uint32_t>(fixed, 112), 0x75u);
  const auto definitions = table(value_at<std::uint32_t>(fixed, 40), "DSDT");
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(definitions.data()) + 37, 4), "_S5_");
  EXPECT_EQ(value_at<std::uint32_t>(fixed, 36) % 64, 0u);
  EXPECT_EQ(memory.load<std::uint32_t>(value_at<std::uint32_t>(fixed, 36)), 0x53434146u) << "FACS";
  const auto apics = table(value_at<std::uint32_t>(list, 40), "APIC");
  std::string kinds;
  for (std::size_t at = 44; at < apics.size(); at += std::to_integer<std::size_t>(apics[at + 1])) {
    kinds += static_cast<char>('0' + std::to_integer<int>(apics[at]));
  }
  EXPECT_EQ(kinds, "01224");
}

TEST_F(AcpiTables, OfTheMultiProcessorSpecificationNameTheSame) {
  install_mp_tables(memory);
  std::uint64_t pointer = 0;
  for (std::uint64_t at = 0xF0000; at < 0x100000; at += 16) {
    if (memory.load<std::uint32_t>(at) == 0x5F504D5F) pointer = at;  // "_MP_"
  }
  ASSERT_NE(pointer, 0u);
  EXPECT_EQ(sum(read(pointer, 16)), 0u);
  const std::uint64_t at = memory.load<std::uint32_t>(pointer + 4);
  const auto table = read(at, memory.load<std::uint16_t>(at + 4));
  EXPECT_EQ(sum(table), 0u);
  EXPECT_EQ(value_at<std::uint32_t>(table, 0), 0x504D4350u) << "PCMP";
  EXPECT_EQ(value_at<std::uint32_t>(table, 36), 0xFEE00000u);
  std::string kinds;
  for (std::size_t entry = 44; entry < table.size(); entry += kinds.back() == '0' ? 20 : 8) {
    kinds += static_cast<char>('0' + std::to_integer<int>(table[entry]));
  }
  EXPECT_EQ(kinds, "012" + std::string(15, '3') + "44");
  EXPECT_EQ(value_at<std::uint16_t>(table, 34), kinds.size());
  EXPECT_EQ(value_at<std::uint32_t>(table, 76), 0xFEC00000u);
  EXPECT_EQ(std::to_integer<int>(table[80 + 7]), 2) << "IRQ0 leads to pin 2";
}

}  // namespace
}  // namespace zs::machine

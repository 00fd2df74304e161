#include "isa/line_splits.h"

#include <gtest/gtest.h>

namespace zs::isa {
namespace {

TEST(LineSplits, OfAStringAreThoseOfItsElements) {
  for (const std::uint32_t bytes : {1U, 2U, 4U, 8U}) {
    for (std::uint64_t address = 0x10000; address < 0x10000 + 2 * kLineBytes; ++address) {
      for (const std::uint64_t elements : {0U, 1U, 2U, 7U, 8U, 9U, 33U, 500U}) {
        for (const bool down : {false, true}) {
          std::uint64_t splits = 0;
          for (std::uint64_t i = 0; i < elements; ++i)
            splits += crosses_line(down ? address - i * bytes : address + i * bytes, bytes) ? 1 : 0;
          ASSERT_EQ(split_elements(address, bytes, elements, down), splits)
              << address << ' ' << bytes << ' ' << elements;
        }
      }
    }
  }
}

TEST(LineSplits, NoneIsOfAStateArea) {
  EXPECT_FALSE(crosses_line(0x1000, 512));
  EXPECT_TRUE(crosses_line(0x103F, 2));
}

}  // namespace
}  // namespace zs::isa

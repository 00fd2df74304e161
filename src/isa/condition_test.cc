#include "isa/condition.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstddef>

namespace zs::isa {
namespace {

constexpr std::uint64_t kStatus = 0x8D5;  // OF SF ZF AF PF CF

/// What the processor makes of each condition: bit n, of the one with the low nibble n.
unsigned on_the_processor(std::uint64_t flags) {
  unsigned held = 0;
  const auto with = [&](unsigned condition, auto set) {
    std::uint8_t holds = 0;
    const std::uint64_t ah = flags & 0xD5;
    // 7Fh + 1 sets OF, 7Fh + 0 does not; sahf sets the others.
    const auto al = static_cast<std::uint8_t>(flags >> 11 & 1);
    set(static_cast<std::uint16_t>(ah << 8 | al), holds);
    held |= static_cast<unsigned>(holds) << condition;
  };
#define ZS_SET(CONDITION, NAME)                                                              \
  with(CONDITION, [](std::uint16_t ax, std::uint8_t& holds) {                                \
    asm volatile("addb $0x7F, %%al\n sahf\n set" NAME " %0" : "=&q"(holds), "+a"(ax)::"cc"); \
  })
  ZS_SET(0, "o");
  ZS_SET(1, "no");
  ZS_SET(2, "b");
  ZS_SET(3, "ae");
  ZS_SET(4, "e");
  ZS_SET(5, "ne");
  ZS_SET(6, "be");
  ZS_SET(7, "a");
  ZS_SET(8, "s");
  ZS_SET(9, "ns");
  ZS_SET(10, "p");
  ZS_SET(11, "np");
  ZS_SET(12, "l");
  ZS_SET(13, "ge");
  ZS_SET(14, "le");
  ZS_SET(15, "g");
#undef ZS_SET
  return held;
}

TEST(Condition, HoldsAsTheProcessorHasItForAllFlags) {
  for (std::uint64_t flags = 0; flags <= kStatus; ++flags) {
    if ((flags & ~kStatus) != 0) continue;
    const unsigned held = on_the_processor(flags);
    EXPECT_EQ(std::popcount(held), 8) << flags;
    for (unsigned condition = 0; condition < 16; ++condition)
      EXPECT_EQ(holds(static_cast<std::uint8_t>(condition), flags), (held >> condition & 1) != 0)
          << condition << " " << flags;
  }
}

}  // namespace
}  // namespace zs::isa

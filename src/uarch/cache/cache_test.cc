#include "uarch/cache/cache.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "uarch/core_model.h"
#include "uarch/reference/memory_kernels.h"
#include "uarch/reference/plain_parts.h"

namespace zs::uarch {
namespace {

constexpr CacheParameters kCaches[] = {
    {.bytes = 32_KiB, .ways = 8, .load_to_use_cycles = 4, .policy = tree_plru()},
    {.bytes = 48_KiB, .ways = 12, .load_to_use_cycles = 5, .policy = three_plru4()},
    {.bytes = 8_KiB, .ways = 2, .load_to_use_cycles = 5, .policy = lru()},
    {.bytes = 40_KiB, .ways = 20, .load_to_use_cycles = 14, .policy = policy("qlru_h00_m1_r0_u1")},
    {.bytes = 66_KiB, .ways = 11, .load_to_use_cycles = 60, .policy = policy("qlru_h11_m1_r0_u0"), .hashed = true},
    {.bytes = 120_KiB, .ways = 15, .load_to_use_cycles = 60, .policy = srrip(), .hashed = true},
};

TEST(Cache, AgreesWithThePlainOneAtEveryAccess) {
  for (const CacheParameters& parameters : kCaches) {
    Cache<AnyPolicy> fast(parameters);
    PlainCache plain(parameters);
    Random chance(parameters.ways);
    const std::uint64_t lines = parameters.bytes / kLineBytes;
    for (unsigned i = 0; i < 300'000; ++i) {
      const auto line = static_cast<Line>(i / 5000 % 2 == 0 ? chance.below(lines * 5 / 4) : i % (lines + lines / 8));
      const auto slot = fast.find(line);
      const auto expected = plain.find(line);
      ASSERT_EQ(slot != Cache<AnyPolicy>::kNoSlot, expected != PlainCache::kNoSlot) << parameters.ways << " " << i;
      if (expected == PlainCache::kNoSlot) {
        const auto flags = static_cast<LineFlags>(chance.below(8));
        const EvictedLine evicted = fast.insert(line, flags);
        const EvictedLine wanted = plain.insert(line, flags);
        ASSERT_EQ(evicted.line, wanted.line) << i;
        ASSERT_EQ(evicted.flags, wanted.flags) << i;
      } else if (chance.below(50) == 0) {
        fast.remove(slot);
        plain.remove(expected);
      } else {
        ASSERT_EQ(fast.flags(slot), plain.flags(expected)) << i;
        fast.touch(slot);
        plain.touch(expected);
      }
    }
  }
}

TEST(SetIndex, UsesEverySetAndSpreadsLinesEvenly) {
  for (const CoreModel& model : core_models()) {
    const SetIndex index(model.memory.llc);
    EXPECT_EQ(index.sets(), model.memory.llc.sets());
    std::vector<unsigned> lines(index.sets());
    const Line all = index.sets() * 64;
    for (Line line = 0; line < all; ++line) {
      ASSERT_LT(index(line), index.sets());
      ++lines[index(line)];
    }
    for (const unsigned here : lines) {
      EXPECT_GE(here, 32U) << model.name;
      EXPECT_LE(here, 96U) << model.name;
    }
  }
}

TEST(SetIndex, WithoutAHashIsTheLowestBits) {
  const SetIndex index(find_core_model("westmere")->memory.llc);
  EXPECT_EQ(index(0x12345678), 0x12345678U % 4096);
}

}  // namespace
}  // namespace zs::uarch

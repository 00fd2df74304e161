#include "machine/last_level_cache.h"

#include <gtest/gtest.h>

#include "base/units.h"

namespace zs::machine {
namespace {

using arch::CoreSignal;

TEST(LastLevelCache, AWalkOfMoreThanItHoldsMissesAgainAndASmallOneDoesNot) {
  LastLevelCache cache;
  const auto walk = [&cache](std::uint64_t bytes) {
    for (std::uint64_t at = 0; at < bytes; at += 64) cache.access(0x1000'0000 + at);
    return cache.take_signals();
  };
  const auto first = walk(128_KiB), again = walk(128_KiB);
  EXPECT_EQ(first[CoreSignal::LlcMiss], 128_KiB / 128) << "each miss brings a pair";
  EXPECT_EQ(again[CoreSignal::LlcReference], 0u);
  walk(1_MiB);
  const auto in_the_last = walk(1_MiB);
  EXPECT_GT(in_the_last[CoreSignal::LlcReference], 0u);
  EXPECT_EQ(in_the_last[CoreSignal::LlcMiss], 0u);
  walk(8_MiB);
  const auto large = walk(8_MiB);
  EXPECT_EQ(large[CoreSignal::LlcMiss], 8_MiB / 128);
  EXPECT_EQ(large[CoreSignal::LlcReference], 8_MiB / 128);
}

TEST(LastLevelCache, WhatIsFlushedMissesAgain) {
  LastLevelCache cache;
  cache.access(0x5000);
  cache.access(0x5000);
  EXPECT_EQ(cache.take_signals()[CoreSignal::LlcMiss], 1u);
  cache.flush_line(0x5010);
  cache.access(0x5000);
  EXPECT_EQ(cache.take_signals()[CoreSignal::LlcMiss], 1u);
  cache.flush_all();
  cache.access(0x5000);
  EXPECT_EQ(cache.take_signals()[CoreSignal::LlcMiss], 1u);
}

}  // namespace
}  // namespace zs::machine

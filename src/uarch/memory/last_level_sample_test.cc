#include "uarch/memory/last_level_sample.h"

#include <gtest/gtest.h>

#include <random>

#include "uarch/core_model.h"
#include "uarch/memory/memory_system.h"

namespace zs::uarch {
namespace {

MemoryParameters parameters() { return find_core_model("skylake-server@1")->memory; }

/// Line `number` of the class.
constexpr Line of_class(std::uint32_t number) {
  return static_cast<Line>(number * arch::LineSample::kOneIn + arch::LineSample::kClass);
}

TEST(LastLevelSample, LinesOfTheClassKeepTheirClassInPhysicalMemory) {
  for (std::uint64_t address = 0; address < 1 << 14; address += kLineBytes)
    EXPECT_EQ(LastLevelSample::has(line_of(77, address >> kLineBits)), arch::LineSample::has(address)) << address;
}

TEST(LastLevelSample, WhatFitsIsMissedOnce) {
  LastLevelSample sample(parameters(), 1);
  const std::uint32_t lines = 20'000'000 / kLineBytes / arch::LineSample::kOneIn;  // 20 MB of 33
  std::mt19937 random(1);
  for (std::uint32_t i = 0; i < lines; ++i) sample.access(0, of_class(i));
  const std::uint64_t first = sample.llc_misses();
  for (std::uint32_t i = 0; i < 20 * lines; ++i)
    sample.access(0, of_class(static_cast<std::uint32_t>(random() % lines)));
  EXPECT_EQ(first, lines);
  EXPECT_LT(sample.llc_misses() - first, lines / 10U) << "sets are not filled alike";
  EXPECT_GT(sample.l2_misses(), 10U * lines);
}

TEST(LastLevelSample, ALoopThroughMoreThanTheCacheMissesAlways) {
  LastLevelSample sample(parameters(), 1);
  const std::uint32_t lines = 100'000'000 / kLineBytes / arch::LineSample::kOneIn;
  for (int round = 0; round < 4; ++round) {
    for (std::uint32_t i = 0; i < lines; ++i) sample.access(0, of_class(i));
  }
  EXPECT_EQ(sample.llc_misses(), 4U * lines);
  EXPECT_FALSE(sample.judge(of_class(lines / 2) + 3, false)) << "its neighbour came from memory whenever it came";
}

TEST(LastLevelSample, ALineIsWhereItsNeighbourIs) {
  LastLevelSample sample(parameters(), 2);
  sample.access(0, of_class(5));
  EXPECT_FALSE(sample.judge(of_class(5) - 1, false)) << "a sweep that is under way";
  EXPECT_FALSE(sample.in_l2(0, of_class(5) - 1));
  sample.end_stretch();
  sample.end_stretch();
  EXPECT_TRUE(sample.judge(of_class(5) - 1, false)) << "it was used some time ago, and lies there";
  EXPECT_TRUE(sample.in_l2(0, of_class(5) - 1));
  EXPECT_FALSE(sample.in_l2(1, of_class(5) - 1)) << "another core's";
  EXPECT_TRUE(sample.judge(of_class(6), true)) << "of code nobody tells in between";
}

TEST(LastLevelSample, OnesOfWhichNobodyKnowsAreMissedAsOftenAsOthers) {
  LastLevelSample sample(parameters(), 1);
  for (std::uint32_t i = 0; i < 1000; ++i) {  // each second L2 miss comes from memory
    sample.access(0, of_class(i));
    for (std::uint32_t j = 0; j < 40; ++j) sample.access(0, of_class(1'000'000 + 32 * (i + j)));
  }
  int missed = 0;
  for (std::uint32_t i = 0; i < 10'000; ++i) missed += sample.judge(of_class(5'000'000 + i) + 1, false) ? 0 : 1;
  EXPECT_NEAR(missed, 10'000 * sample.miss_ratio(), 2);
}

// The whole memory system: told of units alone, and of the class in between.
TEST(LastLevelSample, UnitsOfARandomWalkMissAsOftenAsAllOfIt) {
  for (const std::uint64_t megabytes : {8U, 64U}) {
    const auto complete = MemorySystem::make(parameters(), {.store_buffer = false});
    const auto sampled = MemorySystem::make(parameters(), {.store_buffer = false, .sampled = true});
    std::mt19937_64 random(7);
    std::uint64_t now = 0;
    constexpr std::uint64_t kAccesses = 3'000'000, kPeriod = 20'000, kUnit = 2'000;
    // Of the second half: at first nothing is there.
    arch::CoreSignals half[2];
    const auto misses = [](MemorySystem& memory, const arch::CoreSignals& before) {
      const auto since = [&](arch::CoreSignal signal) {
        return static_cast<double>(memory.counts(0)[signal] - before[signal]);
      };
      return since(arch::CoreSignal::LlcMiss) / since(arch::CoreSignal::LlcReference);
    };
    for (std::uint64_t i = 0; i < kAccesses; ++i) {
      const std::uint64_t address = 0x10'0000'0000 + random() % (megabytes << 20);
      const Access access{.linear = address, .now = now += 400, .bytes = 1};
      if (i == kAccesses / 2) {
        half[0] = complete->counts(0);
        half[1] = sampled->counts(0);
      }
      complete->other_load(0, access);
      if (i % kPeriod == 0) sampled->skipped(true);
      if (i % kPeriod < kUnit)
        sampled->other_load(0, access);
      else if (arch::LineSample::has(address))
        sampled->accessed(0, address);
    }
    EXPECT_NEAR(misses(*sampled, half[1]), misses(*complete, half[0]), 0.05) << megabytes;
  }
}

}  // namespace
}  // namespace zs::uarch

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
  EXPECT_FALSE(sample.in_llc(of_class(lines / 2), 0));
}

TEST(LastLevelSample, ALineOfTheClassIsWhereItWasBrought) {
  LastLevelSample sample(parameters(), 2);
  sample.access(0, of_class(5));
  EXPECT_TRUE(sample.in_l2(0, of_class(5), 0));
  EXPECT_FALSE(sample.in_l2(1, of_class(5), 0)) << "another core's";
  EXPECT_TRUE(sample.in_llc(of_class(5), 0)) << "that core has it";
}

TEST(LastLevelSample, OtherLinesAreHitsWhileNobodyKnowsAnything) {
  LastLevelSample sample(parameters(), 1);
  for (Line line = 0; line < 100; ++line) {
    if (LastLevelSample::has(line)) continue;
    EXPECT_TRUE(sample.in_l2(0, line, 1));
    EXPECT_TRUE(sample.in_llc(line, 1));
  }
}

TEST(LastLevelSample, ALineThatWasNeverToldOfIsMissingOnlyForInstructionsThatAreToldOf) {
  LastLevelSample sample(parameters(), 1);
  for (std::uint64_t stretch = 0; stretch < arch::kStretchesReportedInFull; ++stretch) sample.end_stretch();
  EXPECT_FALSE(sample.in_l2(0, of_class(2), 10)) << "while everything is told of";
  for (int times = 0; times < 2; ++times) {
    sample.end_stretch();
    sample.askers().note(11);
  }
  EXPECT_TRUE(sample.in_l2(0, of_class(3), 10));
  EXPECT_FALSE(sample.in_l2(0, of_class(2), 11));
}

TEST(LastLevelSample, WhatIsMissingWhileAProgramStartsSaysLittleOfLater) {
  LastLevelSample sample(parameters(), 1);
  for (std::uint32_t i = 0; i < 200; ++i) sample.in_llc(of_class(i), 10);  // nobody has brought any of them
  const auto missed = [&sample] {
    int sum = 0;
    for (Line line = 0; line < 32; ++line) sum += LastLevelSample::has(line) || sample.in_llc(line, 10) ? 0 : 1;
    return sum;
  };
  EXPECT_GT(missed(), 25);
  for (int stretch = 0; stretch < 12; ++stretch) sample.end_stretch();
  EXPECT_LT(missed(), 3);
}

TEST(LastLevelSample, OtherLinesAreMissedAsOftenAsTheInstructionMissesLinesOfTheClass) {
  LastLevelSample sample(parameters(), 1);
  sample.access(0, of_class(1));
  for (std::uint32_t i = 0; i < 100; ++i) sample.access(0, of_class(2 + 32 * i));  // more than a set holds
  for (std::uint32_t i = 0; i < 1000; ++i) {
    sample.in_l2(0, of_class(1), 10);                   // never misses
    sample.in_l2(0, of_class(i % 4 == 0 ? 2 : 1), 11);  // each fourth time
  }
  int missed[3] = {};
  for (std::uint32_t i = 0; i < 9000; ++i)
    missed[i % 3] += sample.in_l2(0, of_class(5'000 + i) + 1, 10 + i % 3) ? 0 : 1;
  EXPECT_LT(missed[0], 30);
  EXPECT_NEAR(missed[1], 750, 30);
  EXPECT_NEAR(missed[2], 375, 30) << "of which nobody knows: as often as all";
}

// The whole memory system: told of units alone, and of the class in between.
TEST(LastLevelSample, UnitsOfARandomWalkMissAsOftenAsAllOfIt) {
  for (const std::uint64_t megabytes : {8U, 64U}) {
    const auto complete = MemorySystem::make(parameters(), {});
    const auto sampled = MemorySystem::make(parameters(), {.sampled = true});
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

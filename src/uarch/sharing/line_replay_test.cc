#include "uarch/sharing/line_replay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "uarch/coherence/sharing_log.h"
#include "uarch/core_model.h"
#include "uarch/memory/memory_system.h"

namespace zs::uarch {
namespace {

constexpr std::uint64_t kShared = 0x2000'0000;

const MemoryParameters& skylake() { return find_core_model("skylake-server")->memory; }

struct Operation {
  std::uint8_t access = kReads;
  std::uint64_t offset = 0;  // in the line, or beyond it
  std::uint32_t work = 5;    // cycles before the next one
};
using Thread = std::function<Operation(std::uint64_t i)>;

/// What threads do to a line, each `times` operations on a core of its own, as the log has it.
std::vector<LineLog> logged(const std::vector<Thread>& threads, std::uint64_t times) {
  SharingLog log;
  const auto memory = MemorySystem::make(skylake(), {.cores = static_cast<unsigned>(threads.size()), .sharing = &log});
  std::vector<std::uint64_t> clocks(threads.size(), 0), done(threads.size(), 0);
  for (unsigned core = 0; core < threads.size(); ++core) log.set_thread(core, static_cast<std::uint16_t>(core));
  for (;;) {
    std::size_t next = threads.size();
    for (std::size_t core = 0; core < threads.size(); ++core) {
      if (done[core] < times && (next == threads.size() || clocks[core] < clocks[next])) next = core;
    }
    if (next == threads.size()) return log.lines();
    const auto core = static_cast<unsigned>(next);
    const Operation operation = threads[next](done[next]++);
    const Access access{.linear = kShared + operation.offset,
                        .now = clocks[next],
                        .bytes = 8,
                        .instruction = static_cast<std::uint32_t>(0x1000 * (core + 1) + operation.offset),
                        .earliest = clocks[next]};
    if ((operation.access & kLocks) != 0) {
      clocks[next] += memory->locked(core, access).latency;
    } else if (operation.access == kReads) {
      clocks[next] += memory->load(core, access).latency;
    } else {
      clocks[next] += memory->store(core, access).waited;
    }
    clocks[next] += operation.work;
  }
}

std::uint64_t hand_overs(const std::vector<LineLog>& lines) {
  std::uint64_t sum = 0;
  for (const LineLog& line : lines) sum += line.hand_overs;
  return sum;
}

/// Bytes from `first` on lie in the second line.
LineLayout cut_at(std::uint64_t first) {
  LineLayout layout{};
  std::fill(layout.begin() + static_cast<std::ptrdiff_t>(first), layout.end(), std::uint8_t{1});
  return layout;
}

Operation writes(std::uint64_t) { return {.access = kWrites, .offset = 0, .work = 20}; }
Operation reads(std::uint64_t) { return {.access = kReads, .offset = 16, .work = 5}; }

TEST(LineReplay, TheSameLayoutGivesWhatWasRecorded) {
  const auto lines = logged({writes, reads}, 50'000);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_GT(lines[0].hand_overs, 1000U);
  const auto again = static_cast<double>(replay(lines[0], LineLayout{}, skylake()).hand_overs);
  EXPECT_NEAR(again, static_cast<double>(lines[0].hand_overs), 0.1 * again);
}

TEST(LineReplay, FieldsOfDifferentThreadsApartAreNotHandedOver) {
  const auto lines = logged({writes, reads}, 50'000);
  EXPECT_EQ(replay(lines.at(0), cut_at(8), skylake()), SharingCounts{});
  EXPECT_EQ(predicted(lines.at(0), cut_at(8), skylake()), SharingCounts{});
}

TEST(LineReplay, ALayoutThatLeavesThemTogetherChangesNothing) {
  const auto lines = logged({writes, reads}, 50'000);
  EXPECT_EQ(predicted(lines.at(0), cut_at(32), skylake()).hand_overs, lines.at(0).hand_overs);
}

// Two threads mean the first word; a third reads the one beside it.
TEST(LineReplay, WhatIsLeftOfAMixedLineIsWhatThePaddedProgramDoes) {
  const auto takes = [](std::uint64_t) {
    return Operation{.access = kReads | kWrites | kLocks, .offset = 0, .work = 700};
  };
  const auto looks = [](std::uint64_t offset) {
    return [offset](std::uint64_t) { return Operation{.access = kReads, .offset = offset, .work = 50}; };
  };
  const auto together = logged({takes, takes, looks(16)}, 20'000);
  const auto apart = logged({takes, takes, looks(16 + 256)}, 20'000);
  const auto left = static_cast<double>(predicted(together.at(0), cut_at(8), skylake()).hand_overs);
  EXPECT_LT(left, 0.95 * static_cast<double>(together.at(0).hand_overs));
  EXPECT_NEAR(left, static_cast<double>(hand_overs(apart)), 0.05 * left);
}

}  // namespace
}  // namespace zs::uarch

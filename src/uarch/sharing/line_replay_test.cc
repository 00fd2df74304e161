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

std::uint64_t hitm(const std::vector<LineLog>& lines) {
  std::uint64_t sum = 0;
  for (const LineLog& line : lines) sum += line.hitm;
  return sum;
}

/// Bytes of a line, or of one line for each 16 of them.
std::uint64_t place(std::uint64_t offset, bool apart) { return apart ? offset * 16 : offset; }

/// Each 16 bytes in a line of their own.
LineLayout each_apart() {
  LineLayout layout{};
  for (std::size_t byte = 0; byte < layout.size(); ++byte) layout[byte] = static_cast<std::uint8_t>(byte / 16);
  return layout;
}

/// Writes all the time, as fast as the store buffer takes it.
Thread counts_at(std::uint64_t offset, bool apart) {
  return [=](std::uint64_t) { return Operation{.access = kWrites, .offset = place(offset, apart), .work = 1}; };
}

// A thread whose store waits for the line has others behind it in the store buffer; what it does then is not work.
TEST(LineReplay, AFullStoreBufferIsNotTakenForWork) {
  const auto lines = logged({counts_at(0, false), counts_at(16, false)}, 50'000);
  const auto again = static_cast<double>(replay(lines.at(0), LineLayout{}, skylake()).hand_overs);
  EXPECT_NEAR(again, static_cast<double>(lines.at(0).hand_overs), 0.1 * again);
}

// Two threads count, a third one reads the sums when all is over: in lines of their own that is one HITM for each,
// however often the line they were in changed hands for each time that the replay has.
TEST(LineReplay, WhatComesOnceIsCountedAndNotScaled) {
  const auto program = [](bool apart) {
    constexpr std::uint64_t kTimes = 20'000;
    constexpr std::uint32_t kLong = 500'000;
    const Thread sums = [=](std::uint64_t i) -> Operation {
      if (i + 2 >= kTimes) return {.offset = place(i + 2 == kTimes ? 0 : 16, apart)};
      return {.offset = 8192, .work = i == 0 ? kLong : 1U};
    };
    return logged({counts_at(0, apart), counts_at(16, apart), sums}, kTimes);
  };
  const auto together = program(false), apart = program(true);
  EXPECT_GT(together.at(0).hand_overs, 200U);
  EXPECT_EQ(hitm(apart), 2U);
  EXPECT_EQ(predicted(together.at(0), each_apart(), skylake()).hitm, hitm(apart));
  EXPECT_EQ(predicted(together.at(0), each_apart(), skylake()).hand_overs, hand_overs(apart));
}

// One thread makes what the others take: that was before anybody fought over the line, and the log begins behind it.
TEST(LineReplay, WhoHadTheLineBeforeHadTheNewOnesToo) {
  const auto program = [](bool apart) {
    constexpr std::uint64_t kTimes = 20'000;
    constexpr std::uint32_t kLong = 500'000;
    const auto works_at = [=](std::uint64_t offset) -> Thread {
      return [=](std::uint64_t i) -> Operation {
        if (i == 0) return {.offset = 4096 + place(offset, true), .work = 10'000};
        return {.access = i == 1 ? kReads : kWrites, .offset = place(offset, apart), .work = 1};
      };
    };
    const Thread makes = [=](std::uint64_t i) -> Operation {
      if (i < 2) return {.access = kWrites, .offset = place(16 * i, apart), .work = i == 0 ? 1U : kLong};
      return {.offset = i + 2 >= kTimes ? place(i + 2 == kTimes ? 0 : 16, apart) : 8192, .work = 1};
    };
    return logged({works_at(0), works_at(16), makes}, kTimes);
  };
  const auto together = program(false), apart = program(true);
  EXPECT_EQ(together.at(0).first_holder, 2U);
  EXPECT_TRUE(together.at(0).first_owned);
  EXPECT_EQ(hitm(apart), 4U);
  EXPECT_EQ(predicted(together.at(0), each_apart(), skylake()).hitm, hitm(apart));
}

}  // namespace
}  // namespace zs::uarch

// One simulator on a core of its own, told of paths that are a few instructions long: in which way it simulates their
// runs, how blocks go on from one path to the next, and what it tells of single instructions.
#include "uarch/replay/thread_replay.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "uarch/cache/line.h"
#include "uarch/cache/way_hints.h"
#include "uarch/core_model.h"
#include "uarch/reference/synthetic_workload.h"
#include "uarch/reference/test_host.h"
#include "uarch/replay/quantum_scheduler.h"

namespace zs::uarch {
namespace {

using arch::CoreSignal;

constexpr std::uint64_t kThreadData = 0x10'0000'0000;

const kernels::Bytes kLoadAndJump = {0x48, 0x8B, 0x07, 0xEB, 0xFB};        // mov rax, [rdi]; jmp
const kernels::Bytes kLoadsAndJump = {0x48, 0x8B, 0x07, 0x48, 0x8B, 0x1E,  // mov rax, [rdi]; mov rbx, [rsi]
                                      0xEB, 0xF8};                         // jmp
const kernels::Bytes kLockAndJump = {0xF0, 0x48, 0xFF, 0x00, 0xEB, 0xFA};  // lock inc qword [rax]; jmp

/// What a ModelledMachine is made of, with its parts at hand.
class ThreadReplayTest : public testing::Test {
 protected:
  void make(std::size_t code_bytes, std::size_t threads = 1, std::uint64_t quantum = 0, unsigned cores = 1) {
    for (unsigned core = 0; core < cores; ++core)
      cores_.push_back(std::make_unique<ReplayCore>(model_, core, code_bytes));
    memory_ = MemorySystem::make(model_.memory, {.cores = cores});
    scheduler_ = std::make_unique<QuantumScheduler>(cores_, quantum);
    for (std::size_t i = 0; i < threads; ++i)
      players_.push_back(
          std::make_unique<ThreadReplay>(model_, book_, *memory_, *cores_[i % cores], *scheduler_, i, 1));
  }
  void TearDown() override { players_.clear(); }

  ThreadReplay& simulator(std::size_t number = 0) { return *players_[number]; }
  SimulationWork work() const { return cores_[0]->work_so_far(); }

  /// Describes code from its first to its last instruction; a branch at its end is taken, to the first.
  void describe(std::uint32_t path, const kernels::Bytes& code, std::uint64_t pc = kernels::kCode) {
    std::vector<arch::PathInstruction> instructions;
    std::vector<arch::PathAccess> accesses;
    for (const Executed& one : Round(code, 0, pc).executed(0, [](auto, auto) { return 0; })) {
      for (arch::PathAccess access : one.accesses) {
        access.instruction = static_cast<std::uint16_t>(instructions.size());
        access.address.base = static_cast<std::uint8_t>(accesses.size());
        accesses.push_back(access);
      }
      instructions.push_back(one.instruction);
    }
    simulator().describe(path, {instructions, accesses});
  }
  /// A batch of so many runs of the path, all with these addresses.
  void run(std::uint32_t path, std::size_t times, const std::vector<std::uint64_t>& addresses, std::size_t thread = 0) {
    const std::vector<arch::PathRun> runs(times, {.path = path});
    simulator(thread).run(runs, {.slots = addresses.data(), .listed = {}});
  }
  std::uint64_t count(CoreSignal signal, std::size_t thread = 0) { return simulator(thread).signals()[signal]; }

  static constexpr std::size_t kRoom = std::size_t{1} << 20;

  const CoreModel& model_ = *find_core_model("skylake-server");
  CodeBook book_{model_, 0};
  std::unique_ptr<MemorySystem> memory_;
  std::vector<std::unique_ptr<ReplayCore>> cores_;
  std::unique_ptr<QuantumScheduler> scheduler_;
  std::vector<std::unique_ptr<ThreadReplay>> players_;
};

TEST_F(ThreadReplayTest, CodeIsNewUntilSomethingIsSkippedAndKnownForGood) {
  using enum arch::CodeAge;
  make(kRoom, 2);
  EXPECT_EQ(simulator().age_of_code(kernels::kCode), Unknown);
  describe(0, kLoadAndJump);
  EXPECT_EQ(simulator(1).age_of_code(kernels::kCode | 63), New) << "of any byte of its line, and to any thread";
  simulator().skipped(false);
  describe(0, kLoadAndJump);
  EXPECT_EQ(simulator().age_of_code(kernels::kCode), Old);
  simulator().forget_paths();
  EXPECT_EQ(simulator().age_of_code(kernels::kCode), Old);
  EXPECT_EQ(simulator().age_of_code(kernels::kCode + 64), Unknown);
}

// Step by step are replayed: the first run of a path, of which nothing is known before, and the last of each batch,
// because somebody may ask what became of its instruction.

TEST_F(ThreadReplayTest, RunsCodeAfterTwelveRunsByHand) {
  if (const std::string missing = missing_for_code(); !missing.empty()) GTEST_SKIP() << missing;
  make(kRoom);
  describe(0, kLoadAndJump);
  run(0, 100, {kThreadData});
  EXPECT_EQ(work().by_block, 12U);
  EXPECT_EQ(work().by_code, 86U);
  EXPECT_EQ(work().by_step, 2U);
  EXPECT_EQ(count(CoreSignal::Loads), 100U);
}

TEST_F(ThreadReplayTest, PlaysWholeBlocksWithoutRoomForCode) {
  make(0);
  describe(0, kLoadAndJump);
  run(0, 100, {kThreadData});
  EXPECT_EQ(work().by_block, 98U);
  EXPECT_EQ(work().by_code, 0U);
  EXPECT_EQ(work().by_step, 2U);
}

TEST_F(ThreadReplayTest, StepsThroughALockedInstruction) {
  make(kRoom);
  describe(0, kLockAndJump);
  run(0, 100, {kThreadData, kThreadData});
  EXPECT_EQ(work().by_step, 100U);
  EXPECT_EQ(count(CoreSignal::LockedLoads), 100U);
}

TEST_F(ThreadReplayTest, IsAskedOfEachLoadThatMissesAndOfNoneThatHits) {
  if (const std::string missing = missing_for_code(); !missing.empty()) GTEST_SKIP() << missing;
  make(kRoom);
  describe(0, kLoadAndJump);
  run(0, 5000, {kThreadData});  // until the line has arrived
  const std::uint64_t before = work().callouts;
  run(0, 100, {kThreadData});
  EXPECT_EQ(work().callouts, before);
  for (std::uint64_t line = 1; line <= 50; ++line) run(0, 2, {kThreadData + line * 4096 * 3});
  EXPECT_GE(work().callouts, before + 50);
}

/// MemorySystem::early_load(): two lines that take turns at one place in the table of way hints, one of them at a time
/// in it.
TEST_F(ThreadReplayTest, IsNotAskedOfALoadThatHitsALineWhichIsNotHot) {
  if (const std::string missing = missing_for_code(); !missing.empty()) GTEST_SKIP() << missing;
  make(kRoom);
  describe(0, kLoadsAndJump);
  const std::vector<std::uint64_t> addresses = {kThreadData, kThreadData + WayHints::kEntries * kLineBytes};
  run(0, 5000, addresses);  // until both lines have arrived
  const std::uint64_t before = work().callouts;
  run(0, 100, addresses);
  EXPECT_EQ(work().callouts, before);
  EXPECT_EQ(count(CoreSignal::Loads), 2 * 5100U);
}

TEST_F(ThreadReplayTest, HasCodeForAPathThatIsDescribedAgainUnderAnotherNumber) {
  if (const std::string missing = missing_for_code(); !missing.empty()) GTEST_SKIP() << missing;
  make(kRoom);
  describe(0, kLoadAndJump);
  run(0, 100, {kThreadData});
  const SimulationWork before = work();
  describe(7, kLoadAndJump);
  run(7, 100, {kThreadData});
  EXPECT_EQ(work().by_block - before.by_block, 1U);
  EXPECT_EQ(work().by_code - before.by_code, 98U);
}

TEST_F(ThreadReplayTest, PlaysTheNewPathWhereItsNumberIsTakenAgain) {
  make(kRoom);
  describe(0, kLoadAndJump);
  run(0, 50, {kThreadData});
  describe(0, kLoadsAndJump);
  run(0, 50, {kThreadData, kThreadData + 8});
  EXPECT_EQ(count(CoreSignal::Loads), 150U);
}

TEST_F(ThreadReplayTest, GoesOnWithABlockThatThePathBeforeLeftOpen) {
  make(kRoom);
  describe(0, {0x90});                               // nop: no branch, so the block goes on
  describe(1, kLoadAndJump, kernels::kCode + 1);     // behind it
  describe(2, kLoadAndJump, kernels::kCode + 0x80);  // elsewhere
  run(0, 1, {kThreadData});
  ASSERT_NE(simulator().open(), nullptr);
  EXPECT_EQ(simulator().open()->instructions, 1U);
  run(1, 1, {kThreadData});
  EXPECT_TRUE(simulator().between_blocks());
  run(0, 1, {kThreadData});
  EXPECT_FALSE(simulator().between_blocks());
  run(2, 1, {kThreadData});  // the open block ends where it is
  EXPECT_TRUE(simulator().between_blocks());
  EXPECT_EQ(count(CoreSignal::Loads), 2U);
}

TEST_F(ThreadReplayTest, EndsItsBlockAndKeepsItsCountsWhenAnotherTakesTheCore) {
  make(kRoom, 2);
  describe(0, {0x90});
  describe(1, kLoadAndJump, kernels::kCode + 0x100);
  run(1, 3, {kThreadData});
  run(0, 1, {kThreadData});
  EXPECT_FALSE(simulator(0).between_blocks());
  run(1, 5, {kThreadData}, 1);
  EXPECT_TRUE(simulator(0).between_blocks());
  EXPECT_EQ(count(CoreSignal::Loads, 0), 3U);
  EXPECT_EQ(count(CoreSignal::Loads, 1), 5U);
}

TEST_F(ThreadReplayTest, BeginsNoBlockBeforeTheCycleThatItWaitsFor) {
  make(kRoom);
  describe(0, kLoadAndJump);
  run(0, 10, {kThreadData});
  const std::uint64_t cycle = simulator().played_until() + 100'000;
  simulator().wait_until(cycle);
  EXPECT_EQ(simulator().played_until(), cycle);
  run(0, 1, {kThreadData});
  EXPECT_GE(simulator().played_until(), cycle);
}

TEST_F(ThreadReplayTest, RemembersWhichTakenBranchesWereMispredicted) {
  make(kRoom);
  const std::uint64_t pc = kernels::kCode + 3;  // of the jump
  describe(0, kLoadAndJump);
  run(0, 20, {kThreadData});
  EXPECT_FALSE(simulator().was_mispredicted(0, pc));  // nobody asked for it
  simulator().remember_branches();
  const SimulationWork before = work();
  kernels::Bytes conditional = kLoadAndJump;
  conditional[3] = 0x75;  // jne
  describe(1, conditional, kernels::kCode + 0x200);
  run(1, 1, {kThreadData});  // taken for the first time
  EXPECT_TRUE(simulator().last_mispredicted());
  EXPECT_TRUE(simulator().was_mispredicted(0, kernels::kCode + 0x203));
  EXPECT_FALSE(simulator().was_mispredicted(0, pc));
  run(0, 30, {kThreadData});
  EXPECT_FALSE(simulator().was_mispredicted(0, pc));
  EXPECT_TRUE(simulator().was_mispredicted(30, kernels::kCode + 0x203));
  EXPECT_EQ(work().by_step - before.by_step, 31U);  // code remembers nothing
}

TEST_F(ThreadReplayTest, TellsOfTheLastRunsLoadAndOfNoEarlierOne) {
  make(kRoom);
  describe(0, {0x48, 0x8B, 0x07});  // mov rax, [rdi]
  describe(1, {0x90}, kernels::kCode + 3);
  run(0, 1, {kThreadData});
  EXPECT_TRUE(simulator().last_load().present);
  EXPECT_EQ(simulator().last_load().source.level, arch::DataLevel::Dram);
  EXPECT_FALSE(simulator().last_store().present);
  run(1, 1, {kThreadData});
  EXPECT_FALSE(simulator().last_load().present);
}

/// Writes down what it is told.
class Notes final : public arch::RunWatcher {
 public:
  void finished(std::size_t run, std::size_t instruction) override { told.emplace_back(run, instruction); }
  std::vector<std::pair<std::size_t, std::size_t>> told;
};

TEST_F(ThreadReplayTest, TellsAWatcherOfTheInstructionThatMissedAlone) {
  make(kRoom);
  describe(0, kLoadsAndJump);
  run(0, 100, {kThreadData, kThreadData + 8});
  const std::vector<arch::PathRun> runs{{.path = 0, .slots = 0}, {.path = 0, .slots = 2}, {.path = 0, .slots = 0}};
  const std::vector<std::uint64_t> addresses{kThreadData, kThreadData + 8, kThreadData, kThreadData + 0x20'0000};
  arch::SignalSet dram;
  dram.set(static_cast<std::size_t>(CoreSignal::LoadDram));
  Notes notes;
  const SimulationWork before = work();
  ASSERT_TRUE(simulator().run_watched(runs, {.slots = addresses.data(), .listed = {}}, dram, notes));
  EXPECT_EQ(notes.told, (std::vector<std::pair<std::size_t, std::size_t>>{{1, 1}}));
  if (missing_for_code().empty()) {
    EXPECT_EQ(work().by_code - before.by_code, 3U);
  }
}

TEST_F(ThreadReplayTest, IsWatchedBehindWhatWaitsForOtherCores) {
  make(kRoom, 2, 1000, 2);
  describe(0, kLoadAndJump);
  run(0, 1, {kThreadData});
  const std::vector<arch::PathRun> runs{{.path = 0}};
  const std::uint64_t address = kThreadData + 0x20'0000;
  arch::SignalSet dram;
  dram.set(static_cast<std::size_t>(CoreSignal::LoadDram));
  Notes notes;
  EXPECT_TRUE(simulator().run_watched(runs, {.slots = &address, .listed = {}}, dram, notes));
  EXPECT_EQ(notes.told, (std::vector<std::pair<std::size_t, std::size_t>>{{0, 0}}));
  EXPECT_EQ(simulator().signals()[CoreSignal::LoadDram], 2U);
}

TEST_F(ThreadReplayTest, WaitsForTheOtherCoreAndThenRunsCode) {
  if (const std::string missing = missing_for_code(); !missing.empty()) GTEST_SKIP() << missing;
  make(kRoom, 2, 1000, 2);
  describe(0, kLoadAndJump);
  run(0, 1000, {kThreadData});
  EXPECT_TRUE(simulator().lags());
  EXPECT_EQ(count(CoreSignal::Loads), 0U);
  simulator().play_on();
  EXPECT_FALSE(simulator().lags());
  EXPECT_EQ(count(CoreSignal::Loads), 1000U);
  EXPECT_GT(work().by_code, 900U);  // nobody else has anything to do
}

TEST_F(ThreadReplayTest, LosesTranslationsOfWhatIsUnmapped) {
  make(kRoom);
  describe(0, kLoadAndJump);
  run(0, 100, {kThreadData});
  const std::uint64_t walks = count(CoreSignal::DtlbLoadWalk);
  run(0, 100, {kThreadData});
  EXPECT_EQ(count(CoreSignal::DtlbLoadWalk), walks);
  simulator().unmapped(kThreadData, kThreadData + 4096);
  run(0, 100, {kThreadData});
  EXPECT_EQ(count(CoreSignal::DtlbLoadWalk), walks + 1);
}

}  // namespace
}  // namespace zs::uarch

// Paths as code give what the same paths give by hand.
#include "uarch/replay/replay_code.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "uarch/chance.h"
#include "uarch/core_model.h"
#include "uarch/reference/synthetic_workload.h"
#include "uarch/reference/test_host.h"
#include "uarch/reference/test_names.h"
#include "uarch/replay/modelled_machine.h"

namespace zs::uarch {
namespace {

class EveryPathCode : public testing::TestWithParam<CoreModel> {
 protected:
  void SetUp() override {
    if (const std::string missing = missing_for_code(); !missing.empty()) GTEST_SKIP() << missing;
  }
  static CoreModel model() { return GetParam(); }

  /// The made-up program on a machine with so much room for code, and on one with none.
  /// returns how the first has simulated it
  static SimulationWork compare(const CoreModel& model, std::size_t code_bytes, PathEnds path_ends, bool mild,
                                std::uint64_t seed, bool tags_loads = false) {
    const SyntheticWorkload program(seed, 300, false, mild);
    const auto stream = program.run(100'000, seed + 20);
    ModelledMachine machine(model, {.code_bytes = code_bytes}), by_hand_machine(model, {.code_bytes = 0});
    const auto thread = machine.attach_thread();
    const auto by_hand = by_hand_machine.attach_thread();
    if (tags_loads) {
      for (arch::CoreFeed* feed : {thread.get(), by_hand.get()}) feed->set_latency_threshold(3);
    }
    Runner runner(*thread), by_hand_runner(*by_hand);
    std::size_t runs = 0;
    for (std::size_t at = 0; at < stream.size(); at += 700) {
      const auto part = std::span(stream).subspan(at, std::min<std::size_t>(700, stream.size() - at));
      runner.run(part, {.path_ends = path_ends});
      by_hand_runner.run(part, {.path_ends = path_ends});
      runs += runner.runs();
      for (std::size_t i = 0; i < arch::kCoreSignals; ++i) {
        EXPECT_EQ(thread->signals().counts[i], by_hand->signals().counts[i]) << "signal " << i << ", " << at;
      }
      if (HasFailure()) return {};
      if (at % 14'000 == 0) {  // a page of code and a page of data are mapped anew
        for (const std::uint64_t page : {part.front().instruction.pc >> 12 << 12, std::uint64_t{0x7000'0000}}) {
          thread->unmapped(page, page + 4096);
          by_hand->unmapped(page, page + 4096);
        }
      }
    }
    EXPECT_GT(thread->signals()[arch::CoreSignal::LoadL1Hit], 1000U);
    EXPECT_GT(thread->signals()[arch::CoreSignal::MispredictedTaken], 50U);
    EXPECT_GT(thread->signals()[arch::CoreSignal::ForwardedLoads], 50U);
    EXPECT_TRUE(!tags_loads || thread->signals()[arch::CoreSignal::LatencyLoads] > 100);
    const SimulationWork work = machine.work(), hand_work = by_hand_machine.work();
    EXPECT_EQ(hand_work.by_code, 0U);
    EXPECT_EQ(work.by_code + work.by_block + work.by_step, runs);
    EXPECT_EQ(hand_work.by_block + hand_work.by_step, runs);
    if (mild && path_ends == PathEnds::AtBranches) {
      EXPECT_LT(work.callouts, std::max(work.by_code, work.by_block)) << "an access in three or four";
    }
    return work;
  }
};

TEST_P(EveryPathCode, GivesWhatPathsByHandGive) {
  for (const PathEnds path_ends : {PathEnds::AtBranches, PathEnds::AtIndirect}) {
    for (const bool mild : {true, false}) {
      const SimulationWork work = compare(model(), MachineOptions{}.code_bytes, path_ends, mild, mild ? 1 : 2);
      EXPECT_GT(work.by_code, path_ends == PathEnds::AtBranches ? 10'000U : 500U) << mild;
      EXPECT_EQ(work.code_resets, 0U);
    }
  }
}

/// The load-latency facility passes over most loads, and code need not ask whether it does.
TEST_P(EveryPathCode, PlaysLoadsThatAreNotTagged) {
  const SimulationWork work = compare(model(), MachineOptions{}.code_bytes, PathEnds::AtBranches, true, 1, true);
  EXPECT_GT(work.by_code, 10'000U);
}

TEST_P(EveryPathCode, BeginsAgainWhereItsRoomIsFull) {
  const SimulationWork work = compare(model(), std::size_t{24} << 10, PathEnds::AtBranches, true, 3);
  EXPECT_GT(work.by_code, 2500U);
  EXPECT_GE(work.code_resets, 4U);
}

TEST_P(EveryPathCode, GivesTheSameWhereDataThrowsOutCode) {
  CoreModel small = model();
  small.memory.l2.bytes /= 16;
  small.memory.llc.bytes /= 64;
  const SimulationWork work = compare(small, MachineOptions{}.code_bytes, PathEnds::AtBranches, true, 4);
  EXPECT_GT(work.by_code, 10'000U);
}

INSTANTIATE_TEST_SUITE_P(Rows, EveryPathCode, testing::ValuesIn(core_models()),
                         [](const auto& row) { return test_name(row.param); });

/// Addresses of all kinds that code makes, and how often each line is new; the last is a store.
TEST(ReplayCode, MakesAddressesAsTheyAreMadeByHand) {
  using arch::AddressTerm;
  constexpr std::int64_t kFar = 0x10'0000'0000;
  const AddressTerm terms[] = {
      {.displacement = 0x1000, .base = 0},
      {.displacement = 0x20'0000, .index = 1, .scale = 8},
      {.displacement = kFar, .index = 1, .scale = 2},
      {.displacement = 0x30'0010},
      {.displacement = kFar + 0x40},
      {.displacement = -8, .base = 0, .index = 1, .scale = 4, .flags = AddressTerm::kFs},
      {.displacement = 0x28, .flags = AddressTerm::kFs},
      {.displacement = 0x28, .flags = AddressTerm::kGs},
      {.displacement = -kFar, .base = 2, .index = 1, .scale = 1},
  };
  constexpr std::size_t kAccesses = std::size(terms), kSlotsOfARun = 3;
  std::vector<arch::PathInstruction> instructions;
  std::vector<arch::PathAccess> accesses;
  for (std::size_t i = 0; i < kAccesses; ++i) {
    const bool store = i + 1 == kAccesses;
    // mov rax, [rbx]; mov [rbx], rax
    instructions.push_back(
        {.pc = 0x40'0000 + 3 * i, .length = 3, .bytes = {0x48, store ? std::uint8_t{0x89} : std::uint8_t{0x8B}, 0x03}});
    accesses.push_back({.kind = store ? arch::AccessKind::Store : arch::AccessKind::Load,
                        .instruction = static_cast<std::uint16_t>(i),
                        .address = terms[i]});
    accesses.back().address.bytes = 8;
  }
  const std::uint64_t branch_pc = 0x40'0000 + 3 * kAccesses;
  instructions.push_back({.pc = branch_pc, .target = 0x40'0000, .taken = true, .length = 2, .bytes = {0xEB, 0x00}});
  instructions.back().facts.branch = arch::BranchKind::RelativeJump;

  const CoreModel& model = *find_core_model("skylake-server");
  ModelledMachine machine(model, {}), by_hand_machine(model, {.code_bytes = 0});
  const auto thread = machine.attach_thread();
  const auto by_hand = by_hand_machine.attach_thread();
  for (arch::CoreFeed* feed : {thread.get(), by_hand.get()}) feed->describe(5, {instructions, accesses});
  Random random(1);
  for (int turn = 0; turn < 200; ++turn) {
    std::vector<std::uint64_t> slots;
    std::vector<arch::PathRun> runs;
    for (int i = 0; i < 50; ++i) {
      runs.push_back({.path = 5, .slots = static_cast<std::uint32_t>(slots.size())});
      slots.push_back(0x50'0000 + random.below(1 << 12));  // some cross a line
      slots.push_back(8 * random.below(turn % 4 == 0 ? 1 << 14 : 1 << 4));
      slots.push_back(0x60'0000 + 2 * kFar + random.below(1 << 15));
    }
    ASSERT_EQ(slots.size(), runs.size() * kSlotsOfARun);
    const arch::SlotValues values{.slots = slots.data(),
                                  .fs = 0x70'0000 + static_cast<std::uint64_t>(turn / 50) * 4096,
                                  .gs = 0x80'0000 + static_cast<std::uint64_t>(turn) * 64,
                                  .listed = {}};
    thread->run(runs, values);
    by_hand->run(runs, values);
    ASSERT_EQ(thread->signals(), by_hand->signals()) << turn;
  }
  if (missing_for_code().empty()) {
    EXPECT_GT(machine.work().by_code, 200U * 45);
  }
  EXPECT_EQ(thread->signals()[arch::CoreSignal::Loads], 200 * 50 * (kAccesses - 1));
  EXPECT_GT(thread->signals()[arch::CoreSignal::LoadL1Hit], 200 * 50 * kAccesses / 2);
  EXPECT_GT(thread->signals()[arch::CoreSignal::SplitLoads], 100U);
}

/// A loop of three paths: an indirect call, the return behind it, a jump back. Nothing in it is hard to predict.
TEST(ReplayCode, ReturnsGoBehindIndirectCalls) {
  struct OneBranch {
    std::uint64_t pc, target;
    arch::BranchKind kind;
    std::vector<std::uint8_t> bytes;
  };
  const OneBranch loop[] = {
      {0x40'0000, 0x40'1000, arch::BranchKind::IndirectCall, {0xFF, 0xD0}},  // call rax
      {0x40'1000, 0x40'0002, arch::BranchKind::Return, {0xC3}},
      {0x40'0002, 0x40'0000, arch::BranchKind::RelativeJump, {0xEB, 0xFC}},
  };
  const CoreModel& model = *find_core_model("skylake-server");
  ModelledMachine machine(model, {});
  const auto thread = machine.attach_thread();
  std::vector<arch::PathRun> once_around;
  for (std::uint32_t path = 0; path < std::size(loop); ++path) {
    const OneBranch& branch = loop[path];
    arch::PathInstruction instruction{.pc = branch.pc,
                                      .target = branch.target,
                                      .taken = true,
                                      .length = static_cast<std::uint8_t>(branch.bytes.size())};
    std::ranges::copy(branch.bytes, instruction.bytes);
    instruction.facts.branch = branch.kind;
    thread->describe(path, {{&instruction, 1}, {}});
    once_around.push_back({.path = path, .next = branch.target});
  }
  for (int turn = 0; turn < 1000; ++turn) thread->run(once_around, {});
  if (missing_for_code().empty()) {
    EXPECT_GT(machine.work().by_code, 1900U);  // the last of a batch is not
  }
  EXPECT_LT(thread->signals()[arch::CoreSignal::MispredictedReturn], 10U);
  EXPECT_LT(thread->signals()[arch::CoreSignal::MispredictedIndirectCall], 10U);
}

/// A block that loops: a load, a store, a taken branch.
TEST(ReplayCode, HasCodeForWhatIsPlayedOften) {
  if (const std::string missing = missing_for_code(); !missing.empty()) GTEST_SKIP() << missing;
  const CoreModel& model = *find_core_model("skylake-server");
  BranchUnit branches(model.branch);
  CoreClock clock(model.timing);
  const auto memory = MemorySystem::make(model.memory, {});
  ReplayCode code(memory->filter(0), branches, clock, model.timing, std::size_t{1} << 20);
  code.make_room(10);
  SimpleBlock block{.first_line = 0x1000,
                    .pc = 0x4'0010,
                    .kind = arch::BranchKind::RelativeJump,
                    .length = 2,
                    .taken = true,
                    .last = true,
                    .lines = 1};
  const PathAddresses none;
  const std::vector<PlacedInstruction> jump{{.pc = 0x4'0010, .shape = *shape_of(std::array<std::uint8_t, 2>{0xEB, 0})}};
  const BlockTiming timing(model.timing, memory_limits(model.memory), jump, 0, true);
  const Segment segment{.timing = &timing, .steps_end = 1};
  const Step fetch{.kind = StepKind::Fetch, .at = 0x4'0010};
  const Plan plan{.segments = {&segment, 1}, .steps = {&fetch, 1}};
  EXPECT_FALSE(code.has(3));
  for (int i = 0; i < 100; ++i) code.played(3, {.blocks = &block, .addresses = &none, .plan = &plan, .identity = 1});
  EXPECT_TRUE(code.has(3));
  EXPECT_FALSE(code.has(4));
  code.forget(3);
  EXPECT_FALSE(code.has(3));
}

}  // namespace
}  // namespace zs::uarch

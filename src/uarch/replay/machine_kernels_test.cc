// Small programs whose counts and times are known, on the whole machine.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "uarch/core_model.h"
#include "uarch/reference/code_kernels.h"
#include "uarch/reference/memory_kernels.h"
#include "uarch/reference/synthetic_workload.h"
#include "uarch/reference/test_names.h"
#include "uarch/replay/modelled_machine.h"

namespace zs::uarch {
namespace {

using arch::CoreSignal;
using arch::CoreSignals;

constexpr std::uint64_t kData = 0x10'0000'0000;

/// Runs machine code as if its last instruction jumped back, on one thread of a machine.
class Loop {
 public:
  using Address = Round::Address;

  explicit Loop(const CoreModel& model, const MachineOptions& options = {})
      : machine_(model, options), thread_(machine_.attach_thread()), runner_(*thread_) {}

  /// elements  of each REP string instruction
  void run(const kernels::Bytes& code, std::uint64_t rounds, const Address& address, std::uint64_t elements = 0) {
    const Round of(code, elements);
    for (std::uint64_t round = 0; round < rounds; ++round) runner_.run(of.executed(round, address), {});
  }

  arch::CoreFeed& thread() { return *thread_; }
  const CoreSignals& signals() const { return thread_->signals(); }
  std::uint64_t operator[](CoreSignal signal) const { return thread_->signals()[signal]; }

 private:
  ModelledMachine machine_;
  std::unique_ptr<arch::CoreFeed> thread_;
  Runner runner_;
};

const CoreModel& skylake() { return *find_core_model("skylake-server"); }

double cycles_of_a_round(Loop& loop, const kernels::Bytes& code, const Loop::Address& address) {
  loop.run(code, 1000, address);
  const std::uint64_t before = loop[CoreSignal::Cycles];
  loop.run(code, 5000, address);
  return static_cast<double>(loop[CoreSignal::Cycles] - before) / 5000;
}

TEST(MachineKernels, TakesTheKnownTimesOfLoopsOnSkylake) {
  const auto one_line = [](std::uint64_t, std::size_t access) { return kData + access * 4; };
  Loop halves(skylake()), multiplications(skylake()), chase(skylake());
  EXPECT_NEAR(cycles_of_a_round(halves, kernels::kHalves, one_line), 3.51, 3.51 * 0.03);
  EXPECT_NEAR(cycles_of_a_round(multiplications, kernels::kMultiplications, one_line), 4.00, 4.00 * 0.03);
  EXPECT_NEAR(cycles_of_a_round(chase, kernels::kChase, one_line), 4.0, 0.05);
}

TEST(MachineKernels, WaitsForTheDataOfAStoreThatALoadIsForwardedFrom) {
  // source: Optimization manual, "Store Forwarding": 5 cycles; an addition has one more.
  Loop count(skylake()), apart(skylake());
  EXPECT_NEAR(cycles_of_a_round(count, kernels::kCount, [](std::uint64_t, std::size_t) { return kData; }), 6.0, 0.05);
  EXPECT_EQ(count[CoreSignal::ForwardedLoads], 5999U);
  // Loads: the index, an element, the sum, the index twice; the sum and the index are stored.
  const auto places = [](std::uint64_t round, std::size_t access) {
    static constexpr std::uint64_t offsets[] = {64, 0, 56, 56, 64, 64, 64};
    return kData + (access == 1 ? 128 + 8 * (round % 64) : offsets[access]);
  };
  EXPECT_NEAR(cycles_of_a_round(apart, kernels::kCountApart, places), 6.0, 0.05);
}

TEST(MachineKernels, HasStoredDataAtOnceWhereMemoryIsRenamed) {
  const auto one_place = [](std::uint64_t, std::size_t) { return kData; };
  for (const char* const name : {"sapphire-rapids", "zen4"}) {
    Loop alike(*find_core_model(name)), otherwise(*find_core_model(name));
    EXPECT_NEAR(cycles_of_a_round(alike, kernels::kCount, one_place), 1.0, 0.05) << name;
    // The same place, but written [rdi] and [rsi].
    const MemoryParameters& memory = find_core_model(name)->memory;
    EXPECT_NEAR(cycles_of_a_round(otherwise, kernels::kCountElsewhere, one_place),
                memory.renames_alike_only ? memory.forward_cycles : 1.0, 0.05)
        << name;
    Loop stack(*find_core_model(name));
    EXPECT_NEAR(cycles_of_a_round(stack, {0x50, 0x58, 0xEB, 0xFE}, one_place), 1.0, 0.05)
        << name;  // push rax; pop rax; jmp
  }
}

TEST(MachineKernels, ChasesAtTheLatencyOfEachLevelOnSkylake) {
  // validation: 4, 14, 75, 291 cycles; 5 % of L1 and L2, 10 % of L3, 15 % of DRAM
  struct Plateau {
    std::uint64_t bytes;
    double cycles, tolerance;
  };
  for (const Plateau& plateau : {Plateau{16 << 10, 4, 0.05}, Plateau{256 << 10, 14, 0.05}, Plateau{4 << 20, 75, 0.10},
                                 Plateau{128 << 20, 291, 0.15}}) {
    const auto lines = shuffled_lines(plateau.bytes, 1);
    std::size_t at = 0;
    const auto next = [&](std::uint64_t, std::size_t) { return kData + lines[at++ % lines.size()]; };
    Loop loop(skylake());
    const std::uint64_t warm = std::min<std::uint64_t>(2 * lines.size(), 150'000);
    loop.run(kernels::kChase, warm, next);
    const std::uint64_t before = loop[CoreSignal::Cycles];
    loop.run(kernels::kChase, 20'000, next);
    const double cycles = static_cast<double>(loop[CoreSignal::Cycles] - before) / 20'000;
    // Pages are random too: most loads of the larger walks miss the TLB as well, which the published chase counts
    // apart.
    EXPECT_GE(cycles, plateau.cycles * (1 - plateau.tolerance)) << plateau.bytes;
    EXPECT_LE(cycles, plateau.cycles * (1 + plateau.tolerance) + 30) << plateau.bytes;
  }
}

/// Cycles that the store buffer was full for, in loops of so many stores and 500 instructions without memory.
std::uint64_t store_buffer_stalls(std::size_t stores, std::uint64_t loops) {
  kernels::Bytes code = kernels::repeated(kernels::kStore, stores);
  const kernels::Bytes nops = kernels::repeated(kernels::kNop, 500);
  code.insert(code.end(), nops.begin(), nops.end());
  code.insert(code.end(), {0xEB, 0xFE});  // jmp, to wherever the loop says
  Loop loop(skylake());
  const auto one_place = [](std::uint64_t, std::size_t) { return kData; };
  loop.run(code, 50, one_place);  // the first store waits for memory, and the code comes in
  const std::uint64_t before = loop[CoreSignal::StallsStoreBuffer];
  loop.run(code, loops, one_place);
  return loop[CoreSignal::StallsStoreBuffer] - before;
}

TEST(MachineKernels, StallsFromTheFiftySeventhStoreOfALoopOnSkylake) {
  // validation: RESOURCE_STALLS.SB over 10^6 loops, knee between 56 and 57, 0.12 M -> 21 M, a factor of 2. Here 2000.
  constexpr std::uint64_t loops = 2000;
  EXPECT_LT(store_buffer_stalls(56, loops), loops / 4);
  const std::uint64_t beyond = store_buffer_stalls(57, loops);
  EXPECT_GT(beyond, 21 * loops / 2);
  EXPECT_LT(beyond, 21 * loops * 2);
}

TEST(MachineKernels, OverlapsIndependentMisses) {
  // 16 loads a round, each of a line that was never touched, in pages that the walk has seen.
  const auto loads = [](std::uint64_t round, std::size_t access) {
    return kData + (round * 16 + access) * 4160 % (std::uint64_t{1} << 28) / 64 * 64;
  };
  Loop loop(skylake());
  loop.run(kernels::kLoads, 4000, loads);
  const std::uint64_t missed = loop[CoreSignal::LoadDram] + loop[CoreSignal::LoadFillBuffer];
  EXPECT_GT(missed, 30'000U);
  // Twelve fill buffers: a load a twelfth of the latency or more, and far less than the whole.
  EXPECT_LT(loop[CoreSignal::Cycles], missed * 275 / 3);
  EXPECT_GT(loop[CoreSignal::Cycles], missed * 275 / 24);
  EXPECT_GT(loop[CoreSignal::CyclesL3Pending], loop[CoreSignal::Cycles] / 2);
  EXPECT_GT(loop[CoreSignal::SlotsDram], loop[CoreSignal::Slots] / 2);
}

const kernels::Bytes kMoveString = {0xF3, 0x48, 0xA5, 0xEB, 0xFE};     // rep movsq; jmp
const kernels::Bytes kStoreString = {0xF3, 0x48, 0xAB, 0xEB, 0xFE};    // rep stosq; jmp
const kernels::Bytes kCompareString = {0xF3, 0x48, 0xA7, 0xEB, 0xFE};  // repe cmpsq; jmp

/// Where the processor's events count uops.
TEST(MachineKernels, CountsEveryElementOfAStringInstructionAndEverySplitOne) {
  constexpr std::uint64_t down = std::uint64_t{1} << 63;
  for (const std::uint64_t direction : {std::uint64_t{0}, down}) {
    Loop loop(*find_core_model("haswell"));
    // 1000 quadwords from four bytes into a line: every eighth load crosses one. The stores are aligned.
    loop.run(
        kMoveString, 1, [](std::uint64_t, std::size_t access) { return kData + (access == 0 ? 64'004 : 128'000); },
        1000 | direction);
    EXPECT_EQ(loop[CoreSignal::Loads], 1000U);
    EXPECT_EQ(loop[CoreSignal::Stores], 1000U);
    EXPECT_EQ(loop[CoreSignal::SplitLoads], 125U);
    EXPECT_EQ(loop[CoreSignal::SplitStores], 0U);
    const std::uint64_t sum = loop[CoreSignal::LoadL1Hit] + loop[CoreSignal::LoadFillBuffer] +
                              loop[CoreSignal::LoadL2Hit] + loop[CoreSignal::LoadL3HitNone] +
                              loop[CoreSignal::LoadDram];
    EXPECT_EQ(sum, 1000U);
    EXPECT_GE(loop[CoreSignal::L1dReplacement], 250U);  // 125 lines each
  }
}

/// Where they count instructions.
TEST(MachineKernels, CountsAStringInstructionAsOneLoadFromWhereItsSlowestElementWas) {
  using enum CoreSignal;
  const auto apart = [](std::uint64_t, std::size_t access) { return kData + (access == 0 ? 64'004 : 128'000); };
  Loop moves(skylake()), compares(skylake()), stores(skylake()), nothing(skylake());
  moves.run(kMoveString, 1, apart, 1000);
  EXPECT_EQ(moves[Loads], 1U);
  EXPECT_EQ(moves[Stores], 1U);
  EXPECT_EQ(moves[SplitLoads], 1U);
  EXPECT_EQ(moves[SplitStores], 0U);
  EXPECT_EQ(moves[LoadDram] + moves[LoadFillBuffer], 1U);  // of a prefetched line, the slowest may be
  EXPECT_EQ(moves[LoadL1Hit] + moves[LoadL2Hit] + moves[LoadL3HitNone], 0U);
  EXPECT_GE(moves[L1dReplacement], 250U);  // the lines are no fewer
  moves.run(kMoveString, 1, apart, 8);     // all in L1D
  EXPECT_EQ(moves[LoadL1Hit], 1U);
  compares.run(kCompareString, 1, apart, 10);  // two operands
  EXPECT_EQ(compares[Loads], 1U);
  stores.run(kStoreString, 1, apart, 1000);
  EXPECT_EQ(stores[Loads], 0U);
  EXPECT_EQ(stores[Stores], 1U);
  nothing.run(kMoveString, 1, apart, 0);
  EXPECT_EQ(nothing[Loads], 1U);
  EXPECT_EQ(nothing[LoadL1Hit], 1U);
  EXPECT_EQ(nothing[Stores], 1U);
}

TEST(MachineKernels, CountsTwoLoadsOfAnInstructionAsTheProcessorsEventsDo) {
  const kernels::Bytes compare{0x48, 0xA7, 0xEB, 0xFE};  // cmpsq; jmp
  const auto apart = [](std::uint64_t round, std::size_t access) { return kData + 4096 * access + 8 * (round % 8); };
  for (const CoreModel& model : core_models()) {
    Loop loop(model);
    loop.run(compare, 100, apart);
    EXPECT_EQ(loop[CoreSignal::Loads], model.memory.retired.instructions ? 100U : 200U) << model.name;
    EXPECT_EQ(loop[CoreSignal::LoadL1Hit] + loop[CoreSignal::LoadFillBuffer] + loop[CoreSignal::LoadDram],
              loop[CoreSignal::Loads])
        << model.name;
  }
}

TEST(MachineKernels, CountsASoftwarePrefetchAsALoadThatHitL1WhereTheProcessorsEventsDo) {
  const kernels::Bytes prefetch{0x0F, 0x18, 0x0F, 0xEB, 0xFE};  // prefetcht0 [rdi]; jmp
  for (const CoreModel& model : core_models()) {
    Loop loop(model);
    loop.run(prefetch, 100, [](std::uint64_t round, std::size_t) { return kData + 4096 * round; });
    const std::uint64_t loads = model.memory.retired.prefetches ? 100 : 0;
    EXPECT_EQ(loop[CoreSignal::SoftwarePrefetches], 100U) << model.name;
    EXPECT_EQ(loop[CoreSignal::Loads], loads) << model.name;
    EXPECT_EQ(loop[CoreSignal::LoadL1Hit], loads) << model.name;
  }
}

TEST(MachineKernels, TakesAStringInstructionsElementsTime) {
  Loop fill(skylake());
  const auto same = [](std::uint64_t, std::size_t access) { return kData + access * 65'536; };
  constexpr std::uint64_t elements = 1024, bytes = elements * 8;
  fill.run(kStoreString, 10, same, elements);
  const std::uint64_t before = fill[CoreSignal::Cycles];
  fill.run(kStoreString, 10, same, elements);
  const double a_fill = static_cast<double>(fill[CoreSignal::Cycles] - before) / 10;
  EXPECT_GE(a_fill, bytes / 64);  // not faster than a line a cycle, nor slower than eight bytes
  EXPECT_LE(a_fill, bytes / 8);
  Loop compare(skylake());
  compare.run(kCompareString, 1, same, 1000);
  EXPECT_GE(compare[CoreSignal::Cycles], 2000U);
  EXPECT_EQ(compare[CoreSignal::Loads], 1U);
  Loop nothing(skylake());
  nothing.run(kMoveString, 1, same, 0);
  EXPECT_EQ(nothing[CoreSignal::Loads] + nothing[CoreSignal::Stores], 2U);
}

TEST(MachineKernels, CountsAGatherAsOneLoadFromWhereItsSlowestElementWas) {
  ModelledMachine machine(skylake(), {});
  const auto thread = machine.attach_thread();
  // vpgatherdd ymm0, [rax + ymm1 * 4], ymm2
  const arch::PathInstruction gather{.pc = 0x40'0000, .length = 6, .bytes = {0xC4, 0xE2, 0x6D, 0x90, 0x04, 0x88}};
  const arch::PathAccess access{.kind = arch::AccessKind::Load,
                                .form = arch::AccessForm::Listed,
                                .address = {.flags = arch::AddressTerm::kListed, .bytes = 4}};
  thread->describe(0, {std::span(&gather, 1), std::span(&access, 1)});
  const std::uint64_t words[] = {3, kData, kData + 8, kData + (1 << 20)};
  const arch::PathRun run{.path = 0};
  thread->run(std::span(&run, 1), {.listed = words});
  EXPECT_EQ(thread->signals()[CoreSignal::Loads], 1U);
  EXPECT_EQ(thread->signals()[CoreSignal::LoadDram], 1U);
  EXPECT_EQ(thread->signals()[CoreSignal::LoadL1Hit], 0U);
  EXPECT_GE(thread->signals()[CoreSignal::L1dReplacement], 2U);
  EXPECT_EQ(thread->last_load().source.level, arch::DataLevel::Dram);
  const std::uint64_t nothing[] = {0};
  thread->run(std::span(&run, 1), {.listed = nothing});
  EXPECT_EQ(thread->signals()[CoreSignal::Loads], 2U);
  EXPECT_EQ(thread->signals()[CoreSignal::LoadL1Hit], 1U);
}

TEST(MachineKernels, StreamsStoresAtTheRateOfTheFillBuffers) {
  ModelledMachine machine(skylake(), {});
  const auto thread = machine.attach_thread();
  // movnti [rdi], rax; jmp
  arch::PathInstruction code[] = {{.pc = 0x40'0000, .length = 4, .bytes = {0x48, 0x0F, 0xC3, 0x07}},
                                  {.pc = 0x40'0004, .target = 0x40'0000, .length = 2, .bytes = {0xEB, 0xFA}}};
  code[1].facts.branch = arch::BranchKind::RelativeJump;
  code[1].taken = true;
  const arch::PathAccess access{.kind = arch::AccessKind::StreamingStore, .address = {.base = 0, .bytes = 8}};
  thread->describe(0, {code, std::span(&access, 1)});
  constexpr std::uint64_t lines = 20'000;
  for (std::uint64_t i = 0; i < lines; ++i) {
    const arch::PathRun run{.path = 0};
    const std::uint64_t linear = kData + i * kLineBytes;
    thread->run(std::span(&run, 1), {.slots = &linear, .listed = {}});
  }
  EXPECT_EQ(thread->signals()[CoreSignal::StreamingStores], lines);
  // Twelve under way, each for the latency of an open row: 233 cycles.
  const double cycles = static_cast<double>(thread->signals()[CoreSignal::Cycles]) / lines;
  EXPECT_NEAR(cycles, 233.0 / 12, 4);
}

TEST(MachineKernels, CountsTaggedLoadsThatTakeLongerThanTheThreshold) {
  const auto lines = shuffled_lines(64 << 20, 1);
  std::size_t at = 0;
  const auto far = [&](std::uint64_t, std::size_t) { return kData + lines[at++ % lines.size()]; };
  const auto near = [](std::uint64_t, std::size_t) { return kData; };
  Loop untold(skylake());
  untold.run(kernels::kChase, 2000, far);
  EXPECT_EQ(untold[CoreSignal::LatencyLoads], 0U);
  Loop loop(skylake());
  loop.thread().set_latency_threshold(100);
  loop.run(kernels::kChase, 4000, near);
  const std::uint64_t first = loop[CoreSignal::LatencyLoads];
  EXPECT_LE(first, 1U);
  loop.run(kernels::kChase, 40'000, far);
  // 8 to 23 are passed over behind each that is tagged; the next has waited for its data anyway.
  const std::uint64_t tagged = loop[CoreSignal::LatencyLoads] - first;
  EXPECT_GT(tagged, 40'000U / 18);
  EXPECT_LT(tagged, 40'000U / 15);
  for (const std::uint32_t times : {4U, 16U}) {
    const std::uint64_t by_then = loop[CoreSignal::LatencyLoads];
    loop.thread().tag_more_loads(times);
    loop.run(kernels::kChase, 40'000, far);
    const auto tagged_now = static_cast<double>(loop[CoreSignal::LatencyLoads] - by_then);
    EXPECT_LT(tagged_now, 1.02 * 40'000 * times / 16.5);
    EXPECT_GT(tagged_now, 0.85 * 40'000 * times / 16.5) << "some lines were prefetched beside others by now";
  }
  loop.thread().tag_more_loads(1);
  loop.thread().set_latency_threshold(100'000);
  const std::uint64_t before = loop[CoreSignal::LatencyLoads];
  loop.run(kernels::kChase, 1000, far);
  EXPECT_EQ(loop[CoreSignal::LatencyLoads], before);
}

TEST(MachineKernels, TellsOfALockedInstructionAsLoadAndStore) {
  Loop loop(skylake());
  const kernels::Bytes locked = {0xF0, 0x48, 0xFF, 0x00};  // lock inc qword [rax]
  loop.run(locked, 1, [](std::uint64_t, std::size_t) { return kData; });
  EXPECT_TRUE(loop.thread().last_load().present && loop.thread().last_store().present);
  EXPECT_TRUE(loop.thread().last_load().source.locked && loop.thread().last_store().source.locked);
  EXPECT_EQ(loop.thread().last_load().source.level, arch::DataLevel::Dram);
  EXPECT_EQ(loop[CoreSignal::Loads], 1U);
  EXPECT_EQ(loop[CoreSignal::Stores], 1U);
  EXPECT_EQ(loop[CoreSignal::LockedLoads], 1U);
  loop.run(kernels::kNop, 1, [](std::uint64_t, std::size_t) { return kData; });
  EXPECT_FALSE(loop.thread().last_load().present || loop.thread().last_store().present);
}

TEST(MachineKernels, HalfOfRandomDecisionsAreMispredicted) {
  // validation: random decisions at 1/2, 1 %
  ModelledMachine machine(skylake(), {});
  const auto thread = machine.attach_thread();
  arch::PathInstruction jump{.pc = 0x40'0000, .target = 0x40'0000, .length = 2, .bytes = {0x75, 0xFE}};
  jump.facts.branch = arch::BranchKind::Conditional;
  thread->describe(0, {std::span(&jump, 1), {}});
  jump.taken = true;
  thread->describe(1, {std::span(&jump, 1), {}});
  Random random(1);
  constexpr std::uint64_t decisions = 400'000;
  for (std::uint64_t i = 0; i < decisions; ++i) {
    const arch::PathRun run{.path = static_cast<std::uint32_t>(random.below(2))};
    thread->run(std::span(&run, 1), {});
  }
  const auto mispredicted = static_cast<double>(thread->signals()[CoreSignal::MispredictedTaken] +
                                                thread->signals()[CoreSignal::MispredictedNotTaken]);
  EXPECT_NEAR(mispredicted, decisions / 2.0, decisions / 2.0 * 0.01);
}

// ---- what holds of every program
// ---------------------------------------------------------------------------------------

class EveryMachineKernel : public testing::TestWithParam<CoreModel> {};

TEST_P(EveryMachineKernel, KeepsTheIdentitiesAtAllTimesAndItsTotalsOnlyGrow) {
  using enum CoreSignal;
  const SyntheticWorkload program(4);
  const auto stream = program.run(30'000, 9);
  ModelledMachine machine(GetParam(), {});
  const auto thread = machine.attach_thread();
  Runner runner(*thread);
  CoreSignals before;
  const unsigned width = GetParam().timing.issue_width;
  for (std::size_t at = 0; at < stream.size(); at += 7) {
    runner.run(std::span(stream).subspan(at, std::min<std::size_t>(7, stream.size() - at)),
               {.path_ends = PathEnds::Everywhere});
    const CoreSignals& now = thread->signals();
    for (std::size_t i = 0; i < arch::kCoreSignals; ++i) ASSERT_GE(now.counts[i], before.counts[i]) << i;
    before = now;
    std::uint64_t slots = 0;
    for (auto i = static_cast<std::size_t>(SlotsRetired); i <= static_cast<std::size_t>(SlotsSerialising); ++i) {
      slots += now.counts[i];
    }
    // What the block under way has issued is its instructions', and its time comes when it ends.
    const std::size_t last = std::min(at + 7, stream.size()) - 1;
    ASSERT_GE(slots, now[Slots]);
    ASSERT_LE(slots - now[Slots], stream[last].shape.branch == arch::BranchKind::None ? 400U : 0U);
    ASSERT_LE(now[Slots], now[Cycles] * width + width);
    ASSERT_GE(now[Slots] + kSlotCauses, now[Cycles] * width);  // each cause has a part of a slot at most
    ASSERT_EQ(now[Loads], now[LoadL1Hit] + now[LoadFillBuffer] + now[LoadL2Hit] + now[LoadL3HitNone] +
                              now[LoadL3HitMiss] + now[LoadL3SnoopHit] + now[LoadL3Hitm] + now[LoadDram]);
    ASSERT_EQ(now[WrongPathUops] + width * now[RecoveryCycles], now[SlotsMispredict] + now[SlotsMachineClear]);
    ASSERT_EQ(now[DtlbLoadWalk], now[DtlbLoadWalk4K] + now[DtlbLoadWalk2M]);
    ASSERT_LE(now[CyclesL1dPending], now[Cycles]);
    ASSERT_LE(now[CyclesL2Pending], now[CyclesL1dPending]);
    ASSERT_LE(now[CyclesL3Pending], now[CyclesL2Pending]);
    ASSERT_LE(now[StallsMemory], now[StallsTotal]);
  }
  EXPECT_GT(before[Cycles], stream.size() / 4);
}

TEST_P(EveryMachineKernel, AddsNoMoreInAnInstructionThanItPromises) {
  const SyntheticWorkload program(5, 600, false);
  const auto stream = program.run(20'000, 3);
  ModelledMachine machine(GetParam(), {});
  const auto thread = machine.attach_thread();
  Runner runner(*thread);
  for (const Executed& one : stream) {
    const CoreSignals before = thread->signals();
    runner.run(std::span(&one, 1), {.path_ends = PathEnds::Everywhere});
    for (std::size_t i = 0; i < static_cast<std::size_t>(CoreSignal::Cycles); ++i) {
      const auto signal = static_cast<CoreSignal>(i);
      const CoreSignal times[] = {CoreSignal::FillBufferPending, CoreSignal::FillBufferFull, CoreSignal::ItlbWalkCycles,
                                  CoreSignal::DtlbLoadWalkCycles, CoreSignal::DtlbStoreWalkCycles};
      if (std::ranges::find(times, signal) != std::end(times)) continue;
      ASSERT_LE(thread->signals()[signal] - before[signal], thread->most_per_instruction(signal)) << i;
    }
    for (const auto& [first, last] : arch::kAlternativeSignals) {
      std::uint64_t sum = 0;
      for (auto i = static_cast<std::size_t>(first); i <= static_cast<std::size_t>(last); ++i)
        sum += thread->signals().counts[i] - before.counts[i];
      ASSERT_LE(sum, thread->most_per_instruction(first));
    }
  }
}

TEST_P(EveryMachineKernel, GivesEachThreadOfACoreItsOwnCountsAndTime) {
  const SyntheticWorkload program(7);
  const auto one_stream = program.run(20'000, 3);
  const auto other_stream = program.run(20'000, 4);
  ModelledMachine machine(GetParam(), {});
  const auto one = machine.attach_thread();
  const auto other = machine.attach_thread();
  Runner one_runner(*one);
  Runner other_runner(*other, 10'000);  // paths' numbers are the machine's
  std::size_t at = 0;
  for (; at + 333 < one_stream.size(); at += 333) {
    one_runner.run(std::span(one_stream).subspan(at, 333), {.path_ends = PathEnds::Everywhere});
  }
  const CoreSignals before = one->signals();
  other_runner.run(other_stream, {.path_ends = PathEnds::Everywhere});
  // What the one had left open ended when the other came, and nothing else of it changed.
  const CoreSignals after = one->signals();
  EXPECT_LE(after[CoreSignal::Cycles] - before[CoreSignal::Cycles], 2000U);
  EXPECT_EQ(after[CoreSignal::Loads], before[CoreSignal::Loads]);
  std::uint64_t loads = 0;
  for (const Executed& done : other_stream) {
    for (std::size_t i = 0; i < done.accesses.size(); ++i) {
      const arch::PathAccess& access = done.accesses[i];
      const arch::RetiredAccesses& retired = GetParam().memory.retired;
      const bool is_prefetch = access.kind >= arch::AccessKind::Prefetch && access.kind <= arch::AccessKind::PrefetchW;
      const bool is_load = access.kind == arch::AccessKind::Load || access.kind == arch::AccessKind::LockedLoad;
      if (!is_load && !(is_prefetch && retired.prefetches)) continue;
      const bool repeated = access.form == arch::AccessForm::Repeated && !retired.instructions;
      loads += repeated ? done.words[2 * i + 1] & ~(std::uint64_t{1} << 63) : 1;
    }
  }
  EXPECT_EQ(other->signals()[CoreSignal::Loads], loads);
  EXPECT_GT(other->signals()[CoreSignal::Cycles], 1000U);
}

INSTANTIATE_TEST_SUITE_P(Rows, EveryMachineKernel, testing::ValuesIn(core_models()),
                         [](const auto& row) { return test_name(row.param); });

}  // namespace
}  // namespace zs::uarch

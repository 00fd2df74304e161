// The clock against a plain one that follows every instruction, and against what is known of small loops.
#include "uarch/timing/core_clock.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "uarch/chance.h"
#include "uarch/core_model.h"
#include "uarch/reference/code_kernels.h"
#include "uarch/reference/code_samples.h"
#include "uarch/reference/plain_clock.h"
#include "uarch/reference/test_names.h"

namespace zs::uarch {
namespace {

struct Row {
  explicit Row(const CoreModel& model) : name(model.name), core(model.timing), memory(memory_limits(model.memory)) {}
  std::string_view name;
  TimingParameters core;
  MemoryLimits memory;
};

Row row_of(std::string_view name) { return Row(*find_core_model(name)); }
const Row& skylake() {
  static const Row row = row_of("skylake-server");
  return row;
}

/// A block that runs without an event.
void run(CoreClock& clock, const BlockTiming& block) {
  clock.begin(block);
  clock.end();
}

/// Unit in which a register's last value is ready, its cause in the lowest bits.
std::uint64_t ready(CoreClock& clock, unsigned number) {
  const CoreClock::Inline& own = clock.inline_part();
  return own.base + static_cast<std::uint64_t>(std::int64_t{own.ready[number]});
}

class EveryCoreClock : public testing::TestWithParam<CoreModel> {
 protected:
  const Row row_{GetParam()};
};

TEST_P(EveryCoreClock, AgreesWithThePlainClockOnBlocksOfTheCLibraryWithRandomEvents) {
  const auto& [name, core, memory] = row_;
  auto blocks = libc_blocks(400, 20);
  ASSERT_EQ(blocks.size(), 400U);
  // The last are loops that the ports limit.
  for (const auto& code : {kernels::kMultiplications, kernels::kLoads, kernels::repeated(kernels::kDivide, 3)}) {
    blocks.push_back(kernels::block_of(code));
  }
  std::vector<BlockTiming> timings;
  for (const Block& block : blocks) {
    timings.emplace_back(core, memory, block, static_cast<std::uint32_t>(timings.size()));
  }
  CoreClock clock(core);
  PlainClock plain(core, memory);
  Random random(11);
  constexpr SlotCause levels[] = {SlotCause::L1, SlotCause::L2, SlotCause::L3, SlotCause::Dram};
  constexpr std::uint32_t latencies[] = {12, 14, 70, 300};
  std::size_t at = 0, late = 0;
  for (int step = 0; step < 20'000; ++step) {
    // By turns a quiet time, in which blocks repeat and the ports fall behind, and one full of events.
    const bool quiet = step / 500 % 2 != 0;
    const auto happens = [&random, quiet](std::uint64_t one_in) { return random.below(one_in) == 0 && !quiet; };
    if (quiet && random.below(40) == 0) at = blocks.size() - 1 - random.below(3);
    if (!quiet || random.below(60) == 0)
      at = random.below(4) == 0 ? random.below(blocks.size()) : random.below(3) == 0 ? at : (at + 1) % blocks.size();
    const Block& block = blocks[at];
    const BlockTiming& timing = timings[at];
    plain.begin();
    // Now and then the block becomes known in pieces.
    std::vector<std::unique_ptr<BlockTiming>> pieces;
    std::size_t known = 0;
    std::size_t load = 0, store = 0;
    for (std::size_t i = 0; i < block.size(); ++i) {
      if (i == known) {
        const bool whole = i != 0 || random.below(4) != 0;
        known = whole ? block.size() : 1 + random.below(block.size());
        const auto piece = std::span(block).first(known);
        pieces.push_back(std::make_unique<BlockTiming>(core, memory, piece, 0, false));
        const BlockTiming& now_known = known == block.size() ? timing : *pieces.back();
        if (i == 0) {
          clock.begin(now_known);
        } else {
          clock.continue_with(now_known);
        }
      }
      plain.enter(block[i]);
      ASSERT_EQ(clock.dispatch_cycle(i), plain.dispatch()) << "step " << step << ", instruction " << i;
      if (happens(80)) {
        const auto cycles = static_cast<std::uint32_t>(10 + random.below(200));
        clock.fetch_stall(i, cycles, SlotCause::InstructionCache);
        plain.fetch_stall(cycles, SlotCause::InstructionCache);
        ASSERT_EQ(clock.dispatch_cycle(i), plain.dispatch());
      }
      for (unsigned k = 0; k < block[i].shape.loads; ++k, ++load) {
        ASSERT_EQ(clock.load_dispatch(load), plain.load_dispatch()) << "step " << step << ", instruction " << i;
        if (!happens(12)) continue;
        const std::size_t level = random.below(4);
        const auto latency = static_cast<std::uint32_t>(latencies[level] + random.below(40));
        clock.load_done(load, latency, levels[level]);
        plain.load_done(latency, levels[level]);
      }
      if (block[i].shape.stores != 0) {
        ASSERT_EQ(clock.store_retires(store), plain.store_retires()) << "step " << step << ", instruction " << i;
        ASSERT_EQ(clock.store_ready(store++), plain.store_ready()) << "step " << step << ", instruction " << i;
        if (happens(10)) {
          const auto cycles = static_cast<std::uint32_t>(1 + random.below(30));
          clock.store_stall(i, cycles);
          plain.store_stall(cycles);
        }
      }
      plain.leave();
    }
    plain.finish(timing);
    if (timing.branches() != 0 && happens(15)) {
      clock.mispredict(timing.branches() - 1);
      plain.mispredict();
    } else if (timing.branches() != 0 && happens(15)) {
      clock.resteer(timing.branches() - 1);
      plain.resteer();
    }
    if (timing.serialises()) {
      clock.serialise(18);
      plain.serialise(18);
    }
    if (happens(50)) {
      const std::uint32_t cycles = happens(10) ? 12'000'000 : 40;  // of a string: more units than 32 bits hold
      clock.occupy(cycles, SlotCause::Dram);
      plain.occupy(cycles, SlotCause::Dram);
    }
    clock.end();
    plain.end();

    ASSERT_EQ(clock.units(), plain.units()) << "step " << step << ", block " << at;
    for (std::size_t i = 0; i < kSlotCauses; ++i) {
      const auto cause = static_cast<SlotCause>(i);
      ASSERT_EQ(clock.account().of(cause), plain.lost[cause]) << "step " << step << ", cause " << i;
    }
    for (const auto& [number, expected] : plain.registers) {
      if (expected.time <= plain.units()) continue;  // what is not late any more is forgotten
      ASSERT_EQ(ready(clock, number), expected.time + static_cast<std::uint64_t>(expected.cause))
          << "step " << step << ", register " << number;
      ++late;
    }
  }
  EXPECT_GT(late, 10'000U) << "registers that are never late compare nothing";
  EXPECT_EQ(clock.account().total(), clock.units());
  for (const SlotCause cause : {SlotCause::Mispredict, SlotCause::Dram, SlotCause::Ports, SlotCause::Resteer}) {
    EXPECT_GT(clock.account().of(cause), 0U) << static_cast<int>(cause);
  }
}

TEST_P(EveryCoreClock, SplitsEverySlotIntoOneNodeOfEachTopDownLevel) {
  const auto& [name, core, memory] = row_;
  const auto blocks = libc_blocks(200);
  CoreClock clock(core);
  std::uint32_t id = 0;
  for (const Block& block : blocks) {
    const BlockTiming timing(core, memory, block, id++);
    clock.begin(timing);
    if (timing.loads() != 0) clock.load_done(0, 90, SlotCause::L3);
    if (timing.branches() != 0) clock.mispredict(0);
    clock.end();
  }
  const SlotAccount& account = clock.account();
  std::uint64_t level1 = 0, level2 = 0;
  for (const TopDown node :
       {TopDown::Retiring, TopDown::BadSpeculation, TopDown::FrontendBound, TopDown::BackendBound}) {
    level1 += account.of(node);
  }
  for (std::size_t node = static_cast<std::size_t>(TopDown::LightOperations); node < kTopDownNodes; ++node) {
    level2 += account.of(static_cast<TopDown>(node));
  }
  EXPECT_EQ(level1, clock.units());
  EXPECT_EQ(level2, clock.units());
  // Slots are whole: the time of the retired ones is a multiple of a slot.
  EXPECT_EQ(account.of(TopDown::Retiring) % (kUnitsPerCycle / core.issue_width), 0U);
}

// ---- loops whose time is known
// -----------------------------------------------------------------------------------------

double cycles_per_iteration(const Row& row, const kernels::Bytes& code, const auto& event) {
  const BlockTiming timing(row.core, row.memory, kernels::block_of(code), 0);
  CoreClock clock(row.core);
  constexpr int warm_up = 500, iterations = 2000;
  std::uint64_t before = 0;
  for (int i = 0; i < warm_up + iterations; ++i) {
    if (i == warm_up) before = clock.units();
    clock.begin(timing);
    event(clock);
    clock.end();
  }
  return static_cast<double>(clock.units() - before) / kUnitsPerCycle / iterations;
}
double cycles_per_iteration(const Row& row, const kernels::Bytes& code) {
  return cycles_per_iteration(row, code, [](CoreClock&) {});
}

TEST(CoreClock, TakesThreeAndAHalfCyclesForTheSumOfHalvesOnSkylake) {
  // validation: 3.51 cycles, 14 slots, 3 %
  const BlockTiming timing(skylake().core, skylake().memory, kernels::block_of(kernels::kHalves), 0);
  EXPECT_EQ(timing.slots(), 14U);
  EXPECT_NEAR(cycles_per_iteration(skylake(), kernels::kHalves), 3.51, 3.51 * 0.03);
}

TEST(CoreClock, TakesFourCyclesForFourMultiplicationsOnSkylake) {
  // validation: 4.00 cycles, 10 slots, 3 %
  const BlockTiming timing(skylake().core, skylake().memory, kernels::block_of(kernels::kMultiplications), 0);
  EXPECT_EQ(timing.slots(), 10U);
  EXPECT_NEAR(cycles_per_iteration(skylake(), kernels::kMultiplications), 4.00, 4.00 * 0.03);
  EXPECT_EQ(timing.executed().units, 4 * kUnitsPerCycle);
}

TEST(CoreClock, TakesEightCyclesForSixteenLoadsOnTwoPorts) {
  // validation: 8.02 cycles on Ivy Bridge, 2 %; Haswell is the modelled core that loads alike
  EXPECT_NEAR(cycles_per_iteration(row_of("haswell"), kernels::kLoads), 8.02, 8.02 * 0.02);
  EXPECT_NEAR(cycles_per_iteration(row_of("westmere"), kernels::kLoads), 16.0, 0.1);  // one load port
}

TEST_P(EveryCoreClock, TakesALoadsLatencyForEachStepOfAPointerChase) {
  EXPECT_NEAR(cycles_per_iteration(row_, kernels::kChase), row_.memory.load_cycles, 0.01);
  EXPECT_NEAR(
      cycles_per_iteration(row_, kernels::kChase, [](CoreClock& clock) { clock.load_done(0, 75, SlotCause::L3); }), 75,
      0.01);
}

TEST_P(EveryCoreClock, TakesAnAdditionsLatencyForEachStepOfASum) {
  const auto sum = kernels::block_of(kernels::kSum);
  const auto costs = block_costs(row_.core, row_.memory, sum);
  EXPECT_NEAR(cycles_per_iteration(row_, kernels::kSum), costs[0].latency, 0.01);
  EXPECT_GE(costs[0].latency, 3U);
}

TEST_P(EveryCoreClock, OverlapsIndependentMissesUntilTheReorderBufferIsFull) {
  // Each iteration misses once; a loop of `slots` slots has reorder_buffer / slots misses in flight.
  constexpr std::uint32_t latency = 400;
  const auto& core = row_.core;
  const BlockTiming timing(core, row_.memory, kernels::block_of(kernels::kLoads), 0);
  const double cycles = cycles_per_iteration(row_, kernels::kLoads,
                                             [](CoreClock& clock) { clock.load_done(0, latency, SlotCause::Dram); });
  const double in_flight = static_cast<double>(core.reorder_buffer) / timing.slots();
  EXPECT_NEAR(cycles, latency / in_flight, latency / in_flight * 0.12);
  EXPECT_LT(cycles, latency / 2.0);
}

TEST(CoreClock, ChargesAFullReorderBufferToTheLevelThatTheOldestLoadWaitsFor) {
  const BlockTiming timing(skylake().core, skylake().memory, kernels::block_of(kernels::kLoads), 0);
  for (const SlotCause level : {SlotCause::L2, SlotCause::L3, SlotCause::Dram}) {
    CoreClock clock(skylake().core);
    for (int i = 0; i < 1000; ++i) {
      clock.begin(timing);
      clock.load_done(0, 900, level);
      clock.end();
    }
    EXPECT_GT(clock.account().of(level), clock.units() / 2);
    EXPECT_EQ(clock.account().total(), clock.units());
  }
}

TEST(CoreClock, AChainBehindALoadThatCameLongAgoIsADependence) {
  // The register keeps no level from block to block: after the first addition nothing waits for the load.
  const BlockTiming sum(skylake().core, skylake().memory, kernels::block_of(kernels::kSum), 0);
  CoreClock clock(skylake().core);
  clock.begin(sum);
  clock.load_done(0, 300, SlotCause::Dram);
  clock.end();
  for (int i = 0; i < 3000; ++i) run(clock, sum);
  EXPECT_LE(clock.account().of(SlotCause::Dram), 300 * kUnitsPerCycle);
  EXPECT_GT(clock.account().of(SlotCause::Latency), clock.units() / 2);
}

TEST(CoreClock, AFullStoreBufferIsWhatIsWaitedForWhereNoLoadIsOutstanding) {
  const BlockTiming timing(skylake().core, skylake().memory, kernels::block_of(kernels::kStore), 0);
  const BlockTiming loads(skylake().core, skylake().memory, kernels::block_of(kernels::kLoads), 1);
  CoreClock clock(skylake().core);
  clock.begin(timing);
  clock.store_stall(0, 100);
  clock.end();
  EXPECT_EQ(clock.account().of(SlotCause::StoreBuffer), 100 * kUnitsPerCycle);
  clock.begin(loads);
  clock.load_done(0, 400, SlotCause::L3);
  clock.end();
  clock.begin(timing);
  clock.store_stall(0, 100);
  clock.end();
  EXPECT_EQ(clock.account().of(SlotCause::StoreBuffer), 100 * kUnitsPerCycle);
  EXPECT_EQ(clock.account().of(SlotCause::L3), 100 * kUnitsPerCycle);
}

TEST(CoreClock, AddsThePenaltyOfEachMispredictAndWaitsForItsOperands) {
  const double plain = cycles_per_iteration(skylake(), kernels::kHalves);
  const double wrong = cycles_per_iteration(skylake(), kernels::kHalves, [](CoreClock& clock) { clock.mispredict(0); });
  // The loop counter is ready early, so the branch resolves a few cycles after its dispatch.
  EXPECT_GE(wrong, plain + skylake().core.mispredict_cycles);
  EXPECT_LE(wrong, plain + skylake().core.mispredict_cycles + 5);
}

TEST(CoreClock, DrainsBeforeASerialisingInstructionEnds) {
  const BlockTiming loads(skylake().core, skylake().memory, kernels::block_of(kernels::kLoads), 0);
  CoreClock clock(skylake().core);
  clock.begin(loads);
  clock.load_done(0, 300, SlotCause::Dram);
  clock.serialise(20);
  clock.end();
  EXPECT_EQ(clock.start_cycle(), 320U);
  EXPECT_GT(clock.account().of(SlotCause::Dram), 280 * kUnitsPerCycle);
}

TEST(CoreClock, HidesAFetchMissUpToTheQueueBeforeIssue) {
  const double plain = cycles_per_iteration(skylake(), kernels::kHalves);
  const auto stalled = [&](std::uint32_t cycles) {
    return cycles_per_iteration(skylake(), kernels::kHalves, [cycles](CoreClock& clock) {
      clock.fetch_stall(0, cycles, SlotCause::InstructionCache);
    });
  };
  EXPECT_DOUBLE_EQ(stalled(16), plain);  // 64 slots, four a cycle
  EXPECT_DOUBLE_EQ(stalled(70), plain + 54);
}

TEST(CoreClock, FindsNothingLateAfterItHasIdledForLong) {
  // Times of registers are kept in 32 bits: 2.2 million cycles.
  for (const std::uint64_t cycles : {1'000'000U, 3'000'000U, 10'000'000U, 1'000'000'000U}) {
    const BlockTiming chase(skylake().core, skylake().memory, kernels::block_of(kernels::kChase), 0);
    CoreClock clock(skylake().core);
    run(clock, chase);
    clock.idle_until(cycles);
    clock.begin(chase);
    EXPECT_EQ(clock.load_dispatch(0), cycles);
    clock.end();
    EXPECT_LT(clock.start_cycle(), cycles + 100);
  }
}

TEST(CoreClock, KeepsItsResultsOverAMillionOfCyclesAndMore) {
  // Relative times are moved on now and then; a chase must not notice.
  const BlockTiming timing(skylake().core, skylake().memory, kernels::block_of(kernels::kChase), 0);
  CoreClock clock(skylake().core);
  for (int i = 0; i < 3'000'000; ++i) run(clock, timing);
  EXPECT_NEAR(static_cast<double>(clock.retired_cycle()), 12e6, 10);
}

INSTANTIATE_TEST_SUITE_P(Rows, EveryCoreClock, testing::ValuesIn(core_models()),
                         [](const auto& row) { return test_name(row.param); });

}  // namespace
}  // namespace zs::uarch

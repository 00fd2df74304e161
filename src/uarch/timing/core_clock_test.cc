// The clock against a plain one that follows every instruction, and against what is known of small loops.
#include "uarch/timing/core_clock.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

#include "uarch/branch/branch_streams.h"
#include "uarch/core_model.h"
#include "uarch/test_names.h"
#include "uarch/timing/code_samples.h"
#include "uarch/timing/kernels.h"

namespace zs::uarch {
namespace {

using arch::BranchKind;

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

// ---- the plain clock: every instruction has its times in a map; no matrix, no relative time, no cause in low bits ---------

struct Late {
  std::uint64_t time = 0;
  SlotCause cause = SlotCause::Latency;
  bool operator<(const Late& other) const { return time != other.time ? time < other.time : cause < other.cause; }
};

struct PlainEvents {
  struct Load {
    std::size_t load;
    std::uint32_t latency;
    SlotCause level;
  };
  std::vector<Load> loads;
  std::map<std::size_t, std::uint32_t> owned;    // by store
  bool mispredicted = false, resteered = false;  // the last branch
  std::uint32_t fetch_cycles = 0;                // of the first instruction
  std::uint32_t serialise_cycles = 0;
};

class PlainClock {
 public:
  PlainClock(const TimingParameters& core, const MemoryLimits& memory) : core_(core), memory_(memory) {}

  void run(const Block& block, const BlockTiming& timing, const PlainEvents& events) {
    const auto costs = block_costs(core_, memory_, block);
    const std::uint64_t slot = kUnitsPerCycle / core_.issue_width;
    slots_ += timing.slots();
    // The reorder buffer: blocks that end before its reach must be retired.
    for (const auto& [end, retired] : retired_) {
      if (slots_ > core_.reorder_buffer && end <= slots_ - core_.reorder_buffer)
        stall_until(retired.time, retired.cause);
    }
    std::size_t number = released_.size();
    std::vector<std::uint64_t> store_offsets;
    std::uint64_t before = 0;
    for (std::size_t i = 0; i < block.size(); ++i) {
      for (unsigned k = 0; k < block[i].shape.stores; ++k, ++number) {
        store_offsets.push_back(before);
        if (number < memory_.store_buffer || number - memory_.store_buffer >= released_.size()) continue;
        const std::uint64_t release = released_[number - memory_.store_buffer];
        if (release > before) stall_until(release - before, SlotCause::StoreBuffer);
      }
      before += costs[i].slots * slot;
    }
    // The scheduler: ports may be behind by as much as it holds.
    if (ports_done_ > ports_behind_) stall_until(ports_done_ - ports_behind_, ports_cause_);
    const BlockBound bound = bound_for(timing);

    const std::uint64_t start = now_;
    std::uint64_t shift = 0;
    const auto lose = [&](std::uint64_t units, SlotCause cause) {
      lost[cause] += units;
      shift += units;
    };
    const std::uint64_t hidden = core_.queue_slots * slot;
    if (events.fetch_cycles * kUnitsPerCycle > hidden) {
      lose(events.fetch_cycles * kUnitsPerCycle - hidden, SlotCause::InstructionCache);
    }
    Late complete;
    std::size_t load = 0;
    std::uint64_t offset = 0;
    std::map<unsigned, Late> written;
    Late last_result;
    for (std::size_t i = 0; i < block.size(); ++i) {
      const InstructionShape& shape = block[i].shape;
      const Late dispatched{start + shift + offset};
      const auto latest = [&](RegisterSet set) {
        Late late = dispatched;
        for (unsigned r = 0; r < reg::kCount; ++r) {
          if ((set >> r & 1) == 0) continue;
          late = std::max(late, written.contains(r) ? written[r] : registers[r]);
        }
        return late;
      };
      const Late addressed = latest(shape.address);
      Late result = latest(shape.reads);
      for (unsigned k = 0; k < shape.loads; ++k, ++load) {
        Late arrives{addressed.time + costs[i].load * kUnitsPerCycle, addressed.cause};
        for (const auto& event : events.loads) {
          if (event.load == load)
            arrives = std::max(arrives, {addressed.time + event.latency * kUnitsPerCycle, event.level});
        }
        result = std::max(result, arrives);
      }
      result.time += costs[i].latency * kUnitsPerCycle;
      for (unsigned r = 0; r < reg::kCount; ++r) {
        if ((shape.writes >> r & 1) != 0) written[r] = result;
      }
      const bool prefetch =
          shape.loads != 0 && shape.writes == 0 && shape.stores == 0 && shape.branch == BranchKind::None;
      if (prefetch) {
        // Nothing waits for it, but the plain rule that a load that missed is complete when its data is there holds.
        complete = std::max(complete, dispatched);
      } else {
        complete = std::max(complete, result);
      }
      if (shape.stores != 0) complete = std::max(complete, {addressed.time + kUnitsPerCycle, addressed.cause});
      last_result = result;
      offset += costs[i].slots * slot;
    }
    const std::uint64_t next = start + shift + bound.units;
    if (events.mispredicted) {
      if (last_result.time > next) {
        const std::uint64_t wait = last_result.time - next;
        const std::uint64_t wrong = std::min(wait, core_.reorder_buffer * slot);
        lose(wrong, SlotCause::Mispredict);
        lose(wait - wrong, last_result.cause);
      }
      lose(core_.mispredict_cycles * kUnitsPerCycle, SlotCause::Mispredict);
    } else if (events.resteered) {
      lose(core_.resteer_cycles * kUnitsPerCycle, SlotCause::Resteer);
    }
    if (events.serialise_cycles != 0) {
      Late all = complete;
      if (!retired_.empty()) all = std::max(all, retired_.back().second);
      const std::uint64_t behind = start + shift + bound.units;
      if (all.time > behind) {
        lose(all.time - behind, all.cause == SlotCause::Latency ? SlotCause::Serialising : all.cause);
      }
      lose(events.serialise_cycles * kUnitsPerCycle, SlotCause::Serialising);
    }

    ports_done_ = std::max(ports_done_, start) + timing.executed().units;
    if (timing.executed().units > bound.units) {
      ports_behind_ = timing.scheduler_units();
      ports_cause_ = timing.executed().cause;
    }
    for (const auto& [r, late] : written) registers[r] = late;
    if (!retired_.empty()) complete = std::max(complete, retired_.back().second);
    retired_.emplace_back(slots_, complete);
    for (std::size_t i = 0; i < store_offsets.size(); ++i) {
      std::uint64_t release = start + store_offsets[i] + core_.store_release_cycles * kUnitsPerCycle;
      if (!released_.empty()) release = std::max(release, released_.back() + kUnitsPerCycle);
      release = std::max(release, complete.time);
      if (const auto owned = events.owned.find(i); owned != events.owned.end()) {
        release = std::max(release, start + store_offsets[i] + owned->second * kUnitsPerCycle);
      }
      released_.push_back(release);
    }
    lost[SlotCause::Retired] += (timing.slots() - timing.microcode_slots()) * slot;
    lost[SlotCause::RetiredMicrocode] += timing.microcode_slots() * slot;
    lost[bound.cause] += bound.units - timing.slots() * slot;
    now_ = start + shift + bound.units;
    if (retired_.size() > 1024) retired_.erase(retired_.begin(), retired_.begin() + 512);
  }

  std::uint64_t units() const { return now_; }
  std::map<SlotCause, std::uint64_t> lost;
  std::map<unsigned, Late> registers;

 private:
  void stall_until(std::uint64_t time, SlotCause cause) {
    if (time <= now_) return;
    lost[cause] += time - now_;
    now_ = time;
  }
  BlockBound bound_for(const BlockTiming& timing) {
    const bool again = last_ == timing.id();
    last_ = timing.id();
    if (again) return timing.looped();
    if (core_.uop_cache_slots == 0) return timing.decoded();
    const auto at = filled_at_.find(timing.id());
    if (at != filled_at_.end() && filled_ - at->second < core_.uop_cache_slots) return timing.cached();
    filled_ += timing.cache_slots();
    filled_at_[timing.id()] = filled_;
    return timing.decoded();
  }

  TimingParameters core_;
  MemoryLimits memory_;
  std::uint64_t now_ = 0, slots_ = 0, filled_ = 0;
  std::uint64_t ports_done_ = 0, ports_behind_ = 0;
  SlotCause ports_cause_ = SlotCause::Ports;
  std::uint32_t last_ = UINT32_MAX;
  std::vector<std::pair<std::uint64_t, Late>>
      retired_;  // last slot of each block, and when all up to there were complete
  std::vector<std::uint64_t> released_;
  std::map<std::uint32_t, std::uint64_t> filled_at_;
};

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
  CoreClock clock(core, memory);
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
    PlainEvents events;
    clock.begin(timing);
    if (happens(50)) {
      events.fetch_cycles = static_cast<std::uint32_t>(10 + random.below(200));
      clock.fetch_stall(0, events.fetch_cycles, SlotCause::InstructionCache);
    }
    for (std::size_t load = 0; load < timing.loads(); ++load) {
      if (!happens(12)) continue;
      const std::size_t level = random.below(4);
      const auto latency = static_cast<std::uint32_t>(latencies[level] + random.below(40));
      events.loads.push_back({load, latency, levels[level]});
      clock.load_done(load, latency, levels[level]);
    }
    for (std::size_t store = 0; store < timing.stores(); ++store) {
      if (!happens(10)) continue;
      events.owned[store] = static_cast<std::uint32_t>(random.below(300));
    }
    // Ownership is asked for at dispatch, so the order with the loads' events is free, but a stall before it is not.
    for (const auto& [store, cycles] : events.owned) {
      const std::uint32_t stalled = events.fetch_cycles * core.issue_width > core.queue_slots ? 1 : 0;
      if (stalled == 0) clock.store_line_owned_after(store, cycles);
    }
    if (events.fetch_cycles * core.issue_width > core.queue_slots) events.owned.clear();
    if (timing.branches() != 0 && happens(15)) {
      events.mispredicted = true;
      clock.mispredict(timing.branches() - 1);
    } else if (timing.branches() != 0 && happens(15)) {
      events.resteered = true;
      clock.resteer(timing.branches() - 1);
    }
    if (timing.serialises()) {
      events.serialise_cycles = 18;
      clock.serialise(18);
    }
    clock.end();
    plain.run(block, timing, events);

    ASSERT_EQ(clock.units(), plain.units()) << "step " << step << ", block " << at;
    for (std::size_t i = 0; i < kSlotCauses; ++i) {
      const auto cause = static_cast<SlotCause>(i);
      ASSERT_EQ(clock.account().of(cause), plain.lost[cause]) << "step " << step << ", cause " << i;
    }
    for (const auto& [number, expected] : plain.registers) {
      if (expected.time <= plain.units()) continue;  // what is not late any more is forgotten
      ASSERT_EQ(clock.ready(number), expected.time + static_cast<std::uint64_t>(expected.cause))
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
  CoreClock clock(core, memory);
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

// ---- loops whose time is known -----------------------------------------------------------------------------------------

double cycles_per_iteration(const Row& row, const kernels::Bytes& code, const auto& event) {
  const BlockTiming timing(row.core, row.memory, kernels::block_of(code), 0);
  CoreClock clock(row.core, row.memory);
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
    CoreClock clock(skylake().core, skylake().memory);
    for (int i = 0; i < 1000; ++i) {
      clock.begin(timing);
      clock.load_done(0, 900, level);
      clock.end();
    }
    EXPECT_GT(clock.account().of(level), clock.units() / 2);
    EXPECT_EQ(clock.account().total(), clock.units());
  }
}

TEST(CoreClock, AddsThePenaltyOfEachMispredictAndWaitsForItsOperands) {
  const double plain = cycles_per_iteration(skylake(), kernels::kHalves);
  const double wrong = cycles_per_iteration(skylake(), kernels::kHalves, [](CoreClock& clock) { clock.mispredict(0); });
  // The loop counter is ready early, so the branch resolves a few cycles after its dispatch.
  EXPECT_GE(wrong, plain + skylake().core.mispredict_cycles);
  EXPECT_LE(wrong, plain + skylake().core.mispredict_cycles + 5);
}

/// 10^6 loops of `stores` stores and 500 instructions without memory, in blocks of 30 as the engine makes them.
/// returns cycles that the store buffer was full for
std::uint64_t store_buffer_stalls(std::size_t stores, int loops) {
  std::vector<BlockTiming> timings;
  std::uint64_t pc = kernels::kCode;
  const auto add = [&](const kernels::Bytes& piece, std::size_t count) {
    for (std::size_t done = 0; done < count; done += 30) {
      const auto code = kernels::repeated(piece, std::min<std::size_t>(30, count - done));
      timings.emplace_back(skylake().core, skylake().memory, kernels::block_of(code, pc),
                           static_cast<std::uint32_t>(timings.size()));
      pc += code.size();
    }
  };
  add(kernels::kStore, stores);
  add(kernels::kNop, 500);
  CoreClock clock(skylake().core, skylake().memory);
  for (int i = 0; i < loops; ++i) {
    for (const BlockTiming& timing : timings) clock.run(timing);
  }
  return clock.account().of(SlotCause::StoreBuffer) / kUnitsPerCycle;
}

TEST(CoreClock, StallsFromTheFiftySeventhStoreOfALoopOnSkylake) {
  // validation: RESOURCE_STALLS.SB over 10^6 loops, knee between 56 and 57, 0.12 M -> 21 M, a factor of 2. Here 10^5.
  constexpr int loops = 100'000;
  EXPECT_LT(store_buffer_stalls(56, loops), loops / 4);
  const std::uint64_t beyond = store_buffer_stalls(57, loops);
  EXPECT_GT(beyond, 21 * loops / 2);
  EXPECT_LT(beyond, 21 * loops * 2);
}

TEST(CoreClock, IsLimitedByStoresThatMissAtTheRateOfTheirLines) {
  // A store each iteration whose line takes 100 cycles: the store buffer overlaps 56 of them.
  kernels::Bytes code = kernels::kStore;
  code.insert(code.end(), {0x48, 0xFF, 0xC9, 0x75, 0xF8});
  const double cycles =
      cycles_per_iteration(skylake(), code, [](CoreClock& clock) { clock.store_line_owned_after(0, 560); });
  EXPECT_NEAR(cycles, 10.0, 0.2);
}

TEST(CoreClock, DrainsBeforeASerialisingInstructionEnds) {
  const BlockTiming loads(skylake().core, skylake().memory, kernels::block_of(kernels::kLoads), 0);
  CoreClock clock(skylake().core, skylake().memory);
  clock.begin(loads);
  clock.load_done(0, 300, SlotCause::Dram);
  clock.serialise(20);
  clock.end();
  EXPECT_EQ(clock.cycles(), 320U);
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

TEST(CoreClock, KeepsItsResultsOverAMillionOfCyclesAndMore) {
  // Relative times are moved on now and then; a chase must not notice.
  const BlockTiming timing(skylake().core, skylake().memory, kernels::block_of(kernels::kChase), 0);
  CoreClock clock(skylake().core, skylake().memory);
  for (int i = 0; i < 3'000'000; ++i) clock.run(timing);
  EXPECT_NEAR(static_cast<double>(clock.drained_cycles()), 12e6, 10);
}

INSTANTIATE_TEST_SUITE_P(Rows, EveryCoreClock, testing::ValuesIn(core_models()),
                         [](const auto& row) { return test_name(row.param); });

}  // namespace
}  // namespace zs::uarch

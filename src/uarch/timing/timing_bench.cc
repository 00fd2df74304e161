// What timing costs: once for each block at translation, and for each block that runs.
#include <benchmark/benchmark.h>

#include "uarch/cpus/skylake_server.h"
#include "uarch/reference/branch_streams.h"
#include "uarch/reference/code_samples.h"
#include "uarch/timing/core_clock.h"

namespace zs::uarch {
namespace {

constexpr MemoryLimits kMemory{.load_cycles = 4};

double per(benchmark::State& state, std::size_t count) {
  return static_cast<double>(state.iterations()) * static_cast<double>(count);
}
benchmark::Counter inverted(double value) {
  return benchmark::Counter(value, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

// The translator pays this for every block, once; expected: 0.6 us for the bounds without the map.
void BM_BlockTiming_Make(benchmark::State& state) {
  const auto blocks = libc_blocks(2000);
  for (auto _ : state) {
    for (const Block& block : blocks) {
      benchmark::DoNotOptimize(BlockTiming(kSkylakeServerTiming, kMemory, block, 0));
    }
  }
  state.counters["per_block"] = inverted(per(state, blocks.size()));
}
BENCHMARK(BM_BlockTiming_Make)->Unit(benchmark::kMillisecond);

// And this before it, for every instruction.
void BM_BlockTiming_Shape(benchmark::State& state) {
  const auto code = libc_code().first(64 * 1024);
  std::size_t count = 0;
  for (auto _ : state) {
    count = 0;
    for (auto rest = code; const auto shape = shape_of(rest); ++count) rest = rest.subspan(shape->length);
  }
  state.counters["per_instruction"] = inverted(per(state, count));
}
BENCHMARK(BM_BlockTiming_Shape)->Unit(benchmark::kMillisecond);

/// `events`: one of so many loads misses, and one of four times as many blocks is mispredicted; 0: none.
void over_blocks(benchmark::State& state, const TimingParameters& core, std::uint64_t events) {
  const auto blocks =
      libc_blocks(static_cast<std::size_t>(state.range(0)));  // by their number, what they take of the caches
  std::vector<BlockTiming> timings;
  timings.reserve(blocks.size());
  for (const Block& block : blocks) {
    timings.emplace_back(core, kMemory, block, static_cast<std::uint32_t>(timings.size()));
  }
  CoreClock clock(core);
  Random random(5);
  for (auto _ : state) {
    for (const BlockTiming& timing : timings) {
      clock.begin(timing);
      if (events != 0) {
        if (timing.loads() != 0 && random.below(events) == 0) clock.load_done(0, 70, SlotCause::L3);
        if (timing.branches() != 0 && random.below(4 * events) == 0) clock.mispredict(timing.branches() - 1);
      }
      clock.end();
    }
  }
  benchmark::DoNotOptimize(clock.units());
  state.counters["per_block"] = inverted(per(state, blocks.size()));
}

// `full` pays this for every block that runs; expected: 5 to 10 ns.
void BM_CoreClock_Run(benchmark::State& state) { over_blocks(state, kSkylakeServerTiming, 0); }
BENCHMARK(BM_CoreClock_Run)->Arg(50)->Arg(500)->Unit(benchmark::kMicrosecond);

// With one load in ten missing L1D, and one block in forty mispredicted.
void BM_CoreClock_RunWithEvents(benchmark::State& state) { over_blocks(state, kSkylakeServerTiming, 10); }
BENCHMARK(BM_CoreClock_RunWithEvents)->Arg(50)->Arg(500)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace zs::uarch

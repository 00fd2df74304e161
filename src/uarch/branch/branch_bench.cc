// What a branch costs the model, by how predictable the program is. The stream is made beforehand and its branches are
// predicted by the host as badly as by the model, which is half of the price.
#include <benchmark/benchmark.h>

#include "uarch/cpus/sapphire_rapids.h"
#include "uarch/cpus/skylake_server.h"
#include "uarch/cpus/westmere.h"
#include "uarch/reference/branch_streams.h"

namespace zs::uarch {
namespace {

void over_stream(benchmark::State& state, const BranchParameters& parameters, unsigned noise) {
  const auto stream = branch_stream(1, 200'000, noise);
  BranchUnit unit(parameters);
  for (auto _ : state) {
    for (const BranchFacts& branch : stream) benchmark::DoNotOptimize(unit.predict_and_update(branch));
  }
  state.counters["per_branch"] = benchmark::Counter(static_cast<double>(state.iterations()) * 200'000,
                                                    benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

// Every branch pays this; expected: 4 to 15 ns a branch, 15 to 20 ns a conditional one.
void BM_BranchUnit_Path(benchmark::State& state) {
  over_stream(state, kSkylakeServerBranch, static_cast<unsigned>(state.range(0)));
}
BENCHMARK(BM_BranchUnit_Path)->Arg(0)->Arg(5)->Arg(20)->Unit(benchmark::kMillisecond);

// The same with Golden Cove's four tables and 194 branches of path.
void BM_BranchUnit_LongPath(benchmark::State& state) {
  over_stream(state, kSapphireRapidsBranch, static_cast<unsigned>(state.range(0)));
}
BENCHMARK(BM_BranchUnit_LongPath)->Arg(5)->Unit(benchmark::kMillisecond);

// Westmere's; expected: 4 to 8 ns a conditional branch.
void BM_BranchUnit_Tournament(benchmark::State& state) {
  over_stream(state, kWestmereBranch, static_cast<unsigned>(state.range(0)));
}
BENCHMARK(BM_BranchUnit_Tournament)->Arg(0)->Arg(5)->Arg(20)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace zs::uarch

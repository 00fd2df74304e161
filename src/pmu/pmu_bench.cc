// What the PMU costs its callers: an engine asks headroom() and reports count() every few microseconds, and retires one
// by one only near an overflow; every sample costs a driver's dozen of register accesses.
#include <benchmark/benchmark.h>

#include "pmu/fakes.h"

namespace zs::pmu {
namespace {

void program(TestPmu& t, unsigned counters) {
  constexpr std::uint64_t kEvents[] = {kCountInstructions, kCountBranches, kCountLoads, 0x41'82D0};
  for (unsigned n = 0; n < counters; ++n) t.wr(kSelect0 + n, kEvents[n]);
}

// Paid at every sync of the engine, per accumulator.
void BM_Pmu_HeadroomAndCount(benchmark::State& state) {
  TestPmu t;
  program(t, static_cast<unsigned>(state.range(0)));
  for (auto _ : state) {
    for (std::size_t accumulator = 0; accumulator < t.pmu.accumulators().size(); ++accumulator) {
      benchmark::DoNotOptimize(t.pmu.headroom(accumulator));
      t.pmu.count(accumulator, 100);
    }
  }
}
BENCHMARK(BM_Pmu_HeadroomAndCount)->Arg(1)->Arg(4);

// Paid per instruction of a precise stretch.
void BM_Pmu_Retire(benchmark::State& state) {
  TestPmu t;
  program(t, static_cast<unsigned>(state.range(0)));
  const arch::Retired load = load_at(0x1000, 0x9000);
  const arch::RegisterFile after{};
  for (auto _ : state) t.pmu.retire(load, after);
}
BENCHMARK(BM_Pmu_Retire)->Arg(1)->Arg(4);

// Paid per taken branch of a recording with a branch stack.
void BM_Pmu_EnterBranch(benchmark::State& state) {
  TestPmu t;
  t.wr(kDebugCtl, 1);
  arch::TakenBranch branch{.from = 0x1000, .to = 0x2000, .kind = arch::BranchKind::Conditional};
  for (auto _ : state) {
    branch.from += 16;
    t.pmu.enter_branch(branch);
  }
}
BENCHMARK(BM_Pmu_EnterBranch);

// Paid per sample at the least: arm, record, reload.
void BM_Pmu_Record(benchmark::State& state) {
  TestPmu t;
  t.set_up_ds(8, 100, minus(1));
  t.wr(kSelect0, kCountInstructions);
  t.wr(kFullPmc0, minus(1));
  t.wr(kPebsEnable, 1);
  const arch::Retired r;
  const arch::RegisterFile after{};
  for (auto _ : state) {
    t.pmu.retire(r, after);
    t.pmu.retire(r, after);
    t.memory.put(TestPmu::kDs + arch::kDsPebsIndexOffset, TestPmu::kRecords);
  }
}
BENCHMARK(BM_Pmu_Record);

// Paid per taken branch with BTS.
void BM_Pmu_StoreBranch(benchmark::State& state) {
  TestPmu t;
  t.set_up_bts(16, 20);
  t.wr(kDebugCtl, 0xC0);
  arch::TakenBranch branch{.from = 0x1000, .to = 0x2000, .kind = arch::BranchKind::Conditional};
  for (auto _ : state) {
    branch.from += 16;
    t.pmu.enter_branch(branch);
  }
}
BENCHMARK(BM_Pmu_StoreBranch);

// Paid per PMI: stop, acknowledge, restart, and the accumulators are looked at again.
void BM_Pmu_DriverRoundTrip(benchmark::State& state) {
  TestPmu t;
  program(t, 4);
  for (auto _ : state) {
    t.wr(kGlobal, 0);
    benchmark::DoNotOptimize(t.rd(kStatus));
    t.wr(kOvfCtrl, kOvfBuf);
    t.wr(kFullPmc0, minus(1000));
    t.wr(kGlobal, 0xF);
    benchmark::DoNotOptimize(t.pmu.headroom(0));
  }
}
BENCHMARK(BM_Pmu_DriverRoundTrip);

}  // namespace
}  // namespace zs::pmu

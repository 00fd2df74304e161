// What the whole model costs for each instruction that ran: who asks for modelled events pays it, beside the engine's
// translation.
#include <benchmark/benchmark.h>

#include <memory>
#include <vector>

#include "uarch/core_model.h"
#include "uarch/reference/synthetic_workload.h"
#include "uarch/replay/modelled_machine.h"

namespace zs::uarch {
namespace {

/// A program that is kind to its caches, told as the engine tells it. range(0): blocks of code; range(1): 1
/// with code for paths that are often run, 0 without
void BM_Machine_Run(benchmark::State& state) {
  const SyntheticWorkload program(1, static_cast<std::size_t>(state.range(0)), false, true);
  const auto stream = program.run(200'000, 7);
  MachineOptions options;
  if (state.range(1) == 0) options.code_bytes = 0;
  ModelledMachine machine(*find_core_model("skylake-server"), options);
  const auto thread = machine.attach_thread();
  Runner runner(*thread);
  runner.run(stream, {});
  using enum arch::CoreSignal;
  const arch::CoreSignals before = thread->signals();
  const SimulationWork work_before = machine.work();
  for (auto _ : state) runner.run_prepared();
  const double instructions = static_cast<double>(state.iterations()) * static_cast<double>(stream.size());
  const auto rate = [&](arch::CoreSignal signal) {
    return static_cast<double>(thread->signals()[signal] - before[signal]) / instructions;
  };
  state.counters["per_instruction"] =
      benchmark::Counter(instructions, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.counters["loads"] = rate(Loads);
  state.counters["stores"] = rate(Stores);
  state.counters["l1_missed"] = rate(Loads) - rate(LoadL1Hit);
  state.counters["mispredicted"] = rate(MispredictedTaken) + rate(MispredictedNotTaken) + rate(MispredictedReturn) +
                                   rate(MispredictedIndirectCall) + rate(MispredictedIndirectJump);
  state.counters["runs"] = static_cast<double>(runner.runs()) / static_cast<double>(stream.size());
  state.counters["cycles"] = rate(Cycles);
  const auto runs = static_cast<double>(state.iterations()) * static_cast<double>(runner.runs());
  state.counters["by_code"] = static_cast<double>(machine.work().by_code - work_before.by_code) / runs;
  state.counters["callouts"] = static_cast<double>(machine.work().callouts - work_before.callouts) / runs;
}
BENCHMARK(BM_Machine_Run)
    ->ArgNames({"blocks", "code"})
    ->ArgsProduct({{50, 500, 3000}, {0, 1}})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace zs::uarch

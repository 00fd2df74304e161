// What the whole model costs for each instruction that ran: who asks for modelled events pays it, beside the engine's translation.
#include <benchmark/benchmark.h>

#include <memory>
#include <vector>

#include "uarch/core_model.h"
#include "uarch/machine/made_up_program.h"
#include "uarch/machine/modelled_machine.h"

namespace zs::uarch {
namespace {

/// A program that is kind to its caches; range(0): blocks of code; range(1): 1 full, 0 fast
void BM_Machine_Run(benchmark::State& state) {
  const MadeUpProgram program(1, static_cast<std::size_t>(state.range(0)), false, true);
  const auto stream = program.run(200'000, 7);
  const Depth depth = state.range(1) != 0 ? Depth::Full : Depth::Fast;
  ModelledMachine machine(*find_core_model("skylake-server"), {.depth = depth});
  const auto thread = machine.attach_thread();
  Runner runner(*thread);
  runner.run(stream, {});
  using enum arch::CoreSignal;
  const arch::CoreSignals before = thread->signals();
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
}
BENCHMARK(BM_Machine_Run)->ArgsProduct({{50, 500, 3000}, {0, 1}})->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace zs::uarch

// What the translator pays to look at an instruction, over the C library's code in its order: branches of the decoder
// are predicted as badly as in a translation, where no instruction is decoded twice.
#include <benchmark/benchmark.h>

#include <algorithm>

#include "isa/decode.h"
#include "isa/loaded_code.h"

namespace zs::isa {
namespace {

template <typename Decode>
void over_libc(benchmark::State& state, const Decode& decode_one) {
  const auto objects = loaded_code();
  const auto libc = std::find_if(objects.begin(), objects.end(), [](const LoadedCode& code) { return code.is_libc(); });
  if (libc == objects.end()) return state.SkipWithError("no C library among the loaded objects");
  const auto starts = instructions_of(libc->bytes);
  for (auto _ : state) {
    for (const std::size_t at : starts) decode_one(at, libc->bytes.subspan(at, 15));
  }
  state.counters["per_instruction"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * static_cast<double>(starts.size()),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

// The translator pays this for every instruction of the program, once; again where blocks overlap.
void BM_Decode_Into(benchmark::State& state) {
  Insn insn;
  over_libc(state, [&insn](std::uint64_t pc, std::span<const std::uint8_t> code) {
    benchmark::DoNotOptimize(decode_into(insn, pc, code));
    benchmark::ClobberMemory();
  });
}
BENCHMARK(BM_Decode_Into)->Unit(benchmark::kMillisecond);

// Signal handling and single steps pay this.
void BM_Decode(benchmark::State& state) {
  over_libc(state,
            [](std::uint64_t pc, std::span<const std::uint8_t> code) { benchmark::DoNotOptimize(decode(pc, code)); });
}
BENCHMARK(BM_Decode)->Unit(benchmark::kMillisecond);

// What every instruction cost before fast_decode, and what EVEX, x87 and string instructions cost still.
void BM_Decode_WithZydis(benchmark::State& state) {
  over_libc(state, [](std::uint64_t pc, std::span<const std::uint8_t> code) {
    benchmark::DoNotOptimize(decode_with_zydis(pc, code));
  });
}
BENCHMARK(BM_Decode_WithZydis)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace zs::isa

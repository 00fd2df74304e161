// What an instruction of the virtual PC costs: a loop with a quarter branches and a third memory accesses, plain and
// with what a live PMU asks for. Rates are per CPU second.
#include <benchmark/benchmark.h>

#include "machine/vcpu/test_machine.h"

namespace zs::machine {
namespace {

// Twenty instructions a round: 5 branches (4 taken), 7 memory accesses.
void load_loop(TestMachine& m) {
  m.long64({
      0xBB, 0x00, 0x40, 0x00, 0x00,  // mov ebx, 4000h
      0x48, 0x8B, 0x03,              // again: mov rax, [rbx]
      0x48, 0x01, 0xC1,              // add rcx, rax
      0x48, 0x89, 0x4B, 0x08,        // mov [rbx+8], rcx
      0x85, 0xC9,                    // test ecx, ecx
      0x74, 0x00,                    // jz next
      0x8B, 0x53, 0x10,              // mov edx, [rbx+10h]
      0x83, 0xC2, 0x01,              // add edx, 1
      0x89, 0x53, 0x10,              // mov [rbx+10h], edx
      0xEB, 0x00,                    // jmp next
      0x48, 0x8D, 0x34, 0x11,        // lea rsi, [rcx+rdx]
      0xE8, 0x0D, 0x00, 0x00, 0x00,  // call f
      0x31, 0xD6,                    // xor esi, edx
      0x0F, 0xB6, 0x43, 0x20,        // movzx eax, byte [rbx+20h]
      0xC1, 0xE6, 0x03,              // shl esi, 3
      0x39, 0xD6,                    // cmp esi, edx
      0xEB, 0xD1,                    // jmp again
      // f:
      0x48, 0xFF, 0xC7,  // inc rdi
      0xC3,              // ret
  });
}

void run_loop(benchmark::State& state, Watch watch) {
  TestMachine m;
  load_loop(m);
  m.observer.keep = false;
  m.observer.wanted = watch;
  constexpr std::uint64_t kInstructions = 1'000'000;
  for (auto _ : state) {
    const Stop stop = m.run(kInstructions);
    if (stop.kind != StopKind::Limit) state.SkipWithError("the loop left");
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * kInstructions));
}

// Paid by every guest.
void BM_Vcpu_Plain(benchmark::State& state) { run_loop(state, {}); }
BENCHMARK(BM_Vcpu_Plain);

// Paid with live counters: each kind of instruction is tallied.
void BM_Vcpu_Tally(benchmark::State& state) {
  run_loop(state, {.retirements = Watch::Retirements::Tally, .horizon = 10000});
}
BENCHMARK(BM_Vcpu_Tally);

// Paid with LBR: each taken branch is told.
void BM_Vcpu_Branches(benchmark::State& state) { run_loop(state, {.branches = true}); }
BENCHMARK(BM_Vcpu_Branches);

// Paid by a trace, and near an overflow.
void BM_Vcpu_Each(benchmark::State& state) { run_loop(state, {.retirements = Watch::Retirements::Each}); }
BENCHMARK(BM_Vcpu_Each);

}  // namespace
}  // namespace zs::machine

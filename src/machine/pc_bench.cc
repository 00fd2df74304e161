// How fast the virtual PC runs a loop with 24 % branches and 35 % memory accesses: plain, with five live counters, with
// LBR, and with BTS into a circular buffer. Who waits for these: everyone who boots something.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "arch/cpu_model.h"
#include "machine/pc.h"

namespace {

using namespace zs;

constexpr std::uint32_t kLoad = 0x100000;

/// A flat Multiboot kernel that writes MSRs and then loops for ever:
///   again: mov eax, [esi]; add eax, ecx; mov [esi+4], eax; test eax, 1; jz skip; xor edx, eax;
///   skip:  add ebx, [esi+8]; dec ecx; jnz again; jmp again
class Kernel {
 public:
  Kernel() {
    for (const std::uint32_t word :
         {0x1BADB002u, 0x10000u, 0u - (0x1BADB002u + 0x10000u), kLoad, kLoad, 0u, 0u, kLoad + 32})
      put(word);
    byte({0xBE}), put(0x200000u);  // mov esi
  }
  void msr(std::uint32_t address, std::uint64_t value) {
    byte({0xB9}), put(address);
    byte({0xB8}), put(static_cast<std::uint32_t>(value));
    byte({0xBA}), put(static_cast<std::uint32_t>(value >> 32));
    byte({0x0F, 0x30});
  }
  void store(std::uint32_t address, std::uint32_t value) { byte({0xC7, 0x05}), put(address), put(value); }
  std::vector<std::byte> finish() {
    byte({0x8B, 0x06, 0x01, 0xC8, 0x89, 0x46, 0x04, 0xA9, 1,    0,    0,    0,
          0x74, 0x02, 0x31, 0xC2, 0x03, 0x5E, 0x08, 0x49, 0x75, 0xEA, 0xEB, 0xE8});
    return std::move(bytes_);
  }

 private:
  void byte(std::initializer_list<unsigned> values) {
    for (const unsigned value : values) bytes_.push_back(static_cast<std::byte>(value));
  }
  void put(std::uint32_t word) {
    for (unsigned i = 0; i < 4; ++i) byte({word >> 8 * i & 0xFF});
  }
  std::vector<std::byte> bytes_;
};

void run(benchmark::State& state, Kernel kernel) {
  auto pc = machine::Pc::make({.cpu = arch::find_cpu_model("westmere"), .memory_bytes = 16 << 20});
  if (!pc ||
      !(*pc)->boot_kernel({.kernel = kernel.finish(), .kernel_name = "bench", .command_line = "", .modules = {}})) {
    state.SkipWithError("does not boot");
    return;
  }
  constexpr std::uint64_t kStretch = 1'000'000;
  for (auto _ : state) (void)(*pc)->run((*pc)->retired() + kStretch);
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * kStretch));
}

void BM_Pc_Plain(benchmark::State& state) { run(state, {}); }
BENCHMARK(BM_Pc_Plain);

void BM_Pc_FiveCounters(benchmark::State& state) {
  Kernel kernel;
  kernel.msr(0x186, 0x4300C0);  // instructions
  kernel.msr(0x187, 0x4300C4);  // branches
  kernel.msr(0x188, 0x43010B);  // loads
  kernel.msr(0x189, 0x43020B);  // stores
  kernel.msr(0x38D, 3);         // fixed: instructions
  kernel.msr(0x38F, 0x1'0000'000F);
  run(state, std::move(kernel));
}
BENCHMARK(BM_Pc_FiveCounters);

void BM_Pc_Lbr(benchmark::State& state) {
  Kernel kernel;
  kernel.msr(0x1D9, 1);
  run(state, std::move(kernel));
}
BENCHMARK(BM_Pc_Lbr);

void BM_Pc_Bts(benchmark::State& state) {
  constexpr std::uint32_t kArea = 0x400000, kBuffer = 0x400100, kRecords = 100, kRecord = 24;
  Kernel kernel;
  kernel.store(kArea, kBuffer);
  kernel.store(kArea + 8, kBuffer);
  kernel.store(kArea + 16, kBuffer + kRecords * kRecord);
  kernel.store(kArea + 24, kBuffer + (kRecords + 2) * kRecord);
  kernel.msr(0x600, kArea);
  kernel.msr(0x1D9, 0xC0);
  run(state, std::move(kernel));
}
BENCHMARK(BM_Pc_Bts);

}  // namespace

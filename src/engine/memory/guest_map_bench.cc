// What a memory system call of the program costs on top of the kernel's part, and the look-ups that the translator
// makes.
#include <benchmark/benchmark.h>
#include <sys/mman.h>

#include "base/check.h"
#include "engine/memory/guest_map.h"
#include "engine/raw_syscall.h"

namespace zs::engine {
namespace {

constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS;
constexpr std::uint64_t kBytes = 64 * kPageSize;

/// As many mappings as a large program has, none of which merge.
void crowd(GuestMap& map, int mappings) {
  for (int i = 0; i < mappings; ++i) {
    CHECK(!is_error(map.mmap(0, kPageSize, i % 2 ? PROT_READ : PROT_READ | PROT_EXEC, kFlags, -1, 0)));
  }
}

// Paid by malloc for every large block: compare with the kernel's share below.
void BM_GuestMap_MmapMunmap(benchmark::State& state) {
  GuestMap map{Layout{}};
  crowd(map, static_cast<int>(state.range(0)));
  for (auto _ : state) {
    const long at = map.mmap(0, kBytes, PROT_READ | PROT_WRITE, kFlags, -1, 0);
    map.munmap(static_cast<std::uint64_t>(at), kBytes);
  }
  map.munmap(0, kTaskSize);
}
BENCHMARK(BM_GuestMap_MmapMunmap)->Arg(10)->Arg(20000);

void BM_Kernel_MmapMunmap(benchmark::State& state) {
  for (auto _ : state) {
    const long at = raw_syscall(SYS_mmap, 0, kBytes, PROT_READ | PROT_WRITE, kFlags, -1, 0);
    raw_syscall(SYS_munmap, at, kBytes);
  }
}
BENCHMARK(BM_Kernel_MmapMunmap);

// Paid by malloc when it trims, and by garbage collectors.
void BM_GuestMap_MadviseDontneed(benchmark::State& state) {
  GuestMap map{Layout{}};
  crowd(map, 1000);
  const auto at = static_cast<std::uint64_t>(map.mmap(0, kBytes, PROT_READ | PROT_WRITE, kFlags, -1, 0));
  for (auto _ : state) map.madvise(at, kBytes, MADV_DONTNEED);
  map.munmap(0, kTaskSize);
}
BENCHMARK(BM_GuestMap_MadviseDontneed);

// Paid by every translated instruction that starts a page, and by every fault.
void BM_GuestMap_IsExecutable(benchmark::State& state) {
  GuestMap map{Layout{}};
  crowd(map, 1000);
  const std::uint64_t base = map.layout().low.start;
  std::uint64_t address = base;
  for (auto _ : state) {
    benchmark::DoNotOptimize(map.mappings().is_executable(address));
    address = base + (address * 7 + 4096) % (500 * kPageSize);
  }
  map.munmap(0, kTaskSize);
}
BENCHMARK(BM_GuestMap_IsExecutable);

}  // namespace
}  // namespace zs::engine

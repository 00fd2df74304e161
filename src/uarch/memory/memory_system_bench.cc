// What one access costs. The tables of docs/models/memory.md hold these numbers.
#include <benchmark/benchmark.h>
#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "uarch/cache/cache.h"
#include "uarch/coherence/directory.h"
#include "uarch/core_model.h"
#include "uarch/memory/memory_system.h"
#include "uarch/prefetch/streamer.h"
#include "uarch/reference/memory_kernels.h"
#include "uarch/tlb/tlb.h"

namespace zs::uarch {
namespace {

const MemoryParameters& skylake() { return find_core_model("skylake-server")->memory; }

/// What every reference of a program pays that stays in one line per set: the inline path.
void BM_Memory_FilterHit(benchmark::State& state) {
  const auto memory = MemorySystem::make(skylake(), {});
  constexpr std::uint64_t now = 1'000'000;
  for (unsigned i = 0; i < 256; ++i) memory->load(0, {kKernelBase + i % 64 * 8, 1000 * i, 8, i});
  std::uint64_t i = 0;
  for (auto _ : state) {
    ++i;
    benchmark::DoNotOptimize(memory->load(0, {kKernelBase + i % 64 * 8, now, 8, 1}));
  }
}
BENCHMARK(BM_Memory_FilterHit);

/// A hit in L1D that is not its set's last line: the slow function without a miss.
void BM_Memory_L1Hit(benchmark::State& state) {
  const auto memory = MemorySystem::make(skylake(), {});
  std::uint64_t now = 0;
  std::uint64_t i = 0;
  for (auto _ : state) {
    ++i;
    now += 4;
    benchmark::DoNotOptimize(memory->load(0, {kKernelBase + i % 4 * 4096, now, 8, 1}));
  }
}
BENCHMARK(BM_Memory_L1Hit);

/// A mixture as programs have it: a stack, a hot table, now and then something far away. Stores are a third.
void BM_Memory_Program(benchmark::State& state) {
  const CoreModel& model = core_models()[static_cast<std::size_t>(state.range(0))];
  const auto memory = MemorySystem::make(model.memory, {});
  Random chance(1);
  std::vector<std::uint64_t> addresses(1 << 16);
  for (std::uint64_t& address : addresses) {
    const std::uint64_t kind = chance.below(100);
    if (kind < 60) {
      address = 0x7FFF'0000'0000 + chance.below(64) * 8;
    } else if (kind < 90) {
      address = kKernelBase + chance.below(256) * 8;
    } else if (kind < 97) {
      address = kKernelBase + chance.below(16 << 10) * 8;
    } else {
      address = kKernelBase + chance.below(1 << 20) * 8;
    }
  }
  std::uint64_t now = 0;
  std::size_t at = 0;
  for (auto _ : state) {
    now += 2;
    at = (at + 1) % addresses.size();
    const Access access{addresses[at], now, 8, static_cast<std::uint32_t>(at % 512)};
    const Outcome outcome = at % 3 == 0 ? memory->store(0, access) : memory->load(0, access);
    if (outcome.latency > 60) now += outcome.latency / 8;  // some of it is not hidden
  }
  state.SetLabel(std::string(model.name));
}
BENCHMARK(BM_Memory_Program)->DenseRange(0, 5, 1);

/// A random chase: every level's share of a miss. bytes: the footprint.
void BM_Memory_RandomChase(benchmark::State& state) {
  const auto memory = MemorySystem::make(skylake(), {});
  const auto offsets = shuffled_lines(static_cast<std::uint64_t>(state.range(0)), 1);
  std::uint64_t now = 0;
  std::size_t at = 0;
  for (auto _ : state) {
    now += memory->load(0, {kKernelBase + offsets[at], now, 8, static_cast<std::uint32_t>(at)}).latency;
    at = at + 1 == offsets.size() ? 0 : at + 1;
  }
}
BENCHMARK(BM_Memory_RandomChase)->Arg(16 << 10)->Arg(256 << 10)->Arg(8 << 20)->Arg(128 << 20);

void BM_Memory_Fetch(benchmark::State& state) {
  const auto memory = MemorySystem::make(skylake(), {});
  std::uint64_t i = 0;
  for (auto _ : state) {
    ++i;
    benchmark::DoNotOptimize(memory->fetch(0, 0x40'0000 + i % 256 * 64, i));
  }
}
BENCHMARK(BM_Memory_Fetch);

template <typename Policy>
void BM_Cache_Hit(benchmark::State& state) {
  CacheParameters parameters = skylake().l1d;
  Cache<Policy> cache(parameters);
  for (Line line = 0; line < 512; ++line) cache.insert(line, kExclusive);
  Line line = 0;
  for (auto _ : state) {
    line = (line + 67) % 512;
    const auto slot = cache.find(line);
    cache.touch(slot);
    benchmark::DoNotOptimize(slot);
  }
}
BENCHMARK(BM_Cache_Hit<TreePlruPolicy>);
BENCHMARK(BM_Cache_Hit<LruPolicy>);
BENCHMARK(BM_Cache_Hit<AnyPolicy>);

// Why caches compare four tags at once: the same search with eight, which not every host has.
alignas(64) std::uint32_t tags_of_16[1024][16];

[[gnu::noinline, gnu::target("avx2")]] unsigned equal_by_eight(const std::uint32_t* tags, std::uint32_t wanted) {
  const __m256i value = _mm256_set1_epi32(static_cast<int>(wanted));
  unsigned mask = 0;
  for (unsigned way = 0; way < 16; way += 8) {
    const __m256i some = _mm256_load_si256(reinterpret_cast<const __m256i*>(tags + way));
    mask |= static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(some, value)))) << way;
  }
  return mask;
}

[[gnu::noinline]] unsigned equal_by_four(const std::uint32_t* tags, std::uint32_t wanted) {
  const __m128i value = _mm_set1_epi32(static_cast<int>(wanted));
  unsigned mask = 0;
  for (unsigned way = 0; way < 16; way += 4) {
    const __m128i some = _mm_load_si128(reinterpret_cast<const __m128i*>(tags + way));
    mask |= static_cast<unsigned>(_mm_movemask_ps(_mm_castsi128_ps(_mm_cmpeq_epi32(some, value)))) << way;
  }
  return mask;
}

template <unsigned (*equal)(const std::uint32_t*, std::uint32_t)>
void BM_Cache_Compare16(benchmark::State& state) {
  if (equal == equal_by_eight && !__builtin_cpu_supports("avx2")) {
    state.SkipWithError("this host has no AVX2");
    return;
  }
  std::uint32_t set = 0;
  for (auto _ : state) {
    set = (set + 67) % 1024;
    benchmark::DoNotOptimize(equal(tags_of_16[set], 12345));
  }
}
BENCHMARK(BM_Cache_Compare16<equal_by_eight>);
BENCHMARK(BM_Cache_Compare16<equal_by_four>);

/// Eleven ways and a hashed index, with QLRU: a victim LLC's lookup and insertion.
void BM_Cache_LlcMissAndInsert(benchmark::State& state) {
  Cache<AnyPolicy> cache(skylake().llc);
  Line line = 0;
  for (auto _ : state) {
    line += 12345;
    if (cache.find(line) == Cache<AnyPolicy>::kNoSlot) benchmark::DoNotOptimize(cache.insert(line, kExclusive));
  }
}
BENCHMARK(BM_Cache_LlcMissAndInsert);

/// Fully associative, as Zen's first level.
void BM_Tlb_Hit(benchmark::State& state) {
  Tlb tlb({.entries_4k = 72, .ways_4k = static_cast<std::uint32_t>(state.range(0)), .shared_2m = true});
  for (std::uint64_t page = 0; page < 64; ++page) tlb.insert(page, false, 1);
  std::uint64_t page = 0;
  for (auto _ : state) {
    page = (page + 7) % 64;
    benchmark::DoNotOptimize(tlb.find(page, false));
  }
}
BENCHMARK(BM_Tlb_Hit)->Arg(9)->Arg(72);

void BM_StoreBuffer_PushAndMeet(benchmark::State& state) {
  StoreBuffer stores(56, 20);
  std::uint64_t now = 0;
  for (auto _ : state) {
    now += 3;
    stores.push({kKernelBase + now % 4096 / 8 * 8, now, 8}, now, now);
    benchmark::DoNotOptimize(stores.meet(kKernelBase + (now + 512) % 4096 / 8 * 8, 8, now + 1, 0));
  }
}
BENCHMARK(BM_StoreBuffer_PushAndMeet);

void BM_Streamer_Access(benchmark::State& state) {
  Streamer streamer(skylake().prefetch);
  Line line = 0;
  for (auto _ : state) {
    line += 3;
    streamer.access(line, [](Line next) {
      benchmark::DoNotOptimize(next);
      return true;
    });
  }
}
BENCHMARK(BM_Streamer_Access);

void BM_Directory_SetAndAsk(benchmark::State& state) {
  Directory directory;
  Line line = 0;
  for (auto _ : state) {
    line = (line + 12345) % (1 << 18);
    directory.set(line, {core_bit(line % 8), true});
    benchmark::DoNotOptimize(directory.holders(line + 1));
  }
}
BENCHMARK(BM_Directory_SetAndAsk);

}  // namespace
}  // namespace zs::uarch

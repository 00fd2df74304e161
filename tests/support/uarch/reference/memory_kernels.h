// Address streams whose cost is known from measurements of real parts: dependent chases and streams of stores. For
// tests and benchmarks. Each returns core cycles per access, after everything that fits has come in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "uarch/chance.h"
#include "uarch/memory/memory_system.h"

namespace zs::uarch {

inline constexpr std::uint64_t kKernelBase = 0x10'0000'0000;

/// Every line of `bytes` once, one `stride` after the other: first those at 0, stride, 2 x stride, ..., then the lines
/// between them, pass after pass. chosen: passes in a scattered order, so that what one brings for the next is long
/// gone.
inline std::vector<std::uint64_t> strided_lines(std::uint64_t bytes, std::uint64_t stride) {
  std::vector<std::uint64_t> offsets;
  offsets.reserve(bytes / kLineBytes);
  const std::uint64_t passes = stride / kLineBytes;  // a power of two, so any odd factor scatters
  for (std::uint64_t pass = 0; pass < passes; ++pass) {
    const std::uint64_t first = pass * 29 % passes * kLineBytes;
    for (std::uint64_t at = first; at < bytes; at += stride) offsets.push_back(at);
  }
  return offsets;
}

/// Every line of `bytes` once, in random order.
inline std::vector<std::uint64_t> shuffled_lines(std::uint64_t bytes, std::uint64_t seed) {
  std::vector<std::uint64_t> offsets = strided_lines(bytes, kLineBytes);
  Random chance(seed);
  for (std::uint64_t i = offsets.size() - 1; i > 0; --i) std::swap(offsets[i], offsets[chance.below(i + 1)]);
  return offsets;
}

inline constexpr std::uint32_t kUnrolled = 1021;  // no two near loads are one instruction

/// Loads whose address is the last one's data, through `offsets` round and round.
/// warm, loads   loads before and while measuring
/// instructions  of the loop that load, in turn
/// pause         cycles between a load's data and the next load
inline double chase(MemorySystem& memory, const std::vector<std::uint64_t>& offsets, std::uint64_t warm,
                    std::uint64_t loads, std::uint32_t instructions = kUnrolled, std::uint64_t pause = 0) {
  std::uint64_t now = 0;
  std::uint64_t began = 0;
  std::size_t at = 0;
  for (std::uint64_t i = 0; i < warm + loads; ++i) {
    if (i == warm) began = now;
    const Access access{kKernelBase + offsets[at], now, 8, static_cast<std::uint32_t>(i % instructions)};
    now += memory.load(0, access).latency + pause;
    at = at + 1 == offsets.size() ? 0 : at + 1;
  }
  return static_cast<double>(now - began) / static_cast<double>(loads);
}

/// One 64-byte store a cycle to a random line of `bytes`, as fast as the store buffer takes them.
inline double random_stores(MemorySystem& memory, std::uint64_t bytes, std::uint64_t warm, std::uint64_t stores) {
  Random chance(1);
  const std::uint64_t lines = bytes / kLineBytes;
  std::uint64_t now = 0;
  std::uint64_t began = 0;
  for (std::uint64_t i = 0; i < warm + stores; ++i) {
    if (i == warm) began = now;
    const Access access{kKernelBase + chance.below(lines) * kLineBytes, now, 64, 1};
    now += 1 + memory.store(0, access).waited;
  }
  return static_cast<double>(now - began) / static_cast<double>(stores);
}

}  // namespace zs::uarch

// Sizes as people write them, numbers as people read them, and the rounding that tables and pages need.
#pragma once

#include <cstdint>
#include <string>

namespace zs {

// clang-format off
constexpr std::uint64_t operator""_KiB(unsigned long long n) { return n << 10; }
constexpr std::uint64_t operator""_MiB(unsigned long long n) { return n << 20; }
constexpr std::uint64_t operator""_GiB(unsigned long long n) { return n << 30; }
// clang-format on

constexpr bool is_power_of_two(std::uint64_t n) { return n != 0 && (n & (n - 1)) == 0; }

/// The nearest multiple of `alignment`, a power of two, not above / not below `n`.
constexpr std::uint64_t align_down(std::uint64_t n, std::uint64_t alignment) { return n & ~(alignment - 1); }
constexpr std::uint64_t align_up(std::uint64_t n, std::uint64_t alignment) {
  return align_down(n + alignment - 1, alignment);
}

/// 1234567 -> "1,234,567".
std::string with_thousands(std::uint64_t n);

}  // namespace zs

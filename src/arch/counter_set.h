// A set of counters, each at its bit of IA32_PERF_GLOBAL_CTRL: bit n is IA32_PMCn, bit 32+i is IA32_FIXED_CTRi.
#pragma once

#include <bit>
#include <cstdint>

namespace zs::arch {

inline constexpr unsigned kFirstFixedBit = 32;

struct CounterSet {
  std::uint64_t bits = 0;

  constexpr bool has(unsigned bit) const { return (bits >> bit & 1) != 0; }
  constexpr bool empty() const { return bits == 0; }
  constexpr CounterSet general() const { return {bits & 0xFFFF'FFFF}; }
  constexpr CounterSet fixed() const { return {bits & ~std::uint64_t{0xFFFF'FFFF}}; }
  /// The lowest counter's bit; 64 if there is none.
  constexpr unsigned first() const { return static_cast<unsigned>(std::countr_zero(bits)); }
  constexpr bool subset_of(CounterSet other) const { return (bits & ~other.bits) == 0; }

  friend constexpr CounterSet operator|(CounterSet a, CounterSet b) { return {a.bits | b.bits}; }
  friend constexpr CounterSet operator&(CounterSet a, CounterSet b) { return {a.bits & b.bits}; }
  friend constexpr bool operator==(CounterSet, CounterSet) = default;
};

/// PMCn alone; PMC0 to PMC(count-1); FIXED_CTRi alone; FIXED_CTR0 to FIXED_CTR(count-1).
constexpr CounterSet only(unsigned n) { return {std::uint64_t{1} << n}; }
constexpr CounterSet any_of(unsigned count) { return {(std::uint64_t{1} << count) - 1}; }
constexpr CounterSet fixed(unsigned i) { return {std::uint64_t{1} << (kFirstFixedBit + i)}; }
constexpr CounterSet all_fixed(unsigned count) { return {((std::uint64_t{1} << count) - 1) << kFirstFixedBit}; }

}  // namespace zs::arch

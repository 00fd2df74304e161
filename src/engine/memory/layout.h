// Where things live in the address space that the program and the engine share. Fixed numbers, so that a run does not
// depend on the kernel's address-space randomisation, on the size of the environment or on the load of the machine.
//
//   [0, 2 GiB)                         non-PIE programs where they were linked; in the low range below 0x7ff00000:
//                                      engine range, PIE programs, ld.so, shared objects, everything executable
//   [0x120000000000, 0x200000000000)   spare zone: used when the high zone has no gap that is large enough
//   [0x200000000000, 0x201000000000)   the brk heap
//   [0x201000000000, 0x29f000000000)   high zone: every other mapping
//   [0x29f000000000, 0x2a0000000000)   the main stack and, above it, the argument area
//   [0x300000000000, 0x500000000000)   vast zone: reservations of more than the others can give
//
// Why these: the tool itself (position-independent, its libraries, its malloc, its stack) is put by the kernel above
// 0x500000000000, or above 0x2aaaaaaab000 under `ulimit -s unlimited` (the legacy layout). AddressSanitizer's shadow
// takes [0x7fff8000, 0x10007fff8000), and its heap 4 TiB from 0x600000000000. ThreadSanitizer and MemorySanitizer
// accept neither zone; programs built with them are not supported.
#pragma once

#include <cstdint>

namespace zs::engine {

inline constexpr std::uint64_t kPageSize = 4096;
inline constexpr std::uint64_t kHugePageSize = std::uint64_t{2} << 20;
/// One past the highest address user space can map with four-level paging (TASK_SIZE_MAX).
inline constexpr std::uint64_t kTaskSize = 0x7fff'ffff'f000;

constexpr std::uint64_t page_down(std::uint64_t address) { return address & ~(kPageSize - 1); }
/// Wraps to 0 for the last page, as the kernel's PAGE_ALIGN does.
constexpr std::uint64_t page_up(std::uint64_t address) { return page_down(address + kPageSize - 1); }

/// Half-open: [start, end).
struct AddressRange {
  std::uint64_t start = 0, end = 0;
  constexpr std::uint64_t size() const { return end - start; }
  constexpr bool empty() const { return start >= end; }
  constexpr bool contains(std::uint64_t address) const { return start <= address && address < end; }
  constexpr bool contains(AddressRange other) const { return start <= other.start && other.end <= end; }
  constexpr bool overlaps(AddressRange other) const { return start < other.end && other.start < end; }
  constexpr bool operator==(const AddressRange&) const = default;
};

struct Layout {
  AddressRange engine{0x6000'0000, 0x7ff0'0000};  // code cache and contexts; kEngineRanges has the alternatives
  AddressRange low{0x1000'0000, 0x7ff0'0000};     // contains the engine range
  AddressRange spare{0x1200'0000'0000, 0x2000'0000'0000};
  AddressRange vast{0x3000'0000'0000, 0x5000'0000'0000};
  AddressRange heap{0x2000'0000'0000, 0x2010'0000'0000};
  AddressRange high{0x2010'0000'0000, 0x29f0'0000'0000};
  AddressRange stack{0x29f0'0000'0000, 0x2a00'0000'0000};  // stack and arguments; only the loader maps here
  std::uint64_t stack_shift = 0;  // how far the stack begins below its usual place, and strings above theirs

  /// In the first pages of the engine range nothing is ever mapped: a system call that is given a pointer into the
  /// engine's memory is made with one of these addresses instead.
  constexpr std::uint64_t nowhere() const { return engine.start; }
  /// Behind them.
  constexpr std::uint64_t code_cache() const { return engine.start + kNowhereBytes; }

  /// End of the main stack. The argument area follows it.
  constexpr std::uint64_t stack_top() const { return stack.end - kArgumentBytes; }
  /// The stack pointer at the first instruction, whatever the size of arguments and environment: argc and the pointer
  /// arrays grow upwards from here into the argument area.
  constexpr std::uint64_t initial_stack_pointer() const { return stack_top() - kPageSize - stack_shift; }
  /// First string byte in the argument area: above the largest possible arrays.
  constexpr std::uint64_t argument_strings() const { return stack_top() + kArgumentBytes / 2 + stack_shift; }

  /// The kernel lets arguments, environment and their pointers take 6 MiB together; both halves are larger.
  static constexpr std::uint64_t kArgumentBytes = std::uint64_t{16} << 20;
  static constexpr std::uint64_t kNowhereBytes = 64 << 10;
};

/// A hint (mmap without MAP_FIXED) is honoured only where the tool's own mappings cannot be: else the answer would
/// depend on the kernel's randomisation.
inline constexpr AddressRange kHintRanges[] = {{0, 0x2aaa'0000'0000}, {0x3000'0000'0000, 0x5000'0000'0000}};

/// What memory is filled with, and addresses that are easily made by mistake, below 16 GiB: programs that fail on
/// purpose or by a fault of their own load and store there, so as little as possible is.
inline constexpr std::uint64_t kPoison[] = {
    0x1000'0000, 0x1111'1111, 0x1234'5678, 0x1bad'b002, 0x2000'0000,   0x2222'2222,   0x3000'0000,   0x3333'3333,
    0x4000'0000, 0x4141'4141, 0x4444'4444, 0x5000'0000, 0x5555'5555,   0x5a5a'5a5a,   0x8000'0000,   0x8bad'f00d,
    0x9999'9999, 0xa5a5'a5a5, 0xaaaa'aaaa, 0xabab'abab, 0xbaad'f00d,   0xbbbb'bbbb,   0xbebe'bebe,   0xcafe'babe,
    0xcccc'cccc, 0xcdcd'cdcd, 0xdddd'dddd, 0xdead'beef, 0xdead'c0de,   0xeeee'eeee,   0xefef'efef,   0xf0f0'f0f0,
    0xfdfd'fdfd, 0xfeed'face, 0xfeee'feee, 0xffff'ffff, 0x1'0000'0000, 0x1'8000'0000, 0x2'0000'0000,
};

/// Engine ranges in order of preference: the first that the program's own fixed segments leave free is taken.
inline constexpr AddressRange kEngineRanges[] = {
    {0x6000'0000, 0x7ff0'0000}, {0x1000'0000, 0x2ff0'0000}, {0x3000'0000, 0x4ff0'0000}, {0x6a00'0000, 0x7ff0'0000}};

}  // namespace zs::engine

// The oracle's trace file: a header, then one fixed-size record per retired instruction, in order. Little-endian.
// tests/oracle/trace.py reads it; the two must change together (the header carries the record's size).
#pragma once

#include <cstdint>
#include <type_traits>

#include "arch/retired.h"

namespace zs::oracle {

struct TraceHeader {
  char magic[8] = {'Z', 'S', 'O', 'R', 'A', 'C', 'L', 'E'};
  std::uint32_t version = 1;
  std::uint32_t record_bytes = 0;
};

/// Bits of TraceRecord::facts. Branch kind and FP class hold the values of arch::BranchKind and arch::FpArith.
namespace trace_bit {
inline constexpr unsigned kBranchKindShift = 0;  // 4 bits
inline constexpr unsigned kFpClassShift = 4;     // 4 bits
inline constexpr unsigned kFpWeightShift = 8;    // 2 bits
inline constexpr std::uint32_t kTaken = 1U << 10;
inline constexpr std::uint32_t kNop = 1U << 11;
inline constexpr std::uint32_t kLocked = 1U << 12;
inline constexpr std::uint32_t kRepString = 1U << 13;
inline constexpr std::uint32_t kNeverReturned = 1U << 14;  // the system call that ended the program
inline constexpr std::uint32_t kLoads = 1U << 15;          // reads memory, or is a software prefetch
inline constexpr std::uint32_t kStores = 1U << 16;         // writes memory
}  // namespace trace_bit

struct TraceRecord {
  std::uint64_t ip = 0;
  arch::RegisterFile after;         // flags without TF and RF; after.ip = the next instruction
  std::uint64_t load_address = 0;   // first memory operand read; 0 if none
  std::uint64_t store_address = 0;  // first memory operand written; 0 if none
  std::uint32_t loads = 0;
  std::uint32_t stores = 0;
  std::uint32_t split_loads = 0;
  std::uint32_t split_stores = 0;
  std::uint32_t facts = 0;
  std::uint32_t bytes = 0;  // length of the instruction
};
static_assert(std::is_trivially_copyable_v<TraceRecord> && sizeof(TraceRecord) == 192);
static_assert(sizeof(TraceHeader) == 16);

}  // namespace zs::oracle

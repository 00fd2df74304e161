// PEBS records of formats 0 to 3, as the processor writes them with a 64-bit Debug Store area. A newer format only
// appends. 32-bit records and the adaptive formats (4 and later) are not here yet; they will never share a struct with these:
// adaptive records order the registers differently.
// source: SDM vol. 3B, "PEBS Record Format for Intel Core i7 Processor Family" (1), "PEBS Record Format for 4th
// Generation Intel Core Processor Family" (2), "PEBS Record Format for 6th Generation Intel Core Processor" (3).
#pragma once

#include <cstddef>
#include <cstdint>

#include "arch/retired.h"
#include "base/bytes.h"

namespace zs::arch {

/// IA32_PERF_CAPABILITIES.PEBS_FMT.
enum class PebsFormat : std::uint8_t { V0 = 0, V1 = 1, V2 = 2, V3 = 3 };

/// State after the instruction that caused the record; `registers.ip` is the instruction that runs next.
struct PebsV0 {
  RegisterFile registers;  // 00H
};
static_assert(WireLayout<PebsV0> && sizeof(PebsV0) == 0x90);
static_assert(offsetof(RegisterFile, ip) == 0x08 && offsetof(RegisterFile, ax) == 0x10 &&
              offsetof(RegisterFile, bx) == 0x18 && offsetof(RegisterFile, cx) == 0x20 &&
              offsetof(RegisterFile, dx) == 0x28 && offsetof(RegisterFile, si) == 0x30 &&
              offsetof(RegisterFile, di) == 0x38 && offsetof(RegisterFile, bp) == 0x40 &&
              offsetof(RegisterFile, sp) == 0x48 && offsetof(RegisterFile, r8) == 0x50 &&
              offsetof(RegisterFile, r15) == 0x88);

struct PebsV1 {
  PebsV0 v0;
  std::uint64_t status;        // 90H  formats 1, 2: IA32_PERF_GLOBAL_STATUS before the assist;
                               //      format 3: "applicable counters", those that made this record
  std::uint64_t data_address;  // 98H  linear
  std::uint64_t data_source;   // A0H
  std::uint64_t latency;       // A8H  core cycles
};
static_assert(WireLayout<PebsV1> && sizeof(PebsV1) == 176);
static_assert(offsetof(PebsV1, status) == 0x90 && offsetof(PebsV1, latency) == 0xA8);

struct PebsV2 {
  PebsV1 v1;
  std::uint64_t eventing_ip;  // B0H  the instruction that caused the event
  std::uint64_t transaction;  // B8H  of a transactional region and its abort
};
static_assert(WireLayout<PebsV2> && sizeof(PebsV2) == 192);
static_assert(offsetof(PebsV2, eventing_ip) == 0xB0);

struct PebsV3 {
  PebsV2 v2;
  std::uint64_t tsc;  // C0H
};
static_assert(WireLayout<PebsV3> && sizeof(PebsV3) == 200);
static_assert(offsetof(PebsV3, tsc) == 0xC0);

/// Bytes of one record.
constexpr std::size_t record_size(PebsFormat format) {
  switch (format) {
    case PebsFormat::V0: return sizeof(PebsV0);
    case PebsFormat::V1: return sizeof(PebsV1);
    case PebsFormat::V2: return sizeof(PebsV2);
    case PebsFormat::V3: return sizeof(PebsV3);
  }
  return 0;  // a format without a fixed size
}

}  // namespace zs::arch

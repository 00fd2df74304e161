// PEBS records: formats 0 to 3, as the processor writes them with a 64-bit Debug Store area, where a newer format only
// appends; the record of a 32-bit area; and the groups of adaptive records, formats 4 and 5. These never share a
// struct: adaptive records order the registers differently.
// source: SDM vol. 3B, "PEBS Record Format for Intel Core i7 Processor Family" (1), "PEBS Record Format for 4th
// Generation Intel Core Processor Family" (2), "PEBS Record Format for 6th Generation Intel Core Processor" (3);
// "PEBS Record Format" of 32-bit processors; "Adaptive PEBS" (4).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "arch/msrs.h"
#include "arch/records/ds_area.h"
#include "arch/retired.h"
#include "base/bytes.h"
#include "base/check.h"

namespace zs::arch {

/// IA32_PERF_CAPABILITIES.PEBS_FMT. What is different about each stands in kPebsFormats.
enum class PebsFormat : std::uint8_t { V0 = 0, V1 = 1, V2 = 2, V3 = 3, V4 = 4, V5 = 5 };

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

/// With a 32-bit Debug Store area, whatever the format.
struct Pebs32 {
  std::uint32_t flags, ip, ax, bx, cx, dx, si, di, bp, sp;  // ip is linear: the code segment's base is added
};
static_assert(WireLayout<Pebs32> && sizeof(Pebs32) == 40);
static_assert(offsetof(Pebs32, bx) == 0x0C && offsetof(Pebs32, si) == 0x18 && offsetof(Pebs32, sp) == 0x24);

/// First group of an adaptive record, always there.
struct PebsBasic {
  std::uint64_t
      format_size;         // 00H  47:0 PEBS_DATA_CFG, or 0 if no counter of the record is adaptive; 63:48 size in bytes
  std::uint64_t ip;        // 08H  the instruction that caused the event
  std::uint64_t counters;  // 10H  applicable counters
  std::uint64_t tsc;       // 18H
};
static_assert(WireLayout<PebsBasic> && sizeof(PebsBasic) == 0x20);

struct PebsMemory {
  std::uint64_t address;      // 00H  linear
  std::uint64_t source;       // 08H
  std::uint64_t latency;      // 10H  Ice Lake: core cycles; later: 15:0 of the instruction, 47:32 of the caches
  std::uint64_t transaction;  // 18H
};
static_assert(WireLayout<PebsMemory> && sizeof(PebsMemory) == 0x20);

/// source: "Adaptive PEBS", table of the GPRs group. AX CX DX BX, where the older formats have AX BX CX DX.
struct PebsGprs {
  std::uint64_t flags, ip;                             // 00H  ip: the next instruction
  std::uint64_t ax, cx, dx, bx, sp, bp, si, di;        // 10H
  std::uint64_t r8, r9, r10, r11, r12, r13, r14, r15;  // 50H
};
static_assert(WireLayout<PebsGprs> && sizeof(PebsGprs) == 0x90);
static_assert(offsetof(PebsGprs, bx) == 0x28 && offsetof(PebsGprs, r15) == 0x88);

struct PebsXmms {
  std::array<std::byte, 256> registers;  // XMM0 to XMM15, the low 128 bits
};
static_assert(WireLayout<PebsXmms> && sizeof(PebsXmms) == 0x100);

/// As many as PEBS_DATA_CFG asks for, newest first; zeros where nothing was recorded.
struct PebsLbr {
  std::uint64_t from, to, info;
};
static_assert(WireLayout<PebsLbr> && sizeof(PebsLbr) == 0x18);

inline constexpr unsigned kMaxPebsLbrs = 32;
inline constexpr std::size_t kMaxPebsRecord =
    sizeof(PebsBasic) + sizeof(PebsMemory) + sizeof(PebsGprs) + sizeof(PebsXmms) + kMaxPebsLbrs * sizeof(PebsLbr);
static_assert(kMaxPebsRecord == 1232);

constexpr PebsGprs adaptive_order(const RegisterFile& r) {
  return {r.flags, r.ip, r.ax, r.cx,  r.dx,  r.bx,  r.sp,  r.bp,  r.si,
          r.di,    r.r8, r.r9, r.r10, r.r11, r.r12, r.r13, r.r14, r.r15};
}
constexpr RegisterFile legacy_order(const PebsGprs& r) {
  return {r.flags, r.ip, r.ax, r.bx,  r.cx,  r.dx,  r.si,  r.di,  r.bp,
          r.sp,    r.r8, r.r9, r.r10, r.r11, r.r12, r.r13, r.r14, r.r15};
}

/// The record of a 32-bit area has the low halves; the registers that it leaves out do not exist outside 64-bit code.
constexpr Pebs32 low_halves(const RegisterFile& r) {
  const auto low = [](std::uint64_t value) { return static_cast<std::uint32_t>(value); };
  return {low(r.flags), low(r.ip), low(r.ax), low(r.bx), low(r.cx),
          low(r.dx),    low(r.si), low(r.di), low(r.bp), low(r.sp)};
}
constexpr RegisterFile widened(const Pebs32& r) {
  return {.flags = r.flags,
          .ip = r.ip,
          .ax = r.ax,
          .bx = r.bx,
          .cx = r.cx,
          .dx = r.dx,
          .si = r.si,
          .di = r.di,
          .bp = r.bp,
          .sp = r.sp};
}

/// How many LBR entries a record with this configuration has.
constexpr unsigned lbr_entries(PebsDataCfg groups) {
  if (!groups.has(PebsDataCfg::lbrs)) return 0;
  const auto wanted = static_cast<unsigned>(groups.get(PebsDataCfg::lbr_entries)) + 1;
  return wanted < kMaxPebsLbrs ? wanted : kMaxPebsLbrs;
}

/// Bytes of an adaptive record with these groups.
constexpr std::size_t adaptive_size(PebsDataCfg groups) {
  return sizeof(PebsBasic) + (groups.has(PebsDataCfg::memory) ? sizeof(PebsMemory) : 0) +
         (groups.has(PebsDataCfg::gprs) ? sizeof(PebsGprs) : 0) +
         (groups.has(PebsDataCfg::xmms) ? sizeof(PebsXmms) : 0) + lbr_entries(groups) * sizeof(PebsLbr);
}

/// What is known of one PEBS format. Nobody compares formats: a reader, a writer or a driver asks for the fact that it
/// needs.
struct PebsFormatTraits {
  PebsFormat format;
  std::size_t record_bytes;  // of one record; 0: adaptive, its groups decide (PEBS_DATA_CFG)
  bool names_counters;       // the record says which counters it is of; else what GLOBAL_STATUS was
  bool has_eventing_ip;      // of the instruction that caused the event
  bool has_tsc;              // the time-stamp counter
  bool has_plain_addresses;  // also records of events that are not of the load-latency facility have a data address
  std::uint8_t fixed_reset_slot;  // slot of FIXED_CTR0 in the DS management area, where fixed counters have one

  constexpr bool adaptive() const { return record_bytes == 0; }
};

// clang-format off
/// Row n is format n.
inline constexpr PebsFormatTraits kPebsFormats[] = {
    //                        bytes  counters  eventing ip  tsc  addresses  slot
    {PebsFormat::V0, sizeof(PebsV0), false, false, false, false,  8},
    {PebsFormat::V1, sizeof(PebsV1), false, false, false, false,  8},
    {PebsFormat::V2, sizeof(PebsV2), false, true,  false, true,   8},
    {PebsFormat::V3, sizeof(PebsV3), true,  true,  true,  true,   8},
    {PebsFormat::V4, 0,              true,  true,  true,  true,   8},
    {PebsFormat::V5, 0,              true,  true,  true,  true,  32},
};
// clang-format on

static_assert([] {
  for (std::size_t i = 0; i < std::size(kPebsFormats); ++i) {
    if (kPebsFormats[i].format != static_cast<PebsFormat>(i)) return false;
  }
  return true;
}());

constexpr bool is_pebs_format(PebsFormat format) { return static_cast<std::size_t>(format) < std::size(kPebsFormats); }
/// Null for a number that no row has.
constexpr const PebsFormatTraits* find_pebs_format(PebsFormat format) {
  return is_pebs_format(format) ? &kPebsFormats[static_cast<std::size_t>(format)] : nullptr;
}
/// format  of a CPU model, or a number that find_pebs_format() knows
constexpr const PebsFormatTraits& traits(PebsFormat format) {
  CHECK(is_pebs_format(format), static_cast<unsigned>(format));
  return kPebsFormats[static_cast<std::size_t>(format)];
}
constexpr bool is_adaptive(PebsFormat format) { return traits(format).adaptive(); }

/// What tells one record from another: the format, the area's layout, and for adaptive formats the groups.
struct PebsShape {
  PebsFormat format = PebsFormat::V3;
  DsLayout layout = DsLayout::Words64;
  PebsDataCfg groups{};
};

constexpr std::size_t record_size(const PebsShape& shape) {
  if (shape.layout == DsLayout::Words32) return sizeof(Pebs32);
  return is_adaptive(shape.format) ? adaptive_size(shape.groups) : traits(shape.format).record_bytes;
}

}  // namespace zs::arch

// The Debug Store management area: where the buffers for branch (BTS) and PEBS records are, and what PEBS counters are
// reloaded with. IA32_DS_AREA holds its linear address. This is the 64-bit layout; the 32-bit one is not here yet.
// source: SDM vol. 3B, "DS Save Area" and, for four reset values, "Nehalem: PEBS Counter Reset" in figure "Layout of
// 64-bit DS Save Area".
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/bytes.h"

namespace zs::arch {

/// One buffer's four words.
/// base       address of the first record
/// index      address of the next record to be written; the processor moves it, software sets it back
/// maximum    first byte after the buffer. The manual asks for "a multiple of the record size plus 1"; drivers leave
///            the 1 out and the processor takes both
/// threshold  reaching it raises the interrupt; base + n records
struct DsBuffer {
  std::uint64_t base, index, maximum, threshold;
};
static_assert(WireLayout<DsBuffer> && sizeof(DsBuffer) == 0x20);

/// Formats 0 to 3. Processors with four counters per thread use four of the reset slots.
struct DsManagementArea {
  DsBuffer bts;                             // 00H
  DsBuffer pebs;                            // 20H
  std::array<std::uint64_t, 8> pebs_reset;  // 40H + 8n: what PMCn is loaded with after its record
};
static_assert(WireLayout<DsManagementArea> && sizeof(DsManagementArea) == 0x80);
static_assert(offsetof(DsManagementArea, pebs) == 0x20 && offsetof(DsManagementArea, pebs_reset) == 0x40);

inline constexpr std::uint64_t kDsPebsOffset = offsetof(DsManagementArea, pebs);
inline constexpr std::uint64_t kDsPebsIndexOffset = kDsPebsOffset + offsetof(DsBuffer, index);
constexpr std::uint64_t ds_reset_slot_offset(unsigned counter) {
  return offsetof(DsManagementArea, pebs_reset) + sizeof(std::uint64_t) * counter;
}

}  // namespace zs::arch

// The Debug Store management area: where the buffers for branch (BTS) and PEBS records are, and what PEBS counters are
// reloaded with. IA32_DS_AREA holds its linear address. Its words are 64 bits wide with DTES64 or in IA-32e mode,
// otherwise 32; the reset values are 64 bits wide in both.
// source: SDM vol. 3B, "DS Save Area"; figures "DS Save Area", "Layout of 64-bit DS Save Area"; reset values of
// Nehalem, and of the fixed counters with PEBS baseline.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "arch/counter_set.h"
#include "base/bytes.h"

namespace zs::arch {

/// Width of the management area's words, and with it the kind of all records.
enum class DsLayout : std::uint8_t { Words32, Words64 };

/// One buffer's four words.
/// base       address of the first record
/// index      address of the next record to be written; the processor moves it, software sets it back
/// maximum    first byte after the buffer. The manual asks for "a multiple of the record size plus 1"; drivers leave
///            the 1 out and the processor takes both
/// threshold  reaching it raises the interrupt; base + n records
template <typename Word>
struct DsBufferOf {
  Word base, index, maximum, threshold;
};
using DsBuffer = DsBufferOf<std::uint64_t>;
using DsBuffer32 = DsBufferOf<std::uint32_t>;
static_assert(WireLayout<DsBuffer> && sizeof(DsBuffer) == 0x20);
static_assert(WireLayout<DsBuffer32> && sizeof(DsBuffer32) == 0x10);

/// Formats 0 to 3. Processors with four counters per thread use four of the reset slots; with PEBS baseline there are
/// more slots behind these.
struct DsManagementArea {
  DsBuffer bts;                             // 00H
  DsBuffer pebs;                            // 20H
  std::array<std::uint64_t, 8> pebs_reset;  // 40H + 8n: what PMCn is loaded with after its record
};
static_assert(WireLayout<DsManagementArea> && sizeof(DsManagementArea) == 0x80);
static_assert(offsetof(DsManagementArea, pebs) == 0x20 && offsetof(DsManagementArea, pebs_reset) == 0x40);

/// The reset values' width is printed as 40 bits in one figure; symbol tables of a kernel have 64.
struct DsManagementArea32 {
  DsBuffer32 bts;                           // 00H
  DsBuffer32 pebs;                          // 10H
  std::array<std::uint64_t, 8> pebs_reset;  // 20H + 8n
};
static_assert(WireLayout<DsManagementArea32> && sizeof(DsManagementArea32) == 0x60);
static_assert(offsetof(DsManagementArea32, pebs) == 0x10 && offsetof(DsManagementArea32, pebs_reset) == 0x20);

inline constexpr std::uint64_t kDsPebsOffset = offsetof(DsManagementArea, pebs);
inline constexpr std::uint64_t kDsPebsIndexOffset = kDsPebsOffset + offsetof(DsBuffer, index);

constexpr std::uint64_t ds_word_bytes(DsLayout layout) { return layout == DsLayout::Words64 ? 8 : 4; }
constexpr std::uint64_t ds_bts_offset(DsLayout) { return 0; }
constexpr std::uint64_t ds_pebs_offset(DsLayout layout) { return 4 * ds_word_bytes(layout); }
constexpr std::uint64_t ds_reset_slot_offset(unsigned slot, DsLayout layout = DsLayout::Words64) {
  return 8 * ds_word_bytes(layout) + sizeof(std::uint64_t) * slot;
}
static_assert(ds_pebs_offset(DsLayout::Words64) == kDsPebsOffset);
static_assert(ds_reset_slot_offset(1, DsLayout::Words32) == 0x28);

/// The slot of a counter, named by its bit in GLOBAL_CTRL. first_fixed: 8, or 32 from format 5 on.
constexpr unsigned ds_reset_slot(unsigned counter, unsigned first_fixed) {
  return counter < kFirstFixedBit ? counter : first_fixed + counter - kFirstFixedBit;
}

}  // namespace zs::arch

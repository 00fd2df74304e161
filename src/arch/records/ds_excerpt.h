// What a recording keeps of a Debug Store: one record as it lay in the PEBS buffer and, with the first record of a
// drained buffer, the management area that the interrupt found. `record -R` puts one into each sample
// (PERF_SAMPLE_RAW).
//
//   DsExcerptHead, then area_bytes of the management area, then record_bytes of the record
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "arch/records/ds_shape.h"
#include "base/bytes.h"

namespace zs::arch {

struct DsExcerptHead {
  static constexpr std::uint32_t kMagic = 0x31584544;  // "DEX1"
  std::uint32_t magic = kMagic;
  std::uint16_t area_bytes = 0;  // 0: without
  std::uint16_t record_bytes = 0;
  std::uint64_t area = 0, record = 0;  // linear addresses
  DsShape shape;
  std::uint8_t zero[3] = {};
};
static_assert(WireLayout<DsExcerptHead> && sizeof(DsExcerptHead) == 32);

/// The longest: an area with slots for 32 general and 16 fixed counters, and the largest record.
inline constexpr std::size_t kMaxDsExcerpt = sizeof(DsExcerptHead) + ds_reset_slot_offset(48) + kMaxPebsRecord;

struct DsExcerpt {
  DsExcerptHead head;
  Bytes area, record;
};

/// The parts of an excerpt; nothing if `bytes` are none. Bytes behind it are passed over.
std::optional<DsExcerpt> read_excerpt(Bytes bytes);

/// The management area, where it has one, and the record.
std::string excerpt_text(const DsExcerpt& excerpt);

}  // namespace zs::arch

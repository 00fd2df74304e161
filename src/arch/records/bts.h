// Branch-trace-store records: one taken branch, interrupt or exception.
// source: SDM vol. 3B, "BTS Buffer", figures "32-bit Branch Trace Record Format", "64-bit Branch Trace Record Format".
#pragma once

#include <cstddef>
#include <cstdint>

#include "arch/records/ds_area.h"
#include "base/bytes.h"

namespace zs::arch {

template <typename Word>
struct BtsRecordOf {
  Word from;   // linear address of the branch, or for an interrupt of what would have run next
  Word to;     // linear
  Word flags;  // bit 4: predicted
};
using BtsRecord = BtsRecordOf<std::uint64_t>;
using BtsRecord32 = BtsRecordOf<std::uint32_t>;
static_assert(WireLayout<BtsRecord> && sizeof(BtsRecord) == 24);
static_assert(WireLayout<BtsRecord32> && sizeof(BtsRecord32) == 12);

inline constexpr std::uint32_t kBtsPredicted = 1U << 4;

constexpr std::size_t bts_record_size(DsLayout layout) {
  return layout == DsLayout::Words64 ? sizeof(BtsRecord) : sizeof(BtsRecord32);
}

}  // namespace zs::arch

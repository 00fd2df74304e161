// Branch-trace-store records: one taken branch, interrupt or exception.
// source: SDM vol. 3B, "BTS Buffer", figures "32-bit Branch Trace Record Format", "64-bit Branch Trace Record Format".
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

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

/// A record of zeros is none.
constexpr bool is_branch(const BtsRecord& record) { return record.from != 0 || record.to != 0; }

/// Calls take(record) for each of 64-bit records, packed.
template <typename Take>
void for_each_record(Bytes records, Take&& take) {
  for (std::size_t at = 0; at + sizeof(BtsRecord) <= records.size(); at += sizeof(BtsRecord)) {
    BtsRecord record;
    std::memcpy(&record, records.data() + at, sizeof record);
    take(record);
  }
}

inline std::uint64_t branches_in(Bytes records) {
  std::uint64_t count = 0;
  for_each_record(records, [&](const BtsRecord& record) { count += is_branch(record) ? 1 : 0; });
  return count;
}

inline constexpr std::uint32_t kBtsPredicted = 1U << 4;

constexpr std::size_t bts_record_size(DsLayout layout) {
  return layout == DsLayout::Words64 ? sizeof(BtsRecord) : sizeof(BtsRecord32);
}

}  // namespace zs::arch

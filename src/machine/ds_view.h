// The Debug Store as it lies in memory: management area, BTS and PEBS records, each field with its offset and name. For
// `boot --ds-log` and `script --raw`. Only shows: nothing here knows what software meant.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace zs::machine {

enum class DsLayout : std::uint8_t {
  Bits32,  // fields of 4 bytes, BTS records of 12, PEBS records of 40
  Bits64,
};

struct DsView {
  /// Linear memory. returns false if any byte is not there
  std::function<bool(std::uint64_t linear, std::span<std::byte> into)> read;
  DsLayout layout = DsLayout::Bits64;
  unsigned pebs_format = 0;  // IA32_PERF_CAPABILITIES.PEBS_FMT; 4 and above: adaptive, records tell their own size
  unsigned reset_slots = 8;
};

/// The management area at `area`, then every record of both buffers from base to index; of a BTS buffer that has wrapped (the
/// record at index is not all zero), all up to maximum. What cannot be read or makes no sense is said in place.
std::string ds_text(const DsView& view, std::uint64_t area);

/// One PEBS record; `bytes` may be longer. used  set to its size, 0 if `bytes` are too few or make no sense
std::string pebs_record_text(const DsView& view, std::span<const std::byte> bytes, std::size_t& used);

}  // namespace zs::machine

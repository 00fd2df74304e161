// The Debug Store as it lies in memory: management area, BTS and PEBS records, each field with its offset and name. For
// `boot --ds-log` and `script --raw`. Only shows: nothing here knows what software meant.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "arch/records/ds_shape.h"
#include "base/bytes.h"

namespace zs::arch {

/// The management area of that address. `area` has ds_area_bytes(); reset values of 0 are left out.
std::string ds_area_text(const DsShape& shape, std::uint64_t address, Bytes area);

/// The PEBS record of that address; `bytes` may be longer.
std::string pebs_record_text(const DsShape& shape, std::uint64_t address, Bytes bytes);

/// Linear memory. returns false if any byte is not there
using ReadLinear = std::function<bool(std::uint64_t linear, std::span<std::byte> into)>;

/// The management area at `address`, then every record of both buffers from base to index; of a BTS buffer that has
/// wrapped (the record at index is not all zero), all up to maximum. What cannot be read or makes no sense is said in
/// place.
std::string ds_text(const DsShape& shape, const ReadLinear& read, std::uint64_t address);

}  // namespace zs::arch

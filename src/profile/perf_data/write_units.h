// What is written to a recording at once, in the parts that become part of it as a whole or not at all.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "profile/perf_data/perf_feature_table.h"
#include "profile/perf_data/record_packer.h"

namespace zs::profile {

struct WriteUnit {
  std::uint64_t end = 0;  // in what is written
  std::uint64_t samples = 0, branches = 0;
  std::optional<AuxtracePlace> trace;  // there too
};

/// Whole records one by one, a trace with what is behind it.
std::vector<WriteUnit> write_units(Bytes records);

/// First all of `records` but traces, packed, as one unit; then the traces, which perf finds by their places in the
/// file and cannot unpack.
/// units  of `records`; then of what is returned
ByteWriter packed_apart_from_traces(Bytes records, RecordPacker& packer, std::vector<WriteUnit>& units);

}  // namespace zs::profile

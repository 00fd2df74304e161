// The PEBS records that a recording kept (`record -R`), as they lay in memory.
#pragma once

#include <functional>
#include <string_view>

#include "base/result.h"
#include "profile/perf_data/perf_data_reader.h"

namespace zs::report {

/// Prints each sample's record in the order of time through `out`, under a line that names the sample; where an
/// interrupt drained the buffer, its management area first.
/// returns an error if no event's samples have raw data; then nothing is printed
Result<void> raw_text(const profile::PerfDataReader& reader, const std::function<void(std::string_view)>& out);

}  // namespace zs::report

// What a recording counted, by function and source line: the exact counts of `zeroskid profile`, or the sums of sampled
// periods, of which n of period p are off by 2 * sqrt(n) * p at 95 %.
#pragma once

#include <vector>

#include "profile/perf_data/perf_data_reader.h"
#include "profile/symbols/symbolizer.h"
#include "report/diff/changes.h"

namespace zs::report {

/// Of functions with what is inlined in them apart. lines: lines too
std::vector<EventCounts> recording_counts(const profile::PerfDataReader& reader, profile::Symbolizer& symbolizer,
                                          bool lines);

}  // namespace zs::report

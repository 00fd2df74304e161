// `zeroskid stat -I MS` where the kernel counts: what was counted between two readings, in perf stat's layout.
#pragma once

#include <string>

#include "cli/stat/stat_page.h"

namespace zs::cli {

/// "#           time             counts unit events"
std::string interval_head(bool threads);

/// seconds  since the beginning, at the end of the interval
/// report   of the interval alone: one run
std::string interval_page(double seconds, const StatReport& report, bool colour);
std::string interval_columns(double seconds, const StatReport& report, const std::string& separator);
std::string interval_json(double seconds, const StatReport& report);

}  // namespace zs::cli

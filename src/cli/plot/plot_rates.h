// Which curves `zeroskid plot` draws of a table of windows: the metrics of the table's CPU model that were asked for,
// instructions per cycle where cycles are counted, and every event per 1000 instructions that these do not show
// already.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "profile/windows/window_rates.h"

namespace zs::cli {

/// metrics  as -M has them
Result<profile::CurveChoice> choose_curves(const profile::WindowTable& table, const std::vector<std::string>& metrics);

}  // namespace zs::cli

// `doctor --measure`: how much longer a program runs under zeroskid, here. The program is built in (workload.h), and
// runs natively and under each verb; what starting costs is taken off, by a run of no rounds.
#pragma once

#include <functional>
#include <string_view>

#include "base/result.h"
#include "cli/costs/costs.h"

namespace zs::cli {

/// now  is told what is being measured
Result<Costs> measure_costs(const std::function<void(std::string_view now)>& now);

}  // namespace zs::cli

// What a run will cost, said before it.
#pragma once

#include <optional>
#include <string>

#include "cli/costs/costs.h"
#include "session/settings/config.h"

namespace zs::cli {

/// "in detail: all of it, about 160 times native; --detail sampled: about 4 times". "" where nothing is modelled.
/// costs  of this machine; else those of docs/benchmarks.md are told
std::string cost_line(const session::RecordingConfig& config, const std::optional<Costs>& costs);

/// Says that line where a progress line would be shown.
void say_cost(const session::RecordingConfig& config, bool quiet, bool verbose);

}  // namespace zs::cli

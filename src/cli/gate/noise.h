// `zeroskid check --explain-noise`: where two runs in virtual time part, and what the program asks for that virtual
// time leaves as it is.
#pragma once

#include "base/result.h"
#include "cli/command/output.h"
#include "cli/stat/stat_options.h"

namespace zs::cli {

/// Runs the program twice with its branches traced: on disk, 24 bytes for each. With --region: those of the regions.
/// returns whether they part
Result<bool> explain_noise(const StatOptions& options, Output& output);

}  // namespace zs::cli

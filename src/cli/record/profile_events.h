// What an exact profile counts.
#pragma once

#include "cli/record/record_options.h"

namespace zs::cli {

/// How often each instruction ran, and each branch was taken; with contexts, how many instructions ran in each.
void choose_profile_events(RecordOptions& out);

}  // namespace zs::cli

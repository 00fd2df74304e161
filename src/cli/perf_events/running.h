// Tells a recording what ran before it began: names, threads, mappings, and the kernel's own image.
#pragma once

#include "base/result.h"
#include "cli/perf_events/back_end.h"
#include "profile/perf_data_writer.h"

namespace zs::cli {

/// Nothing for a program that is about to start: the kernel tells all of that.
Result<void> tell_what_runs(const PerfEventsChoice& choice, bool data_too, profile::PerfDataWriter& writer);

}  // namespace zs::cli

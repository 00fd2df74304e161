// Tells a recording what ran before it began: the kernel's own image, and names, threads, mappings.
#pragma once

#include "base/result.h"
#include "cli/perf_events/back_end.h"
#include "profile/perf_data/perf_data_writer.h"

namespace zs::cli {

/// Where the kernel's code is, if events look there and this user may know. Reads the whole list of its symbols, which
/// takes some tenths of a second: before events are on, or they count for longer than was asked for.
Result<void> tell_kernel(const PerfEventsChoice& choice, profile::PerfDataWriter& writer);

/// Nothing for a program that is about to start: the kernel tells all of that.
Result<void> tell_what_runs(const PerfEventsChoice& choice, bool data_too, profile::PerfDataWriter& writer);

}  // namespace zs::cli

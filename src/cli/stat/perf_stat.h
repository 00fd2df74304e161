// `zeroskid stat` where the kernel counts.
#pragma once

#include <sys/time.h>

#include "base/result.h"
#include "cli/run/collector.h"
#include "cli/run/own_signals.h"
#include "cli/stat/stat_options.h"

namespace zs::cli {

/// Of what getrusage() says.
inline double seconds(const timeval& t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6; }

/// Of a run: the program's, or 0 if --timeout ended it, which is what was asked for.
inline int status_of_run(const OwnSignals& signals, int wait_status) {
  return signals.ended(wait_status) ? 0 : exit_status_of(wait_status);
}

/// Where the kernel counts: fills in out.perf_events and the report's columns. Else nothing is changed.
Result<void> choose_kernel_counting(StatOptions& out);

/// returns the exit status: the program's, where there is one
int stat_perf_events(StatOptions& options);

}  // namespace zs::cli

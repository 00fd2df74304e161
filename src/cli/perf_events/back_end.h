// Who counts: the software PMU, or the kernel through perf_event_open. They are never mixed in one run, and the first
// line of output says which it is, and why.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command/command_line.h"
#include "host/kernel_events.h"
#include "host/targets.h"

namespace zs::cli {

/// As they were typed.
struct BackEndWords {
  std::string pmu = "auto";
  std::vector<std::string> pids, tids;
  std::string cpus;
  bool all_cpus = false, per_thread = false;
};

void add_back_end_options(CommandLine& line, BackEndWords& words);

/// Taken only where the kernel counts.
struct PerfEventsChoice {
  std::string because;  // "-p watches a running process"
  host::Targets targets;
  std::vector<host::KernelEvent> events;
};

/// lists  each an argument of -e; none: cycles, or the clock of the CPU where there is no PMU
/// returns nothing for the software PMU. With --pmu=auto the kernel is taken for what it alone can do: running
/// processes, whole CPUs, and lists of its own events.
Result<std::optional<PerfEventsChoice>> choose_back_end(const BackEndWords& words,
                                                        const std::vector<std::string>& lists);

/// Leaves ring 0 out of events for which nobody said otherwise, where this user may not look there.
/// returns whether any was changed
bool leave_out_the_kernel(std::vector<host::KernelEvent>& events, const host::Permissions& permissions);

/// "# perf_event_open: cpu-clock, because -p watches a running process"
std::string perf_events_line(const PerfEventsChoice& choice);

}  // namespace zs::cli

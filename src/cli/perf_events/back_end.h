// Who counts: the software PMU, or the kernel through perf_event_open. They are never mixed in one run, and the first
// line of output says which it is, and why.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command/command_line.h"
#include "cli/run/run_options.h"
#include "host/kernel_events.h"
#include "host/targets.h"

namespace zs::cli {

/// As they were typed.
struct BackEndWords {
  std::string pmu;  // "": auto, and nobody said so
  std::vector<std::string> pids, tids;
  std::string cpus;
  bool all_cpus = false, per_thread = false, all_user = false, all_kernel = false;
};

/// What differs between verbs.
struct BackEndOptions {
  bool rings_by_thread = true;     // --per-thread; `stat` has its own
  bool t_is_tid = true;            // `mem record` has its own -t
  bool kernels_own_events = true;  // are of use to the verb
};
void add_back_end_options(CommandLine& line, BackEndWords& words, const BackEndOptions& options);

/// perf's --cpu 0,1: no CPU model is named so, and -C is meant.
void take_cpu_list(RunOptions& run, BackEndWords& words);

/// --pmu names one, and what only the kernel can do was not asked of the software PMU.
Result<void> check_back_end(const BackEndWords& words);

/// Taken only where the kernel counts.
struct PerfEventsChoice {
  std::string because;  // "-p watches a running process"
  host::Targets targets;
  std::vector<host::KernelEvent> events;
};

/// Whether the kernel is to count, whatever the events are.
bool asks_for_the_kernel(const BackEndWords& words);

/// What is counted or sampled if nothing is named. pmu  whether this machine has one
using UsualEvents = std::string (*)(bool pmu);

/// lists  each an argument of -e; none: `usual`
/// returns nothing for the software PMU. With --pmu=auto the kernel is taken for what it alone can do: running
/// processes, whole CPUs, and lists of its own events.
Result<std::optional<PerfEventsChoice>> choose_back_end(const BackEndWords& words,
                                                        const std::vector<std::string>& lists, UsualEvents usual);

/// ", because ..." behind the software PMU's line, where somebody said --pmu; "" where nobody did.
std::string why_software(const BackEndWords& words);

/// An option among these that the software PMU alone knows; "" if none was given.
std::string option_of_the_software_pmu(const RunOptions& run);
/// Such options are not passed over where the kernel counts.
Error not_the_kernels(const std::string& option);

/// Leaves ring 0 out of events for which nobody said otherwise, where this user may not look there.
/// returns whether any was changed
bool leave_out_the_kernel(std::vector<host::KernelEvent>& events, const host::Permissions& permissions);

/// "# perf_event_open: cpu-clock, because -p watches a running process"
std::string perf_events_line(const PerfEventsChoice& choice);

}  // namespace zs::cli

// Whom events of perf_event_open watch: the threads of processes, whole CPUs, or a program that is about to start. As
// perf has it: what may have children is watched on each CPU apart, since a ring takes records of one CPU, or of one
// thread.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "host/perf_errors.h"

namespace zs::host {

struct Targets {
  std::vector<pid_t> processes, threads;
  bool all_cpus = false;
  std::vector<int> cpus;    // -C; empty: all that are online
  bool per_thread = false;  // one ring a thread, and none for its children
  bool wherever = false;    // counted only, so a thread needs no place on each CPU: -C alone says otherwise
  bool is_attached() const { return !processes.empty() || !threads.empty(); }
  /// Whether there is something to watch without a program to start.
  bool is_watching() const { return is_attached() || is_system(); }
  bool is_system() const { return all_cpus || (!cpus.empty() && !is_attached()); }
};

/// "1234" or "1234,1240". option  what they were given with, for messages
/// least  the smallest that is one; in recordings 0 is: swapper
Result<std::vector<pid_t>> parse_ids(std::string_view option, std::string_view text, pid_t least = 1);

/// "0-3,7" as the kernel and perf write lists of CPUs.
Result<std::vector<int>> parse_cpus(std::string_view text);

/// An Error where there is no such file.
Result<std::vector<int>> online_cpus();

/// Every place to open an event at. child  the program that is about to start, or -1
Result<std::vector<Place>> places_of(const Targets& targets, pid_t child);

}  // namespace zs::host

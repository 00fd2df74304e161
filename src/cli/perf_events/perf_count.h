// Counts of perf_event_open: of a program that is started for it, of threads that run already, or of whole CPUs.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/run/own_signals.h"
#include "host/kernel_events.h"
#include "host/open_events.h"
#include "host/targets.h"

namespace zs::cli {

struct CountedThread {
  pid_t pid = 0, tid = 0;
  std::string name;
  std::vector<host::EventValue> values;  // by event
};

struct PerfCounts {
  std::vector<host::EventValue> values;  // by event
  std::vector<CountedThread> threads;
  double elapsed_seconds = 0;  // since counting began
  int wait_status = 0;         // the program's
  rusage usage{};
};

struct PerfCounting {
  std::vector<host::KernelEvent> events;
  host::Targets targets;
  host::Permissions permissions;
  bool inherit = true;                               // children too
  bool by_thread = false;                            // also each of the threads that are watched
  std::string path;                                  // of the program; "": none
  std::vector<std::string> argv;                     // its words
  std::chrono::milliseconds delay{0};                // counting begins so long after the program, or after us
  std::chrono::milliseconds every{0};                // 0: one reading, at the end
  std::function<void(const PerfCounts&)> each_time;  // what was counted since the time before; elapsed_seconds: so far
  host::Opener opener = host::kernel_opener();
};

/// Opened for counting alone: no samples, and so nothing that needs to be precise.
std::vector<host::EventToOpen> counters_to_open(const PerfCounting& counting);

/// Until the program has ended; without one, until those watched have, or we are asked to end.
Result<PerfCounts> count_perf_events(const PerfCounting& counting, OwnSignals& signals);

}  // namespace zs::cli

// `zeroskid record` where the kernel counts: opens events, and writes into perf.data what it hands over, record by
// record.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/perf_events/back_end.h"
#include "profile/perf_data/recording.h"

namespace zs::cli {

/// perf's: samples a second of the kernel's, or for each 1,000,000,000 instructions of the software PMU's.
inline constexpr std::uint64_t kUsualFrequency = 4000;

/// As they were typed.
struct PerfSampling {
  std::uint64_t period = 0, frequency = 0;  // -c, -F in Hz; both 0: 4000 Hz
  std::string callchain;                    // --call-graph; "fp" of -g; "" none
  std::string branches;                     // -b, -j; "" none
  std::string registers;                    // --intr-regs; "" none
  bool data_sources = false, latencies = false, physical_addresses = false;
  bool inherit = true;
  std::uint64_t ring_pages = 128;
};

/// Everything of a file's description but the command line and the kernel's ids.
Result<profile::RecordingDescription> describe_perf_events(const PerfEventsChoice& choice,
                                                           const PerfSampling& sampling);

struct PerfRecording {
  PerfEventsChoice choice;
  profile::RecordingDescription description;
  host::Permissions permissions;
  std::uint64_t ring_pages = 128;
  std::string output;
  bool quiet = false, verbose = false;
  std::vector<std::string> program;  // empty: until those watched have ended, or Ctrl-C
};

/// returns the exit status: the program's, where there is one
int record_perf_events(PerfRecording recording);

}  // namespace zs::cli

// The options of `zeroskid record`, read and checked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/command/option_table.h"
#include "cli/events/event_selection.h"
#include "cli/perf_events/perf_record.h"
#include "cli/record/last_branches.h"
#include "cli/record/record_kind.h"
#include "cli/record/recorded_times.h"
#include "cli/trace/trace_export.h"
#include "cli/trace/trace_filter.h"
#include "profile/perf_data/recording.h"
#include "session/settings/config.h"

namespace zs::cli {

struct RecordOptions {
  session::RecordingConfig config;
  profile::RecordingDescription description;  // but for the command line
  std::string output = "perf.data";
  bool quiet = false, verbose = false;
  bool names_no_blocks = false;  // of the heap, although nobody said --no-heap
  int instruction_event = -1;
  TraceBound bound;               // of a trace
  TraceFilterWords trace_filter;  // not placed yet
  RecordedTimes times;            // of samples
  std::size_t pmus = 0;           // banks the events take
  std::string why_software;       // behind the first line: ", because --pmu=sw asks for it"
  std::vector<Error> notices;     // to be said before the program runs
  std::vector<std::string> program;
  std::optional<PerfRecording> perf_events;  // the kernel counts: what is above is not looked at
  TraceExport exports;                       // RecordKind::Branches: for optimisers, also of a recording that is there
};

/// returns nothing to go on, or the exit status (help was printed, or what is wrong was said)
std::optional<int> parse_record_options(const Arguments& arguments, RecordOptions& options,
                                        RecordKind kind = RecordKind::Plain);

}  // namespace zs::cli

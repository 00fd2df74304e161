// What of a branch trace is recorded, or of an exact profile counted: --filter, with perf's words for hardware traces;
// --region, as `stat` has it; --thread.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command/command_line.h"
#include "session/settings/config.h"

namespace zs::cli {

struct TraceFilterWords {
  std::vector<std::string> filters;  // "filter main", "start 0x1130@/lib/x.so, stop done"
  std::vector<std::string> regions;  // a function, FILE:LINE, 0xADDR..0xADDR, or a name that the source marks
  std::vector<std::string> threads;  // lists of names and numbers
  bool from_main = false;

  bool any() const { return !filters.empty() || !regions.empty() || !threads.empty() || from_main; }
};

void add_trace_filter_options(CommandLine& line, TraceFilterWords& words);
void add_profile_filter_options(CommandLine& line, TraceFilterWords& words);

/// As they were written: "filter main; region sort; thread 1"
std::string in_words(const TraceFilterWords& words);

/// program  path of the program's file
/// returns an error for what has no such form, and for places that are not there
Result<void> place_trace_filter(const TraceFilterWords& words, const std::string& program,
                                session::RecordingConfig& config);

}  // namespace zs::cli

// What record and stat have in common: find the program and zeroskid-run, start the one in the other, collect until it
// ends, and pass its exit status on.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/run/collector.h"
#include "session/settings/config.h"

namespace zs::cli {

struct ProgramToRun {
  std::string runner;  // zeroskid-run
  std::string path;
  std::vector<std::string> argv;
};

/// returns 0 and the program, or the exit status; the reason has been said then
int find_program_to_run(const std::vector<std::string>& words, ProgramToRun& program);

/// returns whether it was started; if not, the reason has been said
bool run_and_collect(const ProgramToRun& program, const session::RecordingConfig& config, Collector& collector,
                     OwnSignals& signals, ProgramEnd& end);

/// Says what a person should know of how the program ended: killed by a signal, processes left behind.
void say_how_it_ended(const ProgramToRun& program, const ProgramEnd& end);

/// "# software PMU, model skylake-server@1" and, if they need more than one PMU, how many the events take.
/// why  ", because --pmu=sw asks for it", or nothing
std::string back_end_line(const session::RecordingConfig& config, std::size_t pmus, const std::string& why = "");

}  // namespace zs::cli

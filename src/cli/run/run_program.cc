#include "cli/run/run_program.h"

#include <sys/wait.h>

#include <cstring>

#include "cli/command/exit_status.h"
#include "cli/command/program_search.h"
#include "cli/command/say.h"
#include "cli/run/detail_choice.h"
#include "cli/run/launch.h"

namespace zs::cli {

int find_program_to_run(const std::vector<std::string>& words, ProgramToRun& program) {
  if (const int status = find_in_path(words.front(), program.path); status != 0) return status;
  program.argv = words;
  auto runner = find_runner();
  if (!runner) return failed(runner.error());
  program.runner = *runner;
  return 0;
}

bool run_and_collect(const ProgramToRun& program, const session::RecordingConfig& config, Collector& collector,
                     OwnSignals& signals, ProgramEnd& end) {
  const auto launched = launch(config, program.runner, program.path, program.argv, signals);
  if (!launched) {
    say(launched.error());
    return false;
  }
  end = collector.run(*launched, signals);
  return true;
}

void say_how_it_ended(const ProgramToRun& program, const ProgramEnd& end) {
  if (WIFSIGNALED(end.wait_status)) {
    const int signal = WTERMSIG(end.wait_status);
    say(program.argv.front() + " was killed by signal " + std::to_string(signal) + " (" + strsignal(signal) + ")");
  }
  if (end.still_running != 0) {
    say((end.still_running == 1 ? "a process of the program still runs"
                                : std::to_string(end.still_running) + " processes of the program still run") +
        std::string("; what happens from here on is not recorded"));
  }
}

std::string back_end_line(const session::RecordingConfig& config, std::size_t pmus, const std::string& why) {
  std::string line = "# software PMU, model " + config.cpu_model;
  if (config.detail != session::Detail::Exact) line += ", its core modelled (" + core_in_words(config) + ")";
  if (pmus > 1) {
    line += "; " + std::to_string(config.events.size()) + " events take " + std::to_string(pmus) +
            " PMUs of it, and all count all the time";
  }
  return line + why + "\n";
}

}  // namespace zs::cli

// `zeroskid calibrate`: how far the software PMU's counts are from this machine's own PMU's, on a program.
#include <sys/wait.h>

#include <cstdlib>
#include <ctime>
#include <optional>
#include <string>
#include <utility>

#include "cli/calibrate/calibrate.h"
#include "cli/command/command_line.h"
#include "cli/command/exit_status.h"
#include "cli/command/output.h"
#include "cli/command/say.h"
#include "cli/command/verb.h"
#include "cli/command/words.h"
#include "cli/events/host_model.h"
#include "cli/run/run_program.h"
#include "report/text/fit.h"

namespace zs::cli {
namespace {

const std::vector<std::string> kUsualEvents = {"instructions", "branches", "cycles", "branch-misses"};

struct CalibrateOptions {
  StatOptions stat;
  std::uint64_t runs = 3;
  bool keep_nothing = false;
};

std::optional<int> parse(const Arguments& arguments, CalibrateOptions& options) {
  StatOptions& stat = options.stat;
  CommandLine line(
      "calibrate",
      "Runs a program under this machine's PMU, then under the software PMU, and prints how far apart the\n"
      "counts are. They are kept, and `zeroskid list -v` shows them.",
      "[OPTIONS] [--] PROGRAM [ARGUMENTS]");
  line.values("-e,--event", stat.events, "EVENTS",
              "Events of the processor, separated by commas [instructions,branches,cycles,branch-misses]");
  line.number("-r,--repeat", options.runs, 1, "N",
              "Runs under the machine's PMU, which does not count alike each time [3]");
  line.flag("--no-keep", options.keep_nothing, "Only print");
  line.value("-o,--output", stat.output, "FILE", "Where to print [stderr]");
  line.flag("-q,--quiet", stat.quiet, "No progress line");
  line.flag("-v,--verbose", stat.verbose, "A progress line in logs too");
  stat.run.cpu.name = "host";
  add_run_options(line, stat.run);
  line.exit_statuses(kStatusesOfRuns);
  if (const auto status = line.parse(arguments)) return status;
  stat.program = line.program();
  if (stat.events.empty()) stat.events = kUsualEvents;
  if (stat.program.empty()) return refused({"no program to count", "zeroskid calibrate [OPTIONS] PROGRAM [ARGUMENTS]"});
  return std::nullopt;
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char text[16];
  std::strftime(text, sizeof text, "%Y-%m-%d", &local);
  return text;
}

int run_calibrate(const Arguments& arguments) {
  CalibrateOptions options;
  if (const auto status = parse(arguments, options)) return *status;
  StatOptions& stat = options.stat;
  const host::CpuidFacts cpuid = host::ask_cpuid();
  if (auto chosen = choose_counting(stat); !chosen) return refused(chosen.error());
  const auto host = model_of_host(cpuid, stat.run.cpu.option);
  const bool is_the_hosts = host && stat.config.cpu_model == host->model->name;
  const std::string remark =
      is_the_hosts ? host->remark : stat.config.cpu_model + " is not the model of this machine's processor";
  auto wanted = hardware_events(stat, remark);
  if (!wanted) return refused(wanted.error());
  ProgramToRun program;
  if (const int status = find_program_to_run(stat.program, program); status != 0) return status;
  Output output;
  if (const auto status = output.open_file(stat.output)) return *status;

  Calibration calibration{.cpu = cpuid.brand,
                          .model = stat.config.cpu_model,
                          .program = joined(stat.program),
                          .date = today(),
                          .events = {}};
  for (const StatEvent& event : stat.report.events)
    calibration.events.push_back({.name = event.name, .hardware = {}, .software_class = {}});
  OwnSignals signals;
  const auto status = count_by_hardware({.events = *std::move(wanted),
                                         .path = program.path,
                                         .argv = program.argv,
                                         .runs = options.runs,
                                         .permissions = host::ask_permissions()},
                                        signals, calibration.events);
  if (!status) return failed({"calibrate: " + status.error().message, "without hardware's counts nothing is compared"});
  const auto modelled_status = count_by_software(program, stat, signals, calibration.events);
  if (!modelled_status) return kToolFailed;
  if (*modelled_status != *status)
    return failed({"calibrate: the program ended otherwise under the two PMUs, so their counts are not comparable",
                   "run it by `zeroskid stat` to see how it ends"});
  output.add(report::folded("# perf_event_open, the mean of " + std::to_string(options.runs) + " runs, and the " +
                                back_end_line(stat.config, stat.pmus).substr(2) + calibration_page(calibration),
                            terminal_width(output.descriptor())));
  if (!output.flush()) return kToolFailed;
  if (!options.keep_nothing) {
    const std::string file = calibration_file();
    if (file.empty())
      return failed({"the errors cannot be kept: neither XDG_CACHE_HOME nor HOME names a folder", "--no-keep"});
    if (const auto kept = keep_errors(file, errors_of(calibration)); !kept) return failed(kept.error());
    if (!stat.quiet) write_prose(STDERR_FILENO, "hint: zeroskid list -v shows the errors with the events\n");
  }
  return exit_status_of(*status);
}

}  // namespace

const Verb kCalibrateVerb{"calibrate", "How far the software PMU is from this machine's own", run_calibrate};

}  // namespace zs::cli

// `zeroskid stat`: runs a program and prints what it did, counted exactly, in perf stat's layout.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "cli/command_line.h"
#include "cli/event_selection.h"
#include "cli/exit_status.h"
#include "cli/progress_line.h"
#include "cli/run_options.h"
#include "cli/run_program.h"
#include "cli/say.h"
#include "cli/stat_page.h"
#include "cli/stat_totals.h"
#include "cli/terminal.h"
#include "cli/verb.h"
#include "session/pmu_plan.h"

namespace zs::cli {
namespace {

using session::EventKind;

const std::vector<std::string> kUsualEvents = {
    "instructions",     "branches",  "mem_inst_retired.all_loads", "mem_inst_retired.all_stores", "page-faults",
    "context-switches", "task-clock"};
/// What perf's -d adds, and the branches that a software PMU knows as well.
const std::vector<std::string> kDetails = {"br_inst_retired.conditional",
                                           "br_inst_retired.near_taken",
                                           "L1-dcache-loads",
                                           "L1-dcache-load-misses",
                                           "LLC-loads",
                                           "LLC-load-misses"};

struct Options {
  std::vector<std::string> events;
  std::string separator, output, colour = "auto";
  std::uint64_t repeat = 1;
  bool json = false, per_thread = false, detailed = false, quiet = false, verbose = false;
  RunOptions run;

  session::RecordingConfig config;
  StatReport report;                    // events in the order of printing
  std::vector<std::size_t> counted_as;  // by printed event: index into config.events, or kNotCounted
  std::size_t pmus = 0;
  int instruction_event = -1;
  ColourChoice colour_choice = ColourChoice::Auto;
  std::vector<std::string> program;
};
constexpr std::size_t kNotCounted = SIZE_MAX;

/// "event list, column 1: not modelled: LLC-loads needs the core model (caches), which this version does not have"
std::optional<std::string> not_modelled(const Error& error) {
  constexpr std::string_view kMark = "not modelled: ";
  const std::size_t at = error.message.find(kMark);
  if (at == std::string::npos) return std::nullopt;
  const std::size_t needs = error.message.find(" needs ", at);
  const std::size_t comma = error.message.find(',', at);
  if (needs == std::string::npos || comma == std::string::npos) return error.message.substr(at);
  return error.message.substr(needs + 1, comma - needs - 1);
}

void count(const EventSelection& selection, Options& out) {
  const auto first = static_cast<std::uint32_t>(out.config.events.size());
  if (const int at = instruction_event(selection); at >= 0 && out.instruction_event < 0) {
    out.instruction_event = static_cast<int>(first) + at;
  }
  for (session::EventSpec event : selection.events) {
    event.leader += first;
    out.report.events.push_back(
        {.name = event.name,
         .milliseconds = event.kind == EventKind::TaskClock,
         .number_class = event.kind == EventKind::Hardware ? NumberClass::Exact : NumberClass::Measured});
    out.counted_as.push_back(out.config.events.size());
    out.config.events.push_back(std::move(event));
  }
}

/// Events that we chose: one without a number gets a row that says so.
Result<void> count_ours(const std::vector<std::string>& names, const arch::CpuModel& model, Options& out) {
  for (const std::string& name : names) {
    const auto selection = select_events({name}, model, {});
    if (selection) {
      count(*selection, out);
    } else if (const auto reason = not_modelled(selection.error())) {
      out.report.events.push_back({.name = name, .number_class = NumberClass::NotModelled, .reason = *reason});
      out.counted_as.push_back(kNotCounted);
    } else {
      return selection.error();
    }
  }
  return {};
}

Result<void> choose(Options& out) {
  if (auto supported = check_run_options(out.run); !supported) return supported;
  if (!parse_colour(out.colour, out.colour_choice)) {
    return Error{"--color " + out.colour + ": no such choice", "auto, always or never"};
  }
  if (out.json && !out.separator.empty()) return Error{"-x and -j exclude each other", ""};
  if (out.per_thread && out.repeat > 1) return Error{"--per-thread and -r exclude each other", ""};
  if (out.separator == "\\t") out.separator = "\t";
  const auto model = choose_cpu_model(out.run.cpu);
  if (!model) return model.error();
  out.config.cpu_model = (*model)->name;
  apply(out.run, out.config);
  if (out.events.empty()) {
    if (auto chosen = count_ours(kUsualEvents, **model, out); !chosen) return chosen;
  } else {
    const auto selection = select_events(out.events, **model, {});
    if (!selection) return selection.error();
    count(*selection, out);
  }
  if (out.detailed) {
    if (auto chosen = count_ours(kDetails, **model, out); !chosen) return chosen;
  }
  const auto banks = session::plan_banks(session::with_progress_event(out.config).events, **model);
  if (!banks) return banks.error();
  out.pmus = banks->size();
  return {};
}

std::optional<int> parse(int argc, char** argv, Options& out) {
  CommandLine line("stat", "Runs a program and prints how often events happened.",
                   "[OPTIONS] [--] PROGRAM [ARGUMENTS]");
  line.group("What is counted");
  line.values("-e,--event", out.events, "EVENTS",
              "Events, separated by commas; `zeroskid list` shows them [instructions, branches, loads,\n"
              "stores, page faults, context switches, task clock]");
  line.flag("-d,--detailed", out.detailed, "Some more events");
  line.number("-r,--repeat", out.repeat, 1, "N", "Run the program N times; print means and their deviations");
  line.flag("--per-thread", out.per_thread, "A line per thread");
  line.group("How it is printed");
  line.value("-x,--field-separator", out.separator, "SEP", "Columns as perf stat -x has them, with SEP between");
  line.flag("-j,--json-output", out.json, "A JSON object per line, as perf stat -j");
  line.value("-o,--output", out.output, "FILE", "Where to [stderr]");
  line.value("--color", out.colour, "WHEN", "auto, always or never [auto]");
  line.flag("-q,--quiet", out.quiet, "No progress line");
  line.flag("-v,--verbose", out.verbose, "A progress line in logs too");
  add_run_options(line, out.run);
  line.footer(
      "Exit status: the program's own; 128+n if signal n killed it; 125 if zeroskid failed, 126 if the program\n"
      "cannot be executed, 127 if it is not found, 129 for wrong usage.");
  if (const auto status = line.parse(argc, argv)) return status;
  if (auto chosen = choose(out); !chosen) {
    say(chosen.error());
    return kUsage;
  }
  if (line.program().empty()) {
    say(Error{"no program to count", "zeroskid stat [OPTIONS] PROGRAM [ARGUMENTS]"});
    return kUsage;
  }
  out.program = line.program();
  return std::nullopt;
}

double seconds(const timeval& t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6; }

/// From values by counted event to values by printed event.
std::vector<std::uint64_t> as_printed(const std::vector<std::uint64_t>& counted, const Options& options) {
  std::vector<std::uint64_t> printed;
  for (const std::size_t event : options.counted_as) printed.push_back(event == kNotCounted ? 0 : counted[event]);
  return printed;
}

/// returns the program's exit status, or what stands for our own failure
int run_once(const ProgramToRun& program, Options& options, OwnSignals& signals, bool& go_on) {
  StatTotals totals(options.config.events.size());
  ProgressLine progress(progress_style(options.quiet, options.verbose));
  Collector collector(totals, options.config, options.instruction_event,
                      [&](const Progress& now) { progress.show(now); });
  ProgramEnd end;
  go_on = run_and_collect(program, options.config, collector, signals, end);
  if (!go_on) return kToolFailed;
  progress.clear();
  go_on = end.ran && !WIFSIGNALED(end.wait_status) && !signals.asked_to_end();
  say_how_it_ended(program, end);
  if (!end.ran) return exit_status_of(end.wait_status);  // zeroskid-run has said why, unless it was killed
  StatReport& report = options.report;
  report.runs.push_back({.values = as_printed(totals.totals(), options),
                         .elapsed = end.elapsed_seconds,
                         .user = seconds(end.usage.ru_utime),
                         .system = seconds(end.usage.ru_stime)});
  report.incomplete = report.incomplete || totals.incomplete();
  if (options.per_thread) {
    report.threads = totals.threads();
    for (ThreadTotals& thread : report.threads) thread.values = as_printed(thread.values, options);
  }
  return exit_status_of(end.wait_status);
}

std::string printed(const Options& options, int descriptor) {
  if (!options.separator.empty()) return stat_columns(options.report, options.separator);
  if (options.json) return stat_json(options.report);
  return back_end_line(options.config, options.pmus) +
         stat_page(options.report, use_colour(options.colour_choice, descriptor));
}

/// returns false if a file that was asked for is not whole; that has been said. Nobody need listen to stderr.
bool print_report(const Options& options, int descriptor) {
  std::string text = printed(options, descriptor);
  for (std::string_view rest = text; !rest.empty();) {
    const ssize_t done = write(descriptor, rest.data(), rest.size());
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) {
      if (options.output.empty()) return true;
      say(Error{options.output + ": " + std::strerror(errno) + "; the counts are not in it, or not all of them",
                "choose another place with -o FILE"});
      return false;
    }
    rest.remove_prefix(static_cast<std::size_t>(done));
  }
  return true;
}

int run_stat(int argc, char** argv) {
  Options options;
  if (const auto status = parse(argc, argv, options)) return *status;
  ProgramToRun program;
  if (const int status = find_program_to_run(options.program, program); status != 0) return status;
  for (const std::string& word : options.program) {
    options.report.command += (options.report.command.empty() ? "" : " ") + word;
  }
  int descriptor = STDERR_FILENO;
  if (!options.output.empty()) {
    descriptor = open(options.output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (descriptor < 0) {
      say(Error{options.output + ": cannot create: " + std::strerror(errno), "choose another place with -o FILE"});
      return kToolFailed;
    }
  }
  OwnSignals signals;
  int status = 0;
  bool go_on = true;
  for (std::uint64_t i = 0; i < options.repeat && go_on; ++i) status = run_once(program, options, signals, go_on);
  if (!options.report.runs.empty() && !print_report(options, descriptor)) return kToolFailed;
  return status;
}

}  // namespace

const Verb kStatVerb{"stat", "Run a program and count events exactly", run_stat};

}  // namespace zs::cli

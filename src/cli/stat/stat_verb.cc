// `zeroskid stat`: runs a program and prints what it did, counted exactly, in perf stat's layout.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "cli/command/exit_status.h"
#include "cli/command/output.h"
#include "cli/command/say.h"
#include "cli/command/scratch_folder.h"
#include "cli/command/terminal.h"
#include "cli/command/verb.h"
#include "cli/command/words.h"
#include "cli/costs/costs.h"
#include "cli/run/detail_choice.h"
#include "cli/run/follow_filter.h"
#include "cli/run/progress_line.h"
#include "cli/run/region_options.h"
#include "cli/run/run_program.h"
#include "cli/stat/perf_stat.h"
#include "cli/stat/stat_options.h"
#include "cli/stat/stat_page.h"
#include "cli/stat/stat_regions.h"
#include "cli/stat/stat_totals.h"
#include "cli/stat/window_page.h"
#include "cli/stat/window_rows.h"
#include "report/text/fit.h"

namespace zs::cli {
namespace {

/// Totals, and windows as they come.
class StatSink final : public RecordingSink {
 public:
  StatSink(const StatOptions& options, Output& output, StatRegions& regions)
      : totals(options.config.events.size(), options.config.estimated_events().size()),
        output_(output),
        page_(options.window_format, window_table(options), options.report.metrics, options.report.estimated,
              options.separator, options.per_thread),
        windows_(
            {.closers = options.window_plan.closers,
             .counted_as = options.counted_as,
             .times = options.window_plan.in_time,
             .estimated = options.config.estimated_events().size()},
            [this, most = options.interval_count](const profile::Window& window, const session::UnitSums* units) {
              if (most != 0 && window.number > most) return;
              row_.clear();
              page_.add_row(window, units, row_);
              output_.add(row_);
            },
            [this](const profile::RegionSpan& span) { output_.add(window_csv_region(span)); }),
        regions_(regions) {
    if (!options.has_windows()) return;
    if (options.window_format == WindowFormat::Page)
      output_.add(back_end_line(options.config, options.pmus, why_software(options.back_end)));
    output_.add(page_.head());
  }
  StatSink(const StatSink&) = delete;

  void receive(session::Message&& message) override {
    windows_.look_at(message);
    regions_.look_at(message);
    totals.receive(std::move(message));
  }
  void breathe() override { output_.flush(); }

  StatTotals totals;

 private:
  Output& output_;
  WindowPage page_;
  std::string row_;  // kept for its memory
  WindowRows windows_;
  StatRegions& regions_;
};

/// returns the program's exit status, or what stands for our own failure
int run_once(const ProgramToRun& program, StatOptions& options, OwnSignals& signals, Output& output,
             StatRegions& regions, bool& go_on) {
  StatSink sink(options, output, regions);
  ProgressLine progress(progress_style(options.quiet, options.verbose));
  FollowFilter followed(options.follow, sink);
  Collector collector(followed, options.config, options.instruction_event, false,
                      [&](const Progress& now) { progress.show(now); });
  if (options.timeout != 0) collector.when_it_begins([&] { signals.end_after(options.timeout); });
  ProgramEnd end;
  go_on = run_and_collect(program, options.config, collector, signals, end);
  if (!go_on) return kToolFailed;
  progress.clear();
  go_on = end.ran && (!WIFSIGNALED(end.wait_status) || signals.ended(end.wait_status)) && !signals.asked_to_end();
  output.flush();
  say_how_it_ended(program, end);
  if (!end.ran) return exit_status_of(end.wait_status);  // zeroskid-run has said why, unless it was killed
  if (!followed.any() && !options.follow.comm.empty())
    return failed({"--comm " + options.follow.comm + ": no process ran a program of that name", "nothing was counted"});
  StatReport& report = options.report;
  add_run(report,
          {.values = as_printed(sink.totals.totals(), options),
           .elapsed = end.elapsed_seconds,
           .user = seconds(end.usage.ru_utime),
           .system = seconds(end.usage.ru_stime)},
          sink.totals.units());
  report.incomplete = report.incomplete || sink.totals.incomplete();
  if (!report.incomplete) regions.add_run(sink.totals.totals(), options.config.estimated_events());
  if (options.per_thread || options.per_process) {
    report.threads = options.per_thread ? sink.totals.threads() : sink.totals.processes();
    for (ThreadTotals& thread : report.threads) thread.values = as_printed(thread.values, options);
  }
  return status_of_run(signals, end.wait_status);
}

/// Of units: so that each of several runs tells of other parts of the program. The first run's is what was asked for.
std::uint64_t seed_of_run(std::uint64_t seed, std::uint64_t run) {
  constexpr unsigned kBehindSeeds = 32;
  return seed ^ run << kBehindSeeds;
}

/// What is known at the end; windows were printed as they came.
std::string printed(const StatOptions& options, const std::vector<RegionTotals>& regions, int descriptor) {
  const StatReport& report = options.report;
  const bool windows = options.has_windows();
  const RegionColumns columns{.events = report.events,
                              .counted_as = options.counted_as,
                              .metrics = report.metrics,
                              .estimated = report.estimated};
  switch (options.window_format) {
    case WindowFormat::Columns:
      return (windows ? "" : stat_columns(report, options.separator)) +
             regions_columns(regions, columns, options.separator);
    case WindowFormat::Json: return (windows ? "" : stat_json(report)) + regions_json(regions, columns);
    case WindowFormat::Csv:
    case WindowFormat::HpctoolCsv: return "";
    case WindowFormat::Page: break;
  }
  const std::string blocks = regions_page(regions, columns);
  if (windows) return blocks.empty() ? "" : "\n" + blocks;
  const std::string page = back_end_line(options.config, options.pmus, why_software(options.back_end)) +
                           detail_line(options.config, report.units) +
                           stat_page(report, use_colour(options.colour_choice, descriptor)) + blocks;
  return report::folded(page, terminal_width(descriptor));
}

/// Regions that were asked for with --region and never entered are told of; if none was, nothing of what was asked for
/// has been measured.
int status_for_regions(const StatOptions& options, const std::vector<RegionTotals>& regions, int status) {
  std::size_t entered = 0;
  for (const RegionTotals& region : regions) {
    const bool asked = std::ranges::find(options.regions, region.name) != options.regions.end();
    if (region.entries != 0) {
      entered += asked ? 1 : 0;
    } else if (asked) {
      say(Error{"--region " + region.name + ": was never entered",
                "the counts of the whole run are there all the same"});
    }
  }
  return !options.regions.empty() && entered == 0 && status == 0 ? kToolFailed : status;
}

/// returns whether it did what it should; if not, that has been said
bool run_command(const char* option, const std::string& command) {
  if (command.empty()) return true;
  const int status = std::system(command.c_str());
  if (status != 0)
    say(std::string(option) + " " + command + ": ended with status " + std::to_string(exit_status_of(status)));
  return status == 0;
}

/// The words of an option that says how the program runs, which are the same for every verb.
std::vector<std::string> words_of_the_run(const Arguments& arguments, const std::vector<std::string>& program) {
  constexpr std::string_view kOurs[] = {"--mix", "--mix=function", "--opcodes", "--append", "-q", "--quiet",
                                        "-v",    "--verbose",      "--"};
  constexpr std::string_view kOursWithValues[] = {"-o", "--output", "--log-fd"};
  std::vector<std::string> words;
  for (std::size_t i = 1; i + program.size() < arguments.words.size(); ++i) {
    const std::string& word = arguments.words[i];
    const auto is_it = [&](std::string_view ours) {
      return word.starts_with(ours) && (ours == "-o" || word[ours.size()] == '=');
    };
    if (std::ranges::find(kOursWithValues, word) != std::end(kOursWithValues))
      ++i;
    else if (std::ranges::find(kOurs, word) == std::end(kOurs) && std::ranges::none_of(kOursWithValues, is_it))
      words.push_back(word);
  }
  return words;
}

/// What the instructions are, from an exact profile that nobody keeps.
int stat_mix(const Arguments& arguments, const StatOptions& options) {
  Output output;
  if (const auto status = open_output(options, output)) return *status;
  const ScratchFolder folder;
  if (folder.path().empty()) return failed({std::string("a folder of its own: ") + std::strerror(errno), ""});
  const std::string recording = folder.path() + "/profile";
  std::vector<std::string> formats;
  if (!options.mix.empty()) formats.emplace_back(options.mix == "function" ? "mix-by-function" : "mix");
  if (options.opcodes) formats.emplace_back("opcodes");
  std::vector<std::string> words = words_of_the_run(arguments, options.program);
  words.insert(words.begin(), {kProfileVerb.name, "-q", "-o", recording, "--to", joined(formats, ",")});
  words.emplace_back("--");
  words.insert(words.end(), options.program.begin(), options.program.end());
  const int status = kProfileVerb.run({words});
  for (const std::string& format : formats) {
    std::string path = recording;
    path.append(".").append(format);
    std::ifstream file(path);
    output.add(std::string(std::istreambuf_iterator<char>(file), {}));
  }
  return output.flush() ? status : kToolFailed;
}

int run_stat(const Arguments& arguments) {
  StatOptions options;
  if (const auto status = parse_stat_options(arguments, options)) return *status;
  if (options.wants_mix()) return stat_mix(arguments, options);
  if (options.perf_events) return stat_perf_events(options);
  ProgramToRun program;
  if (const int status = find_program_to_run(options.program, program); status != 0) return status;
  options.report.command = joined(options.program);
  options.report.machine = shown_machine(options.config);
  auto regions = find_regions(options.regions, program.path);
  if (!regions) return refused(regions.error());
  options.config.regions = *std::move(regions);
  Output output;
  if (const auto status = open_output(options, output)) return *status;
  StatRegions counted(options.config.events.size(), options.config.estimated_events().size(), options.regions);
  say_cost(options.config, options.quiet, options.verbose);
  OwnSignals signals;
  int status = 0;
  bool go_on = true;
  for (std::uint64_t i = 0; i < options.repeat && go_on; ++i) {
    options.config.units.seed = seed_of_run(options.run.seed, i);
    if (!run_command("--pre", options.before)) return kToolFailed;
    status = run_once(program, options, signals, output, counted, go_on);
    if (!run_command("--post", options.behind)) return kToolFailed;
    if (options.until && options.until->reached(options.report)) go_on = false;
  }
  if (options.until && !options.report.runs.empty() && !options.quiet) say(options.until->outcome(options.report));
  if (!options.report.runs.empty()) {
    const std::vector<RegionTotals> totals = counted.totals();
    output.add(printed(options, totals, output.descriptor()));
    output.flush();
    status = status_for_regions(options, totals, status);
  }
  return output.flush() ? status : kToolFailed;
}

}  // namespace

const Verb kStatVerb{"stat", "Run a program and count events exactly", run_stat};

}  // namespace zs::cli

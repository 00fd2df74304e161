// `zeroskid topdown`: runs a program and shows what became of the issue slots of the modelled core, level by level.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "arch/cpu_model.h"
#include "arch/metrics/metric.h"
#include "cli/command/command_line.h"
#include "cli/command/exit_status.h"
#include "cli/command/output.h"
#include "cli/command/say.h"
#include "cli/command/terminal.h"
#include "cli/command/verb.h"
#include "cli/command/words.h"
#include "cli/costs/costs.h"
#include "cli/events/event_selection.h"
#include "cli/run/detail_choice.h"
#include "cli/run/progress_line.h"
#include "cli/run/run_program.h"
#include "cli/stat/stat_options.h"
#include "cli/stat/stat_totals.h"
#include "cli/topdown/topdown_page.h"
#include "report/text/fit.h"
#include "session/driver/pmu_plan.h"

namespace zs::cli {
namespace {

constexpr const char* kLevels[] = {"TopdownL1", "TopdownL2", "TopdownL3", "TopdownL4"};
constexpr const char* kSlots = "Slots";

struct TopdownOptions {
  StatOptions stat;
  std::uint64_t level = 0;  // 0: the deepest that the CPU model has
  bool no_descriptions = false, ascii = false;
};

std::optional<int> parse(const Arguments& arguments, TopdownOptions& options) {
  StatOptions& stat = options.stat;
  CommandLine line("topdown", "Runs a program and shows what became of the issue slots of its modelled core.",
                   "[OPTIONS] [--] PROGRAM [ARGUMENTS]");
  line.number("-l,--level", options.level, 1, "N", "Down to level 1, 2, 3 or 4 [what the model has]");
  line.group("How it is printed");
  line.flag("--no-desc", options.no_descriptions, "Without what to look at next");
  line.value("-x,--field-separator", stat.separator, "SEP", "A line of columns for each node, with SEP between");
  line.flag("-j,--json-output", stat.json, "One JSON object");
  line.value("-o,--output", stat.output, "FILE", "Where to [stderr]");
  line.flag("--ascii", options.ascii, "No block characters, also where the locale has UTF-8");
  line.value("--color", stat.colour, "auto|always|never", "When to colour [auto]");
  line.flag("-q,--quiet", stat.quiet, "No progress line");
  line.flag("-v,--verbose", stat.verbose, "A progress line in logs too");
  add_run_options(line, stat.run);
  line.note("The same numbers over time: zeroskid stat -I 50000i -M TopdownL1 PROGRAM (docs/formats/topdown.md).");
  line.exit_statuses(kStatusesOfRuns);
  if (const auto status = line.parse(arguments)) return status;
  stat.program = line.program();
  return std::nullopt;
}

bool has_level(const arch::CpuModel& model, const char* level) {
  return std::ranges::any_of(arch::metric_rows(), [&](const arch::Metric& row) {
    return row.in_group(level) && arch::has_metric(model, row);
  });
}

/// All nodes, and the slots behind them last. Refused where no node of level 1 has a number.
Result<void> choose(TopdownOptions& options) {
  StatOptions& stat = options.stat;
  if (options.level > std::size(kLevels)) {
    return Error{"-l " + std::to_string(options.level) + ": there are levels 1 to 4", ""};
  }
  if (stat.json && !stat.separator.empty()) return Error{"-x and -j exclude each other", ""};
  if (stat.program.empty()) return Error{"no program to count", "zeroskid topdown [OPTIONS] PROGRAM [ARGUMENTS]"};
  const auto model = choose_cpu_model(stat.run.cpu);
  if (!model) return model.error();
  for (std::size_t i = 0; i < std::size(kLevels); ++i) {
    if (options.level != 0 ? i < options.level : has_level(**model, kLevels[i])) stat.metrics.emplace_back(kLevels[i]);
  }
  stat.metrics.emplace_back(kSlots);
  if (auto chosen = choose_counting(stat); !chosen) return chosen;
  stat.config.marked_regions = false;  // the page has none
  for (const StatMetric& node : stat.report.metrics) {
    if (node.counted.metric().in_group(kLevels[0]) && node.has_number()) return {};
  }
  return Error{"topdown: not modelled: " + stat.config.cpu_model + " lacks " + stat.report.metrics.front().lacks,
               "take another CPU model"};
}

TopdownReport report_of(const TopdownOptions& options, const StatTotals& totals, const arch::CpuModel& model) {
  const StatOptions& stat = options.stat;
  const session::UnitSums units = totals.units();
  Counted counted{.counts = {}, .units = &units, .columns = &stat.report.estimated};
  for (const std::uint64_t count : as_printed(totals.totals(), stat)) {
    counted.counts.push_back(static_cast<double>(count));
  }
  TopdownReport report{.program = stat.report.command, .cpu_model = stat.config.cpu_model};
  if (is_estimated(&units)) report.percent_in_detail = percent_in_detail(units);
  for (const StatMetric& metric : stat.report.metrics) {
    if (metric.name() == kSlots && metric.has_number()) report.slots = estimate_of(counted, metric);
  }
  report.nodes = topdown_tree(stat.report.metrics, counted);
  for (TopdownNode& node : report.nodes) {
    node.next = look_here_next(node.metric->name(), model, report.program);
  }
  return report;
}

std::string printed(const TopdownOptions& options, const TopdownReport& report, const session::UnitSums& units,
                    int descriptor) {
  const StatOptions& stat = options.stat;
  if (stat.json) return topdown_json(report);
  if (!stat.separator.empty()) return topdown_csv(report, stat.separator);
  const std::size_t width = terminal_width(descriptor);
  const std::string page = topdown_page(report, {.unicode = !options.ascii && locale_has_utf8(),
                                                 .colour = use_colour(stat.colour_choice, descriptor),
                                                 .descriptions = !options.no_descriptions,
                                                 .width = width});
  return report::folded(back_end_line(stat.config, stat.pmus) + detail_line(stat.config, units) + page, width);
}

int run_topdown(const Arguments& arguments) {
  TopdownOptions options;
  if (const auto status = parse(arguments, options)) return *status;
  StatOptions& stat = options.stat;
  if (auto chosen = choose(options); !chosen) return refused(chosen.error());
  ProgramToRun program;
  if (const int status = find_program_to_run(stat.program, program); status != 0) return status;
  stat.report.command = joined(stat.program);
  Output output;
  if (const auto status = output.open_file(stat.output)) return *status;

  say_cost(stat.config, stat.quiet, stat.verbose);
  OwnSignals signals;
  StatTotals totals(stat.config.events.size(), stat.config.estimated_events().size());
  ProgressLine progress(progress_style(stat.quiet, stat.verbose));
  Collector collector(totals, stat.config, stat.instruction_event, false,
                      [&](const Progress& now) { progress.show(now); });
  ProgramEnd end;
  if (!run_and_collect(program, stat.config, collector, signals, end)) return kToolFailed;
  progress.clear();
  say_how_it_ended(program, end);
  if (!end.ran) return exit_status_of(end.wait_status);
  const TopdownReport report = report_of(options, totals, *arch::find_cpu_model(stat.config.cpu_model));
  output.add(printed(options, report, totals.units(), output.descriptor()));
  return output.flush() ? exit_status_of(end.wait_status) : kToolFailed;
}

}  // namespace

const Verb kTopdownVerb{"topdown", "What became of the issue slots, level by level", run_topdown};

}  // namespace zs::cli

// `zeroskid plot`: the windows of `stat -I` as curves, in the terminal or as a picture, and their phases.
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arch/metrics/metric.h"
#include "base/formula.h"
#include "base/result.h"
#include "cli/command/command_line.h"
#include "cli/command/exit_status.h"
#include "cli/command/output.h"
#include "cli/command/say.h"
#include "cli/command/terminal.h"
#include "cli/command/verb.h"
#include "cli/events/event_selection.h"
#include "cli/report/recording_input.h"
#include "cli/stat/stat_metrics.h"
#include "profile/windows/foreign_tables.h"
#include "profile/windows/window_rates.h"
#include "profile/windows/window_table.h"
#include "report/plot/drawn_plot.h"
#include "report/plot/plot_figure.h"

namespace zs::cli {
namespace {

// Which curves `zeroskid plot` draws of a table of windows: the metrics of the table's CPU model that were asked for,
// instructions per cycle where cycles are counted, and every event per 1000 instructions that these do not show
// already.

constexpr std::string_view kInstructions = "inst_retired.any";
constexpr std::string_view kAlways = "IPC";

/// The columns of a table by what they count.
class Columns {
 public:
  Columns(const profile::WindowTable& table, const arch::CpuModel& model) : table_(table), model_(model) {
    for (const profile::WindowEvent& event : table.events) {
      const auto parsed = session::parse_events(event.name, model);
      const bool one = parsed && parsed->size() == 1 && parsed->front().events.size() == 1;
      columns_.push_back(one ? std::optional(parsed->front().events.front()) : std::nullopt);
    }
  }

  std::optional<std::size_t> counted(std::string_view event) const { return find_column(columns_, event, model_); }
  std::optional<std::size_t> find(std::string_view event) const {
    const bool are_places = table_.places == profile::Places::Instructions;
    return are_places && event == kInstructions ? profile::length_column(table_) : counted(event);
  }
  /// The first event of the metric that the table does not count.
  std::optional<std::string_view> lacks(const arch::Metric& metric) const {
    std::optional<std::string_view> missing;
    evaluate(metric.formula, [&](std::string_view name) {
      const auto lacking = arch::names_metric(name) ? lacks(*arch::find_metric(model_, name))
                           : find(name)             ? std::nullopt
                                                    : std::optional(name);
      if (!missing) missing = lacking;
      return 1.0;
    });
    return missing;
  }
  profile::CountedMetric bind(const arch::Metric& metric) const {
    return {model_, metric, [&](std::string_view event) { return *find(event); }};
  }

 private:
  const profile::WindowTable& table_;
  const arch::CpuModel& model_;
  CountedColumns columns_;
};

/// metrics  as -M has them
Result<profile::CurveChoice> choose_curves(const profile::WindowTable& table, const std::vector<std::string>& metrics) {
  profile::CurveChoice choice;
  // A table of another version, or of another program, has perf's names at least.
  const auto named = choose_cpu_model({.name = table.cpu_model});
  const arch::CpuModel& model = named ? **named : arch::default_cpu_model();
  const Columns columns(table, model);
  const auto asked = named_metrics(metrics, model);
  if (!asked) return asked.error();
  std::vector<const arch::Metric*> shown;
  const arch::Metric* const always = arch::find_metric(model, kAlways);
  if (always != nullptr && !columns.lacks(*always)) shown.push_back(always);
  for (const arch::Metric* const metric : *asked) {
    if (const auto missing = columns.lacks(*metric)) {
      return Error{
          "-M " + std::string(metric->name) + ": the table does not count " + std::string(*missing),
          "zeroskid stat -I 50000i --format csv -M " + std::string(metric->name) + " counts all that it needs"};
    }
    if (std::ranges::find(shown, metric) == shown.end()) shown.push_back(metric);
  }
  choice.own_curve.assign(table.events.size(), true);
  const auto hide = [&](std::string_view event) {
    if (const auto column = columns.counted(event)) choice.own_curve[*column] = false;
  };
  if (table.places == profile::Places::Instructions) hide(kInstructions);
  for (const arch::Metric* const metric : shown) {
    if (metric == always) hide("cpu_clk_unhalted.thread");
    choice.metrics.push_back(columns.bind(*metric));
  }
  return choice;
}

constexpr std::size_t kUsualWidth = 80;
constexpr std::size_t kMostWidth = 10'000;  // chosen: wider than any screen, and no allocation to speak of

constexpr ExitRow kPlotStatuses[] = {
    {"0", "drawn"},
    {"125", "the table cannot be read, or a file not be written"},
    {"129", "wrong usage"},
};

struct PlotOptions {
  std::vector<std::string> files, metrics;
  std::string svg, html, csv, colour = "auto";
  std::uint64_t width = 0, height = 4, thread = 0;
  bool phases = false, ascii = false;
  ColourChoice colour_choice = ColourChoice::Auto;

  bool writes_a_file() const { return !svg.empty() || !html.empty() || !csv.empty(); }
};

std::optional<Error> wrong_usage(PlotOptions& options) {
  if (options.files.size() != 1) {
    return Error{options.files.empty() ? "no table of windows to plot"
                                       : "plot: one table at a time, not also '" + options.files[1] + "'",
                 "zeroskid stat -I 50000i --format csv -o FILE PROGRAM makes one; zeroskid plot FILE shows it"};
  }
  if (!parse_colour(options.colour, options.colour_choice)) {
    return Error{"--color " + options.colour + ": no such choice", "auto, always or never"};
  }
  if (options.width != 0 && (options.width < report::kLeastPlotWidth || options.width > kMostWidth)) {
    return Error{"--width " + std::to_string(options.width) + ": from " + std::to_string(report::kLeastPlotWidth) +
                     " to " + std::to_string(kMostWidth) + " columns",
                 ""};
  }
  if (options.height > 100) return Error{"--height " + std::to_string(options.height) + ": 100 lines at most", ""};
  return std::nullopt;
}

std::optional<int> parse(const Arguments& arguments, PlotOptions& options) {
  CommandLine line("plot", "Draws the windows of a run as curves over its instructions.", "FILE [OPTIONS]");
  line.words(options.files, "FILE");
  line.group("What is shown");
  line.number("--thread", options.thread, 1, "TID", "This thread [the one with the most instructions]");
  line.values("-M,--metrics", options.metrics, "METRICS",
              "Metrics too, separated by commas, made of the events in the table; `zeroskid list metrics` shows them");
  line.flag("--phases", options.phases, "A table of the phases, with their rates");
  line.group("In the terminal");
  line.number("--width", options.width, 1, "COLUMNS", "How wide [COLUMNS, the terminal's width, or 80]");
  line.number("--height", options.height, 1, "LINES", "How high each strip [4]");
  line.flag("--ascii", options.ascii, "No block characters, also where the locale has UTF-8");
  line.value("--color", options.colour, "auto|always|never", "When to colour [auto]");
  line.group("As files, instead");
  line.value("--html", options.html, "FILE",
             "A page that needs nothing but itself: values under the pointer, zoom, tables");
  line.value("--svg", options.svg, "FILE", "A picture");
  line.value("--csv", options.csv, "FILE", "The numbers of the curves; - is stdout");
  line.note(
      "FILE is a table of windows, as zeroskid stat -I 50000i --format csv or hpctool-csv writes, or perf stat -I MS "
      "-x,\n"
      "or CSV of numbers with a header (docs/formats/windows.md); - is stdin.\n"
      "Rates are events per 1000 instructions, or per second where those are not counted; instructions per cycle "
      "where\n"
      "cycles are. Phases: docs/phases.md.");
  line.exit_statuses(kPlotStatuses);
  if (const auto done = line.parse(arguments)) return done;
  if (const auto error = wrong_usage(options)) {
    say(*error);
    return kUsage;
  }
  return std::nullopt;
}

/// What was asked for, or COLUMNS, or the terminal's own width; never less than a plot needs.
std::size_t plot_width(std::uint64_t asked) {
  std::size_t width = asked;
  if (width == 0) {  // also where stdout is no terminal, unlike terminal_width()
    const char* const variable = std::getenv("COLUMNS");
    const std::string_view columns = variable == nullptr ? "" : variable;
    std::from_chars(columns.data(), columns.data() + columns.size(), width);
  }
  if (width == 0) width = terminal_width(STDOUT_FILENO);
  if (width == 0) width = kUsualWidth;
  return std::min(std::max(width, report::kLeastPlotWidth), kMostWidth);
}

bool write_out(const std::string& path, const std::string& text) {
  if (path != "-") return write_file(path, text);
  Page page;
  page.print(text);
  return page.ok();
}

int run_plot(const Arguments& arguments) {
  PlotOptions options;
  if (const auto done = parse(arguments, options)) return *done;
  const auto table = profile::read_table(options.files.front());
  if (!table) return failed(table.error());
  if (!options.html.empty() && table->places != profile::Places::Instructions)
    return refused({options.files.front() + ": --html draws over instructions, and this table does not count them",
                    "--svg, --csv and the terminal draw it"});
  std::optional<std::int32_t> thread;
  if (options.thread != 0) thread = static_cast<std::int32_t>(std::min<std::uint64_t>(options.thread, INT32_MAX));
  const auto curves = choose_curves(*table, options.metrics);
  if (!curves) return refused({options.files.front() + ": " + curves.error().message, curves.error().hint});
  const auto figure = report::make_figure(*table, thread, *curves);
  if (!figure) return failed({options.files.front() + ": " + figure.error().message, figure.error().hint});
  bool written = true;
  if (!options.html.empty()) written = write_out(options.html, report::plot_html(*figure));
  if (!options.svg.empty()) written = write_out(options.svg, report::plot_svg(*figure)) && written;
  if (!options.csv.empty()) written = write_out(options.csv, report::rates_csv(*figure, figure->curve)) && written;
  if (!written) return kToolFailed;

  Page page;
  const report::PlotTextStyle style{.width = plot_width(options.width),
                                    .height = options.height,
                                    .unicode = !options.ascii && locale_has_utf8(),
                                    .colour = use_colour(options.colour_choice, STDOUT_FILENO)};
  if (!options.writes_a_file()) page.print(report::plot_text(*figure, style));
  if (options.phases) page.print((options.writes_a_file() ? "" : "\n") + report::phases_text(*figure, style.width));
  return page.status();
}

}  // namespace

const Verb kPlotVerb{"plot", "Windows as curves over the instructions, and phases", run_plot};

}  // namespace zs::cli

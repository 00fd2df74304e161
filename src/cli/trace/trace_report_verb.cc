// `zeroskid trace report`: the calls of a branch trace.
#include <string>

#include "base/units.h"
#include "cli/command/command_line.h"
#include "cli/command/exit_status.h"
#include "cli/command/verb.h"
#include "cli/report/recording_input.h"
#include "report/text/class_text.h"
#include "report/text/header_text.h"
#include "report/trace/calls.h"

namespace zs::cli {
namespace {

constexpr std::uint64_t kDeepest = 10'000;  // chosen: beyond it a tree is no picture any more

struct TraceReportOptions {
  RecordingInput input;
  std::string color = "auto", percent_limit = "0.5";
  std::uint64_t deepest = 127;
  bool header = false, header_only = false;
  PageWidth width;
};

std::optional<int> parse(const Arguments& arguments, TraceReportOptions& options) {
  CommandLine line(
      "trace report",
      "Shows the calls of a branch trace as a tree: who called whom how often, exactly, and the instructions\n"
      "executed there and below. Not counted are those before a thread's first branch, behind its last,\n"
      "and around signals up to the next branch.",
      "[-i FILE] [OPTIONS]");
  add_input_options(line, options.input);
  line.value("--percent-limit", options.percent_limit, "PERCENT",
             "Leave out what has fewer of the trace's instructions [0.5]");
  line.number("--max-stack", options.deepest, 1, "N", "Levels of the tree; deeper calls stand on the last [127]");
  line.flag("--header", options.header, "What the recording says of itself, first");
  line.flag("--header-only", options.header_only, "Only that");
  line.value("--color", options.color, "auto|always|never", "When to colour [auto]");
  add_width_options(line, options.width);
  return parse_reader(line, arguments);
}

int run_trace_report(const Arguments& arguments) {
  TraceReportOptions options;
  if (const auto done = parse(arguments, options)) return *done;
  const auto limit = parse_percent_limit(options.percent_limit);
  if (!limit) return refuse("trace report", limit.error());
  const auto coloured = parse_page_colour(options.color);
  if (!coloured) return refuse("trace report", coloured.error());
  if (options.deepest > kDeepest)
    return refuse("trace report", {"--max-stack is a number of levels up to " + with_thousands(kDeepest) + ", not " +
                                   with_thousands(options.deepest)});
  options.input.traces = profile::Traces::Pieces;
  const auto reader = open_recording(options.input);
  if (!reader) return kToolFailed;
  Page page(options.input.pager());
  if (options.header || options.header_only) page.print(report::header_text(*reader));
  if (options.header_only) return page.status();
  if (!has_branch_trace(*reader)) return kToolFailed;

  profile::Symbolizer symbolizer = options.input.symbolizer();
  symbolizer.expect(*reader);
  report::TracedCalls calls(symbolizer, static_cast<std::uint32_t>(options.deepest));
  reader->for_each(profile::PerfDataReader::Order::Time, [&](const profile::Record& record) { calls.take(record); });
  const std::string* const filter = report::find_note(*reader, "trace filter");  // null: all branches
  page.print(report::calls_text(calls, {.filter = filter != nullptr ? *filter : "",
                                        .percent_limit = *limit,
                                        .color = *coloured,
                                        .width = page_width(options.width)}));
  say_remarks(page, symbolizer);
  return page.status();
}

}  // namespace

const Verb kTraceReportVerb{"report", "Who called whom how often", run_trace_report};

}  // namespace zs::cli

// `zeroskid script`: the samples of a recording, one by one.
#include <string>

#include "cli/command/command_line.h"
#include "cli/command/exit_status.h"
#include "cli/command/say.h"
#include "cli/command/verb.h"
#include "cli/command/words.h"
#include "cli/report/recording_input.h"
#include "report/text/header_text.h"
#include "report/text/raw_text.h"
#include "report/text/script_text.h"

namespace zs::cli {
namespace {

struct ScriptOptions {
  RecordingInput input;
  std::string fields, itrace;
  bool header = false, header_only = false, hide_call_graph = false, nanoseconds = false;
  bool inlines = false, no_inlines = false, raw = false;
  bool relative = false, deltas = false;
  std::uint64_t max_stack = 127;
  ListWords lists;
};

std::optional<int> parse(const Arguments& arguments, ScriptOptions& options) {
  CommandLine line("script", "Prints the samples of a recording one by one, in the order of time.",
                   "[-i FILE] [OPTIONS]");
  add_input_options(line, options.input);
  add_choice_options(line, options.input);
  add_trace_option(line, options.itrace);
  line.value("-F,--fields", options.fields, "FIELD[,FIELD...]",
             "What to print of each sample; with + or - before a name,\nmore or less than usual");
  line.flag("--raw", options.raw, "The PEBS records as they lay in memory; recorded with -R");
  line.flag("-G,--hide-call-graph", options.hide_call_graph, "Do not print call chains");
  add_list_options(line, options.lists, "--dsos");
  line.flag("--reltime", options.relative, "Times since the first sample");
  line.flag("--deltatime", options.deltas, "Times since the sample before");
  line.flag("--ns", options.nanoseconds, "Print times in nanoseconds");
  line.flag("--inline", options.inlines, "Show inlined functions in call chains [usual]");
  line.flag("--no-inline", options.no_inlines, "Show none");
  line.number("--max-stack", options.max_stack, 1, "N", "Entries of a call chain to print [127]");
  line.flag("--header", options.header, "What the recording says of itself, first");
  line.flag("--header-only", options.header_only, "Only that");
  line.known_words("FIELD", "Fields", words_of(report::script_field_names()));
  return parse_reader(line, arguments);
}

int print_raw(const profile::PerfDataReader& reader, Page& page) {
  if (!has_samples(reader, kRecordMore)) return empty_status(reader);
  if (const auto done = report::raw_text(reader, [&page](std::string_view text) { page.print(text); }); !done)
    return failed({"script: " + done.error().message, done.error().hint});
  return page.status();
}

int run_script(const Arguments& arguments) {
  ScriptOptions options;
  if (const auto done = parse(arguments, options)) return *done;
  if (const auto traces = choose_traces(options.itrace, options.input); !traces) {
    return refuse("script", traces.error());
  }
  const auto reader = open_recording(options.input);
  if (!reader) return kToolFailed;
  Page page(options.input.pager());
  if (options.header || options.header_only) page.print(report::header_text(*reader));
  if (options.header_only) return page.status();

  if (options.raw) return print_raw(*reader, page);

  report::ScriptStyle style{.fields = options.fields,
                            .nanoseconds = options.nanoseconds,
                            .call_chains = !options.hide_call_graph,
                            .max_stack = options.max_stack};
  if (options.relative && options.deltas) return refuse("script", {"--reltime and --deltatime exclude each other", ""});
  if (options.relative) style.times = report::ScriptTimes::SinceFirst;
  if (options.deltas) style.times = report::ScriptTimes::SinceBefore;
  auto only = lists_of(options.lists);
  if (!only) return refuse("script", only.error());
  style.only = *std::move(only);
  if (options.no_inlines) style.inlines = profile::Inlines::Never;
  if (!has_samples(*reader, kRecordMore)) {
    page.end();
    return empty_status(*reader);
  }
  profile::Symbolizer symbolizer = options.input.symbolizer();
  const auto done =
      report::script_text(*reader, symbolizer, style, [&page](std::string_view text) { page.print(text); });
  if (!done) {
    page.end();
    return refused({"script: " + done.error().message, done.error().hint});
  }
  say_remarks(page, symbolizer);
  return page.status();
}

}  // namespace

const Verb kScriptVerb{"script", "The samples one by one, as text", run_script};

}  // namespace zs::cli

// `zeroskid report`: the hot list of a recording.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/items.h"
#include "base/number.h"
#include "cli/command/command_line.h"
#include "cli/command/exit_status.h"
#include "cli/command/say.h"
#include "cli/command/verb.h"
#include "cli/command/words.h"
#include "cli/report/recording_input.h"
#include "report/text/class_text.h"
#include "report/text/header_text.h"
#include "report/text/report_text.h"
#include "report/text/skid_text.h"

namespace zs::cli {
namespace {

constexpr std::string_view kUsualKeys = "comm,dso,symbol";
constexpr std::string_view kUsualBranchKeys = "comm,dso_from,symbol_from,symbol_to";

struct ReportOptions {
  RecordingInput input;
  std::string keys, fields, separator, shares = "absolute", graph, itrace, color = "auto", percent_limit;
  bool quiet = false, named_only = false;
  bool no_children = false, branches = false, no_branches = false, samples = false, periods = false;
  bool skid = false, header = false, header_only = false, stdio = false, inlines = false, no_inlines = false;
  std::uint64_t max_stack = 127;
  ListWords lists;
  PageWidth width;
};

/// `-g caller` is one option with its value, `-g` alone too: perf's bargain. Here both become --call-graph=VALUE.
Arguments with_call_graph_joined(Arguments arguments) {
  std::vector<std::string>& words = arguments.words;
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i] != "-g" && words[i] != "--call-graph") continue;
    words[i] = "--call-graph";
    if (i + 1 == words.size() || words[i + 1].starts_with('-')) continue;
    words[i] += "=" + words[i + 1];
    words.erase(words.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  }
  return arguments;
}

std::optional<int> parse(const Arguments& arguments, ReportOptions& options) {
  CommandLine line("report", "Shows where the samples of a recording fell, the hottest place first.",
                   "[-i FILE] [OPTIONS]");
  add_input_options(line, options.input);
  add_choice_options(line, options.input);
  add_trace_option(line, options.itrace);
  line.value("-s,--sort", options.keys, "KEY[,KEY...]", "What makes a line of its own [comm,dso,symbol]");
  line.optional_value("--call-graph,-g", options.graph, "[=WHAT[,...]]",
                      "How to draw call chains: graph, fractal, folded or none, caller or callee,\n"
                      "least percentage [0.5], most entries of a level");
  line.value("-F,--fields", options.fields, "COLUMN[,COLUMN...]",
             "Columns in this order: overhead, overhead_children, sample, period, and keys");
  line.value("-t,--field-separator", options.separator, "SEP", "Between columns, for programs");
  line.value("--percentage", options.shares, "relative|absolute",
             "Shares of the samples that lists let through, or of all [absolute]");
  line.flag("-U,--hide-unresolved", options.named_only, "Pass over samples in code without names");
  line.flag("-q,--quiet", options.quiet, "No lines that begin with #");
  line.flag("--no-children", options.no_children, "Do not add to a function what the functions it calls took");
  line.value("--percent-limit", options.percent_limit, "PERCENT", "Leave out lines below this");
  add_list_options(line, options.lists, "-d,--dsos");
  line.flag("-n,--show-nr-samples", options.samples, "A column with the number of samples");
  line.flag("--show-total-period", options.periods, "A column with the sum of periods");
  line.flag("-b,--branch-stack", options.branches, "Show the branches of the samples, not their places");
  line.flag("--no-branch-stack", options.no_branches, "Show places, also of a recording made with -b");
  line.flag("--skid", options.skid, "How far the samples lie from where their counters overflowed, of `record --skid`");
  line.flag("--inline", options.inlines, "Show inlined functions in call chains [usual]");
  line.flag("--no-inline", options.no_inlines, "Show none");
  line.number("--max-stack", options.max_stack, 1, "N", "Entries of a call chain that count [127]");
  line.flag("--header", options.header, "What the recording says of itself, first");
  line.flag("--header-only", options.header_only, "Only that");
  line.flag("--stdio", options.stdio, "Print text, which is done anyway");
  line.value("--color", options.color, "auto|always|never", "When to colour [auto]");
  add_width_options(line, options.width);
  line.known_words("WHAT", "", {"graph", "fractal", "none", "caller", "callee"});
  line.known_words("KEY", "Keys", words_of(profile::sort_key_names(profile::KeysOf::Report)));
  line.note("Those that end in _from and _to, and mispredict, are of recordings with branch stacks (-b).");
  return parse_reader(line, with_call_graph_joined(arguments));
}

/// What -g says: "none", or any of graph, fractal, caller, callee, a least percentage, a most number of entries.
struct CallGraphChoice {
  bool drawn = true;
  bool relative = false, folded = false;
  double min_percent = 0.5;
  std::size_t max_entries = 0;
  bool order_given = false;
  profile::ChainOrder order = profile::ChainOrder::Callee;
};

Result<CallGraphChoice> parse_call_graph(const std::string& text) {
  CallGraphChoice choice;
  if (text.empty() || text == "true") return choice;  // without a value
  int numbers = 0;
  for (const std::string_view word : items_of(text)) {
    const auto number = whole_number<double>(word);
    if (word == "none") {
      choice.drawn = false;
    } else if (word == "graph" || word == "fractal" || word == "folded") {
      choice.relative = word == "fractal";
      choice.folded = word == "folded";
    } else if (word == "caller" || word == "callee") {
      choice.order_given = true;
      choice.order = word == "caller" ? profile::ChainOrder::Caller : profile::ChainOrder::Callee;
    } else if (number && *number >= 0 && numbers < 2) {
      if (numbers++ == 0) {
        choice.min_percent = *number;
      } else {
        choice.max_entries = static_cast<std::size_t>(*number);
      }
    } else if (word != "function" && word != "percent") {  // what perf would do anyway
      return Error{
          "-g does not know '" + std::string(word) + "'",
          "it takes graph, fractal, folded, none, caller, callee, a least percentage, a most number of entries"};
    }
  }
  return choice;
}

int refuse_report(const Error& error) { return refuse("report", error); }

int report_skid(const profile::PerfDataReader& reader, const ReportOptions& options, Page& page) {
  if (!has_samples(reader, kRecordMore)) return empty_status(reader);
  const std::size_t width = page_width(options.width);
  profile::Symbolizer symbolizer = options.input.symbolizer();
  const auto text = report::skid_text(reader, symbolizer, width);
  if (!text) return refuse_report(text.error());
  print_list_preamble(page, reader, options.header, width);
  page.print(*text);
  say_remarks(page, symbolizer);
  return page.status();
}

int run_report(const Arguments& arguments) {
  ReportOptions options;
  if (const auto done = parse(arguments, options)) return *done;

  if (const auto traces = choose_traces(options.itrace, options.input); !traces) return refuse_report(traces.error());
  auto graph = parse_call_graph(options.graph);
  if (!graph) return refuse_report(graph.error());
  const auto limit = parse_percent_limit(options.percent_limit);
  if (!limit) return refuse_report(limit.error());
  const auto coloured = parse_page_colour(options.color);
  if (!coloured) return refuse_report(coloured.error());
  std::vector<profile::SortKey> keys;
  std::vector<report::ReportColumn> columns;
  if (!options.fields.empty()) {
    std::string named;  // keys among the columns, which make lines, too
    for (const std::string_view field : items_of(options.fields)) {
      if (const auto number = report::column_named(field)) {
        columns.push_back({*number, {}});
        continue;
      }
      auto key = profile::parse_sort_keys(field, profile::KeysOf::Report);
      if (!key) return refuse_report(key.error());
      columns.push_back({report::ReportColumn::Kind::Key, key->front()});
      named.append(named.empty() ? "" : ",").append(field);
    }
    if (options.keys.empty()) options.keys = named;
  }
  if (options.shares != "relative" && options.shares != "absolute")
    return refuse_report({"--percentage is relative or absolute, not '" + options.shares + "'", ""});
  const bool more_keys = options.keys.starts_with('+');
  if (more_keys) options.keys.erase(0, 1);
  if (!options.keys.empty()) {
    auto parsed = profile::parse_sort_keys(options.keys, profile::KeysOf::Report);
    if (!parsed) return refuse_report(parsed.error());
    keys = std::move(*parsed);
  }

  auto only = lists_of(options.lists);
  if (!only) return refuse_report(only.error());

  const auto reader = open_recording(options.input);
  if (!reader) return kToolFailed;
  Page page(options.input.pager());
  if (options.header || options.header_only) page.print(report::header_text(*reader));
  if (options.header_only) return page.status();

  if (options.skid) return report_skid(*reader, options, page);

  // A recording with branch stacks (-b) is about branches, unless somebody says otherwise; as perf has it.
  const bool has_branches = reader->description().branch_filter != 0;
  bool branches = has_branches && !options.no_branches;
  if (options.branches) branches = true;
  if (branches && !has_branches) {
    return refuse_report({reader->name() + ": the samples have no branch stacks", "record with -b to have them"});
  }
  if (branches && !only->empty()) {
    return refuse_report(
        {"lists of commands, programs, functions, processes and threads are for places, not for branches",
         "--no-branch-stack shows the samples' places"});
  }
  if (more_keys) {
    auto usual = *profile::parse_sort_keys(branches ? kUsualBranchKeys : kUsualKeys);
    for (const profile::SortKey key : keys) {
      if (std::ranges::find(usual, key) == usual.end()) usual.push_back(key);
    }
    keys = std::move(usual);
  }
  if (keys.empty()) keys = *profile::parse_sort_keys(branches ? kUsualBranchKeys : kUsualKeys);
  for (const profile::SortKey key : keys) {
    if (profile::is_memory_key(key)) {
      return refuse_report({"these keys are of memory accesses", "zeroskid mem report has them"});
    }
    if (profile::is_branch_key(key) && !branches) {
      return refuse_report(
          {"these keys need branch stacks, which the samples do not have", "record with -b to have them"});
    }
  }

  const bool recorded_chains = reader->description().callchain != profile::CallchainMode::None;
  const bool has_chains = recorded_chains && !branches;
  if (!recorded_chains && !options.graph.empty() && graph->drawn) {
    return refuse_report({reader->name() + ": the samples have no call chains", "record with -g to have them"});
  }
  profile::AggregateOptions aggregation;
  aggregation.keys = keys;
  aggregation.branches = branches;
  aggregation.children = has_chains && !options.no_children;
  aggregation.call_graph = has_chains && graph->drawn;
  aggregation.order = aggregation.children ? profile::ChainOrder::Caller : profile::ChainOrder::Callee;
  if (graph->order_given) aggregation.order = graph->order;
  if (options.no_inlines) aggregation.inlines = profile::Inlines::Never;
  aggregation.max_stack = options.max_stack;
  aggregation.only = std::move(*only);
  aggregation.relative_shares = options.shares == "relative";
  aggregation.named_only = options.named_only;

  report::ReportStyle style;
  style.keys = keys;
  style.columns = std::move(columns);
  for (const report::ReportColumn& column : style.columns) {
    if (column.kind == report::ReportColumn::Kind::Key && std::ranges::find(keys, column.key) == keys.end())
      return refuse_report({"-F has a key that -s has not", "leave -s out: the keys of -F make the lines"});
  }
  style.separator = options.separator;
  style.heads = !options.quiet;
  style.children = aggregation.children;
  style.call_graph = aggregation.call_graph;
  style.graph = {.folded = graph->folded,
                 .relative = graph->relative,
                 .min_percent = graph->min_percent,
                 .max_entries = graph->max_entries};
  style.graph.skip_first =
      options.fields.empty() && options.keys.starts_with("sym");  // as perf: the symbol is what the line begins with
  style.percent_limit = *limit;
  style.times = options.input.times;
  style.sample_counts = options.samples;
  style.periods = options.periods;
  style.color = style.graph.color = *coloured;
  style.width = style.graph.width = page_width(options.width);

  if (!has_samples(*reader, kRecordMore)) return empty_status(*reader);
  profile::Symbolizer symbolizer = options.input.symbolizer();
  profile::Aggregator aggregator(*reader, symbolizer, aggregation);
  const std::vector<profile::Histogram> histograms = aggregator.run();
  const bool chosen = !options.input.times.empty() || !options.input.cpus.empty();
  if (chosen && std::ranges::all_of(histograms, [](const auto& one) { return one.items == 0; })) {
    say(Error{reader->name() + ": no sample is of that time and these CPUs", "script -F time,cpu shows both of each"});
    return 0;
  }
  if (!options.quiet) print_list_preamble(page, *reader, options.header, style.width);
  for (const profile::Histogram& histogram : histograms) {
    if (chosen && histogram.items == 0) continue;
    page.print((options.quiet ? "" : report::class_text(*reader, *histogram.event, style.width)) +
               (has_chains && !options.quiet ? report::chains_text(histogram, style.width) : "") +
               report::report_text(histogram, aggregator, style));
  }
  say_remarks(page, symbolizer);
  for (const auto& event : reader->events()) {
    if (!branches || event.samples == 0 || (event.attr.sample_type & profile::perf::sample_field::branch_stack) != 0)
      continue;
    say(Error{
        reader->name() + ": samples of event '" + event.name + "' have no branch stacks: they are not in this list",
        "--no-branch-stack shows their places"});
  }
  return page.status();
}

}  // namespace

const Verb kReportVerb{"report", "Where the samples fell, hottest first", run_report};

}  // namespace zs::cli

#include "cli/report/recording_input.h"

#include <unistd.h>

#include <algorithm>

#include "base/items.h"
#include "base/number.h"
#include "base/units.h"
#include "cli/command/command_line.h"
#include "cli/command/exit_status.h"
#include "cli/command/say.h"
#include "cli/command/terminal.h"
#include "host/targets.h"
#include "profile/perf_data/perf_data.h"

namespace zs::cli {
namespace {

std::vector<std::string> names_in(const std::string& list) {
  std::vector<std::string> names;
  if (list.empty()) return names;
  for (const std::string_view name : items_of(list)) names.emplace_back(name);
  return names;
}

/// Of an option that names processes or threads; none if it was not given.
Result<std::vector<pid_t>> ids_in(const std::string& list, const char* option) {
  if (list.empty()) return std::vector<pid_t>{};
  return host::parse_ids(option, list, 0);
}

}  // namespace

Result<profile::SampleLists> lists_of(const ListWords& words) {
  auto pids = ids_in(words.pids, "--pid");
  if (!pids) return pids.error();
  auto tids = ids_in(words.tids, "--tid");
  if (!tids) return tids.error();
  return profile::SampleLists{names_in(words.comms), names_in(words.dsos), names_in(words.symbols), std::move(*pids),
                              std::move(*tids)};
}

void add_list_options(CommandLine& line, ListWords& words, const std::string& dsos) {
  line.value("-c,--comms", words.comms, "NAME[,NAME...]",
             "Lines of these commands alone; shares stay those of the whole");
  line.value(dsos, words.dsos, "FILE[,FILE...]", "Of these programs and libraries");
  line.value("-S,--symbols", words.symbols, "NAME[,NAME...]", "Of these functions");
  line.value("--pid", words.pids, "PID[,PID...]", "Of these processes");
  line.value("--tid", words.tids, "TID[,TID...]", "Of these threads");
}

void add_input_options(CommandLine& line, RecordingInput& input) {
  line.value("-i,--input", input.path, "FILE", "The recording, packed or not; - is stdin [perf.data]");
  line.flag("--truncated", input.truncated, "Read a damaged recording up to the damage");
  line.value("--symfs", input.symfs, "DIR", "Look for programs and libraries below this directory");
  line.flag("--no-demangle", input.no_demangle, "Names as the linker has them");
  line.flag("--no-pager", input.no_pager, "Straight to the terminal, also what is longer than it");
}

void add_choice_options(CommandLine& line, RecordingInput& input) {
  line.value("--time", input.times, "SPAN",
             "Samples of a time: START,STOP in seconds, either of which may be left out; 10%-30%, 20%/3");
  line.value("-C,--cpu", input.cpus, "CPU[-CPU][,...]", "Samples that were taken on these CPUs");
}

std::optional<int> parse_reader(CommandLine& line, const Arguments& arguments) {
  line.exit_statuses(kStatusesOfReaders);
  if (const auto done = line.parse(arguments)) return done;
  if (line.program().empty()) return std::nullopt;
  return refuse(line.verb(), {"there is nothing to do with '" + line.program().front() + "'",
                              "name a recording with -i FILE; zeroskid " + line.verb() + " --help lists the options"});
}

int refuse(std::string_view verb, const Error& error) {
  const std::string before = std::string(verb) + ": ";
  return refused({before + error.message, error.hint});
}

void add_trace_option(CommandLine& line, std::string& letters) {
  line.optional_value("--itrace", letters, "[=b]", "Of a branch trace (intel_bts): each branch as a sample [usual]");
}

Result<void> choose_traces(const std::string& letters, RecordingInput& input) {
  input.traces = profile::Traces::Samples;
  if (letters.empty() || letters == "true" || letters == "b") return {};
  return Error{"--itrace=" + letters + ": of a branch trace only its branches are made", "--itrace=b"};
}

void add_width_options(CommandLine& line, PageWidth& width) {
  line.flag("-w,--no-shorten", width.any, "Names in full, also where they are wider than the terminal");
  line.number("--width", width.columns, kLeastPageWidth, "COLUMNS",
              "Fit this width [the terminal's; any, where there is none]");
}

std::size_t page_width(const PageWidth& width) {
  if (width.any) return 0;
  if (width.columns != 0) return width.columns;
  const std::size_t columns = terminal_width(STDOUT_FILENO);
  return columns == 0 ? 0 : std::max(columns, kLeastPageWidth);
}

bool has_samples(const profile::PerfDataReader& reader, std::string_view remedy) {
  if (reader.sample_count() != 0) return true;
  if (reader.trace_bytes() != 0) {
    const std::string unread = reader.has_branch_trace() ? ", which this verb does not read" : ", which is not read";
    say(Error{reader.name() + ": holds no samples, but " + byte_size(reader.trace_bytes()) + " of a trace by " +
                  std::string(reader.trace_kind()) + unread,
              reader.has_branch_trace() ? "zeroskid trace report shows its calls, zeroskid script its branches"
                                        : "perf report -i FILE --itrace=i10us makes samples of it"});
    return false;
  }
  std::string recorded;
  for (const auto& event : reader.events()) {
    const bool frequency = (event.attr.flags & profile::perf::attr_flag::frequency) != 0;
    recorded += (recorded.empty() ? "" : "; ") + event.name + ", " +
                (frequency ? with_thousands(event.attr.sample_period) + " a second"
                           : "one of " + with_thousands(event.attr.sample_period));
  }
  say(Error{reader.name() + ": holds no samples (" + recorded + ")", std::string(remedy)});
  return false;
}

bool has_branch_trace(const profile::PerfDataReader& reader) {
  if (reader.has_branch_trace()) return true;
  say(Error{reader.name() + ": holds no branch trace", "record one: zeroskid trace -- PROGRAM"});
  return false;
}

bool has_data_sources(const profile::PerfDataReader& reader, std::string_view recorder) {
  if (reader.description().data_sources) return true;
  say(Error{reader.name() + ": the samples do not say where their data was",
            "record with: zeroskid " + std::string(recorder) + " record"});
  return false;
}

int empty_status(const profile::PerfDataReader& reader) { return reader.trace_bytes() != 0 ? kToolFailed : 0; }

std::optional<profile::PerfDataReader> open_recording(const RecordingInput& input) {
  profile::PerfDataOptions options{
      .truncated = input.truncated, .traces = input.traces, .times = input.times, .cpus = {}};
  if (!input.cpus.empty()) {
    auto cpus = host::parse_cpus(input.cpus);
    if (!cpus) {
      say(Error{"-C " + cpus.error().message, cpus.error().hint});
      return std::nullopt;
    }
    options.cpus = *std::move(cpus);
  }
  auto reader = profile::PerfDataReader::open(input.path, options);
  if (!reader) {
    say(reader.error());
    return std::nullopt;
  }
  for (const std::string& remark : reader->remarks()) say(remark);
  if (reader->damage()) {
    say(reader->damage()->message);
    const bool trace = reader->has_branch_trace();
    say(reader->name() + ": what follows is of the " +
        (trace ? "branches" : with_thousands(reader->sample_count()) + " samples") + " before this point");
  } else if (!reader->finished()) {
    say(reader->name() +
        ": the recording was interrupted: its samples up to then are all here, its summary is missing");
  }
  return std::move(*reader);
}

void say_remarks(Page& page, const profile::Symbolizer& symbolizer) {
  page.end();
  for (const std::string& remark : symbolizer.remarks()) say(remark);
}

Result<double> parse_percent_limit(const std::string& text) {
  if (text.empty()) return 0.0;
  const auto limit = whole_number<double>(text);
  if (!limit || !(*limit >= 0)) return Error{"--percent-limit is a percentage, not '" + text + "'", ""};
  return *limit;
}

Result<bool> parse_page_colour(const std::string& text) {
  ColourChoice choice{};
  if (!parse_colour(text, choice)) return Error{"--color is auto, always or never, not '" + text + "'", ""};
  return use_colour(choice, STDOUT_FILENO);
}

void print_list_preamble(Page& page, const profile::PerfDataReader& reader, bool with_header, std::size_t width) {
  constexpr std::size_t kWidth = 81;  // of perf's line
  if (!with_header && width != 0 && width < kWidth) {
    page.print("# What the recording says of itself: --header\n#\n");
  } else if (!with_header) {
    page.print("# To display the perf.data header info, please use --header/--header-only options.\n#\n");
  }
  page.print("#\n# Total Lost Samples: " + std::to_string(reader.lost_count()) + "\n#\n");
}

}  // namespace zs::cli

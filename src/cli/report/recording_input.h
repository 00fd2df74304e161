// What the verbs that read a recording share: which one, how much damage is bearable, and where the page goes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/command/option_table.h"
#include "cli/command/page.h"
#include "profile/aggregate/aggregate.h"
#include "profile/perf_data/perf_data_reader.h"
#include "profile/symbols/symbolizer.h"

namespace zs::cli {

class CommandLine;

struct RecordingInput {
  std::string path = "perf.data", symfs;
  bool truncated = false, no_demangle = false, no_pager = false;
  std::string times, cpus;  // --time, -C
  profile::Traces traces = profile::Traces::PassedOver;

  profile::Symbolizer symbolizer() const {
    return profile::Symbolizer(no_demangle ? profile::Names::AsLinked : profile::Names::Demangled, symfs);
  }
  Page::Pager pager() const { return no_pager ? Page::Pager::None : Page::Pager::Wanted; }
};

/// How wide a page may be: as its terminal, unless somebody says otherwise.
struct PageWidth {
  bool any = false;
  std::uint64_t columns = 0;
};
inline constexpr std::size_t kLeastPageWidth = 60;  // chosen: what the columns of numbers leave for a name
void add_width_options(CommandLine& line, PageWidth& width);
/// 0: any.
std::size_t page_width(const PageWidth& width);

void add_input_options(CommandLine& line, RecordingInput& input);

/// Which samples are read: --time, -C.
void add_choice_options(CommandLine& line, RecordingInput& input);

/// Whose samples: of these commands, files, functions, processes and threads.
struct ListWords {
  std::string comms, dsos, symbols, pids, tids;
};
/// dsos  the names of that option: perf's script has no letter for it
void add_list_options(CommandLine& line, ListWords& words, const std::string& dsos);
Result<profile::SampleLists> lists_of(const ListWords& words);

/// Of a verb that takes options alone: what it ends with where there is nothing more to do; the rest is refused.
std::optional<int> parse_reader(CommandLine& line, const Arguments& arguments);
/// Says what is wrong with the options of `verb`. returns its exit status
int refuse(std::string_view verb, const Error& error);

/// perf's option of what to make of traces, for the verbs that read branches as samples. `letters`: what was given.
void add_trace_option(CommandLine& line, std::string& letters);
/// The branches are read, whether --itrace says so or not; what else it may ask for is an Error.
Result<void> choose_traces(const std::string& letters, RecordingInput& input);

/// Opens it, and says on stderr what is wrong with it. returns nothing if it cannot be read
std::optional<profile::PerfDataReader> open_recording(const RecordingInput& input);

/// Whether there are any; if not, says why: what was recorded how, and `remedy`, or that it is a trace that is not
/// read.
bool has_samples(const profile::PerfDataReader& reader, std::string_view remedy);
inline constexpr std::string_view kRecordMore =
    "the program may have ended before an event occurred once per period: record with a smaller -c";
/// Whether there is a branch trace; if not, says what to record.
bool has_branch_trace(const profile::PerfDataReader& reader);
/// Whether samples say where their data was; if not, says that `zeroskid RECORDER record` makes such recordings.
bool has_data_sources(const profile::PerfDataReader& reader, std::string_view recorder);
/// What a verb ends with then: 0, or that of a failure where there is something that is not read.
int empty_status(const profile::PerfDataReader& reader);

/// Says once all is printed: files whose symbols were left out, and why. Ends the page.
void say_remarks(Page& page, const profile::Symbolizer& symbolizer);

/// What --percent-limit says; "" is 0.
Result<double> parse_percent_limit(const std::string& text);

/// Whether a page on stdout has colours, by what --color says.
Result<bool> parse_page_colour(const std::string& text);

/// What stands above perf's lists. with_header: the header has been printed, and nobody needs to be told of it;
/// width  0: any
void print_list_preamble(Page& page, const profile::PerfDataReader& reader, bool with_header, std::size_t width);

}  // namespace zs::cli

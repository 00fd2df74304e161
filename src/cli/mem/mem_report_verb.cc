// `zeroskid mem report`: where the data of sampled accesses was, and how long it took.
#include <string>

#include "cli/command/command_line.h"
#include "cli/command/exit_status.h"
#include "cli/command/say.h"
#include "cli/command/verb.h"
#include "cli/command/words.h"
#include "cli/report/recording_input.h"
#include "profile/aggregate/aggregate.h"
#include "report/text/header_text.h"
#include "report/text/memory_text.h"

namespace zs::cli {
namespace {

constexpr const char* kUsualKeys = "mem,symbol,dso,data,snoop,tlb,locked,blocked";
/// On a narrow page the rest would leave no room for names.
constexpr const char* usual_keys(std::size_t width) {
  if (width == 0 || width >= 150) return kUsualKeys;
  return width >= 100 ? "symbol,data,mem" : "symbol,data";
}

struct MemReportOptions {
  RecordingInput input;
  std::string keys, color = "auto", percent_limit;
  PageWidth width;
  bool stdio = false, plain = false, header = false, header_only = false;
};

std::optional<int> parse(const Arguments& arguments, MemReportOptions& options) {
  CommandLine line("mem report",
                   "Shows where the data of sampled loads and stores was and how long it took: by source, as a\n"
                   "histogram, and by place. Percentages are shares of the latency: a sample counts for as many\n"
                   "accesses as its period says.",
                   "[-i FILE] [OPTIONS]");
  add_input_options(line, options.input);
  add_choice_options(line, options.input);
  line.value(
      "-s,--sort", options.keys, "KEY[,KEY...]",
      "What makes a line of its own [mem,symbol,dso,data,snoop,tlb,\nlocked,blocked; fewer where the page is narrow]");
  line.value("--percent-limit", options.percent_limit, "PERCENT", "Leave out lines below this");
  line.flag("--plain", options.plain, "The list alone, with perf's columns and shares");
  line.flag("--header", options.header, "What the recording says of itself, first");
  line.flag("--header-only", options.header_only, "Only that");
  line.flag("--stdio", options.stdio, "Print text, which is done anyway");
  line.value("--color", options.color, "auto|always|never", "When to colour [auto]");
  add_width_options(line, options.width);
  line.known_words("KEY", "Keys", words_of(profile::sort_key_names(profile::KeysOf::MemoryReport)));
  return parse_reader(line, arguments);
}

int run_mem_report(const Arguments& arguments) {
  MemReportOptions options;
  if (const auto done = parse(arguments, options)) return *done;
  const auto limit = parse_percent_limit(options.percent_limit);
  if (!limit) return refuse("mem report", limit.error());
  const auto coloured = parse_page_colour(options.color);
  if (!coloured) return refuse("mem report", coloured.error());
  const std::size_t width = page_width(options.width);
  if (options.keys.empty()) options.keys = options.plain ? kUsualKeys : usual_keys(width);
  report::MemoryStyle style{.keys_text = options.keys, .overview = !options.plain};
  style.percent_limit = *limit;
  style.color = *coloured;
  style.width = width;
  for (const std::string_view physical : {"phys_daddr", "page_size", "p_stage_cyc"}) {
    if (options.keys.find(physical) == std::string::npos) continue;
    return refuse("mem report", {"cannot sort by '" + std::string(physical) + "': not modelled",
                                 "the sort keys are: " + profile::sort_key_names(profile::KeysOf::MemoryReport)});
  }
  auto keys = profile::parse_sort_keys(options.keys, profile::KeysOf::MemoryReport);
  if (!keys) return refuse("mem report", keys.error());
  for (const profile::SortKey key : *keys) {
    if (profile::is_branch_key(key))
      return refuse("mem report", {"a memory access is no branch", "zeroskid report has these keys"});
  }
  style.keys = std::move(*keys);

  const auto reader = open_recording(options.input);
  if (!reader) return kToolFailed;
  Page page(options.input.pager());
  if (options.header || options.header_only) page.print(report::header_text(*reader));
  if (options.header_only) return page.status();
  if (!has_data_sources(*reader, "mem")) return kToolFailed;
  if (!has_samples(*reader,
                   "no access took longer than the threshold once per period: lower --ldlat, or record with a "
                   "smaller -c")) {
    return empty_status(*reader);
  }
  print_list_preamble(page, *reader, options.header, width);
  profile::Symbolizer symbolizer = options.input.symbolizer();
  page.print(report::memory_text(*reader, symbolizer, style));
  say_remarks(page, symbolizer);
  return page.status();
}

}  // namespace

const Verb kMemReportVerb{"report", "Where their data was, and how long it took", run_mem_report};

}  // namespace zs::cli

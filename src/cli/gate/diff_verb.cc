// `zeroskid diff`: what two recordings, files of counts or baselines count otherwise, and where.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/items.h"
#include "cli/command/command_line.h"
#include "cli/command/exit_status.h"
#include "cli/command/page.h"
#include "cli/command/say.h"
#include "cli/command/verb.h"
#include "cli/gate/counts_file.h"
#include "cli/gate/diff_page.h"
#include "cli/report/recording_input.h"
#include "report/diff/changes.h"

namespace zs::cli {
namespace {

struct DiffOptions {
  std::vector<std::string> files;
  std::string compute = "delta", order = "1", keys = "symbol,srcline", percent_limit, format = "text";
  RecordingInput input;
  PageWidth width;
};

std::optional<int> parse(const Arguments& arguments, DiffOptions& options) {
  CommandLine line("diff",
                   "Shows what two recordings count otherwise, function by function and line by line, the\n"
                   "largest difference first; or two files of `stat -j`, or two baselines of `check`.\n"
                   "Without names: perf.data.old and perf.data.",
                   "[A B] [OPTIONS]");
  line.words(options.files, "FILE");
  line.value("-c,--compute", options.compute, "delta|ratio", "B less A, or B by A [delta]");
  line.value("-o,--order", options.order, "0|1", "By what A has, or by the difference [1]");
  line.value("-s,--sort", options.keys, "KEY[,KEY]", "symbol, srcline: functions, and lines of them [both]");
  line.value("--percent-limit", options.percent_limit, "PERCENT",
             "Leave out what has less of the whole difference [0.1; --format json: 0]");
  line.value("--format", options.format, "text|json|md", "[text]");
  line.value("--symfs", options.input.symfs, "FOLDER", "Look for the programs below this folder");
  line.flag("--no-demangle", options.input.no_demangle, "Names as linked");
  line.flag("--no-pager", options.input.no_pager, "Straight to stdout");
  add_width_options(line, options.width);
  line.exit_statuses(kStatusesOfReaders);
  return line.parse(arguments);
}

Result<DiffStyle> style_of(const DiffOptions& options) {
  DiffStyle style;
  if (options.files.size() != 2)
    return Error{"two files are compared", "zeroskid diff A B; without names perf.data.old and perf.data"};
  if (options.compute != "delta" && options.compute != "ratio")
    return Error{"-c " + options.compute + ": no such computation", "delta or ratio"};
  style.ratio = options.compute == "ratio";
  if (options.order != "0" && options.order != "1") return Error{"-o " + options.order + ": no such column", "0 or 1"};
  style.by_a = options.order == "0";
  style.lines = false;
  for (const std::string_view key : items_of(options.keys)) {
    if (key != "symbol" && key != "srcline")
      return Error{"-s " + options.keys + ": no such key", "symbol, srcline or both"};
    style.lines |= key == "srcline";
  }
  const auto limit = parse_percent_limit(options.percent_limit);
  if (!limit) return limit.error();
  style.least_percent = options.percent_limit.empty() && options.format != "json" ? 0.1 : *limit;
  style.keeps_first = options.percent_limit.empty();
  style.width = page_width(options.width);
  return style;
}

int run_diff(const Arguments& arguments) {
  DiffOptions options;
  if (const auto done = parse(arguments, options)) return *done;
  if (options.files.empty()) options.files = {"perf.data.old", "perf.data"};
  const auto style = style_of(options);
  if (!style) return refuse("diff", style.error());
  const DiffPrinter print = diff_printer(options.format);
  if (print == nullptr) return refuse("diff", {"--format " + options.format + ": no such format", "text, json or md"});
  std::array<CountsFile, 2> sides;
  for (std::size_t i = 0; i < sides.size(); ++i) {
    options.input.path = options.files[i];
    auto side = read_counts(options.input, style->lines);
    if (!side) {
      if (!side.error().message.empty()) say(side.error());
      return kToolFailed;
    }
    sides[i] = *std::move(side);
  }
  std::vector<report::EventChange> changes = report::changes(sides[0].events, sides[1].events);
  Page page(options.input.pager());
  page.print(print(sides[0], sides[1], changes, *style));
  const int status = page.status();
  for (const CountsFile& side : sides) {
    for (const std::string& remark : side.remarks) say(remark);
  }
  return status;
}

}  // namespace

const Verb kDiffVerb{"diff", "What two recordings count otherwise, and where", run_diff};

}  // namespace zs::cli

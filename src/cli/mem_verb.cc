#include "cli/mem_verb.h"

#include <unistd.h>

#include <string>
#include <string_view>

#include "cli/exit_status.h"
#include "cli/option_table.h"
#include "cli/say.h"
#include "cli/verb.h"

namespace zs::cli {
namespace {

constexpr const char* kAbout = "Samples loads and stores with where their data was and how long it took.";
constexpr const char* kPage =
    "Usage: zeroskid mem record [OPTIONS] [--] PROGRAM [ARGUMENTS]\n"
    "       zeroskid mem report [-i FILE] [OPTIONS]\n"
    "\n"
    "  zeroskid mem record --help and zeroskid mem report --help say more\n";

constexpr Verb kMemRecordVerb{"record", "Sample loads and stores into perf.data", run_mem_record};
constexpr Verb kMemReportVerb{"report", "Where their data was, and how long it took", run_mem_report};
constexpr const Verb* kParts[] = {&kMemRecordVerb, &kMemReportVerb};

int run_mem(const Arguments& arguments) {
  if (arguments.table != nullptr) {
    *arguments.table = {.verb = "mem", .about = kAbout};
    return 0;
  }
  const std::string what = arguments.words.size() > 1 ? arguments.words[1] : "";
  for (const Verb* const part : kParts) {
    if (what == part->name) return part->run({{arguments.words.begin() + 1, arguments.words.end()}});
  }
  if (what == "-h" || what == "--help") {
    write_all(STDOUT_FILENO, std::string(kAbout) + "\n" + kPage);
    return 0;
  }
  say(Error{what.empty() ? "mem: record or report?" : "mem: there is no 'mem " + std::string(what) + "'",
            "zeroskid mem record -- PROGRAM, then zeroskid mem report"});
  return kUsage;
}

}  // namespace

const Verb kMemVerb{"mem", "Where loads and stores find their data: mem record, mem report", run_mem, kParts};

}  // namespace zs::cli

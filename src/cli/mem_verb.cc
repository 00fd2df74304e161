#include "cli/mem_verb.h"

#include <unistd.h>

#include <string>
#include <string_view>

#include "cli/exit_status.h"
#include "cli/say.h"
#include "cli/verb.h"

namespace zs::cli {
namespace {

constexpr const char* kHelp =
    "Samples loads and stores with where their data was and how long it took.\n"
    "Usage: zeroskid mem record [OPTIONS] [--] PROGRAM [ARGUMENTS]\n"
    "       zeroskid mem report [-i FILE] [OPTIONS]\n"
    "\n"
    "  zeroskid mem record --help and zeroskid mem report --help say more\n";

int run_mem(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  if (what == "record") return run_mem_record(argc - 1, argv + 1);
  if (what == "report") return run_mem_report(argc - 1, argv + 1);
  if (what == "-h" || what == "--help") {
    write_all(STDOUT_FILENO, kHelp);
    return 0;
  }
  say(Error{what.empty() ? "mem: record or report?" : "mem: there is no 'mem " + std::string(what) + "'",
            "zeroskid mem record -- PROGRAM, then zeroskid mem report"});
  return kUsage;
}

}  // namespace

const Verb kMemVerb{"mem", "Where loads and stores find their data: mem record, mem report", run_mem};

}  // namespace zs::cli

#include "cli/mem/mem_verb.h"

#include "cli/command/verb.h"
#include "cli/command/verb_family.h"

namespace zs::cli {
namespace {

constexpr Verb kMemRecordVerb{"record", "Sample loads and stores into perf.data", run_mem_record};
constexpr Verb kMemReportVerb{"report", "Where their data was, and how long it took", run_mem_report};
constexpr const Verb* kMemParts[] = {&kMemRecordVerb, &kMemReportVerb};
constexpr VerbFamily kMem{"mem", "Samples loads and stores with where their data was and how long it took.",
                          "Usage: zeroskid mem record [OPTIONS] [--] PROGRAM [ARGUMENTS]\n"
                          "       zeroskid mem report [-i FILE] [OPTIONS]\n"
                          "\n"
                          "  zeroskid mem record --help and zeroskid mem report --help say more\n",
                          kMemParts};

int run_mem(const Arguments& arguments) { return run_part(kMem, arguments); }

}  // namespace

const Verb kMemVerb{"mem", "Where loads and stores find their data: mem record, mem report", run_mem, kMemParts};

}  // namespace zs::cli

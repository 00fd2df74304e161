#include "cli/c2c/c2c_verb.h"

#include "cli/command/verb.h"
#include "cli/command/verb_family.h"

namespace zs::cli {
namespace {

constexpr Verb kC2cRecordVerb{"record", "Sample loads and stores, and log shared lines, into perf.data",
                              run_c2c_record};
constexpr Verb kC2cReportVerb{"report", "Which lines threads fight over, why, and what would end it", run_c2c_report};
constexpr const Verb* kC2cParts[] = {&kC2cRecordVerb, &kC2cReportVerb};
constexpr VerbFamily kC2c{"c2c",
                          "Finds cache lines that threads take from each other, and the false sharing among them.",
                          "Usage: zeroskid c2c record [OPTIONS] [--] PROGRAM [ARGUMENTS]\n"
                          "       zeroskid c2c report [-i FILE] [OPTIONS]\n"
                          "\n"
                          "  zeroskid c2c record --help and zeroskid c2c report --help say more\n",
                          kC2cParts};

int run_c2c(const Arguments& arguments) { return run_part(kC2c, arguments); }

}  // namespace

const Verb kC2cVerb{"c2c", "Lines that threads take from each other: c2c record, c2c report", run_c2c, kC2cParts};

}  // namespace zs::cli

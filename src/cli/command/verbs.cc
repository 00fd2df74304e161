#include <unistd.h>

#include <string>

#include "cli/command/option_table.h"
#include "cli/command/say.h"
#include "cli/command/verb.h"

namespace zs::cli {
namespace {

constexpr const Verb* kMemParts[] = {&kMemRecordVerb, &kMemReportVerb};
constexpr Verb kMemVerb{"mem", "Where loads and stores find their data: mem record, mem report", nullptr, kMemParts,
                        "Samples loads and stores with where their data was and how long it took."};
constexpr const Verb* kC2cParts[] = {&kC2cRecordVerb, &kC2cReportVerb};
constexpr Verb kC2cVerb{"c2c", "Lines that threads take from each other: c2c record, c2c report", nullptr, kC2cParts,
                        "Finds cache lines that threads take from each other, and the false sharing among them."};

std::string page_of_parts(const Verb& verb) {
  const std::string name = std::string("zeroskid ") + verb.name;
  return verb.about + ("\nUsage: " + name) + " record [OPTIONS] [--] PROGRAM [ARGUMENTS]\n       " + name +
         " report [-i FILE] [OPTIONS]\n\n  " + name + " record --help and " + name + " report --help say more\n";
}

}  // namespace

std::span<const Verb* const> verbs() {
  // clang-format off
  static constexpr const Verb* kVerbs[] = {
      &kStatVerb,
      &kTopdownVerb,
      &kRecordVerb,
      &kProfileVerb,
      &kReportVerb,
      &kDiffVerb,
      &kCheckVerb,
      &kMemVerb,
      &kC2cVerb,
      &kTraceVerb,
      &kAnnotateVerb,
      &kScriptVerb,
      &kPlotVerb,
      &kListVerb,
      &kDoctorVerb,
      &kCalibrateVerb,
      &kBootVerb,
      &kLinuxVerb,
  };
  // clang-format on
  return kVerbs;
}

int run_verb(const Verb& verb, const Arguments& arguments) {
  const std::string name = verb.name, what = arguments.words.size() > 1 ? arguments.words[1] : "";
  for (const Verb* const part : verb.verbs) {
    if (what == part->name) return part->run({{arguments.words.begin() + 1, arguments.words.end()}});
  }
  if (verb.run != nullptr) return verb.run(arguments);
  if (arguments.table != nullptr) {
    *arguments.table = {.verb = name, .about = verb.about};
    return 0;
  }
  if (what == "-h" || what == "--help") {
    write_all(STDOUT_FILENO, page_of_parts(verb));
    return 0;
  }
  return refused({what.empty() ? name + ": record or report?" : name + ": there is no '" + name + " " + what + "'",
                  "zeroskid " + name + " record -- PROGRAM, then zeroskid " + name + " report"});
}

}  // namespace zs::cli

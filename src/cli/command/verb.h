// A verb is what follows `zeroskid` on the command line. Each has a file of its own; cli/command/verbs.cc holds the
// list.
#pragma once

#include <span>

#include "cli/command/arguments.h"

namespace zs::cli {

struct Verb {
  const char* name;
  const char* summary;                      // one line, for `zeroskid --help`
  int (*run)(const Arguments& arguments);   // returns the exit status
  std::span<const Verb* const> verbs = {};  // verbs of its own: `mem record`
};

extern const Verb kStatVerb;
extern const Verb kTopdownVerb;
extern const Verb kRecordVerb;
extern const Verb kReportVerb;
extern const Verb kMemVerb;
extern const Verb kC2cVerb;
extern const Verb kTraceVerb;
extern const Verb kProfileVerb;
extern const Verb kAnnotateVerb;
extern const Verb kScriptVerb;
extern const Verb kPlotVerb;
extern const Verb kListVerb;
extern const Verb kDoctorVerb;
extern const Verb kCalibrateVerb;
extern const Verb kBootVerb;
extern const Verb kLinuxVerb;

}  // namespace zs::cli

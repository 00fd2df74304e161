// A verb is what follows `zeroskid` on the command line. Each has a file of its own; cli/command/verbs.cc holds the
// list.
#pragma once

#include <span>

#include "cli/command/option_table.h"

namespace zs::cli {

struct Verb {
  const char* name;
  const char* summary;                      // one line, for `zeroskid --help`
  int (*run)(const Arguments& arguments);   // returns the exit status; null: it is nothing but verbs of its own
  std::span<const Verb* const> verbs = {};  // verbs of its own: `mem record`
  const char* about = "";                   // without `run`: a sentence
};

extern const Verb kStatVerb;
extern const Verb kTopdownVerb;
extern const Verb kRecordVerb;
extern const Verb kReportVerb;
extern const Verb kDiffVerb;
extern const Verb kCheckVerb;
extern const Verb kMemRecordVerb, kMemReportVerb;
extern const Verb kC2cRecordVerb, kC2cReportVerb;
extern const Verb kTraceVerb, kTraceReportVerb;
extern const Verb kProfileVerb;
extern const Verb kAnnotateVerb;
extern const Verb kScriptVerb;
extern const Verb kPlotVerb;
extern const Verb kListVerb;
extern const Verb kDoctorVerb;
extern const Verb kCalibrateVerb;
extern const Verb kBootVerb;
extern const Verb kLinuxVerb;

/// In the order in which --help shows them.
std::span<const Verb* const> verbs();

/// Runs it, or that of its own verbs which words[1] names, which hears of the words from there on. A program called
/// `report` is traced by `trace -- report`. returns the exit status
int run_verb(const Verb& verb, const Arguments& arguments);

}  // namespace zs::cli

// A verb is what follows `zeroskid` on the command line. Each has a file of its own; cli/verbs.cc holds the list.
#pragma once

namespace zs::cli {

struct Verb {
  const char* name;
  const char* summary;                // one line, for `zeroskid --help`
  int (*run)(int argc, char** argv);  // argv[0] is the verb; returns the exit status
};

extern const Verb kStatVerb;
extern const Verb kTopdownVerb;
extern const Verb kRecordVerb;
extern const Verb kReportVerb;
extern const Verb kMemVerb;
extern const Verb kAnnotateVerb;
extern const Verb kScriptVerb;
extern const Verb kPlotVerb;
extern const Verb kListVerb;
extern const Verb kDoctorVerb;
extern const Verb kBootVerb;

}  // namespace zs::cli

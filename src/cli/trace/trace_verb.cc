#include "cli/trace/trace_verb.h"

#include "cli/command/verb.h"

namespace zs::cli {
namespace {

constexpr Verb kTraceReportVerb{"report", "Who called whom how often", run_trace_report};
constexpr const Verb* kTraceParts[] = {&kTraceReportVerb};

/// A program called `report` is traced by `trace -- report`.
int run_trace(const Arguments& arguments) {
  if (arguments.words.size() > 1 && arguments.words[1] == kTraceReportVerb.name) {
    return kTraceReportVerb.run({{arguments.words.begin() + 1, arguments.words.end()}});
  }
  return run_trace_record(arguments);
}

}  // namespace

const Verb kTraceVerb{"trace", "Every branch a program takes: its calls as a tree, counts for BOLT and AutoFDO",
                      run_trace, kTraceParts};

}  // namespace zs::cli

// `zeroskid trace`: traces a program's branches, and has a verb of its own that shows them.
#pragma once

#include "cli/command/arguments.h"

namespace zs::cli {

// words[0] is "trace", "report"; each returns the exit status.
int run_trace_record(const Arguments& arguments);
int run_trace_report(const Arguments& arguments);

}  // namespace zs::cli

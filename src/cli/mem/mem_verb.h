// `zeroskid mem`: two verbs of its own.
#pragma once

#include "cli/command/arguments.h"

namespace zs::cli {

// words[0] is "record" or "report"; each returns the exit status.
int run_mem_record(const Arguments& arguments);
int run_mem_report(const Arguments& arguments);

}  // namespace zs::cli

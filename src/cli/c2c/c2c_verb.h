// `zeroskid c2c`: two verbs of its own.
#pragma once

#include "cli/command/arguments.h"

namespace zs::cli {

// words[0] is "record" or "report"; each returns the exit status.
int run_c2c_record(const Arguments& arguments);
int run_c2c_report(const Arguments& arguments);

}  // namespace zs::cli

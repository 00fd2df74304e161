// -z[=LEVEL] of what records.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/arguments.h"
#include "cli/command_line.h"

namespace zs::cli {

void add_compression_option(CommandLine& line, std::string& level);

/// zstd's level, of the option's value; 0: records are not compressed.
Result<int> compression_level(const std::string& text);

/// The words with -z5 and -z=5, which perf takes, as --compression-level=5. Those of the program stay as they are.
Arguments with_level_spelled_out(CommandLine& line, Arguments arguments);

}  // namespace zs::cli

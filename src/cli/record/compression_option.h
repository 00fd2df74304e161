// -z[=LEVEL] of what records.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/command/command_line.h"

namespace zs::cli {

void add_compression_option(CommandLine& line, std::string& level);

/// zstd's level, of the option's value; 0: records are not compressed.
Result<int> compression_level(const std::string& text);

}  // namespace zs::cli

// Options that say how a program is run, the same for every verb that runs one.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "cli/command_line.h"
#include "session/config.h"

namespace zs::cli {

struct RunOptions {
  std::string cpu;
  std::uint64_t seed = 1;
  bool virtual_time = false;
  bool vdso = false;
  bool no_inherit = false;
  bool precise_only = false;
  std::uint64_t max_block_instructions = 32;
  std::string pid, tid;   // refused by name
  bool all_cpus = false;  // likewise
};

void add_run_options(CommandLine& line, RunOptions& options);

/// returns an error for what is understood but not supported
Result<void> check_run_options(const RunOptions& options);

void apply(const RunOptions& options, session::RecordingConfig& config);

}  // namespace zs::cli

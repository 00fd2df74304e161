// Options that say how a program is run, the same for every verb that runs one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/command/command_line.h"
#include "cli/events/event_selection.h"
#include "session/settings/config.h"

namespace zs::cli {

struct RunOptions : engine::RunSettings {  // without what depends on no_inherit, no_cache and the options of the cache
  CpuChoice cpu;
  std::vector<std::string> model_settings;
  std::uint64_t cores = 0;  // 0: as many as usual
  std::string detail = "auto";
  session::Detail least_detail = session::Detail::Exact;  // as the verb needs
  std::string units;                                      // "": the usual ones
  std::string error;                                      // of estimates, in percent; "": any
  std::string budget;                                     // "3x": of native; "": none
  std::string level;                                      // of the processor that the program sees; "": the usual one
  std::uint64_t shown_cpus = 0;                           // 0: the usual number
  bool no_inherit = false;
  bool no_cache = false;
  std::string cache_folder;  // "": where it usually is
  std::string cache_size = "512M";
  std::uint64_t max_block = 32;
  std::string pid, tid;      // refused by name
  bool t_is_tid = true;      // -t is --tid; `mem record` has its own
  bool has_targets = false;  // the verb itself has -p, -t and -a
  bool all_cpus = false;     // likewise
  bool has_budget = false;   // the verb has a --budget of its own
};

void add_run_options(CommandLine& line, RunOptions& options);

/// returns an error for what is understood but not supported
Result<void> check_run_options(const RunOptions& options);

/// The machine that the program sees, in words; empty: this one.
std::string shown_machine(const engine::RunSettings& settings);

void apply(const RunOptions& options, session::RecordingConfig& config);

}  // namespace zs::cli

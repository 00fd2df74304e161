// Runs a program in virtual time and keeps what it counted: of the whole run and of regions, and by function.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "cli/command/verb.h"
#include "cli/gate/baseline.h"
#include "cli/run/run_program.h"
#include "cli/stat/stat_options.h"
#include "profile/perf_data/perf_data_reader.h"

namespace zs::cli {

/// layouts  how many placements of stack, heap, data mappings and functions; the first is the usual one
/// returns  an error with what makes the counts useless: a crash, a row that counted nothing. An error of ours is told
///          by `failed`, and has been said then
Result<GateRun> count_run(StatOptions& options, const ProgramToRun& program, std::uint64_t layouts, bool& failed);

/// Another run, recorded as `verb` does. It prints nothing.
Result<profile::PerfDataReader> run_again(const Verb& verb, const StatOptions& options);

/// How often instructions ran in each function and line, by another run.
Result<report::EventCounts> count_functions(const StatOptions& options);

}  // namespace zs::cli

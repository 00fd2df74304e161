// Runs a program in virtual time and keeps what it counted: of the whole run and of regions, and by function.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "cli/gate/baseline.h"
#include "cli/run/run_program.h"
#include "cli/stat/stat_options.h"

namespace zs::cli {

/// layouts  how many placements of stack, heap, data mappings and functions; the first is the usual one
/// returns  an error with what makes the counts useless: a crash, a row that counted nothing. An error of ours is told
///          by `failed`, and has been said then
Result<GateRun> count_run(StatOptions& options, const ProgramToRun& program, std::uint64_t layouts, bool& failed);

/// How often instructions ran in each function and line, by another run, which prints nothing.
Result<report::EventCounts> count_functions(const StatOptions& options);

}  // namespace zs::cli

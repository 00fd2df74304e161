// The parts of the table in perf_options.h: a file for verbs that run programs, one for those that read recordings.
#pragma once

#include <span>

#include "cli/command/perf_options.h"

namespace zs::cli {

extern const std::span<const PerfOption> kPerfRecord, kPerfStat, kPerfMemRecord, kPerfC2cRecord, kPerfTrace;
extern const std::span<const PerfOption> kPerfReport, kPerfScript, kPerfAnnotate, kPerfMemReport, kPerfC2cReport,
    kPerfList;

}  // namespace zs::cli

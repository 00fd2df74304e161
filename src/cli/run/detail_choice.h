// How much of the core is modelled, of how much of the program: --detail, --units, --error and --budget, and what is
// said of that.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "arch/cpu_model.h"
#include "base/result.h"
#include "cli/run/run_options.h"
#include "session/settings/config.h"
#include "session/units/unit_sums.h"

namespace zs::cli {

/// As --detail and --units say, or as the events that the configuration has by now need it.
/// needs_all  an option that was given and that needs every instruction modelled, as "--skid"; "" for none
/// returns    an error for what no model has, or that cannot be sampled
Result<void> choose_detail(const RunOptions& options, const arch::CpuModel& model, session::RecordingConfig& config,
                           const std::string& needs_all = "");

/// What --detail sampled would take of a configuration that is complete; nothing if it is not possible.
std::optional<session::UnitOptions> units_if_sampled(const session::RecordingConfig& config);

/// What is played of the core, and what was changed in it: "full, l2.bytes=2M"; "nothing".
std::string core_in_words(const session::RecordingConfig& config);

/// Of a configuration with units: "the first 2,000,000 instructions, then units of 10,000".
std::string units_in_words(const session::UnitOptions& units);
/// Of a run that is over: "all of it", "2.1 % of the run".
std::string share_in_words(const session::UnitSums& done);
/// Both: "all of it", "the first 2,000,000 instructions, then units of 10,000 (2.1 % of the run)".
std::string detail_in_words(const session::RecordingConfig& config, const session::UnitSums& done);

/// "# in detail: ...\n"; "" without units.
std::string detail_line(const session::RecordingConfig& config, const session::UnitSums& done);

/// "exact", "fast", "full"
std::string_view name_of(session::Detail detail);

}  // namespace zs::cli

// What `zeroskid stat` was asked for, resolved: which events are counted and printed, what cuts them, how they are
// printed.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command/option_table.h"
#include "cli/command/output.h"
#include "cli/command/terminal.h"
#include "cli/perf_events/back_end.h"
#include "cli/run/follow_filter.h"
#include "cli/run/run_options.h"
#include "cli/stat/repeat_until.h"
#include "cli/stat/stat_metrics.h"
#include "cli/stat/stat_page.h"
#include "cli/stat/window_options.h"
#include "cli/stat/window_page.h"
#include "session/settings/config.h"

namespace zs::cli {

struct StatOptions {
  std::vector<std::string> events, metrics;
  std::string separator, output, format, colour = "auto";
  std::uint64_t repeat = 1;
  std::string repeat_until;
  std::size_t detail = 0;            // -d, how often
  std::string before, behind;        // commands of the shell, around each run
  std::uint64_t log_fd = 0;          // 0: none
  std::uint64_t timeout = 0;         // milliseconds; 0: until the program ends
  std::uint64_t delay = 0;           // -D, milliseconds
  std::uint64_t interval_count = 0;  // rows of each thread; 0: all
  std::string mix;                   // "true": by kind; "function": of each function, too; "": not asked for
  bool opcodes = false;
  bool append = false, null = false, topdown = false;
  bool json = false, per_thread = false, per_process = false, quiet = false, verbose = false;
  WindowOptions windows;
  std::vector<std::string> regions;
  std::string follow_list;  // --follow
  FollowOptions follow;
  RunOptions run;
  BackEndWords back_end;

  std::optional<PerfEventsChoice> perf_events;  // the kernel counts: of what is below, only the report is looked at
  host::Permissions permissions;                // then
  std::chrono::milliseconds interval{0};        // then: -I
  session::RecordingConfig config;
  StatReport report;                    // events in the order of printing
  CountedColumns columns;               // what the printed events count
  std::vector<std::size_t> counted_as;  // by printed event: index into config.events, or kNotCounted
  std::size_t pmus = 0;
  int instruction_event = -1;
  ColourChoice colour_choice = ColourChoice::Auto;
  WindowFormat window_format = WindowFormat::Page;
  WindowPlan window_plan;
  std::optional<RepeatUntil> until;
  std::vector<std::string> program;

  /// What the instructions are is asked for, and no events.
  bool wants_mix() const { return opcodes || !mix.empty(); }
  bool has_windows() const { return !window_plan.closers.empty(); }
};
inline constexpr std::size_t kNotCounted = SIZE_MAX;

/// returns nothing to go on, or the exit status: help was printed, or the options are wrong and that was said
std::optional<int> parse_stat_options(const Arguments& arguments, StatOptions& out);

/// Resolves what was asked for: fills in `config`, `report.events`, `report.metrics` and what follows from them.
Result<void> choose_counting(StatOptions& out);

/// Opens what -o and --log-fd name. returns the exit status if there is nowhere to write; that has been said
std::optional<int> open_output(const StatOptions& options, Output& output);

/// From values by counted event to values by printed event.
std::vector<std::uint64_t> as_printed(const std::vector<std::uint64_t>& counted, const StatOptions& options);

/// The table of windows without its rows.
profile::WindowTable window_table(const StatOptions& options);

}  // namespace zs::cli

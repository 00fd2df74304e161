// What running under zeroskid costs: CPU time with it over CPU time without, by kind of question. `doctor --measure`
// finds it for this machine and keeps it in $XDG_CACHE_HOME/zeroskid/costs.json (~/.cache where that is not set);
// --help shows it from there.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "session/settings/config.h"

namespace zs::cli {

/// Kinds of question. Of the modelled core: all of it, and samples of it.
inline constexpr std::string_view kCounting = "counting", kSampling = "sampling", kTopdown = "topdown",
                                  kSampledTopdown = "topdown --detail sampled", kMemRecord = "mem record",
                                  kSampledMemRecord = "mem record --detail sampled", kTrace = "trace";

struct Cost {
  std::string name;  // one of those
  double times_native = 0;
};

struct Costs {
  std::string machine;   // costs are of this one alone: its processor and our version
  double start_ms = 0;   // CPU time to count a program that does nothing, more than without
  double native_ms = 0;  // CPU time of the longest native run, so that one sees what was measured
  std::vector<Cost> rows;
};

/// "13th Gen Intel(R) Core(TM) i7-1360P, zeroskid 0.1.0"
std::string this_machine();

/// "" where neither $XDG_CACHE_HOME nor $HOME names a folder.
std::string costs_path();

Result<void> keep_costs(const Costs& costs, const std::string& path);

/// returns what was kept of `machine`; nothing where there is no such file, or it is another machine's, or no such file
/// of ours
std::optional<Costs> kept_costs(const std::string& path, std::string_view machine);

/// What a kind of question costs: of `costs`, else as docs/benchmarks.md has it.
double times_native(std::string_view kind, const std::optional<Costs>& costs);

/// "1.3", "160": two digits.
std::string times_text(double times_native);

/// What a run will cost: "in detail: all of it, about 160 times native; --detail sampled: about 4 times". "" where
/// nothing is modelled.
/// costs  of this machine; else those of docs/benchmarks.md are told
std::string cost_line(const session::RecordingConfig& config, const std::optional<Costs>& costs);

/// Says that line, before the run, where a progress line would be shown.
void say_cost(const session::RecordingConfig& config, bool quiet, bool verbose);

}  // namespace zs::cli

#include "cli/costs/cost_line.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/command/say.h"
#include "cli/run/detail_choice.h"
#include "cli/run/progress_line.h"

namespace zs::cli {

using session::Detail;

std::string cost_line(const session::RecordingConfig& config, const std::optional<Costs>& costs) {
  if (config.detail == Detail::Exact) return "";
  const double all = times_native(kTopdown, costs);
  const auto sampled = [&](const session::UnitOptions& units) {
    // What was measured is of long periods; windows may keep them short.
    const double in_detail =
        static_cast<double>(units.unit + units.warm_up) / static_cast<double>(units.longest_period);
    return times_text(std::min(all, times_native(kSampledTopdown, costs) + all * in_detail));
  };
  const std::string complete = times_text(all);
  if (config.in_units) {
    return fmt::format("in detail: {}, about {} times native; --detail complete: about {} times",
                       units_in_words(config.units), sampled(config.units), complete);
  }
  const auto units = units_if_sampled(config);
  return fmt::format("in detail: all of it, about {} times native{}", complete,
                     units ? fmt::format("; --detail sampled: about {} times", sampled(*units)) : "");
}

void say_cost(const session::RecordingConfig& config, bool quiet, bool verbose) {
  if (progress_style(quiet, verbose) == ProgressStyle::Silent) return;
  const std::string line = cost_line(config, kept_costs(costs_path(), this_machine()));
  if (!line.empty()) say(line);
}

}  // namespace zs::cli

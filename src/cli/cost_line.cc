#include "cli/cost_line.h"

#include <fmt/format.h>

#include "cli/detail_choice.h"
#include "cli/progress_line.h"
#include "cli/say.h"

namespace zs::cli {

using session::Detail;

std::string cost_line(const session::RecordingConfig& config, const std::optional<Costs>& costs) {
  if (config.detail == Detail::Exact) return "";
  const std::string complete = times_text(times_native(config.detail == Detail::Fast ? kCaches : kTopdown, costs));
  const std::string sampled = times_text(times_native(kSampledTopdown, costs));
  if (config.in_units) {
    return fmt::format("in detail: {}, about {} times native; --detail complete: about {} times",
                       units_in_words(config.units), sampled, complete);
  }
  const bool divisible = !config.has_windows() && !config.log_sharing && !config.precise_only;
  return fmt::format("in detail: all of it, about {} times native{}", complete,
                     divisible ? fmt::format("; --detail sampled: about {} times", sampled) : "");
}

void say_cost(const session::RecordingConfig& config, bool quiet, bool verbose) {
  if (progress_style(quiet, verbose) == ProgressStyle::Silent) return;
  const std::string line = cost_line(config, kept_costs(costs_path(), this_machine()));
  if (!line.empty()) say(line);
}

}  // namespace zs::cli

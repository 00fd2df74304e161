#include "cli/costs/costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/check.h"
#include "cli/command/say.h"
#include "cli/run/detail_choice.h"
#include "cli/run/progress_line.h"
#include "cli/run/user_cache.h"
#include "host/machine_facts.h"

namespace zs::cli {
namespace {

constexpr const char* kSchema = "zeroskid-costs";
constexpr int kVersion = 1;

/// Geometric means over long programs, docs/benchmarks.md; of the modelled core.
struct Published {
  std::string_view kind;
  double times_native;
};
constexpr Published kPublished[] = {
    {kCounting, 1.26}, {kSampling, 1.42},        {kTopdown, 162}, {kSampledTopdown, 4.0},
    {kMemRecord, 162}, {kSampledMemRecord, 4.4}, {kTrace, 48}};

}  // namespace

std::string this_machine() { return host::ask_cpuid().brand + ", zeroskid " ZEROSKID_VERSION; }

std::string costs_path() {
  const std::string cache = user_cache();
  return cache.empty() ? "" : cache + "/costs.json";
}

Result<void> keep_costs(const Costs& costs, const std::string& path) {
  nlohmann::ordered_json page = {
      {"schema", kSchema},          {"version", kVersion},          {"machine", costs.machine},
      {"start_ms", costs.start_ms}, {"native_ms", costs.native_ms}, {"times_native", nlohmann::ordered_json::object()}};
  for (const Cost& row : costs.rows) page["times_native"][row.name] = row.times_native;
  std::error_code problem;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), problem);
  const std::string draft = path + ".new";
  errno = 0;
  std::ofstream file(draft);
  file << page.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << "\n";
  file.close();
  if (file) std::filesystem::rename(draft, path, problem);
  if (!file || problem) {
    return Error{path + ": cannot be written: " + (problem ? problem.message() : std::string(std::strerror(errno))),
                 "set XDG_CACHE_HOME to a folder of yours"};
  }
  return {};
}

std::optional<Costs> kept_costs(const std::string& path, std::string_view machine) {
  std::ifstream file(path);
  const auto page = nlohmann::json::parse(file, nullptr, false);
  if (!page.is_object() || page.value("schema", nlohmann::json()) != kSchema ||
      page.value("version", nlohmann::json()) != kVersion || page.value("machine", nlohmann::json()) != machine) {
    return std::nullopt;
  }
  const auto number = [&page](const char* name) {
    const auto at = page.find(name);
    return at != page.end() && at->is_number() ? at->get<double>() : 0.0;
  };
  Costs costs{
      .machine = std::string(machine), .start_ms = number("start_ms"), .native_ms = number("native_ms"), .rows = {}};
  const auto rows = page.find("times_native");
  if (rows == page.end() || !rows->is_object()) return std::nullopt;
  for (const auto& [name, times] : rows->items()) {
    if (times.is_number()) costs.rows.push_back({name, times.get<double>()});
  }
  return costs;
}

double times_native(std::string_view kind, const std::optional<Costs>& costs) {
  if (costs) {
    const auto row = std::ranges::find(costs->rows, kind, &Cost::name);
    if (row != costs->rows.end()) return row->times_native;
  }
  const auto* const published = std::ranges::find(kPublished, kind, &Published::kind);
  CHECK(published != std::end(kPublished));
  return published->times_native;
}

std::string times_text(double times_native) {
  if (times_native < 9.95) return fmt::format("{:.1f}", times_native);
  if (times_native < 99.5) return fmt::format("{:.0f}", times_native);
  const double unit = std::pow(10.0, std::floor(std::log10(times_native)) - 1);
  return fmt::format("{:.0f}", std::round(times_native / unit) * unit);
}

std::string cost_line(const session::RecordingConfig& config, const std::optional<Costs>& costs) {
  if (config.detail == session::Detail::Exact) return "";
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

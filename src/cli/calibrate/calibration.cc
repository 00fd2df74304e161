#include "cli/calibrate/calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/units.h"

namespace zs::cli {
namespace {

/// Half of the distance between the largest and the smallest, in percent of the mean.
double spread_percent(const std::vector<double>& counts, double mean) {
  if (counts.size() < 2 || mean == 0) return 0;
  const auto [least, most] = std::ranges::minmax(counts);
  return 100 * (most - least) / 2 / mean;
}

std::string whole(double count) { return with_thousands(static_cast<std::uint64_t>(std::llround(count))); }

}  // namespace

double CalibratedEvent::hardware_mean() const {
  if (hardware.empty()) return 0;
  return std::accumulate(hardware.begin(), hardware.end(), 0.0) / static_cast<double>(hardware.size());
}

std::optional<double> CalibratedEvent::error_percent() const {
  const double mean = hardware_mean();
  if (mean == 0) return std::nullopt;
  return 100 * (software / mean - 1);
}

std::string calibration_page(const Calibration& calibration) {
  std::size_t width = 5;
  for (const CalibratedEvent& event : calibration.events) width = std::max(width, event.name.size());
  std::string page = fmt::format("\n Counts of '{}' in ring 3:\n\n", calibration.program);
  page +=
      fmt::format(" {:<{}}  {:>18}  {:>8}  {:>18}  {:>10}\n", "event", width, "hardware", "+-", "software", "error");
  for (const CalibratedEvent& event : calibration.events) {
    const double mean = event.hardware_mean();
    const auto error = event.error_percent();
    page += fmt::format(" {:<{}}  {:>18}  {:>6.2f} %  {:>18}  {:>10}  # {}{}\n", event.name, width, whole(mean),
                        spread_percent(event.hardware, mean), whole(event.software),
                        error ? fmt::format("{:+.2f} %", *error) : "none", event.software_class,
                        event.took_turns ? ", hardware's scaled: its events took turns" : "");
  }
  return page + "\n";
}

std::vector<KnownError> errors_of(const Calibration& calibration) {
  std::vector<KnownError> errors;
  for (const CalibratedEvent& event : calibration.events) {
    const auto percent = event.error_percent();
    if (!percent) continue;
    errors.push_back({.cpu = calibration.cpu,
                      .model = calibration.model,
                      .event = event.name,
                      .percent = std::round(*percent * 100) / 100,
                      .date = calibration.date,
                      .program = calibration.program});
  }
  return errors;
}

}  // namespace zs::cli

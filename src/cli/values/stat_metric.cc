#include "cli/values/stat_metric.h"

#include <fmt/format.h>

#include <cmath>

#include "report/plot/plot_figure.h"
#include "report/text/json.h"

namespace zs::cli {

std::vector<const StatMetric*> metrics_behind(const std::vector<StatMetric>& metrics, std::size_t event) {
  std::vector<const StatMetric*> behind;
  for (const StatMetric& metric : metrics) {
    if (metric.event == event) behind.push_back(&metric);
  }
  return behind;
}

std::string metric_text(const StatMetric& metric, double value) {
  if (!metric.has_number()) return "<not modelled>";
  if (!std::isfinite(value)) return "";  // a share of nothing is no number
  return metric.counted.metric().is_share() ? fmt::format("{:.2f}%", 100 * value) : report::rate_text(value);
}

std::string metric_number(const StatMetric& metric, double value) {
  if (!metric.has_number()) return "";
  if (!std::isfinite(value)) return "";
  return fmt::format("{:.6f}", metric.counted.metric().is_share() ? 100 * value : value);
}

std::string metric_unit(const StatMetric& metric) {
  const bool scaled =
      metric.counted.metric().is_share() && arch::names_metric(metric.name());  // perf's own rates name no scale
  return (scaled ? "%  " : "") + std::string(metric.name());
}

}  // namespace zs::cli

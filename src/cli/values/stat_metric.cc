#include "cli/values/stat_metric.h"

#include <fmt/format.h>

#include <cmath>

#include "report/plot/plot_figure.h"
#include "report/text/json.h"

namespace zs::cli {

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

void put_metric(const StatMetric& metric, double value, report::Json& line) {
  const bool number = metric.has_number() && std::isfinite(value);
  line["metric-value"] = nullptr;
  if (number) line["metric-value"] = metric.counted.metric().is_share() ? 100 * value : value;
  line["metric-unit"] = metric_unit(metric);
  line["metric-class"] = name_of(metric.value_class);
  if (!metric.lacks.empty()) line["metric-lacks"] = metric.lacks;
}

}  // namespace zs::cli

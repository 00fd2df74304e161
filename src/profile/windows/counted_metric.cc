#include "profile/windows/counted_metric.h"

#include <algorithm>

#include "base/check.h"

namespace zs::profile {

CountedMetric::CountedMetric(const arch::CpuModel& model, const arch::Metric& metric, const ColumnOf& column_of)
    : metric_(&metric) {
  const auto value = evaluate(metric.formula, [&](std::string_view name) {
    Term term;
    if (arch::names_metric(name)) {
      const arch::Metric* const part = arch::find_metric(model, name);
      CHECK(part != nullptr);
      term.metric.emplace_back(model, *part, column_of);
      for (const std::size_t column : term.metric.front().columns()) add_column(column);
    } else {
      term.column = column_of(name);
      add_column(term.column);
    }
    terms_.push_back(std::move(term));
    return 1.0;
  });
  CHECK(value.has_value());
}

void CountedMetric::add_column(std::size_t column) {
  if (std::find(columns_.begin(), columns_.end(), column) == columns_.end()) columns_.push_back(column);
}

}  // namespace zs::profile

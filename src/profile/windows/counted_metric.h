// A metric bound to columns of counts: what is left to do for a row of them is arithmetic.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "arch/cpu_model.h"
#include "arch/metrics/metric.h"
#include "base/formula.h"
#include "profile/windows/window_table.h"

namespace zs::profile {

class CountedMetric {
 public:
  /// The column that holds how often an event happened.
  using ColumnOf = std::function<std::size_t(std::string_view event)>;

  /// metric     lives on. Other metrics in its formula are `model`'s: it is one of arch::metric_rows() then
  /// column_of  asked for each event of the formula, in the order in which they stand
  CountedMetric(const arch::CpuModel& model, const arch::Metric& metric, const ColumnOf& column_of);

  const arch::Metric& metric() const { return *metric_; }
  /// Each once, in the order of the formula. Not empty.
  const std::vector<std::size_t>& columns() const { return columns_; }

  /// The worst of its columns' classes: `class_of(column)`.
  template <typename ClassOf>
  ValueClass value_class(const ClassOf& class_of) const {
    ValueClass worst = ValueClass::Exact;
    for (const std::size_t column : columns_) worst = std::max(worst, class_of(column));
    return worst;
  }

  /// Not a number where it divides by zero.
  /// count_of  double(std::size_t column)
  template <typename CountOf>
  double value(const CountOf& count_of) const {
    std::size_t next = 0;
    return *evaluate(metric_->formula, [&](std::string_view) {
      const Term& term = terms_[next++];
      return term.metric.empty() ? static_cast<double>(count_of(term.column)) : term.metric.front().value(count_of);
    });
  }

 private:
  struct Term {
    std::size_t column = 0;
    std::vector<CountedMetric> metric;  // one, where the formula names a metric
  };
  void add_column(std::size_t column);

  const arch::Metric* metric_;
  std::vector<Term> terms_;  // by name in the formula
  std::vector<std::size_t> columns_;
};

}  // namespace zs::profile

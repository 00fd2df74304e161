#include "profile/windows/window_rates.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/check.h"

namespace zs::profile {
namespace {

struct Plan {
  std::vector<Metric> metrics;
  std::vector<std::vector<std::size_t>> columns;  // by metric, as Metric::counts; empty: not modelled
};

Plan plan_metrics(const WindowTable& table, const CurveChoice& choice) {
  Plan plan;
  const auto add = [&](Metric metric, const std::vector<std::size_t>& columns) {
    const bool modelled = metric.value_class != ValueClass::NotModelled;
    metric.counts.resize(modelled ? columns.size() : 0);
    plan.columns.push_back(modelled ? columns : std::vector<std::size_t>());
    plan.metrics.push_back(std::move(metric));
  };
  const std::size_t length = length_column(table);
  const auto class_of = [&](std::size_t column) {
    return column == length ? ValueClass::Exact : table.events[column].value_class;
  };
  for (const CountedMetric& metric : choice.metrics) {
    add({.name = std::string(metric.metric().name),
         .unit = metric.metric().unit,
         .value_class = metric.value_class(class_of),
         .formula = metric},
        metric.columns());
  }
  for (std::size_t i = 0; i < table.events.size(); ++i) {
    if (!choice.own_curve.empty() && !choice.own_curve[i]) continue;
    const PlaceRate rate = rate_over(table.places);
    add({.name = table.events[i].name,
         .unit = rate.unit,
         .value_class = table.events[i].value_class,
         .factor = rate.places * table.events[i].scale},
        {i, length});
  }
  return plan;
}

void append(Curve& curve, const Plan& plan, const Window& window) {
  curve.comm = window.comm;
  curve.points.push_back({.start = window.start, .end = window.end});
  for (std::size_t i = 0; i < plan.columns.size(); ++i) {
    for (std::size_t k = 0; k < plan.columns[i].size(); ++k) {
      const std::size_t column = plan.columns[i][k];
      const bool counted = column < window.values.size();
      curve.metrics[i].counts[k].push_back(counted ? window.values[column] : window.instructions());
    }
  }
}

std::vector<RegionSpan> regions_of(const WindowTable& table, const Curve& curve) {
  std::vector<RegionSpan> regions;
  for (const RegionSpan& region : table.regions) {
    const bool here = region.pid == curve.pid && region.tid == curve.tid;
    if (here && region.begin < curve.end() && region.end > curve.start()) regions.push_back(region);
  }
  std::stable_sort(regions.begin(), regions.end(), [](const RegionSpan& a, const RegionSpan& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
  });
  return regions;
}

}  // namespace

std::size_t length_column(const WindowTable& table) { return table.events.size(); }

std::string Metric::label() const {
  if (!formula) return name + " " + std::string(unit);
  return unit.empty() ? name : name + " (" + std::string(unit) + ")";
}

double Metric::value(std::span<const double> sums) const {
  if (!formula) return sums[1] == 0 ? 0 : factor * sums[0] / sums[1];
  const double found = formula->value([&](std::size_t column) {
    const auto& columns = formula->columns();
    return sums[static_cast<std::size_t>(std::find(columns.begin(), columns.end(), column) - columns.begin())];
  });
  return std::isfinite(found) ? found : 0;
}

double Metric::rate(std::size_t first, std::size_t last) const {
  CHECK(first <= last && last <= points(), first, last, points());
  // As floating point: sums of counts may pass 64 bits, and a rate is read to four digits.
  std::vector<double> sums;
  for (const auto& by_point : counts) {
    double sum = 0;
    for (std::size_t i = first; i < last; ++i) sum += static_cast<double>(by_point[i]);
    sums.push_back(sum);
  }
  return value(sums);
}

std::size_t Curve::windows() const {
  return std::accumulate(points.begin(), points.end(), std::size_t{0},
                         [](std::size_t sum, const CurvePoint& point) { return sum + point.windows; });
}

std::vector<Curve> curves_of(const WindowTable& table, const CurveChoice& choice) {
  const Plan plan = plan_metrics(table, choice);
  std::vector<Curve> curves;
  std::size_t last = 0;  // rows of one thread mostly follow one another
  for (const Window& window : table.windows) {
    if (window.instructions() == 0) continue;
    const auto continues = [&window](const Curve& curve) {
      return curve.pid == window.pid && curve.tid == window.tid && curve.end() <= window.start;
    };
    if (last >= curves.size() || !continues(curves[last])) {
      last = static_cast<std::size_t>(std::find_if(curves.begin(), curves.end(), continues) - curves.begin());
    }
    if (last == curves.size())
      curves.push_back({.pid = window.pid, .tid = window.tid, .places = table.places, .metrics = plan.metrics});
    append(curves[last], plan, window);
  }
  for (Curve& curve : curves) curve.regions = regions_of(table, curve);
  return curves;
}

Curve folded(const Curve& curve, std::size_t most) {
  CHECK(most != 0);
  const std::size_t together = (curve.points.size() + most - 1) / most;
  if (together <= 1) return curve;
  Curve out{.pid = curve.pid, .tid = curve.tid, .comm = curve.comm, .places = curve.places, .regions = curve.regions};
  for (const Metric& metric : curve.metrics) {
    Metric empty = metric;
    for (auto& by_point : empty.counts) by_point.clear();
    out.metrics.push_back(std::move(empty));
  }
  for (std::size_t i = 0; i < curve.points.size(); ++i) {
    const CurvePoint& point = curve.points[i];
    const bool fresh = i % together == 0;
    if (fresh) out.points.push_back({.start = point.start, .windows = 0});
    out.points.back().end = point.end;
    out.points.back().windows += point.windows;
    for (std::size_t m = 0; m < curve.metrics.size(); ++m) {
      for (std::size_t k = 0; k < curve.metrics[m].counts.size(); ++k) {
        if (fresh) out.metrics[m].counts[k].push_back(0);
        out.metrics[m].counts[k].back() += curve.metrics[m].counts[k][i];
      }
    }
  }
  return out;
}

}  // namespace zs::profile

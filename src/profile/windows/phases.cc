#include "profile/windows/phases.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace zs::profile {
namespace {

/// Costs are sums of rounded numbers; two that differ by less are equal. Only the dropping of candidates uses it: one
/// that is dropped is then certainly worse, so that the result is the optimum and ties fall as they do without
/// dropping.
double slack(double cost) { return 1e-9 * (1 + std::abs(cost)); }

std::vector<Phase> walk_back(const std::vector<std::size_t>& last_start, std::size_t points) {
  std::vector<Phase> phases;
  for (std::size_t end = points; end != 0; end = last_start[end]) {
    phases.push_back({.first = last_start[end], .last = end});
  }
  std::reverse(phases.begin(), phases.end());
  return phases;
}

struct Spread {
  double mean = 0, deviation = 0;
};

Spread spread_of(const std::vector<double>& values, const std::vector<double>& weights) {
  const auto n = static_cast<double>(values.size());  // the weights' mean is 1
  Spread spread;
  for (std::size_t i = 0; i < values.size(); ++i) spread.mean += weights[i] * values[i] / n;
  double squares = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    squares += weights[i] * (values[i] - spread.mean) * (values[i] - spread.mean);
  }
  spread.deviation = std::sqrt(squares / n);
  return spread;
}

}  // namespace

SegmentCosts::SegmentCosts(const Observations& observations) {
  const std::size_t points = observations.points();
  weights_.resize(points + 1);
  squares_.resize(points + 1);
  for (std::size_t i = 0; i < points; ++i) {
    weights_[i + 1] = weights_[i] + observations.weights[i];
    squares_[i + 1] = squares_[i];
    for (const std::vector<double>& series : observations.series) {
      squares_[i + 1] += observations.weights[i] * series[i] * series[i];
    }
  }
  for (const std::vector<double>& series : observations.series) {
    CHECK(series.size() == points, series.size(), points);
    std::vector<double>& sums = sums_.emplace_back(points + 1);
    for (std::size_t i = 0; i < points; ++i) sums[i + 1] = sums[i] + observations.weights[i] * series[i];
  }
}

double SegmentCosts::operator()(std::size_t first, std::size_t last) const {
  const double weight = weights_[last] - weights_[first];
  double cost = squares_[last] - squares_[first];
  for (const std::vector<double>& sums : sums_) {
    const double sum = sums[last] - sums[first];
    cost -= sum * sum / weight;
  }
  return cost;
}

std::vector<Phase> segments(const Observations& observations, double penalty) {
  const std::size_t points = observations.points();
  const SegmentCosts cost(observations);
  std::vector<double> best(points + 1);             // of the points before; the last segment ends there
  std::vector<std::size_t> last_start(points + 1);  // where that segment begins
  std::vector<std::size_t> candidates;              // where it may begin, rising
  std::vector<double> candidate_costs;
  best[0] = -penalty;
  for (std::size_t end = 1; end <= points; ++end) {
    candidates.push_back(end - 1);
    candidate_costs.clear();
    for (const std::size_t start : candidates) candidate_costs.push_back(best[start] + cost(start, end));
    const auto least = std::min_element(candidate_costs.begin(), candidate_costs.end());
    best[end] = *least + penalty;
    last_start[end] = candidates[static_cast<std::size_t>(least - candidate_costs.begin())];
    // From a start whose cost without a penalty is above the best with one, a later end is always better reached by
    // ending a segment here: splitting never raises the cost.
    const double limit = best[end] + slack(best[end]);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (candidate_costs[i] <= limit) candidates[kept++] = candidates[i];
    }
    candidates.resize(kept);
  }
  return walk_back(last_start, points);
}

Observations standardised(const Curve& curve) {
  Observations out;
  const std::size_t points = curve.points.size();
  double instructions = 0;
  for (const CurvePoint& point : curve.points) instructions += static_cast<double>(point.end - point.start);
  for (const CurvePoint& point : curve.points) {
    out.weights.push_back(static_cast<double>(point.end - point.start) * static_cast<double>(points) / instructions);
  }
  for (const Metric& metric : curve.metrics) {
    if (!metric.modelled()) continue;
    std::vector<double> rates;
    for (std::size_t i = 0; i < points; ++i) rates.push_back(metric.rate(i, i + 1));
    const Spread spread = spread_of(rates, out.weights);
    if (spread.deviation <= kLeastVariation * spread.mean) continue;
    for (double& rate : rates) rate = (rate - spread.mean) / spread.deviation;
    out.series.push_back(std::move(rates));
  }
  return out;
}

double bic_penalty(const Observations& observations) {
  return static_cast<double>(observations.series.size() + 1) * std::log(static_cast<double>(observations.points()));
}

namespace {

/// What the thread's end cut off is not a window like the others.
bool ends_with_left_over(const Curve& curve) {
  const auto length = [](const CurvePoint& point) { return point.end - point.start; };
  return curve.points.size() >= 2 && length(curve.points.back()) < length(*(curve.points.end() - 2));
}

/// Joins stretches that are too short for a phase with the neighbour that they are more like, the lightest first; and
/// then neighbours that no longer differ enough to be two.
std::vector<Phase> without_short_ones(std::vector<Phase> phases, const Observations& observations, double penalty) {
  const SegmentCosts cost(observations);
  std::vector<double> weight_before(observations.points() + 1);
  for (std::size_t i = 0; i < observations.points(); ++i) {
    weight_before[i + 1] = weight_before[i] + observations.weights[i];
  }
  const auto weight = [&](const Phase& one) { return weight_before[one.last] - weight_before[one.first]; };
  const auto price_of_joining = [&](std::size_t i) {  // phase i and the next
    const Phase &a = phases[i], &b = phases[i + 1];
    return cost(a.first, b.last) - cost(a.first, a.last) - cost(b.first, b.last);
  };
  const auto join = [&](std::size_t i) {
    phases[i].last = phases[i + 1].last;
    phases.erase(phases.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  };
  const double least = kLeastPhaseShare * weight_before.back();
  while (phases.size() > 1) {
    const auto lightest = std::min_element(phases.begin(), phases.end(),
                                           [&](const Phase& a, const Phase& b) { return weight(a) < weight(b); });
    if (weight(*lightest) >= least) break;
    const auto i = static_cast<std::size_t>(lightest - phases.begin());
    const bool has_next = i + 1 < phases.size();
    join(i == 0 || (has_next && price_of_joining(i) < price_of_joining(i - 1)) ? i : i - 1);
  }
  for (std::size_t i = 0; i + 1 < phases.size();) {
    if (price_of_joining(i) > penalty) {
      ++i;
      continue;
    }
    join(i);
    i -= std::min<std::size_t>(i, 1);
  }
  return phases;
}

std::vector<Phase> phases_of_windows(const Curve& curve) {
  const Curve coarse = folded(curve, kMostPhasePoints);
  const Observations observations = standardised(coarse);
  const double penalty = bic_penalty(observations);
  std::vector<Phase> phases = without_short_ones(segments(observations, penalty), observations, penalty);
  // Back from folded points to the curve's own. folded() took the least number together that gives at most that many
  // points, so dividing by how many came out gives that number again.
  const std::size_t together = (curve.points.size() + coarse.points.size() - 1) / coarse.points.size();
  for (Phase& phase : phases) {
    phase.first *= together;
    phase.last = std::min(phase.last * together, curve.points.size());
  }
  return phases;
}

Curve without_last(const Curve& curve) {
  Curve out = curve;
  out.points.pop_back();
  for (Metric& metric : out.metrics) {
    for (auto& by_point : metric.counts) by_point.pop_back();
  }
  return out;
}

}  // namespace

std::vector<Phase> find_phases(const Curve& curve) {
  if (curve.points.size() < kLeastPhasePoints) return {{.first = 0, .last = curve.points.size()}};
  if (ends_with_left_over(curve)) {
    std::vector<Phase> phases = phases_of_windows(without_last(curve));
    ++phases.back().last;
    return phases;
  }
  return phases_of_windows(curve);
}

}  // namespace zs::profile

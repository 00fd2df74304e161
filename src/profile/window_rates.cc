#include "profile/window_rates.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <numeric>
#include <string_view>

#include "base/check.h"

namespace zs::profile {
namespace {

/// Names of the two events that a curve treats apart, as perf and the vendors spell them.
constexpr std::array<std::string_view, 4> kInstructionNames = {"instructions", "inst_retired.any", "inst_retired.any_p",
                                                               "inst_retired.prec_dist"};
constexpr std::array<std::string_view, 6> kCycleNames = {"cycles",
                                                         "cpu-cycles",
                                                         "cpu_clk_unhalted.thread",
                                                         "cpu_clk_unhalted.thread_p",
                                                         "cpu_clk_unhalted.core",
                                                         "cpu_clk_unhalted.core_p"};

/// Case-blind, and without modifiers: "INST_RETIRED.ANY:u" is inst_retired.any.
template <std::size_t N>
bool is_one_of(const std::array<std::string_view, N>& names, std::string_view spelled) {
  std::string name(spelled.substr(0, spelled.find(':')));
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// What a metric's numbers come from: the column of an event, or the length of the window.
constexpr std::size_t kLength = SIZE_MAX;
struct MetricSource {
  std::size_t numerator = kLength, denominator = kLength;
  bool modelled = false;
};

struct Plan {
  std::vector<Metric> metrics;
  std::vector<MetricSource> sources;
};

Plan plan_metrics(const std::vector<WindowEvent>& events) {
  Plan plan;
  const auto cycles =
      std::find_if(events.begin(), events.end(), [](const WindowEvent& e) { return is_one_of(kCycleNames, e.name); });
  const bool counted = cycles != events.end() && cycles->value_class != ValueClass::NotModelled;
  plan.metrics.push_back({.name = "instructions",
                          .unit = kPerCycle,
                          .value_class = counted ? cycles->value_class : ValueClass::NotModelled,
                          .scale = 1});
  plan.sources.push_back({.denominator = static_cast<std::size_t>(cycles - events.begin()), .modelled = counted});
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (is_one_of(kInstructionNames, events[i].name) || is_one_of(kCycleNames, events[i].name)) continue;
    plan.metrics.push_back({.name = events[i].name, .unit = kPerThousand, .value_class = events[i].value_class});
    plan.sources.push_back({.numerator = i, .modelled = events[i].value_class != ValueClass::NotModelled});
  }
  return plan;
}

std::uint64_t count_of(const Window& window, std::size_t source) {
  return source == kLength ? window.instructions() : window.values[source];
}

void append(Curve& curve, const Plan& plan, const Window& window) {
  curve.comm = window.comm;
  curve.points.push_back({.start = window.start, .end = window.end});
  for (std::size_t i = 0; i < plan.sources.size(); ++i) {
    if (!plan.sources[i].modelled) continue;
    curve.metrics[i].numerators.push_back(count_of(window, plan.sources[i].numerator));
    curve.metrics[i].denominators.push_back(count_of(window, plan.sources[i].denominator));
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

double Metric::rate(std::size_t first, std::size_t last) const {
  CHECK(first <= last && last <= numerators.size(), first, last, numerators.size());
  // As floating point: sums of counts may pass 64 bits, and a rate is read to four digits.
  double above = 0;
  double below = 0;
  for (std::size_t i = first; i < last; ++i) {
    above += static_cast<double>(numerators[i]);
    below += static_cast<double>(denominators[i]);
  }
  return below == 0 ? 0 : scale * above / below;
}

std::size_t Curve::windows() const {
  return std::accumulate(points.begin(), points.end(), std::size_t{0},
                         [](std::size_t sum, const CurvePoint& point) { return sum + point.windows; });
}

std::vector<Curve> curves_of(const WindowTable& table) {
  const Plan plan = plan_metrics(table.events);
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
    if (last == curves.size()) curves.push_back({.pid = window.pid, .tid = window.tid, .metrics = plan.metrics});
    append(curves[last], plan, window);
  }
  for (Curve& curve : curves) curve.regions = regions_of(table, curve);
  return curves;
}

Curve folded(const Curve& curve, std::size_t most) {
  CHECK(most != 0);
  const std::size_t together = (curve.points.size() + most - 1) / most;
  if (together <= 1) return curve;
  Curve out{.pid = curve.pid, .tid = curve.tid, .comm = curve.comm, .regions = curve.regions};
  for (const Metric& metric : curve.metrics) {
    out.metrics.push_back(
        {.name = metric.name, .unit = metric.unit, .value_class = metric.value_class, .scale = metric.scale});
  }
  for (std::size_t i = 0; i < curve.points.size(); ++i) {
    const CurvePoint& point = curve.points[i];
    const bool fresh = i % together == 0;
    if (fresh) out.points.push_back({.start = point.start, .windows = 0});
    out.points.back().end = point.end;
    out.points.back().windows += point.windows;
    for (std::size_t m = 0; m < curve.metrics.size(); ++m) {
      if (!curve.metrics[m].modelled()) continue;
      if (fresh) {
        out.metrics[m].numerators.push_back(0);
        out.metrics[m].denominators.push_back(0);
      }
      out.metrics[m].numerators.back() += curve.metrics[m].numerators[i];
      out.metrics[m].denominators.back() += curve.metrics[m].denominators[i];
    }
  }
  return out;
}

}  // namespace zs::profile

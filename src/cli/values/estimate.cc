#include "cli/values/estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "base/units.h"

namespace zs::cli {
namespace {

using session::UnitSums;

/// An event that was seen less often has no useful number: its interval is wider than a third of it. chosen
constexpr double kFewest = 30;
/// Of a number that is made of several events: a rare one may bring so much of it.
constexpr double kLittle = 0.1;
/// How often an event may have happened that was not seen: in 95 of 100 cases it would have been.
constexpr double kUnseen = 3.0;

using Formula = std::function<double(const std::vector<double>& counts)>;

/// How often the rarest event was seen that brings more than a little of `value`; kFewest if none that does is rare.
double rarest_seen(const Counted& counted, const std::vector<std::size_t>& columns, const Formula& formula,
                   double value) {
  double rarest = kFewest;
  for (const std::size_t column : columns) {
    const auto& estimated = (*counted.columns)[column];
    const double seen = estimated ? counted.units->seen(estimated->place) : kFewest;
    if (seen >= kFewest) continue;
    std::vector<double> without = counted.counts;
    without[column] = 0;
    const double brought = std::abs(value - formula(without));
    const bool little = value != 0 && brought < kLittle * std::abs(value);
    if (!little) rarest = std::min(rarest, seen);
  }
  return rarest;
}

/// How many events of the run an event stands for that was seen in a unit.
double stands_for(const UnitSums& units, std::size_t place) {
  const double seen = units.seen(place);
  if (seen > 0) return (units.total(place) - units.complete(place)) / seen;
  const double modelled =
      static_cast<double>(units.in_detail()) - (static_cast<double>(units.instructions()) - units.sampled());
  return modelled > 0 ? units.sampled() / modelled : 1;
}

/// How far `value` may be off because events in it were seen seldom: each by as much as is likely to happen unseen.
double rarity_part(const Counted& counted, const std::vector<std::size_t>& columns, const Formula& formula,
                   double value) {
  double part = 0;
  for (const std::size_t column : columns) {
    const auto& estimated = (*counted.columns)[column];
    if (!estimated || counted.units->seen(estimated->place) >= kFewest) continue;
    const double seen = counted.units->seen(estimated->place);
    std::vector<double> off = counted.counts;
    off[column] +=
        (seen == 0 ? kUnseen : 2 * std::sqrt(seen)) * stands_for(*counted.units, estimated->place) / counted.runs;
    part = std::hypot(part, formula(off) - value);
  }
  return part;
}

/// How far `value` may be off by what warm-ups leave out of each column.
double warm_up_part(const Counted& counted, const std::vector<std::size_t>& columns, const Formula& formula,
                    double value) {
  double part = 0;
  for (const std::size_t column : columns) {
    const auto& estimated = (*counted.columns)[column];
    if (!estimated) continue;
    std::vector<double> off = counted.counts;
    const session::WarmUpError& error = estimated->warm_up_error;
    // What was complete needs no warm-up.
    const double sampled = std::max(off[column] - counted.units->complete(estimated->place) / counted.runs, 0.0);
    off[column] += error.share * sampled + error.per_instruction * counted.units->sampled() / counted.runs;
    part = std::hypot(part, formula(off) - value);
  }
  return part;
}

/// How far `value` may be off if units differ as much as the pieces of what was complete did. Errors of several columns
/// go together, which only the units themselves can tell.
double complete_part(const Counted& counted, const std::vector<std::size_t>& columns, const Formula& formula,
                     double value) {
  const auto is_estimated = [&](std::size_t column) { return (*counted.columns)[column].has_value(); };
  if (std::ranges::count_if(columns, is_estimated) != 1) return 0;
  const std::size_t column = *std::ranges::find_if(columns, is_estimated);
  std::vector<double> off = counted.counts;
  off[column] += counted.units->half_width_by_complete((*counted.columns)[column]->place) / counted.runs;
  return std::abs(formula(off) - value);
}

std::string times(double count) { return count == 1 ? "once" : fmt::format("{:.0f} times", count); }

/// "9,000" of a count, "0.012" of a rate.
std::string at_most(double number) {
  return number >= 100 ? with_thousands(static_cast<std::uint64_t>(number)) : fmt::format("{:.2g}", number);
}

/// columns  that `formula` reads
Estimate estimate(Counted counted, const std::vector<std::size_t>& columns, const Formula& formula, bool share) {
  const bool estimated = is_estimated(counted.units) && std::ranges::any_of(columns, [&](std::size_t column) {
                           return (*counted.columns)[column].has_value();
                         });
  if (!estimated) return {.value = formula(counted.counts), .half_width = {}, .too_few = ""};
  const auto with = [&](const auto& total_of) {
    for (const std::size_t column : columns) {
      if (const auto& of = (*counted.columns)[column]) counted.counts[column] = total_of(of->place) / counted.runs;
    }
    return formula(counted.counts);
  };
  const UnitSums::Estimate found = counted.units->estimate(
      [&](std::span<const double> totals) { return with([&](std::size_t place) { return totals[place]; }); });
  Estimate out{.value = found.value, .half_width = {}, .too_few = ""};
  if (!std::isfinite(found.value)) return out;
  with([&](std::size_t place) { return counted.units->total(place); });  // no group left out any more
  const double warm_up = warm_up_part(counted, columns, formula, found.value);
  const double rarity = rarity_part(counted, columns, formula, found.value);
  const double seen = share ? kFewest : rarest_seen(counted, columns, formula, found.value);
  const bool alone = columns.size() == 1, rare = seen < kFewest;
  const double by_complete = complete_part(counted, columns, formula, found.value);
  const double half = std::hypot(std::max(found.half_width, by_complete), warm_up, rarity);
  if (!found.known && !(alone && seen == 0)) {
    out.too_few = counted.units->units() == 1 ? "one unit" : fmt::format("{} units", counted.units->units());
  } else if (rare && !alone) {
    out.too_few = seen == 0 ? "never seen" : "seen " + times(seen);
  } else if (rare || (!share && half > std::abs(found.value))) {
    out.too_few = "below " + at_most(found.value + half);
  } else {
    out.half_width = half;
  }
  return out;
}

}  // namespace

Estimate estimate_of(const Counted& counted, std::size_t column) {
  return estimate(
      counted, {column}, [column](const std::vector<double>& counts) { return counts[column]; }, false);
}

Estimate estimate_of(const Counted& counted, const StatMetric& metric) {
  if (!metric.has_number()) return {.value = std::nan(""), .half_width = {}, .too_few = ""};
  return estimate(
      counted, metric.counted.columns(),
      [&](const std::vector<double>& counts) {
        return metric.counted.value([&](std::size_t column) { return counts[column]; });
      },
      metric.counted.metric().is_share());
}

void put_metric(const StatMetric& metric, const Estimate& value, profile::ValueClass value_class, report::Json& line) {
  const double scale = metric.counted.metric().is_share() ? 100 : 1;
  line["metric-value"] = nullptr;
  if (metric.has_number() && value.has_number() && std::isfinite(value.value))
    line["metric-value"] = scale * value.value;
  line["metric-unit"] = metric_unit(metric);
  line["metric-class"] = name_of(value_class);
  if (!metric.lacks.empty()) line["metric-lacks"] = metric.lacks;
  if (value.half_width) line["metric-half-width"] = scale * *value.half_width;
  if (!value.has_number()) line["metric-too-few"] = value.too_few;
}

std::string end_of_columns(const StatMetric* metric, const Estimate& value, const CountColumns* ours,
                           const std::string& separator) {
  std::string end = metric != nullptr && value.has_number() ? metric_number(*metric, value.value) : "";
  end += separator + (metric != nullptr ? metric_unit(*metric) : "");
  if (ours == nullptr) return end + "\n";
  return end + fmt::format("{0}{1}{0}{2}{0}{3}{0}{4}\n", separator, ours->value_class, ours->half_width,
                           value.half_width ? metric_number(*metric, *value.half_width) : "", ours->percent_in_detail);
}

bool is_estimated(const UnitSums* units) { return units != nullptr && units->events() != 0 && !units->all_complete(); }

profile::ValueClass class_of(const UnitSums* units, profile::ValueClass value_class) {
  using profile::ValueClass;
  return value_class == ValueClass::Estimated && !is_estimated(units) ? ValueClass::Modelled : value_class;
}

double percent_in_detail(const UnitSums& units) {
  if (units.instructions() == 0) return 100;
  return 100 * static_cast<double>(units.in_detail()) / static_cast<double>(units.instructions());
}

std::string two_digits(double number) {
  const int behind = number >= 9.95 ? 0 : number >= 0.995 ? 1 : 2;
  return fmt::format("{:.{}f}", number, behind);
}

std::string interval_text(const Estimate& estimate, bool share) {
  if (!estimate.half_width) return "";
  if (share) return "+- " + two_digits(100 * *estimate.half_width) + " points";
  if (estimate.value == 0) return "";
  return "+- " + two_digits(100 * *estimate.half_width / std::abs(estimate.value)) + " %";
}

}  // namespace zs::cli

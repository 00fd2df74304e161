#include "cli/stat/stat_regions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/units.h"
#include "cli/stat/window_rows.h"
#include "report/text/json.h"

namespace zs::cli {
namespace {

using profile::ValueClass;

void add(RegionTotals& sum, const session::Region& more, std::size_t estimated) {
  sum.entries += more.entries;
  sum.cut += more.cut;
  sum.ends_alone += more.ends_alone;
  for (std::size_t event = 0; event < sum.sum.size(); ++event) {
    sum.sum[event] += more.sum[event];
    sum.least[event] = std::min(sum.least[event], more.least[event]);
    sum.most[event] = std::max(sum.most[event], more.most[event]);
  }
  session::UnitSums units;
  if (estimated != 0 && units.unpack(more.units, estimated)) sum.units.add(units);
}

std::string plural(std::uint64_t count, const char* one, const char* many) {
  return with_thousands(count) + " " + (count == 1 ? one : many);
}

/// What a region counted, by column.
class RegionCounts {
 public:
  RegionCounts(const RegionTotals& region, const RegionColumns& columns) : region_(region), columns_(columns) {
    counted_.columns = &columns.estimated;
    if (!columns.estimated.empty()) counted_.units = &region.units;
    for (const std::size_t event : columns.counted_as)
      counted_.counts.push_back(event == WindowRows::kNotCounted ? 0 : static_cast<double>(region.sum[event]));
  }

  Estimate sum(std::size_t column) const { return estimate_of(counted_, column); }
  /// Of all entries.
  double mean(const Estimate& sum) const {
    return region_.entries == 0 ? 0 : sum.value / static_cast<double>(region_.entries);
  }
  Estimate value(const StatMetric& metric) const { return estimate_of(counted_, metric); }
  /// Of single entries units tell nothing.
  bool has_extremes(std::size_t column) const {
    return class_of(columns_.events[column].number_class) != ValueClass::Estimated;
  }
  ValueClass class_of(ValueClass value_class) const { return cli::class_of(counted_.units, value_class); }

 private:
  const RegionTotals& region_;
  const RegionColumns& columns_;
  Counted counted_;
};

/// What the kernel counts it does not count per region.
bool is_shown(const StatEvent& event) { return event.number_class != ValueClass::Measured; }

}  // namespace

StatRegions::StatRegions(std::size_t events, std::size_t estimated, const std::vector<std::string>& expected)
    : events_(events), estimated_(estimated) {
  for (const std::string& name : expected) of(ended_, name);
}

RegionTotals& StatRegions::of(std::map<std::string, RegionTotals>& all, const std::string& name) const {
  RegionTotals& region = all[name];
  if (!region.sum.empty()) return region;
  region.name = name;
  region.sum.assign(events_, 0);
  region.least.assign(events_, UINT64_MAX);
  region.most.assign(events_, 0);
  return region;
}

void StatRegions::look_at(const session::Message& message) {
  const auto* region = std::get_if<session::Region>(&message);
  if (region == nullptr) return;
  const Key key{{region->origin.pid, region->origin.tid}, region->name};
  if (!region->final) {
    running_[key] = *region;
    return;
  }
  running_.erase(key);
  add(of(ended_, region->name), *region, estimated_);
}

void StatRegions::add_run(const std::vector<std::uint64_t>& totals, const std::vector<std::uint32_t>& estimated) {
  whole_.resize(totals.size());
  for (std::size_t event = 0; event < totals.size(); ++event) whole_[event] += totals[event];
  for (const RegionTotals& region : this->totals()) {
    for (std::size_t event = 0; event < whole_.size(); ++event) {
      if (std::ranges::find(estimated, event) != estimated.end()) continue;
      CHECK(region.sum[event] <= whole_[event], event, region.sum[event], whole_[event]);
    }
  }
}

std::vector<RegionTotals> StatRegions::totals() const {
  std::map<std::string, RegionTotals> all = ended_;
  for (const auto& [key, region] : running_) add(of(all, region.name), region, estimated_);
  std::vector<RegionTotals> out;
  out.reserve(all.size());
  for (auto& [name, region] : all) out.push_back(std::move(region));
  return out;
}

namespace {

/// "exact"; "estimated ( +- 0.7 % )"
std::string remark(const RegionCounts& counts, ValueClass value_class, const Estimate& estimate, bool share) {
  std::string text(name_of(counts.class_of(value_class)));
  const std::string interval = interval_text(estimate, share);
  if (!interval.empty()) text += " ( " + interval + " )";
  return estimate.has_number() ? text : text + ": " + estimate.too_few;
}

std::string with_hundredths(double number) {
  const auto hundredths = static_cast<std::uint64_t>(std::llround(number * 100));
  return fmt::format("{}.{:02}", with_thousands(hundredths / 100), hundredths % 100);
}

std::string page_row(const RegionTotals& region, const RegionCounts& counts, const RegionColumns& columns,
                     std::size_t column) {
  const StatEvent& shown = columns.events[column];
  if (shown.number_class == ValueClass::NotModelled)
    return fmt::format("{:>18} {:54} {:32} # {}\n", "<not modelled>", "", shown.name, shown.reason);
  const std::size_t event = columns.counted_as[column];
  const Estimate sum = counts.sum(column);
  const bool extremes = counts.has_extremes(column), number = sum.has_number();
  return fmt::format(
      "{:>18} {:>16} {:>19} {:>16} {:32} # {}\n",
      number ? with_thousands(static_cast<std::uint64_t>(std::llround(sum.value))) : "too few",
      extremes ? with_thousands(region.least[event]) : "", number ? with_hundredths(counts.mean(sum)) : "",
      extremes ? with_thousands(region.most[event]) : "", shown.name, remark(counts, shown.number_class, sum, false));
}

std::string page_row(const RegionCounts& counts, const StatMetric& metric) {
  const Estimate value = counts.value(metric);
  const std::string text = value.has_number() ? metric_text(metric, value.value) : "too few";
  return fmt::format("{:>18} {:54} {:32} # {}\n", text, "", metric.name(),
                     metric.has_number() ? remark(counts, metric.value_class, value, metric.counted.metric().is_share())
                                         : metric.lacks);
}

}  // namespace

std::string regions_page(const std::vector<RegionTotals>& regions, const RegionColumns& columns) {
  std::string page;
  for (const RegionTotals& region : regions) {
    page += fmt::format(" Region '{}': {}", region.name,
                        region.entries == 0 ? "never entered" : plural(region.entries, "entry", "entries"));
    if (region.cut != 0) page += ", " + plural(region.cut, "of them cut short", "of them cut short");
    if (region.ends_alone != 0) page += ", " + plural(region.ends_alone, "end without a begin", "ends without a begin");
    page += "\n\n";
    if (region.entries == 0) continue;
    page += fmt::format("{:>18} {:>16} {:>19} {:>16}\n", "sum", "least", "mean", "most");
    const RegionCounts counts(region, columns);
    for (std::size_t i = 0; i < columns.events.size(); ++i) {
      if (is_shown(columns.events[i])) page += page_row(region, counts, columns, i);
    }
    for (const StatMetric& metric : columns.metrics) page += page_row(counts, metric);
    page += "\n";
  }
  return page;
}

std::string regions_columns(const std::vector<RegionTotals>& regions, const RegionColumns& columns,
                            const std::string& separator) {
  std::string out;
  for (const RegionTotals& region : regions) {
    const std::vector<std::string> what = {"region", region.name, std::to_string(region.entries),
                                           std::to_string(region.cut), std::to_string(region.ends_alone)};
    const RegionCounts counts(region, columns);
    const auto add = [&](std::string_view name, std::vector<std::string> values, ValueClass value_class,
                         const std::string& half_width) {
      if (!columns.estimated.empty()) {
        values.emplace_back(name_of(counts.class_of(value_class)));
        values.push_back(half_width);
      }
      out +=
          fmt::format("{1}{0}{2}{0}{3}\n", separator, fmt::join(what, separator), name, fmt::join(values, separator));
    };
    const std::string none = region.entries == 0 ? "<not counted>" : "<not supported>";
    for (std::size_t i = 0; i < columns.events.size(); ++i) {
      const StatEvent& shown = columns.events[i];
      if (!is_shown(shown)) continue;
      const Estimate sum = counts.sum(i);
      if (shown.number_class == ValueClass::NotModelled || region.entries == 0 || !sum.has_number()) {
        add(shown.name, {sum.has_number() ? none : "<not counted>", "", "", ""}, shown.number_class, "");
        continue;
      }
      const std::size_t event = columns.counted_as[i];
      const bool extremes = counts.has_extremes(i);
      add(shown.name,
          {fmt::format("{:.0f}", sum.value), extremes ? std::to_string(region.least[event]) : "",
           fmt::format("{:.2f}", counts.mean(sum)), extremes ? std::to_string(region.most[event]) : ""},
          shown.number_class, sum.half_width ? fmt::format("{:.0f}", *sum.half_width) : "");
    }
    for (const StatMetric& metric : columns.metrics) {
      const Estimate value = counts.value(metric);
      const bool number = metric.has_number() && region.entries != 0 && value.has_number();
      add(metric_unit(metric), {number ? metric_number(metric, value.value) : none, "", "", ""}, metric.value_class,
          number && value.half_width ? metric_number(metric, *value.half_width) : "");
    }
  }
  return out;
}

std::string regions_json(const std::vector<RegionTotals>& regions, const RegionColumns& columns) {
  std::string out;
  for (const RegionTotals& region : regions) {
    report::Json what;
    what["region"] = region.name;
    what["entries"] = region.entries;
    what["cut-short"] = region.cut;
    what["ends-without-begin"] = region.ends_alone;
    const RegionCounts counts(region, columns);
    const auto add = [&out](const report::Json& line) { out += line.dump(-1) + "\n"; };
    for (std::size_t i = 0; i < columns.events.size(); ++i) {
      const StatEvent& shown = columns.events[i];
      if (!is_shown(shown)) continue;
      report::Json line = what;
      line["event"] = shown.name;
      const Estimate sum = counts.sum(i);
      if (shown.number_class != ValueClass::NotModelled && region.entries != 0 && sum.has_number()) {
        const std::size_t event = columns.counted_as[i];
        line["sum"] = static_cast<std::uint64_t>(std::llround(sum.value));
        if (counts.has_extremes(i)) line["min"] = region.least[event];
        line["mean"] = counts.mean(sum);
        if (counts.has_extremes(i)) line["max"] = region.most[event];
        if (sum.half_width) line["half-width"] = *sum.half_width;
      }
      if (!sum.has_number()) line["too-few"] = sum.too_few;
      line["class"] = name_of(counts.class_of(shown.number_class));
      add(line);
    }
    for (const StatMetric& metric : columns.metrics) {
      report::Json line = what;
      const Estimate value = region.entries != 0 ? counts.value(metric) : Estimate{.value = std::nan("")};
      put_metric(metric, value, counts.class_of(metric.value_class), line);
      add(line);
    }
  }
  return out;
}

}  // namespace zs::cli

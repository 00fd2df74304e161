#include "cli/stat_regions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/say.h"
#include "report/json.h"

namespace zs::cli {
namespace {

using profile::ValueClass;

void add(RegionTotals& sum, const session::Region& more) {
  sum.entries += more.entries;
  sum.cut += more.cut;
  sum.ends_alone += more.ends_alone;
  for (std::size_t event = 0; event < sum.sum.size(); ++event) {
    sum.sum[event] += more.sum[event];
    sum.least[event] = std::min(sum.least[event], more.least[event]);
    sum.most[event] = std::max(sum.most[event], more.most[event]);
  }
}

std::string plural(std::uint64_t count, const char* one, const char* many) {
  return with_separators(count) + " " + (count == 1 ? one : many);
}

double mean(const RegionTotals& region, std::size_t event) {
  return region.entries == 0 ? 0 : static_cast<double>(region.sum[event]) / static_cast<double>(region.entries);
}

/// Of the sums; not a number where an event of it has none.
double value_of(const StatMetric& metric, const RegionTotals& region, const RegionColumns& columns) {
  if (!metric.has_number()) return std::nan("");
  return metric.counted.value([&](std::size_t column) { return region.sum[columns.counted_as[column]]; });
}

/// What the kernel counts it does not count per region.
bool is_shown(const StatEvent& event) { return event.number_class != ValueClass::Measured; }

}  // namespace

StatRegions::StatRegions(std::size_t events, const std::vector<std::string>& expected) : events_(events) {
  for (const std::string& name : expected) {
    RegionTotals& region = ended_[name];
    region.name = name;
    region.sum.assign(events_, 0);
    region.least.assign(events_, UINT64_MAX);
    region.most.assign(events_, 0);
  }
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
  RegionTotals& sum = ended_[region->name];
  if (sum.sum.empty()) {
    sum.name = region->name;
    sum.sum.assign(events_, 0);
    sum.least.assign(events_, UINT64_MAX);
    sum.most.assign(events_, 0);
  }
  add(sum, *region);
}

std::vector<RegionTotals> StatRegions::totals() const {
  std::map<std::string, RegionTotals> all = ended_;
  for (const auto& [key, region] : running_) {
    RegionTotals& sum = all[region.name];
    if (sum.sum.empty()) {
      sum.name = region.name;
      sum.sum.assign(events_, 0);
      sum.least.assign(events_, UINT64_MAX);
      sum.most.assign(events_, 0);
    }
    add(sum, region);
  }
  std::vector<RegionTotals> out;
  out.reserve(all.size());
  for (auto& [name, region] : all) out.push_back(std::move(region));
  return out;
}

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
    for (std::size_t i = 0; i < columns.events.size(); ++i) {
      const StatEvent& shown = columns.events[i];
      if (!is_shown(shown)) continue;
      const std::size_t event = columns.counted_as[i];
      if (shown.number_class == ValueClass::NotModelled) {
        page += fmt::format("{:>18} {:54} {:32} # {}\n", "<not modelled>", "", shown.name, shown.reason);
        continue;
      }
      const std::uint64_t hundredths = static_cast<std::uint64_t>(std::llround(mean(region, event) * 100));
      page += fmt::format("{:>18} {:>16} {:>16}.{:02} {:>16} {:32} # {}\n", with_separators(region.sum[event]),
                          with_separators(region.least[event]), with_separators(hundredths / 100), hundredths % 100,
                          with_separators(region.most[event]), shown.name, name_of(shown.number_class));
    }
    for (const StatMetric& metric : columns.metrics) {
      page += fmt::format("{:>18} {:54} {:32} # {}\n", metric_text(metric, value_of(metric, region, columns)), "",
                          metric.name(), metric.has_number() ? name_of(metric.value_class) : metric.lacks);
    }
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
    const auto add = [&](std::string_view name, const std::vector<std::string>& values) {
      out +=
          fmt::format("{1}{0}{2}{0}{3}\n", separator, fmt::join(what, separator), name, fmt::join(values, separator));
    };
    const std::string none = region.entries == 0 ? "<not counted>" : "<not supported>";
    for (std::size_t i = 0; i < columns.events.size(); ++i) {
      const StatEvent& shown = columns.events[i];
      if (!is_shown(shown)) continue;
      if (shown.number_class == ValueClass::NotModelled || region.entries == 0) {
        add(shown.name, {none, "", "", ""});
        continue;
      }
      const std::size_t event = columns.counted_as[i];
      add(shown.name, {std::to_string(region.sum[event]), std::to_string(region.least[event]),
                       fmt::format("{:.2f}", mean(region, event)), std::to_string(region.most[event])});
    }
    for (const StatMetric& metric : columns.metrics) {
      const bool number = metric.has_number() && region.entries != 0;
      add(metric_unit(metric), {number ? metric_number(metric, value_of(metric, region, columns)) : none, "", "", ""});
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
    const auto add = [&out](const report::Json& line) { out += line.dump(-1) + "\n"; };
    for (std::size_t i = 0; i < columns.events.size(); ++i) {
      const StatEvent& shown = columns.events[i];
      if (!is_shown(shown)) continue;
      report::Json line = what;
      line["event"] = shown.name;
      if (shown.number_class != ValueClass::NotModelled && region.entries != 0) {
        const std::size_t event = columns.counted_as[i];
        line["sum"] = region.sum[event];
        line["min"] = region.least[event];
        line["mean"] = mean(region, event);
        line["max"] = region.most[event];
      }
      line["class"] = name_of(shown.number_class);
      add(line);
    }
    for (const StatMetric& metric : columns.metrics) {
      report::Json line = what;
      put_metric(metric, region.entries == 0 ? std::nan("") : value_of(metric, region, columns), line);
      add(line);
    }
  }
  return out;
}

}  // namespace zs::cli

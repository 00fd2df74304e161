#include "cli/stat_regions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/say.h"

namespace zs::cli {
namespace {

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

/// Columns of a block: what counted exactly. What the kernel counts it does not count per region.
bool is_shown(const StatEvent& event) { return event.number_class != NumberClass::Measured; }

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

std::string regions_page(const std::vector<RegionTotals>& regions, const std::vector<StatEvent>& events,
                         const std::vector<std::size_t>& counted_as) {
  std::string page;
  for (const RegionTotals& region : regions) {
    page += fmt::format(" Region '{}': {}", region.name,
                        region.entries == 0 ? "never entered" : plural(region.entries, "entry", "entries"));
    if (region.cut != 0) page += ", " + plural(region.cut, "of them cut short", "of them cut short");
    if (region.ends_alone != 0) page += ", " + plural(region.ends_alone, "end without a begin", "ends without a begin");
    page += "\n\n";
    if (region.entries == 0) continue;
    page += fmt::format("{:>18} {:>16} {:>19} {:>16}\n", "sum", "least", "mean", "most");
    for (std::size_t i = 0; i < events.size(); ++i) {
      if (!is_shown(events[i])) continue;
      const std::size_t event = counted_as[i];
      if (events[i].number_class == NumberClass::NotModelled) {
        page += fmt::format("{:>18} {:54} {:32} # {}\n", "<not modelled>", "", events[i].name, events[i].reason);
        continue;
      }
      const std::uint64_t hundredths = static_cast<std::uint64_t>(std::llround(mean(region, event) * 100));
      page += fmt::format("{:>18} {:>16} {:>16}.{:02} {:>16} {:32} # exact\n", with_separators(region.sum[event]),
                          with_separators(region.least[event]), with_separators(hundredths / 100), hundredths % 100,
                          with_separators(region.most[event]), events[i].name);
    }
    page += "\n";
  }
  return page;
}

std::string regions_columns(const std::vector<RegionTotals>& regions, const std::vector<StatEvent>& events,
                            const std::vector<std::size_t>& counted_as, const std::string& separator) {
  std::string out;
  for (const RegionTotals& region : regions) {
    for (std::size_t i = 0; i < events.size(); ++i) {
      if (!is_shown(events[i])) continue;
      const bool number = events[i].number_class != NumberClass::NotModelled && region.entries != 0;
      std::vector<std::string> columns = {"region",
                                          region.name,
                                          std::to_string(region.entries),
                                          std::to_string(region.cut),
                                          std::to_string(region.ends_alone),
                                          events[i].name};
      if (number) {
        const std::size_t event = counted_as[i];
        columns.insert(columns.end(), {std::to_string(region.sum[event]), std::to_string(region.least[event]),
                                       fmt::format("{:.2f}", mean(region, event)), std::to_string(region.most[event])});
      } else {
        const char* const none = region.entries == 0 ? "<not counted>" : "<not supported>";
        columns.insert(columns.end(), {none, "", "", ""});
      }
      out += fmt::format("{}\n", fmt::join(columns, separator));
    }
  }
  return out;
}

std::string regions_json(const std::vector<RegionTotals>& regions, const std::vector<StatEvent>& events,
                         const std::vector<std::size_t>& counted_as) {
  std::string out;
  for (const RegionTotals& region : regions) {
    for (std::size_t i = 0; i < events.size(); ++i) {
      if (!is_shown(events[i])) continue;
      nlohmann::ordered_json line;
      line["region"] = region.name;
      line["entries"] = region.entries;
      line["cut-short"] = region.cut;
      line["ends-without-begin"] = region.ends_alone;
      line["event"] = events[i].name;
      const bool modelled = events[i].number_class != NumberClass::NotModelled;
      if (modelled && region.entries != 0) {
        const std::size_t event = counted_as[i];
        line["sum"] = region.sum[event];
        line["min"] = region.least[event];
        line["mean"] = mean(region, event);
        line["max"] = region.most[event];
      }
      line["class"] = modelled ? "exact" : "not modelled";
      out += line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
    }
  }
  return out;
}

}  // namespace zs::cli

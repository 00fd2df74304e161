#include "cli/list/metric_list.h"

#include <fmt/format.h>

#include "arch/metrics/metric.h"
#include "report/text/json.h"

namespace zs::cli {

std::string metric_list_page(const arch::CpuModel& model) {
  constexpr const char* kLine = "{:<24} {:<24} {:<28} {}\n";
  std::string page = fmt::format(kLine, "METRIC", "GROUPS", "UNIT", "DESCRIPTION");
  for (const arch::Metric& row : arch::metric_rows()) {
    if (arch::has_metric(model, row)) page += fmt::format(kLine, row.name, row.groups, row.unit, row.description);
  }
  return page;
}

std::vector<std::string> metric_names(const arch::CpuModel& model) {
  std::vector<std::string> names;
  for (const arch::Metric& row : arch::metric_rows()) {
    if (arch::has_metric(model, row)) names.emplace_back(row.name);
  }
  return names;
}

std::string metric_list_json(const arch::CpuModel& model) {
  report::Json page;
  page["cpu-model"] = model.name;
  page["metrics"] = report::Json::array();
  for (const arch::Metric& row : arch::metric_rows()) {
    if (!arch::has_metric(model, row)) continue;
    report::Json line;
    line["name"] = row.name;
    line["groups"] = row.groups;
    line["unit"] = row.unit;
    line["formula"] = row.formula;
    line["description"] = row.description;
    page["metrics"].push_back(line);
  }
  return page.dump(2) + "\n";
}

}  // namespace zs::cli

#include "cli/list/model_list.h"

#include <fmt/format.h>

#include "arch/cpu_model.h"
#include "report/text/json.h"

namespace zs::cli {

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const arch::CpuModel& model : arch::cpu_models()) names.emplace_back(model.name.substr(0, model.name.find('@')));
  return names;
}

std::string model_list_page() {
  constexpr const char* kLine = "{:<20} {:<5} {:>4}  {}\n";
  std::string page = fmt::format(kLine, "MODEL", "PEBS", "LBR", "DESCRIPTION");
  for (const arch::CpuModel& model : arch::cpu_models()) {
    const std::string branches = model.has_lbr() ? std::to_string(model.lbr_entries) : "-";
    page += fmt::format(kLine, model.name, model.has_pebs() ? "yes" : "-", branches, model.description);
  }
  return page;
}

std::string model_list_json() {
  report::Json page;
  page["models"] = report::Json::array();
  for (const arch::CpuModel& model : arch::cpu_models()) {
    page["models"].push_back({{"name", model.name},
                              {"pebs", model.has_pebs()},
                              {"lbr_entries", model.has_lbr() ? int{model.lbr_entries} : 0},
                              {"description", model.description}});
  }
  return page.dump(2) + "\n";
}

}  // namespace zs::cli

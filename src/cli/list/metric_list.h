// `zeroskid list metrics`: what -M takes.
#pragma once

#include <string>
#include <vector>

#include "arch/cpu_model.h"

namespace zs::cli {

/// A line for each metric of the model: its name, groups, unit and what it is.
std::vector<std::string> metric_names(const arch::CpuModel& model);
std::string metric_list_page(const arch::CpuModel& model);
/// One object: "cpu-model", and "metrics" with name, groups, unit, formula, description.
std::string metric_list_json(const arch::CpuModel& model);

}  // namespace zs::cli

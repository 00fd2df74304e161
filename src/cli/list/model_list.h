// What `zeroskid list models` prints: the CPU models that --model takes.
#pragma once

#include <string>
#include <vector>

namespace zs::cli {

/// Without their versions: the newest is meant then.
std::vector<std::string> model_names();
std::string model_list_page();
/// One object: "models" with name, pebs, lbr_entries, description.
std::string model_list_json();

}  // namespace zs::cli

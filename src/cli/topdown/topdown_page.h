// What `zeroskid topdown` prints: the tree of what became of the issue slots, as bars for people, CSV and JSON for
// programs, and where to look next. docs/formats/topdown.md.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arch/cpu_model.h"
#include "cli/values/estimate.h"
#include "cli/values/stat_metric.h"

namespace zs::cli {

struct TopdownNode {
  const StatMetric* metric = nullptr;
  std::size_t level = 1;
  Estimate share;       // of all slots, 0 to 1; meaningless without a number, not a number if there were no slots
  bool marked = false;  // above its threshold, and its parent is too
  std::string next;     // a command that shows where; "" if none is known
};

struct TopdownReport {
  std::string program, cpu_model;
  Estimate slots;
  std::optional<double> percent_in_detail;  // where the numbers are estimates
  std::vector<TopdownNode> nodes;           // each followed by its parts
};

/// The tree, marked.
/// metrics  nodes, parents among them; live on
/// counted  by the metrics' columns
std::vector<TopdownNode> topdown_tree(const std::vector<StatMetric>& metrics, const Counted& counted);

/// What to run next for a node, for the first suggestion whose event the model counts; "" if there is none.
std::string look_here_next(std::string_view node, const arch::CpuModel& model, const std::string& program);

struct TopdownStyle {
  bool unicode = false, colour = false, descriptions = true;
  std::size_t width = 0;  // of the terminal, for shorter bars; 0: it has none
};
std::string topdown_page(const TopdownReport& report, const TopdownStyle& style);
std::string topdown_csv(const TopdownReport& report, const std::string& separator);
std::string topdown_json(const TopdownReport& report);

}  // namespace zs::cli

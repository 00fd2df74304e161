// `zeroskid report`: the hot list of a recording.
#pragma once

#include <string>

#include "base/result.h"
#include "profile/aggregate/aggregate.h"
#include "report/text/call_graph_text.h"

namespace zs::cli {

/// What -g says: "none", or any of graph, fractal, caller, callee, a least percentage, a most number of entries.
struct CallGraphChoice {
  bool drawn = true;
  bool relative = false, folded = false;
  double min_percent = 0.5;
  std::size_t max_entries = 0;
  bool order_given = false;
  profile::ChainOrder order = profile::ChainOrder::Callee;
};

Result<CallGraphChoice> parse_call_graph(const std::string& text);

}  // namespace zs::cli

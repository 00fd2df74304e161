// A call tree drawn as text, the way perf draws it.
#pragma once

#include <cstdint>
#include <string>

#include "profile/aggregate/call_tree.h"

namespace zs::report {

struct CallGraphStyle {
  bool folded = false;          // a line for each chain: its share, then its frames with ';' between
  bool relative = false;        // percentages of the entry instead of the whole ("fractal")
  double min_percent = 0.5;     // lighter branches are left out
  std::size_t max_entries = 0;  // of one level; 0: all
  bool skip_first = false;      // the first frame is the entry's own symbol, which stands above it already
  bool color = false;
  std::size_t width = 0;  // of the page; 0: any
};

/// whole  weight of the histogram; `entry` weight of the entry the tree belongs to
std::string draw_call_graph(const profile::CallTree& tree, std::uint64_t whole, std::uint64_t entry,
                            const CallGraphStyle& style);

}  // namespace zs::report

// The calls of a branch trace as text: a tree, the heaviest first, and what became of the calls.
#pragma once

#include <cstddef>
#include <string>

#include "report/trace/calls.h"

namespace zs::report {

struct CallsStyle {
  std::string filter;          // which branches the trace has; "": all
  double percent_limit = 0.5;  // of the trace's instructions; lighter nodes are left out, and said how many
  bool color = false;
  std::size_t width = 0;  // of the page; 0: any
};

std::string calls_text(const TracedCalls& calls, const CallsStyle& style);

}  // namespace zs::report

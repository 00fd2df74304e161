// The hot list as text, column for column what `perf report --stdio` prints.
#pragma once

#include <string>
#include <vector>

#include "profile/aggregate.h"
#include "report/call_graph_text.h"

namespace zs::report {

struct ReportStyle {
  std::vector<profile::SortKey> keys;
  bool children = false;
  bool call_graph = false;
  CallGraphStyle graph;
  double percent_limit = 0;
  bool sample_counts = false;  // a column "Samples"
  bool periods = false;        // a column "Period"
  bool color = false;
};

/// One event's block: its head, its table, its call graphs.
std::string report_text(const profile::Histogram& histogram, const profile::Aggregator& aggregator,
                        const ReportStyle& style);

/// 1001 -> "1K": perf's rounding of sample counts; below a thousand a blank stands for the letter.
std::string rounded_count(std::uint64_t count);

}  // namespace zs::report

// The hot list as text, column for column what `perf report --stdio` prints.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "profile/aggregate/aggregate.h"
#include "report/text/call_graph_text.h"

namespace zs::report {

/// A column: a number, or a key's text.
struct ReportColumn {
  enum class Kind : std::uint8_t { Children, Self, Samples, Period, Mean, Median, Tail, Key };
  Kind kind = Kind::Key;
  profile::SortKey key{};  // Kind::Key
};
/// perf's name of a column of numbers: overhead, sample, period; nothing for others.
std::optional<ReportColumn::Kind> column_named(std::string_view name);

struct ReportStyle {
  std::vector<profile::SortKey> keys;
  std::vector<ReportColumn> columns;  // in their order; empty: numbers, then keys
  std::string separator;              // between columns, which are then not aligned by blanks; "": none
  bool heads = true;                  // lines that begin with #
  bool children = false;
  bool call_graph = false;
  CallGraphStyle graph;
  double percent_limit = 0;
  std::string times;           // of --time, as typed: the head says them
  bool sample_counts = false;  // a column "Samples"
  bool periods = false;        // a column "Period"
  std::string
      memory_order;  // of `mem report`: the keys as the head names them; weights are latencies. "": no such report
  bool latencies = false;  // columns of the mean and percentiles
  bool color = false;
  std::size_t width = 0;  // of the page; 0: any. Names are shortened, then columns left out
};

/// One event's block: its head, its table, its call graphs.
std::string report_text(const profile::Histogram& histogram, const profile::Aggregator& aggregator,
                        const ReportStyle& style);

/// Of ascending latencies the one below or at which `percent` of the accesses lie; 0 if there are none.
std::uint32_t percentile(const std::vector<profile::Latency>& ascending, unsigned percent);
/// "43.7"; "-" if there are none.
std::string mean_text(const std::vector<profile::Latency>& values);

/// 1001 -> "1K": perf's rounding of sample counts; below a thousand a blank stands for the letter.
std::string rounded_count(std::uint64_t count);

}  // namespace zs::report

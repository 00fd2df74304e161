#include "report/text/memory_text.h"

#include <fmt/format.h>

#include "profile/aggregate/aggregate.h"
#include "report/text/class_text.h"

namespace zs::report {
namespace {

using profile::SortKey;

std::vector<profile::Histogram> aggregated(profile::Aggregator& aggregator) { return aggregator.run(); }

profile::AggregateOptions options_of(std::vector<SortKey> keys, bool weigh_periods) {
  return {.keys = std::move(keys), .memory = true, .weigh_periods = weigh_periods};
}

}  // namespace

std::string memory_text(const profile::PerfDataReader& reader, profile::Symbolizer& symbolizer,
                        const MemoryStyle& style) {
  const ReportStyle list{.keys = style.keys,
                         .percent_limit = style.percent_limit,
                         .sample_counts = true,
                         .memory_order = style.keys_text,
                         .latencies = style.overview,
                         .color = style.color,
                         .width = style.width};
  profile::Aggregator places(reader, symbolizer, options_of(style.keys, style.overview));
  const auto all = aggregated(places);
  if (!style.overview) {
    std::string text;
    for (const profile::Histogram& histogram : all) text += report_text(histogram, places, list);
    return text;
  }

  ReportStyle summary = list;
  summary.keys = {SortKey::Level};
  summary.memory_order = "mem";
  profile::Aggregator levels(reader, symbolizer, options_of(summary.keys, true));
  const auto by_level = aggregated(levels);
  const auto latencies = latency_counts(reader);
  std::string text;
  for (std::size_t event = 0; event < all.size(); ++event) {
    if (all[event].items == 0) {
      text += fmt::format("# Samples: 0  of event '{}'\n\n\n", all[event].event->name);
      continue;
    }
    text += class_text(reader, *all[event].event, style.width);
    text += report_text(by_level[event], levels, summary);
    text += latency_histogram(latencies[event], style.width);
    text += report_text(all[event], places, list);
  }
  return text;
}

}  // namespace zs::report

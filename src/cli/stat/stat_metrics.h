// Metrics of `zeroskid stat`, bound to the events that are counted: `-M NAME`, and what perf prints behind some events
// by itself.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arch/cpu_model.h"
#include "base/result.h"
#include "cli/stat/stat_page.h"
#include "events/event_parser.h"
#include "profile/windows/counted_metric.h"

namespace zs::cli {

/// What each column of counts counts; nothing where it has no number.
using CountedColumns = std::vector<std::optional<session::ParsedEvent>>;

/// The column that counts `event`, whatever it is called; nothing if none does.
std::optional<std::size_t> find_column(const CountedColumns& columns, std::string_view event,
                                       const arch::CpuModel& model);

/// The metrics that `lists` name. Each list is words separated by commas: a metric of the CPU model, a group of them,
/// or "all". returns an error that tells the nearest names
Result<std::vector<const arch::Metric*>> named_metrics(const std::vector<std::string>& lists,
                                                       const arch::CpuModel& model);

/// For events that stand in the columns, with or without a number.
StatMetric bind_metric(const arch::Metric& metric, const arch::CpuModel& model,
                       const profile::CountedMetric::ColumnOf& column_of, const std::vector<StatEvent>& events);

/// perf's rates, of events that are counted with all that the rate needs.
std::vector<StatMetric> rates_of(const CountedColumns& columns, const std::vector<StatEvent>& events,
                                 const arch::CpuModel& model);

}  // namespace zs::cli
